"""What the transcript shows, as items: a message is cut into pieces that are drawn one by one.

Pure (no Qt). An entry is one message; its items are made only when it comes near the viewport,
because cutting 2,000 messages into segments takes half a second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from kimi_desktop.base.errors import KimiError
from kimi_desktop.chat.segments import Segment, SegmentKind, SegmentStream, split_markdown
from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role, TokensArrived

LONG_PIECE = 5000
"""Characters of prose that are drawn as one at most: a block that a model never ends would be laid
out again and again, and ever more slowly."""
LONG_QUESTION = 6000
"""Characters of a question that are shown before one asks for all of it."""
LONG_QUESTION_LINES = 80
_MOST_PIECES = 100_000
_TOP_LEVEL_LINE = re.compile(r"\n(?![\s|])")


class ItemKind(Enum):
    """Which view draws it."""

    QUESTION = "question"
    FOLD = "fold"
    TEXT = "text"
    CODE = "code"
    NOTICE = "notice"
    STATS = "stats"


class Part(Enum):
    """Where an item stands in its message, from top to bottom."""

    QUESTION = 0
    FOLD = 1
    THOUGHT = 2
    ANSWER = 3
    NOTICE = 4
    STATS = 5


class Key(NamedTuple):
    """An item's place in its message; keys sort as the items stand."""

    part: int
    number: int


@dataclass(frozen=True, slots=True)
class Item:
    """One piece of the transcript."""

    key: Key
    kind: ItemKind
    text: str = ""
    """Markdown, code, or plain text (a question)."""
    source: str = ""
    """The characters of the message that it shows."""
    language: str = ""
    thought: bool = False
    ends_thought: bool = False
    """The answer begins below it."""
    open: bool = False
    """Text is still being added to it: the caret stands at its end."""

    @property
    def has_text(self) -> bool:
        """It can be selected and copied."""
        return self.kind in (ItemKind.QUESTION, ItemKind.TEXT, ItemKind.CODE)


@dataclass(frozen=True, slots=True)
class Prefill:
    """How far the engine is through the prompt."""

    done_tokens: int
    total_tokens: int


