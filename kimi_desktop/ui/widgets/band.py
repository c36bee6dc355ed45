"""A figure with the range it is likely in: a track, the range, and a mark. Qt thread."""

from __future__ import annotations

import math

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded

TRACK, MARK_WIDTH, MARK_HEIGHT = 8, 3, 16
RANGE_ALPHA = 0.45
STEPS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def nice_top(value: float) -> float:
    """The end of a scale that has room for ``value``: 1 to 10 times a power of ten."""
    if value <= 0:
        return 1.0
    size = math.pow(10.0, math.floor(math.log10(value)))
    return next((step * size for step in STEPS if step * size >= value), 10 * size)


class Band(QLabel):
    """Likely range and prediction on a scale from 0."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._low = self._likely = self._high = 0.0
        self._top = 1.0
        self.setFixedHeight(MARK_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_band(self, low: float, likely: float, high: float, top: float, words: str) -> None:
        """``top`` is the end of the scale; ``words`` say it for screen readers."""
        self._low, self._likely, self._high, self._top = low, likely, high, max(top, 1e-9)
        self.setAccessibleName(words)
        self.update()

    def range_of(self) -> tuple[float, float, float]:
        """Low, likely and high as shares of the scale."""
        return self._low / self._top, self._likely / self._top, self._high / self._top

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(160, MARK_HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(48, MARK_HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Track, range, mark."""
        del event
        t = tokens()
        painter = painter_on(self)
        track = QRectF(0, (self.height() - TRACK) / 2, self.width(), TRACK)
        box(painter, track, TRACK / 2, fill=t.spare, border=t.control)
        low, likely, high = (min(share, 1.0) * self.width() for share in self.range_of())
        painter.save()
        painter.setClipPath(rounded(track, TRACK / 2))
        shade = color(t.accent)
        shade.setAlphaF(RANGE_ALPHA)
        painter.fillRect(QRectF(low, track.y(), max(high - low, 2.0), TRACK), shade)
        painter.restore()
        left = min(max(likely - MARK_WIDTH / 2, 0.0), self.width() - MARK_WIDTH)
        box(painter, QRectF(left, 0, MARK_WIDTH, MARK_HEIGHT), 1, fill=t.text)
        painter.end()
