"""Cuts Markdown into segments, so that a live answer costs the same at any length.

Closed text is frozen once it passes about 600 characters, always at a top-level block that
markdown-it's block parser reports, and a top-level fence is a segment of its own. Only what comes
after the last frozen segment is looked at again. Measured before: re-parsing a whole answer of
12,000 characters costs four times as much per update, and cutting at blank lines breaks lists and
``~~~`` fences.

Pure and without a thread of its own: the window uses it on the Qt thread, the tests anywhere.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

FREEZE_CHARACTERS = 600
"""Closed prose is cut at the first top-level block that starts at or after this many."""

_BLANKS = " \t\r\n"
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\n|\r(?!\Z))")
"""One complete line. A carriage return at the very end may still be followed by its newline."""
_ANY_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]+")
_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
_NEWLINE = re.compile(r"\r\n?")
_FENCE = re.compile(r"^( {0,3})(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\r\n]*)")
_LONG_BLOCK_CHARACTERS = 2 * FREEZE_CHARACTERS


class SegmentKind(StrEnum):
    """What a segment needs to be shown."""

    PROSE = "prose"
    """Markdown without top-level fences."""
    CODE = "code"
    """One top-level fence."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a message. The sources of all segments, joined, are the message."""

    kind: SegmentKind
    source: str
    """The exact characters of the message."""
    text: str
    """What to show: Markdown (with the reference links it needs), or the code in the fence."""
    language: str = ""
    """Of code: the first word after the fence, as written."""
    closed: bool = True
    """Nothing that may still arrive can change it."""


@dataclass(frozen=True, slots=True)
class SegmentChange:
    """Replace the shown segments from index ``first`` on by ``segments``."""

    first: int
    segments: tuple[Segment, ...]


@dataclass(slots=True)
class _Fence:
    indent: int
    closing: re.Pattern[str]
    language: str
    source: str
    body: str = ""
    ended: bool = False

    @classmethod
    def opened_by(cls, opening: re.Match[str], source: str) -> _Fence:
        indent, marks, info = opening.groups()
        closing = re.compile(rf"^ {{0,3}}{re.escape(marks[0])}{{{len(marks)},}}[ \t]*[\r\n]*\Z")
        words = info.split()
        return cls(len(indent), closing, words[0] if words else "", source)

    def extended(self, line: str) -> _Fence:
        """With one more line of code, or closed by it."""
        if self.closing.match(line):
            return replace(self, source=self.source + line, ended=True)
        return replace(self, source=self.source + line, body=self.body + self._unindent(line))

    def with_blank(self, line: str) -> _Fence:
        """With one more blank line after its end."""
        return replace(self, source=self.source + line)

    def segment(self) -> Segment:
        """What is known of it so far."""
        return Segment(SegmentKind.CODE, self.source, self.body, self.language, self.ended)

    def _unindent(self, line: str) -> str:
        """Without the columns by which the fence itself is indented; a tab ends at fours."""
        column = start = 0
        while column < self.indent and start < len(line) and line[start] in " \t":
            column += 1 if line[start] == " " else 4 - column % 4
            start += 1
        return " " * (column - self.indent) + _NEWLINE.sub("\n", line[start:])


