"""A focus ring inside of what fills its place, where a ring around it would be cut. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.tokens import RADIUS_SMALL
from kimi_desktop.ui.widgets.painting import box, painter_on


class InsetRing(QWidget):
    """Lies over its parent, lets the mouse through, hidden at first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()

    def paintEvent(self, event: QPaintEvent) -> None:
        """2 px of accent, 2 px inside the edge."""
        del event
        painter = painter_on(self)
        place = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        box(painter, place, RADIUS_SMALL, border=tokens().accent, width=2)
        painter.end()
