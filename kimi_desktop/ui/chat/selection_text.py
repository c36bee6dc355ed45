"""What the places of a selection mean in text: lengths, neighbours, Markdown. Qt thread.

Works for messages that have no view as well: their document is rendered aside when needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextCursor, QTextDocument

from kimi_desktop.ui.chat.markdown_render import (
    ANSWER,
    THOUGHT,
    prepare_document,
    render_markdown,
    render_plain,
)
from kimi_desktop.ui.chat.markdown_writer import write_markdown
from kimi_desktop.ui.chat.selection import Spot
from kimi_desktop.ui.chat.transcript_model import Item, ItemKind

if TYPE_CHECKING:
    from kimi_desktop.ui.chat.transcript import Transcript

_PARAGRAPH = "\u2029"
_LINE = "\u2028"


class SelectionText:
    """Reads the text of a transcript."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._aside: tuple[Item, QTextDocument] | None = None

    def first_spot(self) -> Spot | None:
        """Before the first character."""
        item = self.next_item(-1, None)
        return None if item is None else Spot(item[0], item[1].key, 0)

    def last_spot(self) -> Spot | None:
        """After the last character."""
        item = self.previous_item(len(self._transcript.entries), None)
        if item is None:
            return None
        return Spot(item[0], item[1].key, self.length(*item))

    def next_item(self, entry: int, item: Item | None) -> tuple[int, Item] | None:
        """The next item with text, in this entry or below."""
        entries = self._transcript.entries
        if item is not None:
            for other in entries[entry].items:
                if other.has_text and other.key > item.key:
                    return entry, other
        for index in range(entry + 1, len(entries)):
            for other in entries[index].items:
                if other.has_text:
                    return index, other
        return None

    def previous_item(self, entry: int, item: Item | None) -> tuple[int, Item] | None:
        """The previous item with text, in this entry or above."""
        entries = self._transcript.entries
        if item is not None:
            for other in reversed(entries[entry].items):
                if other.has_text and other.key < item.key:
                    return entry, other
        for index in range(entry - 1, -1, -1):
            for other in reversed(entries[index].items):
                if other.has_text:
                    return index, other
        return None

    def item_of(self, spot: Spot) -> Item | None:
        """The item that a spot is in, None when it is gone."""
        for item in self._transcript.entries[spot.entry].items:
            if item.key == spot.key:
                return item
        return None

    def length(self, entry: int, item: Item) -> int:
        """How many positions the drawn text of an item has."""
        return self.document(entry, item).characterCount() - 1

    def document(self, entry: int, item: Item) -> QTextDocument:
        """The drawn text: of its view, or rendered aside. Only to be read, and only at once."""
        place = (entry, item.key)
        view = self._transcript.pool.get(place)
        shows_it = self._transcript.pool.item_at(place) is item
        if view is not None and view.pane is not None and shows_it:
            return view.pane.document()
        if self._aside is None or self._aside[0] is not item:
            self._aside = (item, _render_aside(item))
        return self._aside[1]

    def mended(self, spot: Spot) -> Spot:
        """Where a spot is after its message was cut into pieces anew."""
        texts = [item for item in self._transcript.entries[spot.entry].items if item.has_text]
        rest = [item for item in texts if item.key >= spot.key]
        if not rest:
            if not texts:
                return spot
            return Spot(spot.entry, texts[-1].key, self.length(spot.entry, texts[-1]))
        position = spot.position if rest[0].key == spot.key else 0
        for item in rest[:-1]:
            length = self.length(spot.entry, item)
            if position <= length:
                return Spot(spot.entry, item.key, position)
            position -= length + 1
        last = self.length(spot.entry, rest[-1])
        return Spot(spot.entry, rest[-1].key, min(position, last))

    def between(self, first: Spot, last: Spot) -> str:
        """The Markdown from one spot to another; messages are parted by an empty line."""
        messages = []
        several = first[:2] != last[:2]
        for index in range(first.entry, last.entry + 1):
            text = ""
            exact_before = False
            for piece, exact in self._pieces(index, first, last, fenced=several):
                if text and not (exact and exact_before):
                    text = text.rstrip("\n") + "\n\n" + piece.lstrip("\n")
                else:
                    text += piece
                exact_before = exact
            if text.strip():
                messages.append(text.strip("\n"))
        return "\n\n".join(messages)

    def _pieces(
        self, index: int, first: Spot, last: Spot, *, fenced: bool
    ) -> Iterator[tuple[str, bool]]:
        """The selected text of each item of a message, and whether it is the item's source."""
        for item in self._transcript.entries[index].items:
            place = (index, item.key)
            if not item.has_text or place < first[:2] or place > last[:2]:
                continue
            start = first.position if place == first[:2] else 0
            if start == 0 and place != last[:2]:
                yield item.source, True
                continue
            document = self.document(index, item)
            length = document.characterCount() - 1
            end = last.position if place == last[:2] else length
            if start == 0 and end >= length and (fenced or item.kind is not ItemKind.CODE):
                yield item.source, True
            elif item.kind is ItemKind.TEXT:
                yield write_markdown(document, start, end), False
            else:
                text = _plain(document, start, end)
                if item.kind is ItemKind.CODE and fenced and text:
                    text = f"```{item.language}\n{text}\n```"
                yield text, False


def _plain(document: QTextDocument, start: int, end: int) -> str:
    cursor = QTextCursor(document)
    cursor.setPosition(start)
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor.selectedText().replace(_PARAGRAPH, "\n").replace(_LINE, "\n")


def _render_aside(item: Item) -> QTextDocument:
    document = QTextDocument()
    look = THOUGHT if item.thought else ANSWER
    prepare_document(document, look)
    match item.kind:
        case ItemKind.TEXT:
            render_markdown(document, item.text, look)
        case ItemKind.CODE:
            document.setPlainText(item.text.removesuffix("\n"))
        case _:
            render_plain(document, item.text, look)
    return document
