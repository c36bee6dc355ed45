"""Step 1: what this computer is, row by row, how fast, and what it is good for. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error, message
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.units import format_duration
from kimi_desktop.machine.types import (
    CheckRow,
    Machine,
    MachineProbed,
    MeasureProgressed,
    Result,
    Verdict,
)
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.widgets import chip
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Card, Divider
from kimi_desktop.ui.widgets.chip import Chip
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, ElidedLabel, Label, TextSize
from kimi_desktop.ui.widgets.message_bar import MessageBar
from kimi_desktop.ui.wizard.step import Step

CHIPS = {
    Result.PASSED: chip.Verdict.OK,
    Result.WARN: chip.Verdict.WARN,
    Result.FAILED: chip.Verdict.BAD,
    Result.UNKNOWN: chip.Verdict.UNKNOWN,
}
COLUMNS = (104, 112, 0, 232)
"""Widths of result, part, seen (the rest) and expected."""
ROW_HEIGHT, HEAD_HEIGHT = 56, 32


class MachineStep(Step):
    """Looks once when shown; Check again looks again."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._took_s: float | None = None
        self._looking = False
        self._measuring: Operation[Machine] | None = None
        self._has_measured = False
        self._doing = ""
        self.measure = Button(small=True)
        self.measure.clicked.connect(self._on_measure)
        self.again = Button(icon="refresh", small=True)
        self.again.clicked.connect(self._look)
        self.head.addWidget(self.measure, 0, Qt.AlignmentFlag.AlignBottom)
        self.head.addWidget(self.again, 0, Qt.AlignmentFlag.AlignBottom)
        self.head.setAlignment(self.note, Qt.AlignmentFlag.AlignBottom)
        self.problem = MessageBar("bad")
        self.problem.set_closable(closable=False)
        self.problem.hide()
        self._table = Card(padding=1)
        self._table.body.setSpacing(0)
        self._verdict = _VerdictCard()
        self.body.addWidget(self.problem)
        self.body.addWidget(self._table)
        self.body.addWidget(self._verdict)
        self.body.addStretch(1)
        self.rows: tuple[CheckRow, ...] = ()
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def title(self) -> str:
        """The step's name."""
        return self.tr("Your machine")

    def next_text(self) -> str:
        """The words on Next."""
        return self.tr("Next: what runs here")

    def enter(self) -> None:
        """Look, unless somebody did already; measure once what was never measured."""
        if self.bridge.services.machine.machine is None and not self._looking:
            self._look()
        self._measure_once()

    def showEvent(self, event: QShowEvent) -> None:
        """Nothing is measured behind the user's back."""
        super().showEvent(event)
        self._measure_once()

    def retranslate(self) -> None:
        """Set the words, the rows' too."""
        super().retranslate()
        self.again.setText(self.tr("Check again"))
        self.measure.setText(
            self.tr("Cancel")
            if self._measuring is not None
            else self.tr("Measure again")
            if self._is_measured()
            else self.tr("Measure speeds")
        )
        self.measure.setEnabled(not self._looking)
        machine = self.bridge.services.machine.machine
        if machine is not None:
            self._show(machine)
        self._table.setVisible(machine is not None)
        self._verdict.setVisible(machine is not None)
        self._show_note()

    def _look(self) -> None:
        self._looking = True
        self.again.setEnabled(False)
        self.problem.hide()
        self._show_note()
        self.bridge.watch(
            self.bridge.services.machine.probe(), lambda _: self._ended(), self._on_failed
        )

    def _ended(self) -> None:
        self._looking = False
        self.again.setEnabled(True)
        self.retranslate()
        self._measure_once()

    def _on_failed(self, error: BaseException) -> None:
        self._ended()
        self.problem.show_message(*describe_error(error, language()))
        self.problem.show()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MachineProbed):
            self._took_s = event.took_s
            self.retranslate()
            self._measure_once()
        elif isinstance(event, MeasureProgressed) and self._measuring is not None:
            doing = message(f"machine.measuring.{event.part.value}", language())
            self._doing = self.tr("{doing}: {percent}%").format(
                doing=doing, percent=round(100 * event.share)
            )
            self._show_note()

    # bandwidths

    def _is_measured(self) -> bool:
        service = self.bridge.services.machine
        return service.machine is not None and not service.lacks_measures(service.machine)

    def _measure_once(self) -> None:
        """The first time that this step is seen on a machine that was never measured."""
        machine = self.bridge.services.machine.machine
        wanted = machine is not None and not self._has_measured and not self._is_measured()
        if wanted and self.isVisible() and not self._looking:
            self._measure()

    def _on_measure(self) -> None:
        if self._measuring is not None:
            self._measuring.cancel()
        else:
            self._measure()

    def _measure(self) -> None:
        self._has_measured = True
        self._doing = message("machine.measuring.ram", language())
        self._measuring = self.bridge.services.machine.measure()
        self.again.setEnabled(False)
        self.retranslate()
        self.bridge.watch(self._measuring, lambda _: self._end_measure(), self._on_measure_failed)

    def _end_measure(self) -> None:
        self._measuring = None
        self.again.setEnabled(True)
        self.retranslate()

    def _on_measure_failed(self, error: BaseException) -> None:
        self._end_measure()
        self.bridge.navigation.report(error)

    def _show_note(self) -> None:
        if self._measuring is not None:
            self.note.setText(self._doing)
        elif self._looking:
            self.note.setText(self.tr("Looking at processor, memory, GPUs and disks"))
        elif self._took_s is not None:
            text = self.tr("Checked in {time}")
            self.note.setText(text.format(time=format_duration(self._took_s, language())))
        else:
            self.note.setText("")

    def _show(self, machine: Machine) -> None:
        spoken = language()
        self.rows = self.bridge.services.machine.check_rows(machine, spoken)
        while (item := self._table.body.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        self._table.body.addWidget(_head_row())
        for row in self.rows:
            self._table.body.addWidget(Divider())
            self._table.body.addWidget(_check_row(row))
        self._verdict.show_verdict(self.bridge.services.machine.verdict(machine, spoken))


def _grid(height: int) -> tuple[QWidget, QGridLayout]:
    holder = QWidget()
    holder.setMinimumHeight(height)
    grid = QGridLayout(holder)
    grid.setContentsMargins(16, 0, 16, 0)
    grid.setHorizontalSpacing(16)
    for column, width in enumerate(COLUMNS):
        if width:
            grid.setColumnMinimumWidth(column, width)
        grid.setColumnStretch(column, 0 if width else 1)
    return holder, grid


def _head_row() -> QWidget:
    holder, grid = _grid(HEAD_HEIGHT)
    for column, key in enumerate(("result", "part", "seen", "expected")):
        text = message(f"machine.column.{key}", language())
        grid.addWidget(Label(text, size=TextSize.SMALL, tone="muted"), 0, column)
    return holder


def _check_row(row: CheckRow) -> QWidget:
    holder, grid = _grid(ROW_HEIGHT)
    result = message(f"machine.result.{row.result.value}", language())
    part = message(f"machine.part.{row.part}", language())
    mark = Chip(CHIPS[row.result], result)
    mark.setFixedWidth(96)
    seen = QVBoxLayout()
    seen.setSpacing(0)
    seen.addStretch(1)
    seen.addWidget(ElidedLabel(row.seen, weight=MEDIUM))
    if row.detail:
        seen.addWidget(ElidedLabel(row.detail, size=TextSize.SMALL, tone="muted"))
    seen.addStretch(1)
    expected = Label(row.expected, tone="muted", wrap=True)
    expected.setFixedWidth(COLUMNS[3])
    grid.addWidget(mark, 0, 0)
    grid.addWidget(Label(part, weight=SEMIBOLD), 0, 1)
    grid.addLayout(seen, 0, 2)
    grid.addWidget(expected, 0, 3)
    holder.setAccessibleName(f"{part}: {result}. {row.seen}. {row.detail}")
    return holder


class _VerdictCard(Card):
    """Which tier, in one sentence and one more."""

    def __init__(self) -> None:
        super().__init__(padding=14)
        self._tier = Chip(chip.Verdict.CHECKED, icon="", large=True)
        self._headline = Label(size=TextSize.MESSAGE, weight=SEMIBOLD, wrap=True)
        self._detail = Label(tone="muted", wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self._headline)
        texts.addWidget(self._detail)
        row = QHBoxLayout()
        row.setSpacing(16)
        row.addWidget(self._tier)
        row.addLayout(texts, 1)
        self.body.addLayout(row)

    def show_verdict(self, verdict: Verdict) -> None:
        text = message(
            "machine.tier", language(), number=verdict.tier_number, count=verdict.tier_count
        )
        self._tier.show_verdict(chip.Verdict.CHECKED, text)
        self._headline.setText(verdict.headline)
        self._detail.setText(verdict.detail)
