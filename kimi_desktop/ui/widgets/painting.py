"""Shapes that several controls draw alike. Qt thread, inside a paintEvent."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPainterPath, QPen, QPixmap
from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.tokens import DISABLED_OPACITY


def painter_on(widget: QWidget) -> QPainter:
    """An antialiasing painter on the widget; end it."""
    painter = QPainter(widget)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    return painter


def dim_if_disabled(painter: QPainter, widget: QWidget) -> None:
    """Controls that cannot be used are drawn weaker."""
    if not widget.isEnabled():
        painter.setOpacity(DISABLED_OPACITY)


def box(
    painter: QPainter,
    rect: QRectF,
    radius: float,
    *,
    fill: str | None = None,
    border: str | None = None,
    width: float = 1.0,
) -> None:
    """A rounded box; the border lies inside the rectangle."""
    inset = width / 2 if border else 0.0
    painter.setPen(QPen(QColor(border), width) if border else Qt.PenStyle.NoPen)
    painter.setBrush(QColor(fill) if fill else Qt.BrushStyle.NoBrush)
    inner = rect.adjusted(inset, inset, -inset, -inset)
    painter.drawRoundedRect(inner, radius - inset, radius - inset)


def rounded(rect: QRectF, radius: float) -> QPainterPath:
    """A rounded rectangle as a path, for clipping."""
    path = QPainterPath()
    path.addRoundedRect(rect, radius, radius)
    return path


def hatch(ground: str, stripe: str, device_pixel_ratio: float) -> QBrush:
    """45 degree stripes, a fine line of ``stripe`` every four pixels."""
    side = 6  # along the edge; four across the stripe
    tile = QPixmap(round(side * device_pixel_ratio), round(side * device_pixel_ratio))
    tile.setDevicePixelRatio(device_pixel_ratio)
    tile.fill(QColor(ground))
    painter = QPainter(tile)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(stripe), 1.0))
    for shift in (-side, 0, side):  # the neighbours' lines close the corners of the tile
        painter.drawLine(QPointF(shift - 1, side + 1), QPointF(shift + side + 1, -1))
    painter.end()
    return QBrush(tile)
