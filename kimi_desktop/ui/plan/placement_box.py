"""Who places the layers, and the sliders that say where they are. Qt thread.

In Auto the sliders show, in grey, what the planner chose; taking one of them takes the placement
over from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.ui.plan import choices
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Heading
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.slider import SliderRow

AUTO, MANUAL = "auto", "manual"
MODE_WIDTH = 144


class PlacementBox(QWidget):
    """The head with its switch, and the two sliders."""

    mode_chosen = Signal(str)
    """AUTO or MANUAL."""
    placed = Signal(object, object)
    """Layers on GPUs, and blocks (from block 0) whose experts stay in RAM; None = as they are."""
    engine_choice_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._blocks: tuple[int, ...] = ()
        self._machine: Machine | None = None
        self._uses_gpus = True
        self._is_auto = True
        self._is_known = False
        """The sliders show a plan."""
        self._title = Heading()
        self._hint = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self.mode = Segmented([(AUTO, ""), (MANUAL, "")], small=True, stretch=True)
        self.mode.setFixedWidth(MODE_WIDTH)
        self.no_gpu = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        self.choose_engine = Button(kind=ButtonKind.SECONDARY, small=True)
        self.gpu_layers = SliderRow()
        self.expert_layers = SliderRow()
        self._arrange()
        self.mode.chosen.connect(self.mode_chosen)
        self.choose_engine.clicked.connect(self.engine_choice_wanted)
        self.gpu_layers.value_changed.connect(lambda _: self._on_moved(self.gpu_layers))
        self.expert_layers.value_changed.connect(lambda _: self._on_moved(self.expert_layers))

    def set_narrow(self, *, narrow: bool) -> None:
        """Where two sliders have no room side by side, they stand one above the other."""
        self._sliders.setDirection(
            QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        )

    def show_machine(self, machine: Machine | None, *, uses_gpus: bool) -> None:
        """Which GPUs there are, and whether the engine was built for them."""
        self._machine, self._uses_gpus = machine, uses_gpus
        self._show_possible()

    def show_placement(
        self,
        facts: ModelFacts,
        settings: LoadSettings | None,
        experts_in_ram: Sequence[int],
        *,
        is_auto: bool,
    ) -> None:
        """Set every control, without telling.

        Args:
            facts: of the model.
            settings: what is planned; None while nothing is known.
            experts_in_ram: blocks.
            is_auto: the planner owns it.
        """
        self._is_auto, self._is_known = is_auto, settings is not None
        self._blocks = choices.expert_blocks(facts)
        self.mode.choose(AUTO if is_auto else MANUAL)
        most = facts.n_layer + 1
        on_gpu = choices.gpu_layers(settings, facts) if settings else 0
        for row, total, value in (
            (self.gpu_layers, most, on_gpu),
            (self.expert_layers, len(self._blocks), len(experts_in_ram)),
        ):
            row.slider.blockSignals(True)
            row.set_range(0, total)
            if not row.slider.isSliderDown():
                row.set_value(value)
            row.set_ticks([(0, "0"), (total, str(total))])
            row.slider.blockSignals(False)
            row.slider.set_quiet(quiet=is_auto)
            row.slider.update()
            of = self.tr("{count} of {total}")
            row.set_value_text(of.format(count=value, total=total) if settings else "–")
        self._show_possible()

    def retranslate(self) -> None:
        """Set the words; values come with the next plan."""
        self._title.setText(self.tr("Placement"))
        self.mode.set_options([(AUTO, self.tr("Auto")), (MANUAL, self.tr("Manual"))])
        self.mode.set_label(self.tr("Placement"))
        self.mode.setFixedWidth(max(MODE_WIDTH, self.mode.sizeHint().width()))
        self.choose_engine.setText(self.tr("Choose an engine"))
        self.gpu_layers.set_label(self.tr("GPU layers"))
        self.expert_layers.set_label(self.tr("Expert layers in RAM"))
        self._show_possible()

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(12)
        head.addWidget(self._title)
        head.addWidget(self._hint, 1)
        head.addStretch(0)
        head.addWidget(self.mode)
        why = QHBoxLayout()
        why.setSpacing(12)
        why.addWidget(self.no_gpu, 1)
        why.addWidget(self.choose_engine)
        self._sliders = QHBoxLayout()
        self._sliders.setSpacing(16)
        self._sliders.addWidget(self.gpu_layers, 1)
        self._sliders.addWidget(self.expert_layers, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addLayout(why)
        layout.addLayout(self._sliders)

    def _on_moved(self, row: SliderRow) -> None:
        """Before the first plan the other slider shows nothing yet."""
        on_gpu: int | None = self.gpu_layers.value()
        in_ram: int | None = choices.n_cpu_moe_for(self._blocks, self.expert_layers.value())
        if not self._is_known and row is self.gpu_layers:
            in_ram = None
        elif not self._is_known:
            on_gpu = None
        self.placed.emit(on_gpu, in_ram)

    def _show_possible(self) -> None:
        """No GPU, no choice of layers; a model without experts has none to place."""
        has_gpu = bool(self._machine and self._machine.gpus)
        can_place = has_gpu and self._uses_gpus
        self.gpu_layers.setEnabled(can_place)
        self.expert_layers.setEnabled(can_place)
        self.expert_layers.setVisible(bool(self._blocks))
        self.no_gpu.setText("" if can_place else self._why_no_gpu())
        self.no_gpu.setVisible(not can_place and self._machine is not None)
        self.choose_engine.setVisible(has_gpu and not self._uses_gpus)
        self._hint.setText(
            self.tr("Set by the planner; move to take over.")
            if self._is_auto
            else self.tr("Set by you; nothing moves by itself.")
        )
        self._hint.setVisible(can_place)

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
            "hidden": self.tr("CUDA_VISIBLE_DEVICES hides the GPUs: everything runs from RAM."),
        }.get(
            note, self.tr("This machine has no GPU that is known here: everything runs from RAM.")
        )
