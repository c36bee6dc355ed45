"""The right of the Plan page: verdict, memory per device, what is known, command line. Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import format_count, format_file_size, format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from kimi_desktop.ui.language import language
from kimi_desktop.ui.plan.choice_panel import Plan
from kimi_desktop.ui.plan.command_view import CommandView
from kimi_desktop.ui.plan.device_view import DeviceView
from kimi_desktop.ui.plan.verdict import Answer
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Divider, Heading
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.toggle import CheckBox

COPIED_MS = 1500


@dataclass(frozen=True, slots=True)
class Priced:
    """A plan with everything that is said about it."""

    plan: Plan
    forecast: LoadForecast
    answer: Answer
    command: tuple[str, ...]
    command_error: KimiError | None
    """Why there is no command."""
    is_running: bool
    """The engine runs exactly this plan."""


class AnswerPanel(QWidget):
    """``start_wanted`` fires when the user wants the plan carried out."""

    start_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._priced: Priced | None = None
        self._machine: Machine | None = None
        self.chip = Chip()
        self.estimate = Chip()
        self.start = Button(kind=ButtonKind.PRIMARY, icon="play")
        self.anyway = CheckBox()
        self.sentence = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self.advice = Label(tone="muted", wrap=True)
        self.advice.hide()
        self._devices: list[DeviceView] = []
        self._device_box = QVBoxLayout()
        self._facts = _Facts()
        self._command_title = Heading()
        self.command = CommandView()
        self.no_command = Label(tone="bad", wrap=True)
        self.no_command.hide()
        self.copy = Button(icon="copy", small=True)
        self._copied = QTimer(self)
        self._copied.setSingleShot(True)
        self._copied.setInterval(COPIED_MS)
        self._arrange()
        self.start.clicked.connect(self.start_wanted)
        self.anyway.toggled.connect(self._show_start)
        self.copy.clicked.connect(self._on_copy)
        self._copied.timeout.connect(self._show_copy)
        self.retranslate()

    def show_machine(self, machine: Machine | None) -> None:
        """Whose totals and free memory are shown."""
        self._machine = machine

    def show_priced(self, priced: Priced) -> None:
        """Show a plan; called on every move of a slider."""
        before = self._priced
        self._priced = priced
        answer = priced.answer
        self.chip.show_verdict(answer.verdict, answer.word)
        self.estimate.setVisible(not priced.forecast.exact)
        if self.sentence.text() != answer.sentence:
            self.sentence.setText(answer.sentence)
        if self.advice.text() != answer.advice:
            self.advice.setText(answer.advice)
            self.advice.setVisible(bool(answer.advice))
        self._show_devices(priced.forecast.devices)
        self._facts.show_plan(priced, self._machine)
        self._show_command(priced)
        if before is None or before.plan.model.id != priced.plan.model.id:
            self.anyway.setChecked(False)
        self._show_start()

    def device_views(self) -> tuple[DeviceView, ...]:
        """The devices shown, GPUs first."""
        return tuple(view for view in self._devices if not view.isHidden())

    def facts(self) -> dict[str, tuple[str, str]]:
        """Title -> (value, note) of the facts shown."""
        return self._facts.shown()

    def retranslate(self) -> None:
        """Set the words; the page prices again."""
        self.estimate.show_verdict(Verdict.UNKNOWN, self.tr("Estimate"))
        self.anyway.setText(self.tr("Load anyway"))
        self._command_title.setText(self.tr("Command line"))
        self.command.set_label(self.tr("Command line"))
        self._facts.retranslate()
        self._show_copy()
        self._show_start()

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.chip)
        head.addWidget(self.estimate)
        head.addStretch(1)
        head.addWidget(self.start)
        command_head = QHBoxLayout()
        command_head.addWidget(self._command_title)
        command_head.addStretch(1)
        command_head.addWidget(self.copy)
        self._device_box.setSpacing(10)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(8)
        layout.addLayout(head)
        # In a row of its own: beside the button a wide font would not fit the narrowest window.
        layout.addWidget(self.anyway, alignment=Qt.AlignmentFlag.AlignRight)
        layout.addSpacing(4)
        layout.addWidget(self.sentence)
        layout.addWidget(self.advice)
        layout.addSpacing(4)
        layout.addLayout(self._device_box)
        layout.addSpacing(2)
        layout.addWidget(Divider())
        layout.addWidget(self._facts)
        layout.addWidget(Divider())
        layout.addLayout(command_head)
        layout.addWidget(self.command)
        layout.addWidget(self.no_command)
        layout.addStretch(1)

    def _show_devices(self, devices: Sequence[DeviceMemory]) -> None:
        while len(self._devices) < len(devices):
            view = DeviceView()
            self._devices.append(view)
            self._device_box.addWidget(view)
        for view, device in zip(self._devices, devices, strict=False):
            view.show_device(device)
            view.show()
        for view in self._devices[len(devices) :]:
            view.hide()

    def _show_command(self, priced: Priced) -> None:
        error = priced.command_error
        self.command.show_command(priced.command)
        self.command.setVisible(error is None)
        self.copy.setEnabled(error is None)
        self.no_command.setVisible(error is not None)
        if error is not None:
            self.no_command.setText(" ".join(describe_error(error, language())))

    def _show_start(self) -> None:
        """A plan that does not fit can be started all the same, after a tick."""
        priced = self._priced
        short = priced is not None and priced.answer.verdict is Verdict.BAD
        running = priced is not None and priced.is_running
        self.anyway.setVisible(short and not running)
        self.start.setText(
            self.tr("Running with this plan") if running else self.tr("Start with this plan")
        )
        self.start.set_icon("check" if running else "play")
        self.start.setEnabled(
            priced is not None
            and priced.command_error is None
            and not running
            and (not short or self.anyway.isChecked())
        )
        self.start.setToolTip(
            self.tr("Tick “Load anyway” to start a plan that does not fit")
            if short and not running and not self.anyway.isChecked()
            else ""
        )

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command.line())
        self._copied.start()
        self._show_copy()

    def _show_copy(self) -> None:
        done = self._copied.isActive()
        self.copy.set_icon("check" if done else "copy")
        self.copy.setText(self.tr("Copied") if done else self.tr("Copy"))


class _Facts(QWidget):
    """What is known besides the bars: file, cache, free memory. Two columns."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, 1)
        self._file, self._cache, self._memory, self._vram = (_Fact() for _ in range(4))
        for place, fact in enumerate((self._file, self._cache, self._memory, self._vram)):
            self._grid.addWidget(fact, place // 2, place % 2, Qt.AlignmentFlag.AlignTop)

    def show_plan(self, priced: Priced, machine: Machine | None) -> None:
        model, facts = priced.plan.model, priced.plan.model.facts
        assert facts is not None  # families have only such models
        weights = self.tr("{size} of weights").format(size=format_gib(facts.weights_bytes))
        parts = self.tr("{count} files").format(count=model.parts_total)
        note = f"{parts} · {weights}" if model.parts_total > 1 else weights
        self._file.show_fact(format_file_size(model.size_bytes), note)
        cache = sum(device.kv_bytes for device in priced.forecast.devices)
        per_token = self.tr("{count} bytes per token at f16")
        self._cache.show_fact(
            format_gib(cache),
            per_token.format(count=format_count(facts.kv_bytes_per_token))
            if facts.kv_bytes_per_token
            else "",
        )
        self._show_memory(machine)

    def _show_memory(self, machine: Machine | None) -> None:
        self._memory.setVisible(machine is not None)
        self._vram.setVisible(machine is not None and bool(machine.gpus))
        if machine is None:
            return
        of = self.tr("of {size}")
        memory = machine.memory
        free = min(memory.available_bytes, memory.usable_total_bytes)
        self._memory.show_fact(
            format_gib(free), of.format(size=format_gib(memory.usable_total_bytes))
        )
        if machine.gpus:
            self._vram.show_fact(
                format_gib(sum(gpu.vram_free_bytes for gpu in machine.gpus)),
                of.format(size=format_gib(machine.vram_total_bytes)),
            )

    def shown(self) -> dict[str, tuple[str, str]]:
        facts = (self._file, self._cache, self._memory, self._vram)
        return {fact.title(): fact.shown() for fact in facts if not fact.isHidden()}

    def retranslate(self) -> None:
        self._file.set_title(self.tr("File size"))
        self._cache.set_title(self.tr("KV cache"))
        self._memory.set_title(self.tr("RAM free now"))
        self._vram.set_title(self.tr("VRAM free now"))


class _Fact(QWidget):
    """A muted title, a strong value, a muted note below."""

    def __init__(self) -> None:
        super().__init__()
        self._title = Label(tone="muted", size=TextSize.SMALL)
        self._value = Label(size=TextSize.HEADING, weight=SEMIBOLD)
        self._note = Label(tone="muted", size=TextSize.SMALL, wrap=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._title)
        layout.addWidget(self._value)
        layout.addWidget(self._note)

    def set_title(self, title: str) -> None:
        self._title.setText(title)

    def title(self) -> str:
        return self._title.text()

    def shown(self) -> tuple[str, str]:
        return self._value.text(), self._note.text()

    def show_fact(self, value: str, note: str) -> None:
        if self.shown() != (value, note):
            self._value.setText(value)
            self._note.setText(note)
            self._note.setVisible(bool(note))
            self.setAccessibleName(f"{self.title()}: {value} {note}".strip())
