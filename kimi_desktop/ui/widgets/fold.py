"""A line that opens and closes what is below it. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetrics, QPaintEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy, QWidget

from kimi_desktop.ui import icons
from kimi_desktop.ui.theme import color, tokens, ui_font
from kimi_desktop.ui.tokens import BODY_PX, SMALL_PX
from kimi_desktop.ui.widgets.focus import Focusable
from kimi_desktop.ui.widgets.painting import painter_on

CHEVRON = 16
FOLD_HEIGHT = 28


class Fold(Focusable, QPushButton):
    """A chevron, a word and a muted summary; opens and closes what is below it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._summary = ""
        self.setCheckable(True)
        self.setAutoDefault(True)
        self.setFixedHeight(FOLD_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def set_texts(self, word: str, summary: str) -> None:
        """The word, and what is folded away in short."""
        self.setText(word)
        self._summary = summary
        self.setAccessibleName(word)
        self.setAccessibleDescription(summary)
        self.update()

    def summary(self) -> str:
        """The muted text."""
        return self._summary

    def paintEvent(self, event: QPaintEvent) -> None:
        """Chevron, word, summary."""
        del event
        t = tokens()
        painter = painter_on(self)
        ink = t.text if self.underMouse() else t.muted
        name = "chevron-down" if self.isChecked() else "chevron-right"
        icons.paint(painter, name, QPoint(0, (self.height() - CHEVRON) // 2), CHEVRON, ink)
        font = ui_font(BODY_PX)
        painter.setFont(font)
        painter.setPen(color(ink))
        x = CHEVRON + 8
        place = self.rect().adjusted(x, 0, 0, 0)
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, self.text())
        x += QFontMetrics(font).horizontalAdvance(self.text()) + 8
        small = ui_font(SMALL_PX)
        painter.setFont(small)
        painter.setPen(color(t.muted))
        place = self.rect().adjusted(x, 0, 0, 0)
        shown = QFontMetrics(small).elidedText(
            self._summary, Qt.TextElideMode.ElideRight, place.width()
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.end()