class SegmentStream:
    """The segments of a message that grows.

    After every ``feed`` the segments depend on the text so far alone, not on how it was cut into
    chunks. Those before the first one returned by ``feed`` are frozen until ``finish``.
    """

    def __init__(self) -> None:
        self._frozen: list[Segment] = []
        self._open = ""
        """Complete lines of prose since the last frozen segment."""
        self._block = 0
        """Where the last known top-level block of ``_open`` starts."""
        self._next_check = FREEZE_CHARACTERS
        self._fence: _Fence | None = None
        self._line = ""
        """The last line, not yet complete."""
        self._finished: tuple[Segment, ...] | None = None

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All of them, the open one last."""
        if self._finished is not None:
            return self._finished
        return (*self._frozen, *self._tail())

    @property
    def text(self) -> str:
        """Everything that was fed."""
        return "".join(segment.source for segment in self.segments)

    def feed(self, text: str) -> SegmentChange:
        """Add text. O(open segment), whatever the length of the message.

        Raises:
            ValueError: the message was finished.
        """
        if self._finished is not None:
            raise ValueError("the message is finished")
        first = len(self._frozen)
        rest = self._line + text
        start = 0
        while line := _LINE.match(rest, start):
            self._add_line(line.group())
            start = line.end()
        self._line = rest[start:]
        return SegmentChange(first, (*self._frozen[first:], *self._tail()))

    def finish(self) -> SegmentChange:
        """Parse the whole message once, which is what settles links defined elsewhere in it."""
        before = self.segments
        after = split_markdown("".join(segment.source for segment in before))
        self._finished = after
        first = 0
        while first < min(len(before), len(after)) and before[first] == after[first]:
            first += 1
        return SegmentChange(first, after[first:])

    def _add_line(self, line: str) -> None:
        if self._fence is not None:
            if not self._fence.ended:
                self._fence = self._fence.extended(line)
                return
            if not line.strip(_BLANKS):
                self._fence = self._fence.with_blank(line)
                return
            self._frozen.append(self._fence.segment())
            self._fence = None
        before = self._open
        self._open += line
        if opening := self._fence_opened_by(line, before):
            if before.strip(_BLANKS):
                self._frozen.append(_prose(before, closed=True))
                before = ""
            self._fence = _Fence.opened_by(opening, before + line)
            self._restart("")
        elif len(self._open) >= self._next_check:
            self._freeze()

    def _freeze(self) -> None:
        starts = [self._block + block.start for block in _blocks(self._open[self._block :])]
        begin = 0
        for start in starts:
            if start - begin >= FREEZE_CHARACTERS:
                self._frozen.append(_prose(self._open[begin:start], closed=True))
                begin = start
        if begin:
            self._restart(self._open[begin:])
        if starts:
            self._block = starts[-1] - begin
        # A long list is one block: look again only after it has grown by a part of its length.
        size = len(self._open)
        growth = size // 4 if size > _LONG_BLOCK_CHARACTERS else 0
        self._next_check = max(FREEZE_CHARACTERS, size + growth)

    def _restart(self, rest: str) -> None:
        self._open = rest
        self._block = 0
        self._next_check = FREEZE_CHARACTERS

    def _fence_opened_by(self, line: str, before: str) -> re.Match[str] | None:
        """The opening fence that ``line`` is, unless it stands inside a list or a quotation."""
        opening = _FENCE.match(line)
        if opening is None:
            return None
        source = before[self._block :] + line
        blocks = _blocks(source)
        return opening if blocks and blocks[-1].start == len(source) - len(line) else None

    def _tail(self) -> tuple[Segment, ...]:
        """The segments after the frozen ones, as if the text ended here."""
        line = self._line
        if self._fence is not None and not self._fence.ended:
            return ((self._fence.extended(line) if line else self._fence).segment(),)
        if self._fence is not None:
            if not line.strip(_BLANKS):
                return (self._fence.with_blank(line).segment(),)
            before, head = "", [self._fence.segment()]
        else:
            before, head = self._open, []
        if opening := self._fence_opened_by(line, before):
            if before.strip(_BLANKS):
                head.append(_prose(before, closed=False))
                before = ""
            head.append(_Fence.opened_by(opening, before + line).segment())
        elif before + line:
            head.append(_prose(before + line, closed=False))
        return tuple(head)


def split_markdown(text: str) -> tuple[Segment, ...]:
    """The segments of a finished message, by one parse of the whole.

    Prose that uses a link defined in another segment gets the definition in its ``text``, so that
    every segment shows what it would show in the whole.
    """
    env: dict[str, Any] = {}
    segments: list[Segment] = []
    begin = 0
    for block in _blocks(text, env):
        if block.is_fence:
            if text[begin : block.start].strip(_BLANKS):
                segments.append(_prose(text[begin : block.start], closed=True))
                begin = block.start
            end = _after_blank_lines(text, block.end)
            segments.append(_code(text[begin : block.start], text[block.start : end]))
            begin = end
        elif block.start - begin >= FREEZE_CHARACTERS:
            segments.append(_prose(text[begin : block.start], closed=True))
            begin = block.start
    if begin < len(text):
        segments.append(_prose(text[begin:], closed=True))
    if env.get("references"):
        return _with_references(segments, env["references"], _line_offsets(text))
    return tuple(segments)


def _prose(source: str, *, closed: bool) -> Segment:
    return Segment(SegmentKind.PROSE, source, source, closed=closed)


def _code(blank: str, source: str) -> Segment:
    """A finished fence, with the blank lines before and after it."""
    first, *others = _split_lines(source)
    opening = _FENCE.match(first)
    if opening is None:
        raise AssertionError(first)
    fence = _Fence.opened_by(opening, blank + first)
    for line in others:
        fence = fence.with_blank(line) if fence.ended else fence.extended(line)
    return replace(fence.segment(), closed=True)


def _with_references(
    segments: Sequence[Segment], references: Mapping[str, Any], lines: Sequence[int]
) -> tuple[Segment, ...]:
    result = []
    begin = 0
    for segment in segments:
        end = begin + len(segment.source)
        missing = {
            label: references[label]
            for label in map(_label, _BRACKETS.findall(segment.source))
            if label in references and not begin <= lines[references[label]["map"][0]] < end
        }
        if segment.kind is SegmentKind.PROSE and missing:
            head = "".join(_definition(label, link) for label, link in missing.items())
            result.append(replace(segment, text=f"{head}\n{segment.source}"))
        else:
            result.append(segment)
        begin = end
    return tuple(result)


def _label(text: str) -> str:
    """As markdown-it compares labels."""
    return " ".join(text.split()).lower().upper()


def _definition(label: str, link: Mapping[str, str]) -> str:
    title = link["title"].replace("\\", "\\\\").replace('"', '\\"')
    return f'[{label}]: <{link["href"]}> "{title}"\n'


class _Block(NamedTuple):
    """A top-level block; offsets in characters."""

    is_fence: bool
    start: int
    end: int


def _blocks(text: str, env: dict[str, Any] | None = None) -> list[_Block]:
    """The top-level blocks of ``text``; ``env`` receives the reference links."""
    lines = _line_offsets(text)
    return [
        _Block(token.type == "fence", lines[token.map[0]], lines[token.map[1]])
        for token in _parser().parse(text, env)
        if token.level == 0 and token.nesting >= 0 and token.map
    ]


def _line_offsets(text: str) -> list[int]:
    """Where each line starts, and the end of the text once more."""
    offsets = [0]
    for line in _split_lines(text):
        offsets.append(offsets[-1] + len(line))
    return offsets


def _split_lines(text: str) -> list[str]:
    """Lines with their ends; ``str.splitlines`` knows more line ends than Markdown does."""
    return _ANY_LINE.findall(text)


def _after_blank_lines(text: str, start: int) -> int:
    for line in _ANY_LINE.finditer(text, start):
        if line.group().strip(_BLANKS):
            return line.start()
    return len(text)


@functools.cache
def _parser() -> MarkdownIt:
    """Blocks only, HTML as plain text, tables: what the transcript shows."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - 83 ms that the start need not wait for

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
