"""Small texts of the graphs, measured once: a tick draws some seventy of them. Qt thread."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter

from kimi_desktop.ui.theme import ui_font
from kimi_desktop.ui.tokens import BODY_PX, SMALL_PX
from kimi_desktop.ui.widgets.label import MEDIUM, REGULAR, SEMIBOLD


class Lettering(NamedTuple):
    """A size and a weight of the interface's font."""

    px: int
    weight: QFont.Weight

    @property
    def font(self) -> QFont:
        """For a painter."""
        return ui_font(self.px, self.weight)


TITLE = Lettering(BODY_PX, SEMIBOLD)
PLAIN = Lettering(SMALL_PX, REGULAR)
STRONG = Lettering(SMALL_PX, MEDIUM)


class Heights(NamedTuple):
    """Of a font, in px."""

    line: int
    ascent: int
    capital: int


@lru_cache(maxsize=16)
def heights(lettering: Lettering) -> Heights:
    """How high the letters are."""
    metrics = QFontMetrics(lettering.font)
    return Heights(metrics.height(), metrics.ascent(), metrics.capHeight())


@lru_cache(maxsize=2048)
def width_of(text: str, lettering: Lettering) -> int:
    """How wide a text is, in px."""
    return QFontMetrics(lettering.font).horizontalAdvance(text)


def draw_line(painter: QPainter, text: str, place: QRectF, lettering: Lettering) -> None:
    """One line of text on its base line, with an ellipsis where there is no room."""
    if width_of(text, lettering) > place.width() + 1:
        metrics = QFontMetrics(lettering.font)
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(place.width()))
    line, ascent, _ = heights(lettering)
    base = place.top() + (place.height() - line) / 2 + ascent
    painter.setFont(lettering.font)
    painter.drawText(QPointF(place.left(), round(base)), text)
