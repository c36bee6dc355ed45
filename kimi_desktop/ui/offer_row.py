"""A file that could run here as a row: what it is, whether it fits, how fast, how large. Qt."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.planner.offer_types import FileWords, OfferedFile, Use
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD, ElidedLabel, Label, TextSize

CHIPS = {
    Use.GOOD: Verdict.OK,
    Use.SLOW: Verdict.WARN,
    Use.TIGHT: Verdict.WARN,
    Use.DISK: Verdict.BAD,
    Use.NONE: Verdict.BAD,
    Use.UNKNOWN: Verdict.UNKNOWN,
}
COLUMNS = (0, 256, 176, 192)
"""Widths of name (the rest), verdict, speed and size."""
SLIM_COLUMNS = (0, 216, 176, 96)
"""The same beside a pane with the details."""
LEAST_NAME = 150
GAP = 16
ROW_HEIGHT, HEAD_HEIGHT = 56, 32


class OfferRow(QWidget):
    """Two lines; what a screen reader says is all of it in one sentence."""

    def __init__(
        self, parent: QWidget | None = None, *, columns: tuple[int, int, int, int] = COLUMNS
    ) -> None:
        super().__init__(parent)
        self._columns = columns
        self._title = ElidedLabel(weight=SEMIBOLD)
        self._below = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self.chip = Chip()
        self._spare = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self._speed = Label(weight=MEDIUM)
        self._waits = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self._size = Label(weight=MEDIUM)
        self._download = Label(size=TextSize.SMALL, tone="muted")
        for label in (self._size, self._download):
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        grid = offer_grid(self, ROW_HEIGHT, columns)
        chip = QHBoxLayout()
        chip.addWidget(self.chip)
        chip.addStretch(1)
        verdict = QVBoxLayout()
        verdict.setSpacing(2)
        verdict.addStretch(1)
        verdict.addLayout(chip)
        verdict.addWidget(self._spare)
        verdict.addStretch(1)
        cells = (
            _lines(self._title, self._below),
            verdict,
            _lines(self._speed, self._waits),
            _lines(self._size, self._download),
        )
        self._cells = [_cell(cell, columns[column]) for column, cell in enumerate(cells)]
        for column, cell in enumerate(self._cells):
            grid.addWidget(cell, 0, column)

    def show_offer(self, title: str, below: str, file: OfferedFile, words: FileWords) -> None:
        """Fill the row."""
        self._title.setText(title)
        self._below.setText(below)
        self._below.setVisible(bool(below))
        self.chip.show_verdict(CHIPS[file.use], words.fit)
        self._spare.setText(words.spare)
        self._spare.setVisible(bool(words.spare))
        self._speed.setText(words.decode)
        self._waits.setText(words.waits)
        for label in (self._speed, self._waits):
            label.setVisible(bool(words.decode))
        self._size.setText(words.size)
        slim = self._columns is not COLUMNS
        self._download.setText("" if slim and not file.lacks_disk else words.download)
        self._download.setVisible(bool(self._download.text()))
        self._download.set_tone("warn" if file.lacks_disk else "muted")
        said = (title, below, words.sentence or words.fit, words.decode, words.size, words.download)
        self.setAccessibleName(". ".join(filter(None, said)))
        self.setToolTip("\n".join(filter(None, (words.details, words.note))))

    def show_text(self, text: str) -> None:
        """A sentence instead of a file."""
        self._title.setText(text)
        self._title.set_tone("muted")
        for widget in (self._below, *self._cells[1:]):
            widget.hide()
        self._columns = (0, 0, 0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The size gives way before the name; the details have it."""
        super().resizeEvent(event)
        taken = sum(self._columns) + 3 * GAP + 2 * GAP
        if any(self._columns):
            self._cells[-1].setVisible(self.width() - taken >= LEAST_NAME)

    def title(self) -> str:
        """What the row is about."""
        return self._title.full_text()


def offer_grid(
    holder: QWidget, height: int, columns: tuple[int, int, int, int] = COLUMNS
) -> QGridLayout:
    """The columns of a row, or of the head above the rows."""
    holder.setMinimumHeight(height)
    grid = QGridLayout(holder)
    grid.setContentsMargins(GAP, 0, GAP, 0)
    grid.setHorizontalSpacing(GAP)
    for column, width in enumerate(columns):
        grid.setColumnStretch(column, 0 if width else 1)
    return grid


def offer_head(texts: tuple[str, str, str, str]) -> QWidget:
    """The head of the columns."""
    holder = QWidget()
    grid = offer_grid(holder, HEAD_HEIGHT)
    for column, text in enumerate(texts):
        label = Label(text, size=TextSize.SMALL, tone="muted")
        if column == len(texts) - 1:
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        if COLUMNS[column]:
            label.setFixedWidth(COLUMNS[column])
        grid.addWidget(label, 0, column)
    return holder


def _cell(layout: QVBoxLayout, width: int) -> QWidget:
    """As wide as its column, whatever stands in it: rows are grids of their own."""
    holder = QWidget()
    layout.setContentsMargins(0, 0, 0, 0)
    holder.setLayout(layout)
    if width:
        holder.setFixedWidth(width)
    return holder


def _lines(*labels: QWidget) -> QVBoxLayout:
    column = QVBoxLayout()
    column.setSpacing(0)
    column.addStretch(1)
    for label in labels:
        column.addWidget(label)
    column.addStretch(1)
    return column