class Entry:
    """One message of the shown chat."""

    def __init__(self, message: Message, *, unfolded: bool = False) -> None:
        self.message = message
        self.unfolded = unfolded
        """The thinking is shown."""
        self.prefill: Prefill | None = None
        self.error: KimiError | None = None
        self._answer: SegmentStream | None = None
        self._thought: SegmentStream | None = None
        self._items: list[Item] | None = None
        if message.finish is Finish.GENERATING:
            self._answer, self._thought = SegmentStream(), SegmentStream()
            self._answer.feed(message.text)
            self._thought.feed(message.reasoning)

    @property
    def is_live(self) -> bool:
        """The answer is being written."""
        return self.message.finish is Finish.GENERATING

    @property
    def has_items(self) -> bool:
        """They were made (it was near the viewport, or it is live)."""
        return self._items is not None

    @property
    def items(self) -> Sequence[Item]:
        """From top to bottom, never empty. Made on first use: 0.3 ms per 1,000 characters."""
        if self._items is None:
            self._items = self._make_items()
        return self._items

    def take(self, arrived: TokensArrived) -> None:
        """Add what is new in an event: a message that was asked for late has part of it already.

        Raises:
            ValueError: the answer is finished.
        """
        message = self.message
        text, reasoning = arrived.text, arrived.reasoning
        known = len(message.text) - (arrived.text_length - len(text))
        thought = len(message.reasoning) - (arrived.reasoning_length - len(reasoning))
        self.feed(text[max(known, 0) :], reasoning[max(thought, 0) :], arrived.stats)

    def feed(self, text: str, reasoning: str, stats: AnswerStats) -> None:
        """Add to the live answer. Unchanged items stay the same objects.

        Raises:
            ValueError: the answer is finished.
        """
        if self._answer is None or self._thought is None:
            raise ValueError("not a live answer")
        self._answer.feed(text)
        self._thought.feed(reasoning)
        self.prefill = None
        self.message = replace(
            self.message,
            text=self.message.text + text,
            reasoning=self.message.reasoning + reasoning,
            stats=stats,
        )
        self._refresh()

    def finish(self, message: Message, error: KimiError | None) -> None:
        """Take the answer as stored; what shows the same stays the same objects."""
        self.message = message
        self.error = error
        self.prefill = None
        self._answer = self._thought = None
        self._refresh()

    def progress(self, prefill: Prefill) -> None:
        """The engine reads the prompt."""
        self.prefill = prefill

    def unfold(self, shown: bool) -> None:
        """Show or hide the thinking."""
        self.unfolded = shown
        self._refresh()

    def _refresh(self) -> None:
        if self._items is not None:
            before = {item.key: item for item in self._items}
            self._items = [
                old if (old := before.get(item.key)) == item else item
                for item in self._make_items()
            ]

    def _make_items(self) -> list[Item]:
        message = self.message
        if message.role is not Role.ASSISTANT:
            key = Key(Part.QUESTION.value, 0)
            shown = message.text if self.unfolded else cut_question(message.text)
            return [Item(key, ItemKind.QUESTION, shown, message.text)]
        items: list[Item] = []
        if message.reasoning:
            items.append(Item(Key(Part.FOLD.value, 0), ItemKind.FOLD))
            if self.unfolded:
                items += self._segments(Part.THOUGHT)
        items += self._segments(Part.ANSWER)
        if message.finish is Finish.FAILED or self.error is not None:
            items.append(Item(Key(Part.NOTICE.value, 0), ItemKind.NOTICE))
        items.append(Item(Key(Part.STATS.value, 0), ItemKind.STATS))
        return items

    def _segments(self, part: Part) -> list[Item]:
        thought = part is Part.THOUGHT
        stream = self._thought if thought else self._answer
        if stream is not None:
            segments: Sequence[Segment] = stream.segments
        else:
            segments = split_markdown(self.message.reasoning if thought else self.message.text)
        items: list[Item] = []
        for number, segment in enumerate(segments):
            key = Key(part.value, number * _MOST_PIECES)
            is_code = segment.kind is SegmentKind.CODE
            pieces = ((segment.text, segment.source),) if is_code else _pieces(segment)
            items += [
                Item(
                    key._replace(number=key.number + place),
                    ItemKind.CODE if is_code else ItemKind.TEXT,
                    text,
                    source,
                    segment.language,
                    thought=thought,
                )
                for place, (text, source) in enumerate(pieces)
            ]
        writing = self.is_live and thought == (not self.message.text)
        if items and (writing or thought):
            items[-1] = replace(items[-1], open=writing, ends_thought=thought)
        return items


def cut_question(text: str) -> str:
    """The beginning of a very long question, else all of it."""
    lines = text.split("\n", LONG_QUESTION_LINES)
    if len(lines) > LONG_QUESTION_LINES:
        text = "\n".join(lines[:-1])
    return text[:LONG_QUESTION]


def _pieces(segment: Segment) -> tuple[tuple[str, str], ...]:
    """(Text, source) of what is drawn as one: the segment, unless it is very long.

    A cut falls on a line that begins a new item, else between lines, words, or anywhere. Where
    does not depend on what comes after the next ``LONG_PIECE`` characters, so that pieces of an
    answer that grows stay as they are.
    """
    source = segment.source
    if len(source) <= LONG_PIECE:
        return ((segment.text, source),)
    pieces = []
    start = 0
    while len(source) - start > LONG_PIECE:
        window = source[start : start + LONG_PIECE]
        starts = [found.end() for found in _TOP_LEVEL_LINE.finditer(window, LONG_PIECE // 2)]
        cut = starts[-1] if starts else 0
        cut = cut or window.rfind("\n") + 1 or window.rfind(" ") + 1 or LONG_PIECE
        pieces.append(source[start : start + cut])
        start += cut
    pieces.append(source[start:])
    return tuple((piece, piece) for piece in pieces)
