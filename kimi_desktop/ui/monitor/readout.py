"""The card beside the cursor: one moment in figures. Transparent to the mouse. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.theme import color, mono_font, tokens, ui_font
from kimi_desktop.ui.tokens import RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.label import MEDIUM, SEMIBOLD
from kimi_desktop.ui.widgets.painting import box, painter_on

WIDTH = 256
PADDING_X, PADDING_Y = 12, 8
LINE = 18
HEAD_GAP = 4
BESIDE = 12
"""px between the cursor and the card."""
BETWEEN = 12


class ReadOut(QWidget):
    """Time and phase, then a name and a figure per line."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._time = ""
        self._phase = ""
        self._rows: tuple[tuple[str, str], ...] = ()
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def show_moment(self, time: str, phase: str, rows: Sequence[tuple[str, str]]) -> None:
        """Other figures; the card grows with them."""
        self._time, self._phase, self._rows = time, phase, tuple(rows)
        self.resize(self._width(), self._height())
        self.setAccessibleName(self.text())
        self.update()

    def text(self) -> str:
        """All of it in one line, for screen readers."""
        head = f"{self._time} {self._phase}".strip()
        return ", ".join([head, *(f"{name} {figure}" for name, figure in self._rows)])

    def place(self, cursor: QPointF, area: QRect) -> None:
        """Right of the cursor, or left of it where it would leave the area.

        Its middle is at the cursor's height as far as the area allows. All in the parent's px.
        """
        x = round(cursor.x()) + BESIDE
        if x + self.width() > area.x() + area.width():
            x = max(area.x(), round(cursor.x()) - BESIDE - self.width())
        y = round(cursor.y() - self.height() / 2)
        self.move(x, max(area.y(), min(y, area.y() + area.height() - self.height())))
        self.show()
        self.raise_()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised card."""
        del event
        t = tokens()
        painter = painter_on(self)
        box(painter, QRectF(self.rect()), RADIUS, fill=t.raised, border=t.control)
        base = PADDING_Y + 1
        lines = [(self._time, self._phase, ui_font(SMALL_PX, SEMIBOLD), ui_font(SMALL_PX))]
        lines += [(*row, ui_font(SMALL_PX), mono_font(SMALL_PX, MEDIUM)) for row in self._rows]
        for number, (name, figure, name_font, figure_font) in enumerate(lines):
            head = number == 0
            metrics = QFontMetrics(name_font)
            y = base + (LINE - metrics.height()) / 2 + metrics.ascent()
            painter.setFont(name_font)
            painter.setPen(color(t.text if head else t.muted))
            painter.drawText(QPointF(PADDING_X, round(y)), name)
            width = QFontMetrics(figure_font).horizontalAdvance(figure)
            painter.setFont(figure_font)
            painter.setPen(color(t.muted if head else t.text))
            painter.drawText(QPointF(self.width() - PADDING_X - width, round(y)), figure)
            base += LINE + (HEAD_GAP if head else 0)
        painter.end()

    def _width(self) -> int:
        names, figures = QFontMetrics(ui_font(SMALL_PX)), QFontMetrics(mono_font(SMALL_PX, MEDIUM))
        widest = max(
            (
                names.horizontalAdvance(name) + BETWEEN + figures.horizontalAdvance(figure)
                for name, figure in self._rows
            ),
            default=0,
        )
        return max(WIDTH, widest + 2 * PADDING_X)

    def _height(self) -> int:
        rows = len(self._rows)
        return 2 * PADDING_Y + 2 + LINE * (rows + 1) + (HEAD_GAP if rows else 0)
