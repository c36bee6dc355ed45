"""A log made fit to be searched: decoded, bounded, without colours, split into lines. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import accumulate, chain, islice

from kimi_desktop.diagnosis.patterns import Pattern

MOST_CHARACTERS = 16 * 2**20
"""Of a longer log the first and the last half of this are read: causes stand at either end."""
MOST_LINE = 4000
MOST_TRIES = 400
"""So often a pattern is tried where its literal occurs; a log may repeat one line for hours."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_INFO = re.compile(
    r"(?:[\d.]+ )?[ID] [\w ]{4} "  # llama.cpp, with and without its clock
    r"|(?:[\d.]+ )?I \w+:"
    r"|(?:\(?\S+ pid=\d+\) )?(?:INFO|DEBUG)\b"  # vLLM, SGLang, uvicorn
    r"|(?:[\d.]+ )?\(\S+ pid=\d+\) (?:INFO|DEBUG)\b"
    r"|(?:time=\S+ )?level=(?:INFO|DEBUG)\b"  # ollama
)
_RUBBISH = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
"""Runs of zeros are left by a crash and are no sign of anything."""
_SAMPLE = 2**16
MOST_RUBBISH = 0.03
LEAST_BINARY = 1000
_MARK = "\ufeff"
_BREAK = re.compile(r"\r\n|\n|\r")


def decode_log(raw: bytes) -> str:
    """Text of a log in whatever encoding: UTF-8, UTF-16 by its mark or its zeros, else GB 18030.

    Never fails: what cannot be read becomes a replacement character. Of a file that is hardly text
    only the lines that are stay, so that no word stands in it by chance.
    """
    text = _decoded(raw)
    if len(text) < LEAST_BINARY or not _is_rubbish(text[:_SAMPLE] + text[-_SAMPLE:]):
        return text
    return "\n".join(line for line in _BREAK.split(text) if not _is_rubbish(line))


def decode_ends(head: bytes, tail: bytes, offset: int) -> str:
    """Beginning and end of a log that is too long to be read whole.

    Args:
        head: its first bytes.
        tail: its last bytes.
        offset: of ``tail`` in the file; an odd one cuts a character of UTF-16 in two.
    """
    wide = _wide_encoding(head)
    if wide is None:
        return decode_log(head + b"\n" + tail)
    end = tail[offset % 2 :].decode(wide, "replace")
    return f"{head.decode(wide, 'replace').lstrip(_MARK)}\n{end}"


def _wide_encoding(raw: bytes) -> str | None:
    """UTF-16 by its mark, or by its zeros."""
    if raw.startswith(b"\xff\xfe"):
        return "utf-16-le"
    if raw.startswith(b"\xfe\xff"):
        return "utf-16-be"
    sample = raw[:4096]
    pairs = zip(sample[::2], sample[1::2], strict=False)  # a run of zeros is a torn file
    if len(sample) > 16 and sum(low != 0 and high == 0 for low, high in pairs) > len(sample) // 3:
        return "utf-16-le"
    return None


def _is_rubbish(text: str) -> bool:
    return len(_RUBBISH.findall(text)) > MOST_RUBBISH * len(text)


def _decoded(raw: bytes) -> str:
    half = MOST_CHARACTERS // 2
    if len(raw) > MOST_CHARACTERS:
        return decode_ends(raw[:half], raw[-half:], len(raw) - half)
    if (wide := _wide_encoding(raw)) is not None:
        return raw.decode(wide, "replace").lstrip(_MARK)
    if raw.startswith(b"\xef\xbb\xbf"):
        raw = raw[3:]
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        # A few bad bytes in a UTF-8 log are rubbish of the engine's; many are another encoding.
        text = raw.decode("utf-8", "replace")
        if text.count("�") * 20 < len(text) or error.start > len(raw) - 4:
            return text
        return raw.decode("gb18030", "replace")


class LogText:
    """Lines of a log, and where a pattern first holds. Lines marked as decoys are passed over."""

    def __init__(self, text: str, decoys: tuple[Pattern, ...] = ()) -> None:
        if len(text) > MOST_CHARACTERS:
            text = f"{text[: MOST_CHARACTERS // 2]}\n{text[-MOST_CHARACTERS // 2 :]}"
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        text = _CONTROL.sub("", text)
        self.lines = [line.rstrip()[:MOST_LINE] for line in _BREAK.split(text)]
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        lowered = [line.lower() for line in self.lines]
        self._lower = "\n".join(lowered)
        lengths = (len(line) + 1 for line in lowered)
        self._starts = list(accumulate(chain((0,), lengths)))[:-1]
        self._first: dict[str, int] = {}
        self._tried: dict[tuple[Pattern, str], bool] = {}
        self._side: dict[re.Pattern[str], bool] = {}
        self.decoys = frozenset(n for decoy in decoys for n in self._matches(decoy))

    @property
    def is_empty(self) -> bool:
        """Nothing was printed."""
        return not any(self.lines)

    def find(
        self, pattern: Pattern, never: Sequence[re.Pattern[str]] = (), *, with_info: bool = True
    ) -> int | None:
        """Index of the first line that ``pattern`` holds for and none of ``never``; no decoy.

        ``with_info`` False passes over what the program itself calls information: in a whole log
        that is nearly everything, and names every tensor, key and setting there is.
        """
        for number in self._matches(pattern):
            if number in self.decoys or (not with_info and self.is_info(number)):
                continue
            if not any(regex.search(self.lines[number]) for regex in never):
                return number
        return None

    def is_info(self, number: int) -> bool:
        """The program says of this line that it is no warning and no error."""
        return _INFO.match(self.lines[number]) is not None

    def holds(self, regex: re.Pattern[str]) -> bool:
        """Whether it is anywhere in the log, within one line; decoys are passed over.

        For the few side conditions of rules that already match: slower than ``find``.
        """
        if regex not in self._side:
            self._side[regex] = any(
                regex.search(line) is not None
                for number, line in enumerate(self.lines)
                if number not in self.decoys
            )
        return self._side[regex]

    def _matches(self, pattern: Pattern) -> Iterator[int]:
        """Numbers of the lines that it holds for, in order, as long as trying is cheap."""
        for number in islice(self._candidates(pattern.literals), MOST_TRIES):
            if self._holds(pattern, self.lines[number]):
                yield number

    def _candidates(self, literals: tuple[str, ...]) -> Iterator[int]:
        """Numbers of the lines that hold one of ``literals``, in order, each once."""
        last = -1
        for number in merge(*(self._holding(literal) for literal in literals)):
            if number != last:
                yield number
            last = number

    def _holding(self, literal: str) -> Iterator[int]:
        if literal not in self._first:  # many patterns share their literals, most are nowhere
            self._first[literal] = self._lower.find(literal)
        at = self._first[literal]
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            if number + 1 == len(self._starts):
                return
            at = self._lower.find(literal, self._starts[number + 1])

    def _holds(self, pattern: Pattern, line: str) -> bool:
        key = (pattern, line)
        if key not in self._tried:
            self._tried[key] = pattern.search(line) is not None
        return self._tried[key]
