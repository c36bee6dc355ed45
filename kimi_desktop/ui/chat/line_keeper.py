"""Keeps the line at the top where it is while the transcript changes its width. Qt thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QPoint

from kimi_desktop.ui.chat.transcript_model import Key
from kimi_desktop.ui.chat.view_pool import Place

if TYPE_CHECKING:
    from kimi_desktop.ui.chat.transcript import Transcript


class Line(NamedTuple):
    """A place in the text, and how far below the viewport's top its line is drawn."""

    place: Place
    position: int
    top: int


class LineKeeper:
    """Ask for the ``line`` before the change, ``restore`` it after."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._kept: tuple[Line, tuple[int, Key, int]] | None = None
        """The last line restored, and the anchor that this gave."""

    def line(self) -> Line | None:
        """The line to keep; None while the transcript sticks to its end."""
        column = self._transcript.column
        if column.follow:
            return None
        # One line for a whole drag of the window's edge: a new one each time would creep.
        if self._kept is not None and self._kept[1] == column.anchor:
            return self._kept[0]
        return self._top_line()

    def restore(self, line: Line) -> None:
        """Bring the line back to its height."""
        column = self._transcript.column
        view = self._transcript.pool.get(line.place)
        if view is None or view.pane is None or column.follow:
            return
        in_view = view.pane.y() + round(view.pane.position_rect(line.position).top())
        column.anchor_to(*line.place, in_view - line.top)
        self._transcript.relayout()
        self._kept = (line, column.anchor)

    def _top_line(self) -> Line | None:
        for placed in self._transcript.placed:
            place = (placed.entry, placed.item.key)
            view = self._transcript.pool.get(place)
            if placed.y + placed.height <= 0 or view is None or view.pane is None:
                continue
            pane = view.pane
            position = pane.position_at(QPoint(0, max(-placed.y - pane.y(), 0) + 1))
            top = placed.y + pane.y() + round(pane.position_rect(position).top())
            return Line(place, position, top)
        return None
