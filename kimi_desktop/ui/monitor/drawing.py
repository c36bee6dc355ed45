"""One graph as a picture: title, keys and readings at the left, the axis, the plot. Qt thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from PySide6.QtCore import QLineF, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap

from kimi_desktop.monitor.types import Phase
from kimi_desktop.ui.monitor.graphs import Curve, Graph, Values
from kimi_desktop.ui.monitor.lettering import (
    PLAIN,
    STRONG,
    TITLE,
    draw_line,
    heights,
    width_of,
)
from kimi_desktop.ui.monitor.reader import Reader
from kimi_desktop.ui.monitor.scale import Scale
from kimi_desktop.ui.monitor.strokes import Point, Stroke, dashed, straighten, thin
from kimi_desktop.ui.monitor.timeline import Span, runs
from kimi_desktop.ui.monitor.view import AXIS, GAP, LABEL, PLOT_LEFT, View
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import BODY_LINE_PX, SMALL_LINE_PX, SMALL_PX

LINE = 1
"""Above each graph."""
PADDING = 8
KEY_LINE = 18
KEY_MARK = 14
KEY_GAP = 6
CURVE_WIDTH = 1.5
TALL = 120
"""From this height on an axis has five ticks instead of three."""
TOP_ROOM, BOTTOM_ROOM = 6, 2

PHASE_TONES = {
    Phase.LOAD: "phase_load",
    Phase.PREFILL: "phase_prefill",
    Phase.DECODE: "phase_decode",
}


def pen_of(stroke: Stroke, width: float = CURVE_WIDTH) -> QPen:
    """A solid pen in the stroke's colour; dashes are cut into the segments.

    Flat ends: square ones overlap at every joint, which shows as beads.
    """
    pen = QPen(color(getattr(tokens(), stroke.tone)), width)
    pen.setCapStyle(Qt.PenCapStyle.FlatCap)
    return pen


@cache
def laid_over(tint: str, ground: str) -> QColor:
    """A tint (#aarrggbb) on a ground as one opaque colour, which fills several times faster."""
    above, below = QColor(tint), QColor(ground)
    share = above.alphaF()

    def mixed(one: int, other: int) -> int:
        return round(one * share + other * (1 - share))

    return QColor(
        mixed(above.red(), below.red()),
        mixed(above.green(), below.green()),
        mixed(above.blue(), below.blue()),
    )


def _blank(size: QSize, ratio: float) -> QPixmap:
    """``size`` in logical px, in the window's colour: without transparency all draws faster."""
    picture = QPixmap(size * ratio)
    picture.setDevicePixelRatio(ratio)
    picture.fill(color(tokens().window))
    return picture


class Drawing:
    """A graph of a view, with a plot ``height`` px high."""

    def __init__(self, graph: Graph, view: View, reader: Reader, height: int) -> None:
        self._graph = graph
        self._view = view
        self._reader = reader
        self._height = height
        self._scale = graph.scale(4 if height >= TALL else 2)

    def y(self, value: float) -> float:
        """How far below the plot's top edge a value lies, in px."""
        room = self._height - TOP_ROOM - BOTTOM_ROOM
        return TOP_ROOM + (1 - value / self._scale.top) * room

    @property
    def width(self) -> int:
        """Of the plot, in px."""
        return self._view.width

    @property
    def scale(self) -> Scale:
        """The axis."""
        return self._scale

    def words(self) -> tuple[object, ...]:
        """All that ``render_left`` shows: the same words need no other picture."""
        curves = tuple((curve.name, curve.now) for curve in self._graph.curves)
        return (self._graph.title, curves, self._graph.note, self._scale, self._height)

    def render_left(self, ratio: float) -> QPixmap:
        """Title, keys, readings and axis."""
        picture = _blank(QSize(PLOT_LEFT, self._height), ratio)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._label(painter)
        self._axis(painter)
        painter.end()
        return picture

    def render_plot(self, ratio: float) -> QPixmap:
        """Shades, grid and curves."""
        picture = _blank(QSize(self._view.width, self._height), ratio)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._plot(painter)
        painter.end()
        return picture

    def _label(self, painter: QPainter) -> None:
        t = tokens()
        text, muted = color(t.text), color(t.muted)
        painter.setPen(text)
        draw_line(painter, self._graph.title, QRectF(0, 0, LABEL, BODY_LINE_PX), TITLE)
        y = BODY_LINE_PX
        for curve in self._graph.curves:
            painter.setPen(pen_of(curve.stroke, 2))
            middle = y + KEY_LINE / 2
            mark = dashed([(0, middle), (KEY_MARK, middle)], curve.stroke.pattern, 0)
            painter.drawLines([QLineF(*segment) for segment in mark])
            now_width = width_of(curve.now, STRONG)
            left = KEY_MARK + KEY_GAP
            room = LABEL - left - now_width - KEY_GAP
            painter.setPen(muted)
            draw_line(painter, curve.name, QRectF(left, y, room, KEY_LINE), PLAIN)
            painter.setPen(text)
            place = QRectF(LABEL - now_width, y, now_width, KEY_LINE)
            draw_line(painter, curve.now, place, STRONG)
            y += KEY_LINE
        if self._graph.note:
            painter.setPen(muted)
            draw_line(painter, self._graph.note, QRectF(0, y, LABEL, SMALL_LINE_PX), PLAIN)

    def _axis(self, painter: QPainter) -> None:
        painter.setFont(PLAIN.font)
        painter.setPen(color(tokens().muted))
        capital = heights(PLAIN).capital
        for value, text in self._scale.ticks():
            top = min(max(0.0, self.y(value) - SMALL_PX / 2), self._height - SMALL_PX)
            x = LABEL + GAP + AXIS - width_of(text, PLAIN)
            painter.drawText(QPointF(x, top + (SMALL_PX + capital) / 2), text)

    def _plot(self, painter: QPainter) -> None:
        t = tokens()
        view = self._view
        plot = QRectF(0, 0, view.width, self._height)
        for span in view.spans:
            # Whole pixels: crisp edges, and no antialiasing to pay for.
            left, right = round(view.inside(span.start)), round(view.inside(span.end))
            shade = laid_over(getattr(t, PHASE_TONES[span.phase]), t.window)
            painter.fillRect(left, 0, right - left, self._height, shade)
        line = color(t.line)
        for value, _ in self._scale.ticks():
            painter.fillRect(0, round(self.y(value)), view.width, 1, line)
        for curve in self._graph.curves:
            self._curve(painter, curve)
        if self._graph.key == "speed":
            painter.setFont(PLAIN.font)
            painter.setPen(color(t.text))
            for span in view.spans:
                self._prefill(painter, span)
        if self._graph.is_empty and self._graph.empty:
            painter.setFont(PLAIN.font)
            painter.setPen(color(t.muted))
            painter.drawText(plot, Qt.AlignmentFlag.AlignCenter, self._graph.empty)

    def _curve(self, painter: QPainter, curve: Curve) -> None:
        view = self._view
        # A period of dashes begins at a fixed time, so that the dashes travel with the curve.
        period = sum(curve.stroke.pattern) or 1.0
        origin = -((view.start * view.width / (view.end - view.start)) % period)
        lines: list[QLineF] = []
        for first, end in runs(curve.values, view.breaks):
            points = self._points(curve.values[first:end], view.xs[first:end])
            if len(points) == 1:  # nothing to join it to: a dot
                ((x, y),) = points
                lines.append(QLineF(x - 1, y, x + 1, y))
                continue
            if len(points) > 2 * view.width:
                points = thin(points)
            parts = dashed(straighten(points), curve.stroke.pattern, origin)
            lines.extend([QLineF(*part) for part in parts])
        painter.setPen(pen_of(curve.stroke))
        painter.drawLines(lines)

    def _points(self, values: Values, xs: Sequence[float]) -> list[Point]:
        zero = self.y(0)
        per_unit = (zero - TOP_ROOM) / self._scale.top
        ys = [zero - value * per_unit for value in values if value is not None]
        return list(zip(xs, ys, strict=True))

    def _prefill(self, painter: QPainter, span: Span) -> None:
        """How fast the prompt was read, where there is room for it."""
        if span.phase is not Phase.PREFILL or span.prefill_tokens_per_s is None:
            return
        text = self._reader.rate(span.prefill_tokens_per_s)
        left, right = self._view.inside(span.start), self._view.inside(span.end)
        if width_of(text, PLAIN) + KEY_GAP <= right - left:
            place = QRectF(left, 0, right - left, self._height)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
