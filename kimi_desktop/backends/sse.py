"""Server-sent events, read from bytes as they come. Pure; no thread.

Takes what the standard allows (LF, CRLF and CR, comments, a leading mark, several ``data`` lines)
and what servers get wrong: characters cut in two, an old llama.cpp's ``error:`` field, garbage
lines, an end in the middle of an event. A line that never ends is given up, not collected.
"""

from __future__ import annotations

from dataclasses import dataclass

MAX_LINE_BYTES = 16 * 2**20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One dispatched event."""

    data: str
    """The ``data`` lines, joined by newlines."""
    is_error: bool = False
    """It came in an ``error`` field, or its event type is "error"."""


class SseParser:
    """Feed it bytes; it returns the events that are complete."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._after_cr = False
        self._started = False
        self._dropping = False
        self._data: list[str] = []
        self._is_error = False

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that ``chunk`` completes, in order."""
        events: list[SseEvent] = []
        if self._after_cr and chunk:  # CR LF, cut between the two
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        position = 0
        while position < len(chunk):
            end, following = _line_end(chunk, position)
            if end < 0:
                self._collect(chunk[position:])
                break
            self._collect(chunk[position:end])
            self._take_line(events)
            self._after_cr = following == len(chunk) and chunk.endswith(b"\r")
            position = following
        return events

    def _collect(self, part: bytes) -> None:
        if self._dropping or len(self._line) + len(part) > MAX_LINE_BYTES:
            self._dropping = True
            self._line.clear()
            return
        self._line += part

    def _take_line(self, events: list[SseEvent]) -> None:
        raw = bytes(self._line)
        self._line.clear()
        if self._dropping:
            self._dropping = False
            return
        if not self._started:
            self._started = True
            raw = raw.removeprefix(BYTE_ORDER_MARK)
        if not raw:
            if self._data:
                events.append(SseEvent("\n".join(self._data), self._is_error))
            self._data = []
            self._is_error = False
            return
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "error":
            self._data.append(value)
            self._is_error = True
        elif name == "event":
            self._is_error = self._is_error or value == "error"


def _line_end(chunk: bytes, start: int) -> tuple[int, int]:
    """Where the line ends and where the next begins; (-1, -1) when it does not end here."""
    feed, turn = chunk.find(b"\n", start), chunk.find(b"\r", start)
    if turn < 0 or 0 <= feed < turn:
        return feed, feed + 1 if feed >= 0 else -1
    return turn, turn + 2 if chunk[turn + 1 : turn + 2] == b"\n" else turn + 1
