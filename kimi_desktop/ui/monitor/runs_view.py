"""The run notebook: every start of an engine, two of them side by side. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.diagnosis.types import KeptFailure
from kimi_desktop.monitor.run_types import RunRecord, RunsChanged, differences
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.monitor.run_failure import RunFailure
from kimi_desktop.ui.monitor.run_row import RunRow
from kimi_desktop.ui.monitor.run_words import (
    decode_words,
    first_token_words,
    load_words,
    memory_words,
    moment,
    prefill_words,
    setting_name,
    setting_words,
)
from kimi_desktop.ui.widgets.card import Card, Heading, ScrollPage
from kimi_desktop.ui.widgets.label import MEDIUM, REGULAR, Label, TextSize
from kimi_desktop.ui.widgets.message_bar import EmptyState

SHOWN = 100
MARGIN = 24


class RunsView(QWidget):
    """Reads the notebook while it is shown."""

    start_wanted = Signal(object)
    star_wanted = Signal(object, bool)
    graphs_wanted = Signal(object)

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._runs: tuple[RunRecord, ...] = ()
        self._ticked: list[int] = []
        self.compare = _Compare()
        self.compare.hide()
        self.failure = RunFailure(bridge)
        self.failure.start_wanted.connect(self.start_wanted)
        self.empty = EmptyState("clock")
        self._page = ScrollPage()
        self._list = QVBoxLayout()
        self._list.setSpacing(0)
        inside = self._page.widget()
        if inside is not None:  # the page around it has margins of its own
            inside.setContentsMargins(-MARGIN, 0, 0, 0)
        self._page.body.addWidget(self.failure)
        self._page.body.addWidget(self.compare)
        self._page.body.addLayout(self._list)
        self._page.body.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._page, 1)
        layout.addWidget(self.empty, 1)
        bridge.happened.connect(self._on_event)
        self.retranslate()

    def rows(self) -> tuple[RunRow, ...]:
        """As they are shown, the newest first."""
        items = (self._list.itemAt(place) for place in range(self._list.count()))
        found = (item.widget() for item in items if item is not None)
        return tuple(row for row in found if isinstance(row, RunRow))

    def retranslate(self) -> None:
        """Set the words."""
        self.empty.set_texts(
            self.tr("Every start of a model is noted here, with what was forecast and measured."),
            "",
        )
        self._fill()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def showEvent(self, event: QShowEvent) -> None:
        """Read the notebook."""
        super().showEvent(event)
        self.refresh()

    def refresh(self) -> None:
        """Read the notebook anew."""
        if self.isVisible():
            self._bridge.watch(self._bridge.services.notebook.runs(SHOWN), self._show)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, RunsChanged):
            self.refresh()

    def _show(self, runs: Sequence[RunRecord]) -> None:
        if tuple(runs) != self._runs:
            self._runs = tuple(runs)
            self._fill()

    def _fill(self) -> None:
        while (item := self._list.takeAt(0)) is not None:
            if (row := item.widget()) is not None:
                row.hide()
                row.deleteLater()
        notebook = self._bridge.services.notebook
        for run in self._runs:
            row = RunRow(run)
            row.tick.setChecked(run.id in self._ticked)
            row.ticked.connect(self._on_ticked)
            row.noted.connect(lambda number, text: notebook.annotate(number, note=text))
            row.starred.connect(self._on_starred)
            row.again_wanted.connect(self._on_again)
            row.graphs_wanted.connect(self._on_graphs)
            row.reasons_wanted.connect(self._on_reasons)
            row.deletion_wanted.connect(notebook.delete)
            self._list.addWidget(row)
        if self.failure.run_id not in {run.id for run in self._runs}:
            self.failure.hide()
        self._page.setVisible(bool(self._runs))
        self.empty.setVisible(not self._runs)
        self._show_compared()

    def _run(self, number: int) -> RunRecord | None:
        return next((run for run in self._runs if run.id == number), None)

    def _on_again(self, number: int) -> None:
        if (run := self._run(number)) is not None:
            self.start_wanted.emit(run)

    def _on_graphs(self, number: int) -> None:
        if (run := self._run(number)) is not None:
            self.graphs_wanted.emit(run)

    def _on_reasons(self, number: int) -> None:
        run = self._run(number)
        if run is None:
            return

        def show(kept: tuple[KeptFailure, ...]) -> None:
            if kept:
                self.failure.show_run(run, kept)
                self._page.verticalScrollBar().setValue(0)
            else:
                self._bridge.navigation.tell(self.tr("What was kept is of another version."))

        self._bridge.watch(
            self._bridge.services.diagnosis.of_run(run),
            show,
            self._bridge.navigation.report,
            owner=self,
        )

    def _on_starred(self, number: int, on: bool) -> None:
        self._bridge.services.notebook.annotate(number, starred=on)
        if (run := self._run(number)) is not None:
            self.star_wanted.emit(run, on)

    def _on_ticked(self) -> None:
        now = [row.run.id for row in self.rows() if row.tick.isChecked()]
        kept = [number for number in self._ticked if number in now]
        self._ticked = [*kept, *(number for number in now if number not in kept)][-2:]
        for row in self.rows():
            row.tick.setChecked(row.run.id in self._ticked)
        self._show_compared()

    def _show_compared(self) -> None:
        chosen = sorted(
            (run for run in self._runs if run.id in self._ticked), key=lambda run: run.started_at
        )
        self.compare.setVisible(len(chosen) == 2)
        if len(chosen) == 2:
            self.compare.show_runs(chosen[0], chosen[1])


class _Compare(Card):
    """What was set differently, and what it did to speed and memory."""

    def __init__(self) -> None:
        super().__init__()
        self._heading = Heading()
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(2, 1)
        self.body.addWidget(self._heading)
        self.body.addLayout(self._grid)

    def show_runs(self, first: RunRecord, second: RunRecord) -> None:
        """The older one at the left."""
        self._heading.setText(self.tr("What changed, and what it did"))
        rows = [
            ("", f"{first.title} {moment(first)}", f"{second.title} {moment(second)}"),
            *((setting_name(row.name), setting_words(row.first), setting_words(row.second))
              for row in differences(first, second)),
            (self.tr("Decode"), decode_words(first), decode_words(second) + _change(first, second)),
            (self.tr("Prefill"), prefill_words(first), prefill_words(second)),
            (self.tr("First token"), first_token_words(first), first_token_words(second)),
            (self.tr("Load"), load_words(first), load_words(second)),
            (self.tr("Memory"), memory_words(first), memory_words(second)),
        ]  # fmt: skip
        while (item := self._grid.takeAt(0)) is not None:
            if (cell := item.widget()) is not None:
                cell.hide()
                cell.deleteLater()
        for line, texts in enumerate(rows):
            for column, text in enumerate(texts):
                cell = Label(
                    text,
                    size=TextSize.SMALL,
                    tone="muted" if column == 0 else "text",
                    weight=MEDIUM if line == 0 else REGULAR,
                )
                cell.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                self._grid.addWidget(cell, line, column)

    def texts(self) -> list[list[str]]:
        """What it says, row by row."""
        found = []
        for line in range(self._grid.rowCount()):
            cells = [self._grid.itemAtPosition(line, column) for column in range(3)]
            words = [cell.widget() for cell in cells if cell is not None]
            if words:
                found.append([word.text() for word in words if isinstance(word, Label)])
        return found


def _change(first: RunRecord, second: RunRecord) -> str:
    before, after = first.measured.decode_tps, second.measured.decode_tps
    if not before or after is None:
        return ""
    return f" ({(after / before - 1) * 100:+.0f} %)"
