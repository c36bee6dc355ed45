"""A selection across the pieces of the transcript, as two places in it. Pure (no Qt)."""

from __future__ import annotations

from typing import NamedTuple

from kimi_desktop.ui.chat.transcript_model import Key


class Spot(NamedTuple):
    """A place between two characters; spots sort as they stand on the page."""

    entry: int
    key: Key
    position: int
    """In the text as it is drawn, 0 ... its length."""


class Selection:
    """From ``anchor`` (where it began) to ``head`` (where it is drawn to)."""

    def __init__(self) -> None:
        self.anchor: Spot | None = None
        self.head: Spot | None = None

    @property
    def is_empty(self) -> bool:
        """Nothing is selected."""
        return self.anchor is None or self.head is None or self.anchor == self.head

    @property
    def bounds(self) -> tuple[Spot, Spot] | None:
        """First and last place, None when nothing is selected."""
        if self.anchor is None or self.head is None or self.anchor == self.head:
            return None
        return min(self.anchor, self.head), max(self.anchor, self.head)

    def start(self, spot: Spot) -> None:
        """Begin here, empty."""
        self.anchor = self.head = spot

    def clear(self) -> None:
        """Nothing is selected any more."""
        self.anchor = self.head = None

    def range_in(self, entry: int, key: Key, length: int) -> tuple[int, int]:
        """The selected characters of one item of ``length``, (0, 0) when none."""
        bounds = self.bounds
        if bounds is None:
            return 0, 0
        first, last = bounds
        place = (entry, key)
        if place < first[:2] or place > last[:2]:
            return 0, 0
        start = first.position if place == first[:2] else 0
        end = last.position if place == last[:2] else length
        return min(start, length), min(end, length)
