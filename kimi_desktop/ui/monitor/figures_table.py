"""What an experiment measured, as figures: value by value, or engines side by side. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.units import format_latency, format_tokens_per_s
from kimi_desktop.monitor.experiment_types import Experiment, Point
from kimi_desktop.ui.language import language
from kimi_desktop.ui.monitor.run_words import NONE
from kimi_desktop.ui.widgets.label import MEDIUM, REGULAR, Label, TextSize

MOST_COLUMNS = 7
OF_AN_ENGINE = 3
"""Columns: together, per user, first token."""


class FiguresTable(QWidget):
    """Its owner fills it again when the language changes."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(MOST_COLUMNS, 1)

    def show_points(self, name: str, points: Sequence[Point]) -> None:
        """One variable, value by value; ``name`` is the variable's."""
        self._clear()
        head = (
            name,
            self.tr("Prefill"),
            self.tr("Decode"),
            self.tr("First token"),
            self.tr("Load"),
        )
        for column, text in enumerate(head):
            self._cell(text, 0, column, head=True)
        for line, point in enumerate(points, start=1):
            self._cell(point.value, line, 0)
            if point.error is not None:
                self._error(point, line, 1, MOST_COLUMNS - 1)
                continue
            texts = (
                _rate(point.prefill_tps),
                _rate(point.decode_tps),
                _seconds(point.first_token_s),
                _seconds(point.load_s),
            )
            for column, text in enumerate(texts, start=1):
                self._cell(text, line, column)

    def show_users(
        self,
        name: str,
        each: Sequence[Experiment],
        rows: Sequence[tuple[str, Sequence[Point | None]]],
    ) -> None:
        """Users at once: a row for each number of them, all engines side by side."""
        self._clear()
        self._cell(name, 1, 0, head=True)
        for place, one in enumerate(each):
            first = OF_AN_ENGINE * place + 1
            self._cell(one.engine or one.title, 0, first, head=True, columns=OF_AN_ENGINE)
            head = (self.tr("Together"), self.tr("Per user"), self.tr("First token"))
            for column, text in enumerate(head, start=first):
                self._cell(text, 1, column, head=True)
        for line, (count, points) in enumerate(rows, start=2):
            self._cell(count, line, 0)
            for place, point in enumerate(points):
                self._of_engine(point or Point(""), line, OF_AN_ENGINE * place + 1)

    def texts(self) -> list[list[str]]:
        """What it says, row by row; a cell over several columns stands there once."""
        found = []
        for line in range(self._grid.rowCount()):
            cells: dict[QWidget, str] = {}
            for column in range(self._grid.columnCount()):
                item = self._grid.itemAtPosition(line, column)
                label = item.widget() if item is not None else None
                if isinstance(label, Label):
                    cells.setdefault(label, label.text())
            if cells:
                found.append(list(cells.values()))
        return found

    def _of_engine(self, point: Point, line: int, first: int) -> None:
        if point.error is not None:
            self._error(point, line, first, OF_AN_ENGINE)
            return
        texts = _rate(point.total_tps), _rate(point.decode_tps), _seconds(point.first_token_s)
        for column, text in enumerate(texts, start=first):
            self._cell(text, line, column)

    def _error(self, point: Point, line: int, first: int, columns: int) -> None:
        if point.error is not None:
            text = describe_error(point.error, language())[0]
            self._cell(text, line, first, columns=columns, tone="bad")

    def _clear(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (cell := item.widget()) is not None:
                cell.hide()
                cell.deleteLater()

    def _cell(
        self,
        text: str,
        line: int,
        place: int,
        *,
        head: bool = False,
        columns: int = 1,
        tone: str = "text",
    ) -> None:
        cell = Label(
            text,
            size=TextSize.SMALL,
            tone="muted" if head else tone,
            weight=MEDIUM if place == 0 and not head else REGULAR,
        )
        cell.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._grid.addWidget(cell, line, place, 1, columns)


def _rate(value: float | None) -> str:
    return NONE if value is None else format_tokens_per_s(value, language())


def _seconds(value: float | None) -> str:
    return NONE if value is None else format_latency(value, language())
