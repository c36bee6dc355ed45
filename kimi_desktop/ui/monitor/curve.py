"""What an experiment measured, as lines over its values. Qt thread.

The values stand side by side at equal distances: powers of two and names of types have no other
scale that reads well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from kimi_desktop.ui.monitor.drawing import pen_of
from kimi_desktop.ui.monitor.lettering import PLAIN, STRONG, draw_line, width_of
from kimi_desktop.ui.monitor.scale import LogScale, Quantity, Scale, log_scale_for, scale_for
from kimi_desktop.ui.monitor.strokes import Stroke, dashed
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import SMALL_LINE_PX
from kimi_desktop.ui.widgets.painting import painter_on

HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 56, 24, 28, 24
DOT = 3.0
KEY_WIDTH, KEY_GAP = 16, 6


@dataclass(frozen=True, slots=True)
class Series:
    """One line; None where there is no figure."""

    name: str
    values: tuple[float | None, ...]
    stroke: Stroke


class CurvePlot(QWidget):
    """Shows what ``show_series`` gives it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._labels: tuple[str, ...] = ()
        self._series: tuple[Series, ...] = ()
        self._scale: Scale | LogScale = scale_for(Quantity.TOKENS, 0.0, intervals=4)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)

    def show_series(
        self,
        labels: Sequence[str],
        series: Sequence[Series],
        quantity: Quantity = Quantity.TOKENS,
    ) -> None:
        """Other values and lines; each line has a figure (or None) per label.

        Lines that are far apart get a logarithmic axis, and the key says so.
        """
        self._labels, self._series = tuple(labels), tuple(series)
        lines = [[value for value in line.values if value is not None] for line in series]
        highest = max((value for line in lines for value in line), default=0.0)
        self._scale = log_scale_for(quantity, lines) or scale_for(quantity, highest, intervals=4)
        axis = [self.tr("logarithmic axis")] if self.is_logarithmic else []
        self.setAccessibleName("; ".join([self.text(), *axis]))
        self.update()

    @property
    def is_logarithmic(self) -> bool:
        """Equal distances are equal ratios."""
        return isinstance(self._scale, LogScale)

    def text(self) -> str:
        """All of it in words, for screen readers."""
        return "; ".join(
            f"{line.name}: "
            + ", ".join(
                f"{label} {value:,.1f}"
                for label, value in zip(self._labels, line.values, strict=True)
                if value is not None
            )
            for line in self._series
        )

    def sizeHint(self) -> QSize:
        """Wide enough for a handful of values."""
        return QSize(480, HEIGHT)

    def place_of(self, place: int) -> float:
        """Where a value stands, in px."""
        room = self.width() - LEFT - RIGHT
        return LEFT + room * (place + 0.5) / max(len(self._labels), 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Key, axis, lines."""
        del event
        scale = self._scale
        painter = painter_on(self)
        plot = QRectF(LEFT, TOP, self.width() - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)
        t = tokens()
        for value, text in scale.ticks():
            y = plot.bottom() - scale.share(value) * plot.height()
            painter.fillRect(QRectF(plot.left(), round(y), plot.width(), 1), color(t.line))
            painter.setPen(color(t.muted))
            place = QRectF(0, y - SMALL_LINE_PX / 2, LEFT - 8, SMALL_LINE_PX)
            painter.setFont(PLAIN.font)
            painter.drawText(
                place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text
            )
        each = plot.width() / max(len(self._labels), 1)
        for number, label in enumerate(self._labels):
            width = min(width_of(label, PLAIN), each - 4)
            place = QRectF(
                self.place_of(number) - width / 2, plot.bottom() + 4, width, SMALL_LINE_PX
            )
            draw_line(painter, label, place, PLAIN)
        self._key(painter)
        for line in self._series:
            self._line(painter, line, plot)
        painter.end()

    def _key(self, painter: QPainter) -> None:
        x, middle = float(LEFT), SMALL_LINE_PX / 2
        for line in self._series:
            painter.setPen(pen_of(line.stroke, 2))
            mark = dashed([(x, middle), (x + KEY_WIDTH, middle)], line.stroke.pattern, 0)
            painter.drawLines([QLineF(*segment) for segment in mark])
            x += KEY_WIDTH + KEY_GAP
            width = width_of(line.name, STRONG)
            painter.setPen(color(tokens().text))
            draw_line(painter, line.name, QRectF(x, 0, width, SMALL_LINE_PX), STRONG)
            x += width + 3 * KEY_GAP
        if self.is_logarithmic:
            words = self.tr("logarithmic axis")
            painter.setPen(color(tokens().muted))
            place = QRectF(x, 0, max(self.width() - RIGHT - x, 0), SMALL_LINE_PX)
            draw_line(painter, words, place, PLAIN)

    def _line(self, painter: QPainter, line: Series, plot: QRectF) -> None:
        points = [
            None
            if value is None
            else (self.place_of(place), plot.bottom() - self._scale.share(value) * plot.height())
            for place, value in enumerate(line.values)
        ]
        painter.setPen(pen_of(line.stroke))
        for before, after in pairwise(points):
            if before is not None and after is not None:
                segments = dashed([before, after], line.stroke.pattern, 0)
                painter.drawLines([QLineF(*segment) for segment in segments])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(getattr(tokens(), line.stroke.tone)))
        for point in points:
            if point is not None:
                painter.drawEllipse(QPointF(*point), DOT, DOT)
        painter.setBrush(Qt.BrushStyle.NoBrush)
