"""The left of the Plan page: model, quantization, profile, placement, context, KV, advanced. Qt.

It shows what the page plans and tells what the user does; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import PlanChoices, PricedLoad
from kimi_desktop.base.messages import message
from kimi_desktop.base.units import format_context, format_count, format_parameters
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.plan_types import Profile
from kimi_desktop.ui.language import language
from kimi_desktop.ui.plan import choices
from kimi_desktop.ui.plan.advanced import AdvancedSection
from kimi_desktop.ui.plan.choices import Family
from kimi_desktop.ui.plan.options import OptionsSection
from kimi_desktop.ui.plan.placement_box import PlacementBox
from kimi_desktop.ui.plan.quantization_list import QuantizationList
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import PageHeader
from kimi_desktop.ui.widgets.field import LabeledField, Select
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.slider import SliderRow

TWO_COLUMNS = 472
"""Narrower than this, the sliders of the placement stand in one column."""
OPEN = ""
"""Key of the KV type that the planner chooses."""


class ChoicePanel(QWidget):
    """All that can be chosen."""

    model_chosen = Signal(str)
    """The id of another model."""
    field_changed = Signal(str, object)
    """A field of the plan and its value; None leaves it to the planner."""
    profile_chosen = Signal(str)
    reset_wanted = Signal()
    engine_choice_wanted = Signal()

    def __init__(self, served: QWidget, parent: QWidget | None = None) -> None:
        """``served``: what can be chosen of a checkpoint."""
        super().__init__(parent)
        self.served = served
        self._loaded = QWidget()
        self._families: tuple[Family, ...] = ()
        self._model: LocalModel | None = None
        self._steps: tuple[int, ...] = (1,)
        self.header = PageHeader()
        self.reset = Button(kind=ButtonKind.QUIET, small=True)
        self.model = Select()
        self._model_field = LabeledField(self.model)
        self.engine = Select()
        self._engine_field = LabeledField(self.engine)
        self._engine_name = ""
        self._quantization_label = Label(tone="muted", size=TextSize.SMALL)
        self.quantizations = QuantizationList()
        self.profile = Segmented([(each.value, "") for each in Profile], stretch=True)
        self._profile_field = LabeledField(self.profile)
        self.placement = PlacementBox()
        self.context = SliderRow()
        self.automatic = Button(kind=ButtonKind.QUIET, small=True)
        self.automatic.setFixedHeight(20)
        self.context.add_to_head(self.automatic)
        self.cache_type = Segmented(stretch=True)
        self.parallel = Select()
        self._cache_field = LabeledField(self.cache_type)
        self._parallel_field = LabeledField(self.parallel)
        self.advanced = AdvancedSection()
        self.options = OptionsSection()
        self._arrange()
        self._connect()
        self.retranslate()

    def sizeHint(self) -> QSize:
        """The width of the design."""
        return QSize(528, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Two sliders side by side need room."""
        super().resizeEvent(event)
        self.placement.set_narrow(narrow=self.width() < TWO_COLUMNS)

    # from the page

    def show_families(self, families: Sequence[Family]) -> None:
        """What there is to choose from."""
        self._families = tuple(families)
        chosen = choices.family_key(self._model) if self._model else ""
        self.model.blockSignals(True)
        self.model.clear()
        for family in self._families:
            facts = family.models[0].facts
            size = format_parameters(facts.parameter_count) if facts else ""
            if family.models[0].is_served:
                size = "safetensors"
            self.model.addItem(f"{family.name} · {size}" if size else family.name, family.key)
        self.model.choose(chosen)
        self.model.blockSignals(False)

    def show_plan(
        self,
        model: LocalModel,
        chosen: PlanChoices,
        priced: PricedLoad | None,
        machine: Machine | None,
        *,
        uses_gpus: bool,
    ) -> None:
        """Set every control, without telling.

        Args:
            model: what is planned.
            chosen: wishes, or settings of the user's own.
            priced: the newest forecast; None while there is none.
            machine: its GPUs and cores.
            uses_gpus: the plan's engine was built for GPUs.
        """
        facts = model.facts
        assert facts is not None  # families have only such models
        self._show_model(model)
        siblings = next((f.models for f in self._families if model in f.models), ())
        self.quantizations.show_models(siblings, model.id)
        self.profile.choose(chosen.wishes.profile.value)
        is_auto = chosen.settings is None
        settings = chosen.settings or (priced.settings if priced else None)
        self.placement.show_machine(machine, uses_gpus=uses_gpus)
        in_ram = priced.plan.experts_in_ram if priced else ()
        self.placement.show_placement(facts, settings, in_ram, is_auto=is_auto)
        wished = chosen.wishes.context if is_auto else None
        current = wished or (settings.context if settings else facts.context_train or 4096)
        self._show_context(facts.context_train, current, open_=is_auto and wished is None)
        self.automatic.setVisible(is_auto and wished is not None)
        self._show_cache(chosen, settings.cache_type if settings else "")
        slots = settings.n_parallel if settings else 1
        self._show_parallel(chosen.wishes.n_parallel if is_auto else slots, current)
        n_gpus = len(machine.gpus) if machine and uses_gpus else 0
        self.advanced.show_plan(chosen, settings, machine.cpu if machine else None, n_gpus)

    def show_served(self, model: LocalModel, engine: str) -> None:
        """A checkpoint is planned: what can be chosen of it is in ``served``."""
        self._show_model(model)
        self.show_engine(engine)

    def set_changed(self, *, changed: bool) -> None:
        """Whether there is something to take back."""
        self.reset.setEnabled(changed)

    def retranslate(self) -> None:
        """Set the words; the page shows the plan again afterwards."""
        self.header.set_title(self.tr("Plan"))
        self.reset.setText(self.tr("Reset"))
        self.reset.setToolTip(self.tr("Leave everything to the planner again"))
        self._model_field.set_label(self.tr("Model"))
        self._engine_field.set_label(self.tr("Engine"))
        self.show_engine(self._engine_name)
        self._quantization_label.setText(self.tr("Quantization"))
        self.quantizations.setAccessibleName(self.tr("Quantization"))
        self._profile_field.set_label(self.tr("Profile"))
        self.profile.set_options(
            [(each.value, message(f"plan.profile.{each.value}", language())) for each in Profile]
        )
        self.placement.retranslate()
        self.context.set_label(self.tr("Context"))
        self.automatic.setText(self.tr("Automatic"))
        self.automatic.setToolTip(self.tr("Let the planner choose the context again"))
        self._cache_field.set_label(self.tr("KV type"))
        self._parallel_field.set_label(self.tr("Parallel chats"))
        self.advanced.retranslate()
        self.options.retranslate()

    # inside

    def _show_model(self, model: LocalModel) -> None:
        self._model = model
        self.model.choose(choices.family_key(model))
        self.served.setVisible(model.is_served)
        self._loaded.setVisible(not model.is_served)

    def _arrange(self) -> None:
        self.header.add(self.reset)
        heads = QHBoxLayout()
        heads.setSpacing(16)
        heads.addWidget(self._model_field, 1)
        heads.addWidget(self._engine_field, 1)
        quantization = QVBoxLayout()
        quantization.setSpacing(4)
        quantization.addWidget(self._quantization_label)
        quantization.addWidget(self.quantizations)
        kinds = QHBoxLayout()
        kinds.setSpacing(16)
        kinds.addWidget(self._cache_field, 2, Qt.AlignmentFlag.AlignTop)
        kinds.addWidget(self._parallel_field, 1, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 24)
        layout.setSpacing(16)
        layout.addWidget(self.header)
        layout.addSpacing(-8)
        layout.addLayout(heads)
        layout.addWidget(self._loaded)
        layout.addWidget(self.served)
        layout.addStretch(1)
        loaded = QVBoxLayout(self._loaded)
        loaded.setContentsMargins(0, 0, 0, 0)
        loaded.setSpacing(16)
        loaded.addLayout(quantization)
        loaded.addWidget(self._profile_field)
        loaded.addWidget(self.placement)
        loaded.addWidget(self.context)
        loaded.addLayout(kinds)
        loaded.addWidget(self.advanced)
        loaded.addWidget(self.options)
        self.served.hide()

    def _connect(self) -> None:
        self.reset.clicked.connect(self.reset_wanted)
        self.model.activated.connect(self._on_family)
        self.engine.activated.connect(self._on_engine)
        self.quantizations.chosen.connect(self.model_chosen)
        self.placement.engine_choice_wanted.connect(self.engine_choice_wanted)
        self.profile.chosen.connect(self.profile_chosen)
        self.context.value_changed.connect(
            lambda place: self.field_changed.emit("context", self._steps[place])
        )
        self.automatic.clicked.connect(lambda: self.field_changed.emit("context", None))
        self.cache_type.chosen.connect(
            lambda key: self.field_changed.emit("cache_type", key or None)
        )
        self.parallel.activated.connect(
            lambda: self.field_changed.emit("n_parallel", self.parallel.currentData())
        )
        self.advanced.changed.connect(self.field_changed)

    def _on_family(self, place: int) -> None:
        """Another model: the quantization of the same name if it is there, else the largest."""
        members = self._families[place].models
        had = self._model.facts.quantization if self._model and self._model.facts else ""
        same = [model for model in members if model.facts and model.facts.quantization == had]
        self.model_chosen.emit((same or members)[0].id)

    def show_engine(self, name: str) -> None:
        """What would run the plan; another one is chosen in the settings."""
        self._engine_name = name
        texts = (name or self.tr("Not installed"), self.tr("Choose another…"))
        if texts != tuple(self.engine.itemText(at) for at in range(self.engine.count())):
            self.engine.clear()
            self.engine.addItems(texts)
        self.engine.setCurrentIndex(0)

    def _on_engine(self, place: int) -> None:
        self.engine.setCurrentIndex(0)
        if place:
            self.engine_choice_wanted.emit()

    def _show_context(self, trained: int, current: int, *, open_: bool) -> None:
        slider = self.context.slider
        if slider.isSliderDown() and current in self._steps:
            steps = self._steps  # nothing shifts below the hand
        else:
            steps = choices.context_steps(trained, current)
        slider.blockSignals(True)
        self._steps = steps
        self.context.set_range(0, len(steps) - 1)
        self.context.set_value(steps.index(current))
        self.context.set_ticks(
            [(at, format_context(step)) for at, step in choices.context_ticks(steps)]
        )
        slider.blockSignals(False)
        slider.update()
        text = self.tr("{count} tokens, automatic") if open_ else self.tr("{count} tokens")
        self.context.set_value_text(text.format(count=format_count(current)))

    def _show_cache(self, chosen: PlanChoices, found: str) -> None:
        is_auto = chosen.settings is None
        key = (chosen.wishes.cache_type or OPEN) if is_auto else found
        names = [*dict.fromkeys((*choices.CACHE_TYPES, key or choices.CACHE_TYPES[0]))]
        options = [(name, name) for name in names]
        if is_auto:
            options.insert(0, (OPEN, self.tr("Auto")))
        self.cache_type.set_options(options)
        self.cache_type.choose(key)
        note = self.tr("{type}, chosen by the planner").format(type=found)
        self._cache_field.set_note(note if is_auto and not key and found else "")

    def _show_parallel(self, slots: int, context: int) -> None:
        counts = sorted({*choices.PARALLEL_CHATS, slots})
        there = [self.parallel.itemData(at) for at in range(self.parallel.count())]
        if there != counts:
            self.parallel.clear()
            for count in counts:
                self.parallel.addItem(str(count), count)
        self.parallel.choose(slots)
        note = ""
        if slots > 1:
            each = context // slots
            note = self.tr("{count} tokens each").format(count=format_count(each))
        self._parallel_field.set_note(note)
