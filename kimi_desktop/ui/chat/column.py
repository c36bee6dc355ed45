"""Where each item of the transcript stands: heights, anchor, scrolling. Pure (no Qt).

Only what is near the viewport is ever measured; the rest is estimated. The truth is the anchor
("this item's top is 37 px above the viewport's"), never the scroll bar's value: when a height
above turns out different from its estimate, the bar moves and the text does not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kimi_desktop.chat.types import Role
from kimi_desktop.ui.chat.height_index import HeightIndex
from kimi_desktop.ui.chat.transcript_model import Entry, Item, ItemKind, Key

PAD_TOP = 16
PAD_BOTTOM = 12
_CHARACTER_PX = 7.4
_LINE_PX = 24
_CODE_LINE_PX = 20
_CODE_EXTRA_PX = 62
_STATS_PX = 36
_FOLD_PX = 32

Measure = Callable[[int, Item], int]
"""(entry index, item) -> height in pixels at the column's width, spacing included."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An item near the viewport, its top relative to the viewport's top."""

    entry: int
    item: Item
    y: int
    height: int


class _Heights:
    """What is known about one entry: its items' heights at one width, and how much text it has."""

    __slots__ = ("breaks", "known", "units", "width")

    def __init__(self, text: str) -> None:
        self.width = 0
        self.known: dict[Key, tuple[Item, int]] = {}
        self.units, self.breaks = _extent(text)


def _extent(text: str) -> tuple[float, int]:
    """Width in Latin characters, and line breaks.

    A CJK character is about as wide as two Latin ones and has three bytes.
    """
    return (len(text) + len(text.encode("utf-8", "replace"))) / 2, text.count("\n")


