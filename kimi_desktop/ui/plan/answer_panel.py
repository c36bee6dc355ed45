"""The right of the Plan page: verdict, memory, speed, command line, changes, reasons. Qt."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.types import PlanWords, PricedLoad, Remedial
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.types import ExactCheck
from kimi_desktop.ui.language import language
from kimi_desktop.ui.plan.change_list import ChangeList
from kimi_desktop.ui.plan.speed_view import SpeedView
from kimi_desktop.ui.plan.verdict import chip_words, verdict_of
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.card import Divider, Heading
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.command_view import CommandView
from kimi_desktop.ui.widgets.device_list import DeviceList
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.reasons import Reasons
from kimi_desktop.ui.widgets.toggle import CheckBox

COPIED_MS = 1500


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan with everything that is said about it."""

    model_id: str
    priced: PricedLoad | None
    """None: there is no forecast, and ``error`` says why."""
    words: PlanWords | None
    changes: tuple[Remedial, ...]
    """What would be if one thing were another."""
    error: KimiError | None
    command: tuple[str, ...]
    command_error: KimiError | None
    """Why there is no command."""
    is_running: bool
    """The engine runs exactly this plan."""


class AnswerPanel(QWidget):
    """``start_wanted``: carry the plan out. ``change_wanted``: plan with a change of the list."""

    start_wanted = Signal()
    change_wanted = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._answer: Answer | None = None
        self.chip = Chip()
        self.estimate = Chip()
        self.checked = Chip()
        self.checked.hide()
        self._check: ExactCheck | None = None
        self.start = Button(kind=ButtonKind.PRIMARY, icon="play")
        self.anyway = CheckBox()
        self.failure = QVBoxLayout()
        """Where the page puts what went wrong."""
        self.sentence = Label(size=TextSize.HEADING, weight=SEMIBOLD, wrap=True)
        self.detail = Label(tone="muted", wrap=True)
        self.changes_title = Heading()
        self.changes = ChangeList()
        self.devices = DeviceList()
        self.speed = SpeedView()
        self._under_speed = Divider()
        self._command_title = Heading()
        self.command = CommandView()
        self.no_command = Label(tone="bad", wrap=True)
        self.no_command.hide()
        self.copy = Button(icon="copy", small=True)
        self.what_if_title = Heading()
        self.what_if = ChangeList()
        self._what_if = QWidget()
        self.reasons = Reasons()
        self._forecast = QWidget()
        """What needs a forecast."""
        self._copied = QTimer(self)
        self._copied.setSingleShot(True)
        self._copied.setInterval(COPIED_MS)
        self._arrange()
        self.start.clicked.connect(self.start_wanted)
        self.anyway.toggled.connect(self._show_start)
        self.copy.clicked.connect(self._on_copy)
        self.changes.chosen.connect(self.change_wanted)
        self.what_if.chosen.connect(self.change_wanted)
        self._copied.timeout.connect(self._show_copy)
        self.retranslate()

    def show_answer(self, answer: Answer) -> None:
        """Show a plan; called on every move of a slider."""
        before = self._answer
        self._answer = answer
        priced, words = answer.priced, answer.words
        self._forecast.setVisible(priced is not None)
        self.reasons.setVisible(priced is not None)
        if priced is not None and words is not None:
            self._show_priced(priced, words)
        else:
            self._show_none(answer.error)
        self.what_if.show_changes(answer.changes)
        self._what_if.setVisible(bool(answer.changes))
        self._show_command(answer)
        if before is None or before.model_id != answer.model_id:
            self.anyway.setChecked(False)
        self._show_start()

    def show_check(self, check: ExactCheck | None) -> None:
        """What the engine itself says about the plan shown; None = it was not asked."""
        self._check = check
        self.checked.setVisible(check is not None)
        if check is None:
            return
        if check.agrees:
            self.checked.show_verdict(Verdict.CHECKED, self.tr("Checked by the engine"))
            tip = self.tr("{build} would allocate the same, as its own dry run says.")
        else:
            word = self.tr("The engine differs by {size}")
            size = format_gib(check.largest_difference_bytes)
            self.checked.show_verdict(Verdict.WARN, word.format(size=size))
            tip = self.tr("{build} would allocate otherwise, as its own dry run says.")
        self.checked.setToolTip(tip.format(build=check.build))

    def retranslate(self) -> None:
        """Set the words; the page shows its answer again."""
        self.estimate.show_verdict(Verdict.UNKNOWN, self.tr("Estimate"))
        self.anyway.setText(self.tr("Load anyway"))
        self._command_title.setText(self.tr("Command line"))
        self.command.set_label(self.tr("Command line"))
        self.changes_title.setText(self.tr("What helps"))
        self.what_if_title.setText(self.tr("If you change one thing"))
        self.reasons.retranslate()
        self.show_check(self._check)
        self._show_copy()
        self._show_start()

    def _arrange(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.chip)
        head.addWidget(self.estimate)
        head.addWidget(self.checked)
        head.addStretch(1)
        head.addWidget(self.start)
        forecast = QVBoxLayout(self._forecast)
        forecast.setContentsMargins(0, 0, 0, 0)
        forecast.setSpacing(8)
        forecast.addWidget(self.changes_title)
        forecast.addWidget(self.changes)
        forecast.addWidget(self.devices)
        forecast.addSpacing(2)
        forecast.addWidget(Divider())
        forecast.addWidget(self.speed)
        forecast.addWidget(self._under_speed)
        what_if = QVBoxLayout(self._what_if)
        what_if.setContentsMargins(0, 0, 0, 0)
        what_if.setSpacing(8)
        what_if.addWidget(Divider())
        what_if.addWidget(self.what_if_title)
        what_if.addWidget(self.what_if)
        command_head = QHBoxLayout()
        command_head.addWidget(self._command_title)
        command_head.addStretch(1)
        command_head.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(8)
        layout.addLayout(head)
        # In a row of its own: beside the button a wide font would not fit the narrowest window.
        layout.addWidget(self.anyway, alignment=Qt.AlignmentFlag.AlignRight)
        layout.addLayout(self.failure)
        layout.addWidget(self.sentence)
        layout.addWidget(self.detail)
        layout.addSpacing(4)
        layout.addWidget(self._forecast)
        layout.addLayout(command_head)
        layout.addWidget(self.command)
        layout.addWidget(self.no_command)
        layout.addWidget(self._what_if)
        layout.addWidget(self.reasons)
        layout.addStretch(1)

    def _show_priced(self, priced: PricedLoad, words: PlanWords) -> None:
        self.chip.show_verdict(verdict_of(priced), chip_words(priced))
        self.chip.show()
        self.estimate.setVisible(not priced.plan.forecast.exact)
        _set(self.sentence, words.headline)
        # What is short comes before why things are where they are.
        _set(self.detail, " ".join(words.missing or words.reasons[:1]))
        self.changes.show_changes(words.remedies)
        self.changes.setVisible(bool(words.remedies))
        self.changes_title.setVisible(bool(words.remedies))
        self.devices.show_devices(priced.plan.forecast.devices)
        self.speed.show_speed(priced, words)
        for widget in (self.speed, self._under_speed):
            widget.setVisible(priced.plan.can_start)
        self.reasons.show_reasons(words.reasons if words.missing else words.reasons[1:])

    def _show_none(self, error: KimiError | None) -> None:
        """No forecast: not yet, or for a reason."""
        self.chip.setVisible(error is not None)
        self.chip.show_verdict(Verdict.UNKNOWN, self.tr("No forecast"))
        self.estimate.hide()
        cause, advice = describe_error(error, language()) if error is not None else ("", "")
        _set(self.sentence, cause)
        _set(self.detail, advice)

    def _show_command(self, answer: Answer) -> None:
        error = answer.command_error
        self.command.show_command(answer.command)
        self.command.setVisible(error is None)
        self.copy.setEnabled(error is None and bool(answer.command))
        self.no_command.setVisible(error is not None)
        if error is not None:
            self.no_command.setText(" ".join(describe_error(error, language())))

    def _show_start(self) -> None:
        """A plan that does not fit can be started all the same, after a tick."""
        answer = self._answer
        priced = answer.priced if answer is not None else None
        short = priced is not None and not priced.plan.fits
        running = answer is not None and answer.is_running
        self.anyway.setVisible(short and not running)
        self.start.setText(
            self.tr("Running with this plan") if running else self.tr("Start with this plan")
        )
        self.start.set_icon("check" if running else "play")
        self.start.setEnabled(
            answer is not None
            and bool(answer.command)
            and answer.command_error is None
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


def _set(label: Label, text: str) -> None:
    """A label that takes no room when it says nothing; laid out anew only when it changed."""
    if label.text() != text:
        label.setText(text)
    label.setVisible(bool(text))
