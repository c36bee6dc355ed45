"""The files of a download as a strip: done, coming, being checked, damaged, waiting. Qt thread."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QWidget

from kimi_desktop.downloads.queue_types import PartState, PartStatus
from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.widgets.painting import box, painter_on, rounded

HEIGHT = 8
GAP = 2
RADIUS = 2
STRIPE, STRIPE_GAP = 3, 2
LEAST_PART = 5
"""Narrower than that, parts are joined: a repository can have hundreds of files."""
STEPS = 1000


class PartStrip(QProgressBar):
    """A progress bar for screen readers, one cell a file for the eye. Never goes backwards."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[PartStatus, ...] = ()
        self.setRange(0, STEPS)
        self.setTextVisible(False)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: Sequence[PartStatus], share: float, words: str) -> None:
        """The files, the share of all bytes, and the same in words."""
        self.setAccessibleDescription(words)
        self.setValue(round(min(1.0, max(0.0, share)) * STEPS))
        if tuple(parts) != self._parts:
            self._parts = tuple(parts)
            self.update()

    def parts(self) -> tuple[PartStatus, ...]:
        """What it shows."""
        return self._parts

    def sizeHint(self) -> QSize:
        """As wide as there is room."""
        return QSize(240, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        """It gives way."""
        return QSize(48, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        """One cell a file, or several files a cell."""
        del event
        cells = self.cells()
        painter = painter_on(self)
        count = len(cells)
        width = (self.width() - GAP * (count - 1)) / count if count else 0.0
        for number, part in enumerate(cells):
            self._cell(painter, QRectF(number * (width + GAP), 0, width, HEIGHT), part)
        painter.end()

    def cells(self) -> tuple[PartStatus, ...]:
        """What is painted: as many as fit."""
        room = max(1, (self.width() + GAP) // (LEAST_PART + GAP))
        if len(self._parts) <= room:
            return self._parts
        bounds = [round(number * len(self._parts) / room) for number in range(room + 1)]
        pairs = itertools.pairwise(bounds)
        return tuple(_joined(self._parts[first:last]) for first, last in pairs)

    def _cell(self, painter: QPainter, place: QRectF, part: PartStatus) -> None:
        t = tokens()
        match part.state:
            case PartState.DONE:
                box(painter, place, RADIUS, fill=t.ok)
            case PartState.DAMAGED:
                box(painter, place, RADIUS, fill=t.bad)
                middle = QRectF(place.center().x() - 1, 1, 2, HEIGHT - 2)
                painter.fillRect(middle, color(t.panel))  # a notch: not by colour alone
            case PartState.CHECKING:
                box(painter, place, RADIUS, fill=t.accent_soft, border=t.accent)
                painter.save()
                painter.setClipPath(rounded(place, RADIUS))
                x = place.x()
                while x < place.right():
                    painter.fillRect(QRectF(x, 0, STRIPE, HEIGHT), color(t.accent))
                    x += STRIPE + STRIPE_GAP
                painter.restore()
            case _:
                box(painter, place, RADIUS, fill=t.spare, border=t.control)
                if part.share > 0:
                    painter.save()
                    painter.setClipPath(rounded(place, RADIUS))
                    filled = QRectF(place)
                    filled.setWidth(max(1.0, place.width() * part.share))
                    painter.fillRect(filled, color(t.accent))
                    painter.restore()


def _joined(parts: Sequence[PartStatus]) -> PartStatus:
    """Several files in one cell: the worst word, the mean share."""
    states = {part.state for part in parts}
    share = sum(part.share for part in parts) / len(parts)
    for state in (PartState.DAMAGED, PartState.CHECKING, PartState.COMING):
        if state in states:
            return PartStatus(state, share)
    if states == {PartState.DONE}:
        return PartStatus(PartState.DONE, 1.0)
    return PartStatus(PartState.COMING if share else PartState.WAITING, share)