class Column:
    """All entries, one below the other, seen through a viewport."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self.entries: list[Entry] = []
        self._heights: list[_Heights] = []
        self._index = HeightIndex()
        self._width = 1
        self._view = 1
        self._ratio = 1.0
        """Measured over estimated, so far: long chats are alike in themselves."""
        self.follow = True
        """Stick to the bottom while text arrives."""
        self.held = False
        """Nothing may move by itself: a selection is being drawn."""
        self._entry = 0
        self._key = Key(0, 0)
        self._offset = -PAD_TOP
        """How far the anchor item's top is above the viewport's top."""

    # content

    def replace(self, start: int, entries: Sequence[Entry]) -> None:
        """Put ``entries`` in the place of those from ``start`` on."""
        del self.entries[start:]
        del self._heights[start:]
        self._index.truncate(start)
        for entry in entries:
            self.append(entry)
        if self._entry >= len(self.entries):
            self._anchor_at(max(len(self.entries) - 1, 0), Key(0, 0), -PAD_TOP)

    def append(self, entry: Entry) -> None:
        """Add one below the others."""
        self.entries.append(entry)
        self._heights.append(_Heights(entry.message.text))
        self._index.append(self._estimate(len(self.entries) - 1))

    def touch(self, entry: int) -> None:
        """The items of this entry have changed; those that are new have no height yet."""
        self._index[entry] = self._estimate(entry)

    def forget(self, entry: int, item: Item) -> None:
        """The height of this item must be measured again."""
        self._heights[entry].known.pop(item.key, None)

    def resize(self, width: int, view_height: int) -> None:
        """Another size; a new width makes every height unknown."""
        self._view = view_height
        if width != self._width:
            self._width = width
            self._index = HeightIndex(self._estimate(i) for i in range(len(self.entries)))

    # anchor

    @property
    def anchor(self) -> tuple[int, Key, int]:
        """Entry, item, and how far its top is above the viewport's top."""
        return self._entry, self._key, self._offset

    def anchor_to(self, entry: int, key: Key, offset: int) -> None:
        """Let this item's top be ``offset`` above the viewport's top."""
        self._anchor_at(entry, key, offset)
        self.follow = False

    def scroll_by(self, pixels: int) -> None:
        """Move the text up by ``pixels`` (down when negative), exactly."""
        if not self.entries or not pixels:
            return
        self.follow = False
        entry, number = self._anchor_place()
        offset = self._offset + pixels
        while offset < 0 and (before := self._before(entry, number)) is not None:
            entry, number = before
            offset += self._height(entry, number)
        while (after := self._after(entry, number)) is not None:
            height = self._height(entry, number)
            if offset < height:
                break
            offset -= height
            entry, number = after
        self._anchor_at(entry, self.entries[entry].items[number].key, max(offset, -PAD_TOP))

    def to_end(self) -> None:
        """Go to the bottom and stay there."""
        self.follow = True

    def to_start(self) -> None:
        """Go to the top."""
        self.anchor_to(0, Key(0, 0), -PAD_TOP)

    def to_value(self, value: int, maximum: int) -> None:
        """Go where a scroll bar points: ``value`` of ``maximum``."""
        if not self.entries or value <= 0:
            self.to_start()
            return
        if value >= maximum:
            self.to_end()
            return
        y = round(value / maximum * self.maximum) - PAD_TOP
        entry, rest = self._index.find(y)
        items = self.entries[entry].items
        number = 0
        while number + 1 < len(items):
            height = self._known_or_guess(entry, number)
            if rest < height:
                break
            rest -= height
            number += 1
        self.anchor_to(entry, items[number].key, min(rest, self._known_or_guess(entry, number)))

    @property
    def value(self) -> int:
        """The scroll bar's value for where we are, by what is known and estimated."""
        if self.follow or not self.entries:
            return self.maximum
        entry, number = self._anchor_place()
        above = sum(self._known_or_guess(entry, i) for i in range(number))
        return min(max(PAD_TOP + self._index.top(entry) + above + self._offset, 0), self.maximum)

    @property
    def maximum(self) -> int:
        """The scroll bar's range."""
        return max(self._index.total + PAD_TOP + PAD_BOTTOM - self._view, 0)

    # placing

    def place(self, margin: int) -> list[Placed]:
        """The items within ``margin`` of the viewport, top down. Measures what it meets.

        Corrects an anchor that would leave a gap below the end or above the start, and sets
        ``follow`` when the end is in view.
        """
        if not self.entries:
            self.follow = True
            return []
        if self.held or not self.follow:
            placed = self._place_from_anchor(margin)
            last = placed[-1]
            at_end = self._after(*self._number_of(last)) is None
            gap = self._view - PAD_BOTTOM - (last.y + last.height)
            if not at_end or gap < (1 if self.held else 0):
                return placed
            self.follow = not self.held
        return self._place_from_end(margin)

    def _place_from_anchor(self, margin: int) -> list[Placed]:
        entry, number = self._anchor_place()
        top = -self._offset
        above = self._walk_up(entry, number, top, -margin)
        if (not above and top > PAD_TOP and self._before(entry, number) is None) or (
            above and above[0].y > PAD_TOP
        ):
            top -= (above[0].y if above else top) - PAD_TOP
            self._offset = -top
            above = self._walk_up(entry, number, top, -margin)
        return [*above, *self._walk_down(entry, number, top, self._view + margin)]

    def _place_from_end(self, margin: int) -> list[Placed]:
        entry = len(self.entries) - 1
        number = len(self.entries[entry].items) - 1
        bottom = self._view - PAD_BOTTOM
        last_y = bottom - self._height(entry, number)
        placed = self._walk_up(entry, number, last_y, -margin)
        placed.append(self._placed(entry, number, last_y))
        if placed[0].y > PAD_TOP and self._before(*self._number_of(placed[0])) is None:
            shift = PAD_TOP - placed[0].y
            placed = [Placed(p.entry, p.item, p.y + shift, p.height) for p in placed]
        first = next((p for p in placed if p.y + p.height > 0), placed[-1])
        self._anchor_at(first.entry, first.item.key, -first.y)
        return placed

    def _walk_up(self, entry: int, number: int, top: int, limit: int) -> list[Placed]:
        found: list[Placed] = []
        place: tuple[int, int] | None = (entry, number)
        while top > limit and place is not None and (place := self._before(*place)) is not None:
            top -= self._height(*place)
            found.append(self._placed(*place, top))
        found.reverse()
        return found

    def _walk_down(self, entry: int, number: int, top: int, limit: int) -> list[Placed]:
        found = [self._placed(entry, number, top)]
        place: tuple[int, int] | None = (entry, number)
        while place is not None and found[-1].y + found[-1].height < limit:
            place = self._after(*place)
            if place is not None:
                found.append(self._placed(*place, found[-1].y + found[-1].height))
        return found

    def _placed(self, entry: int, number: int, y: int) -> Placed:
        return Placed(entry, self.entries[entry].items[number], y, self._height(entry, number))

    def _number_of(self, placed: Placed) -> tuple[int, int]:
        return placed.entry, self._find(placed.entry, placed.item.key)

    # neighbours and heights

    def _before(self, entry: int, number: int) -> tuple[int, int] | None:
        if number > 0:
            return entry, number - 1
        return (entry - 1, len(self.entries[entry - 1].items) - 1) if entry > 0 else None

    def _after(self, entry: int, number: int) -> tuple[int, int] | None:
        if number + 1 < len(self.entries[entry].items):
            return entry, number + 1
        return (entry + 1, 0) if entry + 1 < len(self.entries) else None

    def _find(self, entry: int, key: Key) -> int:
        """The number of the item with this key, or of the next one that is left."""
        items = self.entries[entry].items
        return min(bisect_left(items, key, key=lambda item: item.key), len(items) - 1)

    def _anchor_at(self, entry: int, key: Key, offset: int) -> None:
        self._entry, self._key, self._offset = entry, key, offset

    def _anchor_place(self) -> tuple[int, int]:
        """Where the anchor is now; an item that is gone hands over to the next."""
        number = self._find(self._entry, self._key)
        key = self.entries[self._entry].items[number].key
        if key != self._key:
            self._anchor_at(self._entry, key, min(self._offset, 0))
        return self._entry, number

    def _height(self, entry: int, number: int) -> int:
        item = self.entries[entry].items[number]
        known = self._known(entry, item)
        if known is None:
            known = self._measure(entry, item)
            guess = self._guess(item)
            if item.kind is ItemKind.TEXT and guess > _LINE_PX * 2:
                self._ratio += 0.05 * (known / guess - self._ratio)
            heights = self._heights[entry]
            if heights.width != self._width:
                heights.width = self._width
                heights.known.clear()
            heights.known[item.key] = (item, known)
            self._index[entry] = self._estimate(entry)
        return known

    def _known(self, entry: int, item: Item) -> int | None:
        heights = self._heights[entry]
        if heights.width != self._width:
            return None
        found = heights.known.get(item.key)
        return found[1] if found is not None and found[0] is item else None

    def _known_or_guess(self, entry: int, number: int) -> int:
        item = self.entries[entry].items[number]
        known = self._known(entry, item)
        return self._scaled(item) if known is None else known

    def _estimate(self, index: int) -> int:
        entry = self.entries[index]
        if entry.has_items:
            return sum(self._known_or_guess(index, i) for i in range(len(entry.items)))
        message = entry.message
        heights = self._heights[index]
        if message.role is not Role.ASSISTANT:
            return self._prose(heights.units, heights.breaks, 0.8) + 28
        fold = _FOLD_PX if message.reasoning else 0
        prose = self._prose(heights.units, heights.breaks, 1.0)
        return round(prose * self._ratio) + fold + _STATS_PX

    def _scaled(self, item: Item) -> int:
        guess = self._guess(item)
        return round(guess * self._ratio) if item.kind is ItemKind.TEXT else guess

    def _guess(self, item: Item) -> int:
        match item.kind:
            case ItemKind.QUESTION:
                return self._prose(*_extent(item.text), 0.8) + 28
            case ItemKind.TEXT:
                return self._prose(*_extent(item.text), 1.0)
            case ItemKind.CODE:
                return (item.text.count("\n") + 1) * _CODE_LINE_PX + _CODE_EXTRA_PX
            case ItemKind.FOLD:
                return _FOLD_PX
            case ItemKind.STATS | ItemKind.NOTICE:
                return _STATS_PX

    def _prose(self, units: float, breaks: int, share: float) -> int:
        lines = units * _CHARACTER_PX / max(self._width * share, 1) + breaks * 0.6
        return max(round(lines * _LINE_PX), _LINE_PX) + 8
