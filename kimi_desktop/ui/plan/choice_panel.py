"""The left of the Plan page: model, quantization, sliders, KV type, what is folded away. Qt.

Holds the plan that is being made; ``plan_changed`` fires after every move of the user, and
``plan`` has the result.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.units import format_context, format_count, format_parameters
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.plan import choices
from kimi_desktop.ui.plan.advanced import AdvancedSection
from kimi_desktop.ui.plan.choices import Family
from kimi_desktop.ui.plan.quantization_list import QuantizationList
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Heading, PageHeader
from kimi_desktop.ui.widgets.field import LabeledField, Select
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.slider import SliderRow

TWO_COLUMNS = 472
"""Narrower than this, the sliders of the placement stand in one column."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A model and how to load it."""

    model: LocalModel
    settings: LoadSettings


class ChoicePanel(QWidget):
    """All that can be chosen. ``model_chosen`` asks for another model (its id)."""

    plan_changed = Signal()
    model_chosen = Signal(str)
    reset_wanted = Signal()
    engine_choice_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._families: tuple[Family, ...] = ()
        self._plan: Plan | None = None
        self._machine: Machine | None = None
        self._steps: tuple[int, ...] = ()
        self._blocks: tuple[int, ...] = ()
        self.header = PageHeader()
        self.reset = Button(kind=ButtonKind.QUIET, small=True)
        self.model = Select()
        self._model_field = LabeledField(self.model)
        self._quantization_label = Label(tone="muted", size=TextSize.SMALL)
        self.quantizations = QuantizationList()
        self._placement = Heading()
        self.no_gpu = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self.choose_engine = Button(kind=ButtonKind.SECONDARY, small=True)
        self._uses_gpus = True
        self.gpu_layers = SliderRow()
        self.expert_layers = SliderRow()
        self.context = SliderRow()
        self.cache_type = Segmented([(name, name) for name in choices.CACHE_TYPES], stretch=True)
        self.parallel = Select()
        self._cache_field = LabeledField(self.cache_type)
        self._parallel_field = LabeledField(self.parallel)
        self.advanced = AdvancedSection()
        self._arrange()
        self._connect()
        self.retranslate()

    @property
    def plan(self) -> Plan | None:
        """The plan as it stands."""
        return self._plan

    def sizeHint(self) -> QSize:
        """The width of the design."""
        return QSize(528, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Where two sliders have no room side by side, they stand one above the other."""
        super().resizeEvent(event)
        narrow = self.width() < TWO_COLUMNS
        self._layers.setDirection(
            QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        )

    # from the page

    def show_families(self, families: Sequence[Family]) -> None:
        """What there is to choose from."""
        self._families = tuple(families)
        chosen = self._plan.model.family if self._plan else ""
        self.model.blockSignals(True)
        self.model.clear()
        for family in self._families:
            facts = family.models[0].facts
            size = format_parameters(facts.parameter_count) if facts else ""
            self.model.addItem(f"{family.name} · {size}" if size else family.name, family.name)
        self.model.choose(chosen)
        self.model.blockSignals(False)

    def show_machine(self, machine: Machine | None) -> None:
        """Which GPUs and cores there are."""
        self._machine = machine
        if self._plan is not None:
            self.show_plan(self._plan)

    def show_plan(self, plan: Plan, *, uses_gpus: bool | None = None) -> None:
        """Set every control, without telling.

        Args:
            plan: what to show.
            uses_gpus: the plan's engine was built for GPUs; None keeps what was said before.
        """
        self._plan = plan
        if uses_gpus is not None:
            self._uses_gpus = uses_gpus
        facts, settings = plan.model.facts, plan.settings
        assert facts is not None  # families have only such models
        self.model.choose(plan.model.family)
        siblings = next((f.models for f in self._families if plan.model in f.models), ())
        self.quantizations.show_models(siblings, plan.model.id)
        self._steps = choices.context_steps(facts.context_train, settings.context)
        self._blocks = choices.expert_blocks(facts)
        on_gpu = choices.gpu_layers(settings, facts)
        in_ram = choices.expert_layers_in_ram(self._blocks, settings.n_cpu_moe)
        place = self._steps.index(settings.context)
        self._set_slider(self.gpu_layers, facts.n_layer + 1, on_gpu)
        self._set_slider(self.expert_layers, len(self._blocks), in_ram)
        self._set_slider(self.context, len(self._steps) - 1, place)
        self.context.set_ticks(
            [(at, format_context(step)) for at, step in choices.context_ticks(self._steps)]
        )
        for row, most in (
            (self.gpu_layers, facts.n_layer + 1),
            (self.expert_layers, len(self._blocks)),
        ):
            row.set_ticks([(0, "0"), (most, str(most))])
        names = dict.fromkeys((*choices.CACHE_TYPES, settings.cache_type))
        self.cache_type.set_options([(name, name) for name in names])
        self.cache_type.choose(settings.cache_type)
        self._show_parallel(settings.n_parallel)
        cpu = self._machine.cpu if self._machine else None
        self.advanced.show_settings(
            settings,
            cpu.usable_physical_cores if cpu else None,
            cpu.usable_cores if cpu else None,
        )
        self._show_placement()
        self._say_values()

    def set_changed(self, *, changed: bool) -> None:
        """Whether there is something to take back."""
        self.reset.setEnabled(changed)

    def retranslate(self) -> None:
        """Set the words."""
        self.header.set_title(self.tr("Plan"))
        self.reset.setText(self.tr("Reset"))
        self.reset.setToolTip(self.tr("Back to what this model was last loaded with"))
        self._model_field.set_label(self.tr("Model"))
        self._quantization_label.setText(self.tr("Quantization"))
        self.quantizations.setAccessibleName(self.tr("Quantization"))
        self._placement.setText(self.tr("Placement"))
        self.choose_engine.setText(self.tr("Choose an engine"))
        self.gpu_layers.set_label(self.tr("GPU layers"))
        self.expert_layers.set_label(self.tr("Expert layers in RAM"))
        self.context.set_label(self.tr("Context"))
        self._cache_field.set_label(self.tr("KV type"))
        self._parallel_field.set_label(self.tr("Parallel chats"))
        self.advanced.retranslate()
        self._show_placement()
        self._say_values()

    # inside

    def _arrange(self) -> None:
        self.header.add(self.reset)
        quantization = QVBoxLayout()
        quantization.setSpacing(4)
        quantization.addWidget(self._quantization_label)
        quantization.addWidget(self.quantizations)
        placement = QVBoxLayout()
        placement.setSpacing(4)
        placement.addWidget(self._placement)
        why = QHBoxLayout()
        why.setSpacing(12)
        why.addWidget(self.no_gpu, 1)
        why.addWidget(self.choose_engine)
        placement.addLayout(why)
        self._layers = _side_by_side(self.gpu_layers, self.expert_layers)
        kinds = _side_by_side(self._cache_field, self._parallel_field)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 24)
        layout.setSpacing(16)
        layout.addWidget(self.header)
        layout.addSpacing(-8)
        layout.addWidget(self._model_field)
        layout.addLayout(quantization)
        layout.addLayout(placement)
        layout.addSpacing(-8)
        layout.addLayout(self._layers)
        layout.addWidget(self.context)
        layout.addLayout(kinds)
        layout.addWidget(self.advanced)
        layout.addStretch(1)

    def _connect(self) -> None:
        self.reset.clicked.connect(self.reset_wanted)
        self.choose_engine.clicked.connect(self.engine_choice_wanted)
        self.model.activated.connect(self._on_family)
        self.quantizations.chosen.connect(self.model_chosen)
        for row in (self.gpu_layers, self.expert_layers, self.context):
            row.value_changed.connect(self._on_moved)
        self.cache_type.chosen.connect(self._on_moved)
        self.parallel.activated.connect(self._on_moved)
        self.advanced.changed.connect(self._on_advanced)

    def _on_family(self, place: int) -> None:
        """Another model: the quantization of the same name if it is there, else the largest."""
        members = self._families[place].models
        had = self._plan.model.facts.quantization if self._plan and self._plan.model.facts else ""
        same = [model for model in members if model.facts and model.facts.quantization == had]
        self.model_chosen.emit((same or members)[0].id)

    def _on_moved(self) -> None:
        if self._plan is None:
            return
        settings = dataclasses.replace(
            self._plan.settings,
            n_gpu_layers=self.gpu_layers.value(),
            n_cpu_moe=choices.n_cpu_moe_for(self._blocks, self.expert_layers.value()),
            context=self._steps[self.context.value()],
            cache_type=self.cache_type.key(),
            n_parallel=self.parallel.currentData(),
        )
        self._change(settings)

    def _on_advanced(self) -> None:
        if self._plan is not None:
            self._change(self.advanced.apply_to(self._plan.settings))
            self.show_plan(self._plan)

    def _change(self, settings: LoadSettings) -> None:
        assert self._plan is not None  # callers looked
        self._plan = dataclasses.replace(self._plan, settings=settings)
        self._say_values()
        self.plan_changed.emit()

    def _set_slider(self, row: SliderRow, most: int, value: int) -> None:
        row.slider.blockSignals(True)
        row.set_range(0, most)
        row.set_value(value)
        row.slider.blockSignals(False)
        row.slider.update()

    def _show_parallel(self, value: int) -> None:
        counts = sorted({*choices.PARALLEL_CHATS, value})
        self.parallel.clear()
        for count in counts:
            self.parallel.addItem(str(count), count)
        self.parallel.choose(value)

    def _show_placement(self) -> None:
        """No GPU, no choice of layers; a model without experts has none to place."""
        has_gpu = bool(self._machine and self._machine.gpus)
        can_place = has_gpu and self._uses_gpus
        self.gpu_layers.setEnabled(can_place)
        self.expert_layers.setEnabled(can_place)
        self.expert_layers.setVisible(bool(self._blocks))
        self.no_gpu.setText("" if can_place else self._why_no_gpu())
        self.no_gpu.setVisible(not can_place and self._machine is not None)
        self.choose_engine.setVisible(has_gpu and not self._uses_gpus)

    def _why_no_gpu(self) -> str:
        if self._machine is not None and self._machine.gpus:
            return self.tr(
                "This engine was built without GPU support, so everything runs from RAM. A "
                "llama-server with GPU support can be chosen instead."
            )
        note = self._machine.gpu_note if self._machine else ""
        return {
            "apple": self.tr("The GPU of this Mac shares main memory: the bar of RAM counts both."),
            "failed": self.tr("The GPU does not answer, so everything runs from RAM."),
            "no_driver": self.tr("No GPU driver was found, so everything runs from RAM."),
        }.get(
            note, self.tr("This machine has no GPU that is known here: everything runs from RAM.")
        )

    def _say_values(self) -> None:
        if self._plan is None:
            return
        settings, facts = self._plan.settings, self._plan.model.facts
        assert facts is not None  # families have only such models
        of = self.tr("{count} of {total}")
        self.gpu_layers.set_value_text(
            of.format(count=choices.gpu_layers(settings, facts), total=facts.n_layer + 1)
        )
        in_ram = choices.expert_layers_in_ram(self._blocks, settings.n_cpu_moe)
        self.expert_layers.set_value_text(of.format(count=in_ram, total=len(self._blocks)))
        tokens = self.tr("{count} tokens")
        self.context.set_value_text(tokens.format(count=format_count(settings.context)))
        note = ""
        if settings.n_parallel > 1:
            each = settings.context // settings.n_parallel
            note = self.tr("{count} tokens each").format(count=format_count(each))
        self._parallel_field.set_note(note)


def _side_by_side(left: QWidget, right: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(16)
    row.addWidget(left, 1)
    row.addWidget(right, 1)
    return row
