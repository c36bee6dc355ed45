"""Rows in a panel with lines between them, and a panel whose rows can be dragged. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import RADIUS
from kimi_desktop.ui.widgets.card import Divider
from kimi_desktop.ui.widgets.painting import box, painter_on

MARK_HEIGHT = 2


class RowFrame(QWidget):
    """Hidden while there are no rows."""

    def __init__(self) -> None:
        super().__init__()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(1, 1, 1, 1)
        self._layout.setSpacing(0)
        self._rows: list[QWidget] = []
        self.hide()

    def show_rows(self, rows: Sequence[QWidget]) -> None:
        """Replace them; those that stay are not made anew."""
        if list(rows) == self._rows:
            return
        while (item := self._layout.takeAt(0)) is not None:
            old = item.widget()
            if old is not None and old not in rows:
                old.hide()
                old.deleteLater()
        self._rows = list(rows)
        for number, row in enumerate(rows):
            if number:
                self._layout.addWidget(Divider())
            self._layout.addWidget(row)
            row.show()
        self.setVisible(bool(rows))

    def paintEvent(self, event: QPaintEvent) -> None:
        """The panel."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.panel, border=t.line)
        painter.end()


class DraggedFrame(RowFrame):
    """``moved`` fires with a row's place and the one it was dropped at. Escape lets it go."""

    moved = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self._pressed: QPoint | None = None
        self._from = -1
        self._mark = _Mark(self)

    def show_rows(self, rows: Sequence[QWidget]) -> None:
        """A list that changes under the mouse ends the drag."""
        if list(rows) != self._rows:
            self._let_go()
        super().show_rows(rows)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Rows take no presses themselves: they arrive here."""
        if event.button() is Qt.MouseButton.LeftButton and len(self._rows) > 1:
            self._pressed = event.position().toPoint()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Show where it would go."""
        if self._pressed is None:
            return
        place = event.position().toPoint()
        if self._from < 0:
            if (place - self._pressed).manhattanLength() < QApplication.startDragDistance():
                return
            self._begin(self._row_at(self._pressed.y()))
        gap = self._gap_at(place.y())
        row = self._rows[min(gap, len(self._rows) - 1)]
        y = row.y() if gap < len(self._rows) else row.geometry().bottom()
        self._mark.setGeometry(1, max(y - MARK_HEIGHT // 2, 1), self.width() - 2, MARK_HEIGHT)
        self._mark.show()
        self._mark.raise_()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Dropped."""
        came_from, gap = self._from, self._gap_at(event.position().toPoint().y())
        self._let_go()
        if came_from >= 0:
            place = gap - 1 if gap > came_from else gap
            if place != came_from:
                self.moved.emit(came_from, place)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Escape, wherever the focus is."""
        if isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            if event.type() is QEvent.Type.KeyPress:
                self._let_go()
            return True
        return super().eventFilter(watched, event)

    def _begin(self, place: int) -> None:
        self._from = place
        if app := QApplication.instance():
            app.installEventFilter(self)
        QApplication.setOverrideCursor(Qt.CursorShape.ClosedHandCursor)

    def _let_go(self) -> None:
        if self._from >= 0:
            if app := QApplication.instance():
                app.removeEventFilter(self)
            QApplication.restoreOverrideCursor()
        self._pressed, self._from = None, -1
        self._mark.hide()

    def _row_at(self, y: int) -> int:
        """The row under a height; the nearest one beyond the ends."""
        below = [number for number, row in enumerate(self._rows) if y <= row.geometry().bottom()]
        return below[0] if below else len(self._rows) - 1

    def _gap_at(self, y: int) -> int:
        """Between which rows a height is: 0 is above the first."""
        return sum(y > row.geometry().center().y() for row in self._rows)


class _Mark(QWidget):
    """Where a dragged row would go."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("drop mark")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A line in the accent colour."""
        del event
        painter = painter_on(self)
        painter.fillRect(self.rect(), color(tokens().accent))
        painter.end()
