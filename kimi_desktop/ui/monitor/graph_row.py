"""One graph as a widget. Qt thread.

What the samples say is rendered once into two pictures (``drawing.py``): the plot, and the words
at its left, which often stay the same for a while. The cursor is drawn over them, so that moving
the mouse costs next to nothing.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent, QPen, QPixmap, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from kimi_desktop.ui.monitor.drawing import (
    CURVE_WIDTH,
    KEY_LINE,
    LINE,
    PADDING,
    Drawing,
)
from kimi_desktop.ui.monitor.graphs import Graph
from kimi_desktop.ui.monitor.reader import Reader
from kimi_desktop.ui.monitor.view import LABEL, PLOT_LEFT, View
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.tokens import BODY_LINE_PX, SMALL_LINE_PX

HEIGHTS = {"speed": 100, "vram": 100, "ram": 88}
LEAST_HEIGHT = 80
RING = 3.0


def plain_height(graph: Graph) -> int:
    """Of the content, without padding: the design's, or what the keys need."""
    keys = BODY_LINE_PX + KEY_LINE * len(graph.curves) + (SMALL_LINE_PX if graph.note else 0)
    return max(HEIGHTS.get(graph.key, LEAST_HEIGHT), keys)


class GraphRow(QWidget):
    """A graph, as high as ``set_content_height`` says."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown: tuple[Graph, View, Reader] | None = None
        self._drawing: Drawing | None = None
        self._plot: QPixmap | None = None
        self._left: QPixmap | None = None
        self._words: tuple[object, ...] = ()
        self._cursor_x: float | None = None
        self._cursor_index: int | None = None
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def graph(self) -> Graph | None:
        """What it shows."""
        return self._shown[0] if self._shown else None

    @property
    def drawing(self) -> Drawing | None:
        """How it shows that at the present height."""
        if self._drawing is None and self._shown is not None:
            height = self.height() - 2 * PADDING - LINE
            self._drawing = Drawing(*self._shown, height)
        return self._drawing

    def show_graph(self, graph: Graph, view: View, reader: Reader) -> None:
        """Other samples, or another stretch of time."""
        self._shown = (graph, view, reader)
        self.setAccessibleName(graph.title)
        self.setAccessibleDescription(
            ", ".join(f"{curve.name} {curve.now}" for curve in graph.curves)
        )
        self._draw_again()

    def show_cursor(self, x: float | None, index: int | None) -> None:
        """A dashed line ``x`` px into the plot, and rings on the sample ``index``."""
        if (x, index) != (self._cursor_x, self._cursor_index):
            self._cursor_x, self._cursor_index = x, index
            self.update()

    def set_content_height(self, height: int) -> None:
        """The plot's height; the row is higher by padding and line."""
        self.setFixedHeight(height + 2 * PADDING + LINE)

    def sizeHint(self) -> QSize:
        """The design's height."""
        height = plain_height(self.graph) if self.graph else LEAST_HEIGHT
        return QSize(PLOT_LEFT + 400, height + 2 * PADDING + LINE)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw it again."""
        super().resizeEvent(event)
        self._draw_again()

    def changeEvent(self, event: QEvent) -> None:
        """Another theme: draw it again."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._left = None
            self._draw_again()
        super().changeEvent(event)

    def event(self, event: QEvent) -> bool:
        """The full name of a GPU or a curve, as a tooltip on its key."""
        if isinstance(event, QHelpEvent) and self.graph is not None:
            place = (event.pos().y() - LINE - PADDING - BODY_LINE_PX) // KEY_LINE
            curves = self.graph.curves
            if event.pos().x() < LABEL and 0 <= place < len(curves) and curves[place].hint:
                QToolTip.showText(event.globalPos(), curves[place].hint, self)
                return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The pictures, and the cursor on them."""
        del event
        drawing = self.drawing
        if drawing is None:
            return
        ratio = self.devicePixelRatioF()
        if self._plot is None or self._plot.devicePixelRatio() != ratio:
            self._plot = drawing.render_plot(ratio)
        if self._left is None or self._words != drawing.words() or self._left_ratio() != ratio:
            self._left = drawing.render_left(ratio)
            self._words = drawing.words()
        painter = QPainter(self)
        painter.fillRect(0, 0, PLOT_LEFT + drawing.width, LINE, color(tokens().line))
        painter.drawPixmap(QPoint(0, LINE + PADDING), self._left)
        painter.drawPixmap(QPoint(PLOT_LEFT, LINE + PADDING), self._plot)
        if self._cursor_x is not None and self.graph is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.translate(PLOT_LEFT, LINE + PADDING)
            self._paint_cursor(painter, self._cursor_x, self.graph, drawing)
        painter.end()

    def _left_ratio(self) -> float:
        return 0.0 if self._left is None else self._left.devicePixelRatio()

    def _draw_again(self) -> None:
        self._drawing = self._plot = None
        self.update()

    def _paint_cursor(self, painter: QPainter, x: float, graph: Graph, drawing: Drawing) -> None:
        t = tokens()
        pen = QPen(color(t.text), 1)
        pen.setDashPattern([2, 2])
        pen.setCapStyle(Qt.PenCapStyle.FlatCap)
        painter.setPen(pen)
        across = round(x) + 0.5
        painter.drawLine(QPointF(across, 0), QPointF(across, self.height() - 2 * PADDING - LINE))
        if self._cursor_index is None:
            return
        painter.setBrush(color(t.panel))
        for curve in graph.curves:
            value = curve.values[self._cursor_index]
            if value is not None:
                painter.setPen(QPen(color(getattr(t, curve.stroke.tone)), CURVE_WIDTH))
                painter.drawEllipse(QPointF(across, drawing.y(value)), RING, RING)
