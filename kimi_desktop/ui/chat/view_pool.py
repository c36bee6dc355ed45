"""The views of the items near the viewport, and spare ones for those that come. Qt thread.

Making a text browser costs about a millisecond and a half, filling one much less: a view that
leaves the neighbourhood waits here for its next item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from PySide6.QtWidgets import QWidget

from kimi_desktop.ui.chat.code_view import CodeView
from kimi_desktop.ui.chat.item_views import Act, FoldView, ItemView, TextView
from kimi_desktop.ui.chat.message_views import NoticeView, QuestionView, StatsView
from kimi_desktop.ui.chat.transcript_model import Entry, Item, ItemKind, Key

Place = tuple[int, Key]
"""Entry index and item key."""
_Shelf = tuple[ItemKind, bool]
SPARES = 6
"""Of each kind; the rest is let go."""


class ViewPool:
    """Hands out one view per item and takes it back."""

    def __init__(self, parent: QWidget, on_act: Callable[[Place, Act], None]) -> None:
        self._parent = parent
        self._on_act = on_act
        self._live: dict[Place, ItemView] = {}
        self._shown: dict[Place, Item] = {}
        self._spare: dict[_Shelf, list[ItemView]] = {}
        self._width = 0
        self.wrapped: set[Place] = set()
        """Code whose lines wrap."""

    def __iter__(self) -> Iterator[tuple[Place, ItemView]]:
        """The live ones, in no order."""
        return iter(tuple(self._live.items()))

    def get(self, place: Place) -> ItemView | None:
        """The live view at a place, if any."""
        return self._live.get(place)

    def item_at(self, place: Place) -> Item | None:
        """What the live view at a place shows."""
        return self._shown.get(place)

    def view(self, place: Place, entry: Entry, item: Item, width: int) -> tuple[ItemView, int]:
        """The view that shows ``item``, filled and laid out, and its height."""
        view = self._live.get(place)
        before = self._shown.get(place)
        if view is not None and before is not None and _shelf(before) != _shelf(item):
            self._put_away(place)
            view = None
        if view is None:
            view = self._take(_shelf(item))
            self._live[place] = view
            before = None
            view.place = place
        if before is not item:
            if isinstance(view, CodeView):
                view.set_wrap(place in self.wrapped)
            view.show_item(entry, item)
            self._shown[place] = item
        height = view.height_at(width)
        return view, height

    def keep(self, places: Iterable[Place], pinned: Place | None) -> None:
        """Put away every view but these (and the one that the mouse holds)."""
        kept = set(places)
        for place in [p for p in self._live if p not in kept and p != pinned]:
            self._put_away(place)

    def drop_from(self, entry: int) -> None:
        """Put away the views of this entry and those after it."""
        for place in [p for p in self._live if p[0] >= entry]:
            self._put_away(place)
        self.wrapped = {place for place in self.wrapped if place[0] < entry}

    def dress(self) -> None:
        """The theme or the language has changed: every view is filled again when next asked."""
        for place in tuple(self._live):
            self._put_away(place)
        for shelf in self._spare.values():
            for view in shelf:
                view.dress()

    def _take(self, shelf: _Shelf) -> ItemView:
        spare = self._spare.get(shelf)
        if spare:
            return spare.pop()
        view = _make(shelf, self._parent)
        view.acted.connect(self._on_act)
        return view

    def _put_away(self, place: Place) -> None:
        view = self._live.pop(place)
        item = self._shown.pop(place)
        view.hide()
        if view.pane is not None:
            view.pane.select_range(0, 0)
        shelf = self._spare.setdefault(_shelf(item), [])
        if len(shelf) < SPARES:
            shelf.append(view)
        else:
            view.deleteLater()


def _shelf(item: Item) -> _Shelf:
    return item.kind, item.thought and item.kind is ItemKind.TEXT


def _make(shelf: _Shelf, parent: QWidget) -> ItemView:
    kind, thought = shelf
    match kind:
        case ItemKind.QUESTION:
            return QuestionView(parent)
        case ItemKind.FOLD:
            return FoldView(parent)
        case ItemKind.TEXT:
            return TextView(parent, thought=thought)
        case ItemKind.CODE:
            return CodeView(parent)
        case ItemKind.NOTICE:
            return NoticeView(parent)
        case ItemKind.STATS:
            return StatsView(parent)
