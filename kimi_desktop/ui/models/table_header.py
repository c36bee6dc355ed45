"""The head of the library's table: names of the columns, an arrow at the sorted one. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter
from PySide6.QtWidgets import QHeaderView, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.models.table_model import SORTABLE, Column, LibraryTableModel
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import SMALL_PX
from kimi_desktop.ui.widgets.label import MEDIUM

HEIGHT = 32
PADDING = 12
ARROW = 12
RIGHT_ALIGNED = frozenset({Column.PARTS, Column.SIZE, Column.CONTEXT})

WIDTHS = {
    Column.QUANTIZATION: 112,
    Column.PARTS: 68,
    Column.SIZE: 88,
    Column.ARCHITECTURE: 108,
    Column.CONTEXT: 88,
    Column.VERIFIED: 104,
    Column.STATE: 124,
    Column.ACTIONS: 72,
}
LEAST_NAME = 180
GIVE_WAY = (Column.ARCHITECTURE, Column.CONTEXT, Column.PARTS, Column.VERIFIED)
"""Columns that hide when there is no room, in this order; the details have them all."""


def hidden_columns(width: int) -> frozenset[Column]:
    """What has to hide at this width so that the name keeps its room."""
    hidden: set[Column] = set()
    for column in GIVE_WAY:
        if width - sum(w for c, w in WIDTHS.items() if c not in hidden) >= LEAST_NAME:
            break
        hidden.add(column)
    return frozenset(hidden)


class TableHeader(QHeaderView):
    """A click sorts by the column, another one turns the order round."""

    sort_wanted = Signal(object, bool)

    def __init__(self, model: LibraryTableModel, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._model = model
        self.setStretchLastSection(False)
        self.setMinimumSectionSize(24)
        self.setFixedHeight(HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setProperty("bare", True)
        self.sectionClicked.connect(self._on_clicked)

    def sizeHint(self) -> QSize:
        """One line."""
        return QSize(super().sizeHint().width(), HEIGHT)

    def paintSection(self, painter: QPainter, rect: QRect, section: int) -> None:
        """Name, arrow, and the line below."""
        t = tokens()
        column = Column(section)
        painter.save()
        painter.fillRect(rect, color(t.panel))
        painter.fillRect(QRect(rect.x(), rect.bottom(), rect.width(), 1), color(t.line))
        sorted_by, descending = self._model.sorting
        font = ui_font(SMALL_PX, MEDIUM)
        painter.setFont(font)
        painter.setPen(color(t.text if column is sorted_by else t.muted))
        place = rect.adjusted(PADDING, 0, -PADDING, 0)
        name = self._model.column_name(column)
        text_width = min(QFontMetrics(font).horizontalAdvance(name), place.width())
        right = column in RIGHT_ALIGNED
        side = Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft
        painter.drawText(place, side | Qt.AlignmentFlag.AlignVCenter, name)
        if column is sorted_by and name:
            x = place.right() - text_width - ARROW - 3 if right else place.x() + text_width + 4
            icon = "arrow-down" if descending else "arrow-up"
            y = rect.y() + (rect.height() - ARROW) // 2
            icons.paint(painter, icon, QPoint(x, y), ARROW, t.text)
        painter.restore()

    def _on_clicked(self, section: int) -> None:
        column = Column(section)
        if column in SORTABLE:
            sorted_by, descending = self._model.sorting
            self.sort_wanted.emit(column, not descending if column is sorted_by else False)
