"""A share of something as a bar, and the speed line of the last minute. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QLabel, QProgressBar, QSizePolicy, QWidget

from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded

HEIGHT = 8
WARN_FROM = 0.85
BAD_FROM = 0.95
STEPS = 1000
"""Of the value that screen readers get."""


class Gauge(QProgressBar):
    """8 px. ``limits`` colours it from 85 and 95 %; without them it shows plain progress."""

    def __init__(self, parent: QWidget | None = None, *, limits: bool = True) -> None:
        super().__init__(parent)
        self._limits = limits
        self._share: float | None = 0.0
        self.setRange(0, STEPS)
        self.setTextVisible(False)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_share(self, share: float | None, words: str = "") -> None:
        """``share`` is 0 ... 1, None when it is not known; ``words`` say it for screen readers."""
        bounded = None if share is None else min(1.0, max(0.0, share))
        self.setAccessibleDescription(words)
        if bounded != self._share:
            self._share = bounded
            self.setValue(-1 if bounded is None else round(bounded * STEPS))
            self.update()

    @property
    def share(self) -> float | None:
        """What it shows."""
        return self._share

    @property
    def tone(self) -> str:
        """The colour by the limits."""
        if not self._limits or self._share is None or self._share < WARN_FROM:
            return "accent"
        return "warn" if self._share < BAD_FROM else "bad"

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(120, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(24, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The outline and the filled share."""
        del event
        t = tokens()
        painter = painter_on(self)
        rect = QRectF(self.rect())
        box(painter, rect, HEIGHT / 2, fill=t.spare, border=t.control)
        if self._share:
            painter.setClipPath(rounded(rect, HEIGHT / 2))
            filled = QRectF(0, 0, max(2.0, rect.width() * self._share), HEIGHT)
            painter.fillRect(filled, color(getattr(t, self.tone)))
        painter.end()


class SpeedLine(QLabel):
    """The last minute of a speed, with a dot at the newest value. None leaves a gap."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values: tuple[float | None, ...] = ()
        self._slots = 60
        self.setFixedHeight(32)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_values(self, values: Sequence[float | None], *, slots: int = 60) -> None:
        """The newest value last; ``slots`` is how many fit on the line."""
        self._values = tuple(values[-slots:])
        self._slots = slots
        self.update()

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(160, 32)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(24, 32)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The base line, the curve, the dot."""
        del event
        t = tokens()
        painter = painter_on(self)
        base = self.height() - 4.5
        painter.setPen(QPen(color(t.line), 1))
        painter.drawLine(QPointF(0, base), QPointF(self.width(), base))
        known = [value for value in self._values if value is not None]
        if known:
            top = max(*known, 1e-9) * 1.25 if len(known) > 1 else max(known[0], 1e-9) * 1.25
            path, last = self._curve(top, base)
            painter.setPen(
                QPen(color(t.accent), 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap)
            )
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawPath(path)
            if last is not None and self._values[-1] is not None:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(color(t.accent))
                painter.drawEllipse(last, 2.5, 2.5)
        painter.end()

    def _curve(self, top: float, base: float) -> tuple[QPainterPath, QPointF | None]:
        path = QPainterPath()
        pen_down = False
        place: QPointF | None = None
        step = (self.width() - 6) / max(1, self._slots - 1)
        first = self._slots - len(self._values)
        for number, value in enumerate(self._values):
            if value is None:
                pen_down = False
                continue
            place = QPointF(3 + (first + number) * step, base - value / top * (base - 2))
            if pen_down:
                path.lineTo(place)
            else:
                path.moveTo(place)
            pen_down = True
        return path, place
