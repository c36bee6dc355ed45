"""The icon family: line drawings on a 20 x 20 grid, tinted while painting. Qt thread.

``paint`` draws into a painter, ``icon`` makes a QIcon for menus and actions; both take the colour
of a token at the moment of painting, so a switch of the theme needs only a repaint.
"""

from __future__ import annotations

from functools import cache, lru_cache

from PySide6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from kimi_desktop.base.assets import asset
from kimi_desktop.ui.theme import tokens

GRID = 20
STROKE = {20: 1.5, 16: 1.75, 12: 2.25}
"""Stroke on the grid by the size drawn: smaller icons get a bolder line."""


@cache
def _source(name: str) -> str:
    return asset(f"icons/{name}.svg").read_text(encoding="utf-8")


@lru_cache(maxsize=512)
def pixmap(name: str, size: int, tint: str, device_pixel_ratio: float) -> QPixmap:
    """The icon as a transparent square of ``size`` logical pixels.

    Raises:
        FileNotFoundError: there is no icon of that name.
    """
    stroke = STROKE.get(size, 1.5)
    svg = _source(name).replace("currentColor", tint)
    svg = svg.replace('stroke-width="1.5"', f'stroke-width="{stroke}"')
    side = round(size * device_pixel_ratio)
    drawn = QPixmap(side, side)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, side, side))
    painter.end()
    drawn.setDevicePixelRatio(device_pixel_ratio)
    return drawn


def paint(painter: QPainter, name: str, place: QPoint, size: int, tint: str) -> None:
    """Draw the icon with its top left corner at ``place``."""
    ratio = painter.device().devicePixelRatio()
    painter.drawPixmap(place, pixmap(name, size, tint, ratio))


class _TintedEngine(QIconEngine):
    """Draws in the tone's colour of the moment; disabled in the muted one."""

    def __init__(self, name: str, tone: str) -> None:
        super().__init__()
        self._name = name
        self._tone = tone

    def _tint(self, mode: QIcon.Mode) -> str:
        tone = "muted" if mode is QIcon.Mode.Disabled else self._tone
        tint: str = getattr(tokens(), tone)
        return tint

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        del state
        size = min(rect.width(), rect.height())
        corner = QPoint(
            rect.x() + (rect.width() - size) // 2, rect.y() + (rect.height() - size) // 2
        )
        paint(painter, self._name, corner, size, self._tint(mode))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(
        self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float
    ) -> QPixmap:
        del state
        side = round(min(size.width(), size.height()) / scale)
        return pixmap(self._name, side, self._tint(mode), scale)

    def clone(self) -> QIconEngine:
        return _TintedEngine(self._name, self._tone)


def icon(name: str, tone: str = "text") -> QIcon:
    """A QIcon that follows the theme. ``tone`` names a colour of the tokens."""
    _source(name)
    return QIcon(_TintedEngine(name, tone))


@lru_cache(maxsize=8)
def logo(size: int, device_pixel_ratio: float, edge: str) -> QPixmap:
    """The app's mark at a small size: bolder strokes, and a line around in ``edge``."""
    svg = asset("app/icon.svg").read_text(encoding="utf-8")
    svg = svg.replace('stroke-width="14"', 'stroke-width="18"')
    svg = svg.replace('rx="56" fill', f'rx="56" stroke="{edge}" stroke-width="4" fill')
    side = round(size * device_pixel_ratio)
    drawn = QPixmap(side, side)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, side, side))
    painter.end()
    drawn.setDevicePixelRatio(device_pixel_ratio)
    return drawn


@cache
def app_icon() -> QIcon:
    """The application's own icon."""
    return QIcon(str(asset("app/icon.svg")))
