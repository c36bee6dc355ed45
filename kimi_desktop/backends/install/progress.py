"""How far pip or uv is, by what it prints and by what it writes. Pure.

Both name a package when they begin to fetch it; uv also when it has it, pip goes on to the next.
Within a package the bytes that the process has written stand for the bytes that came: both unpack
what they fetch, so that is an upper bound which is never let reach the package's end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kimi_desktop.backends.install.choose import normalized

ALMOST = 0.95
"""Of a package that is on its way, at most."""

_BEGIN = re.compile(r"^\s*(?:Collecting|Downloading)\s+([A-Za-z0-9][A-Za-z0-9._-]*)")
_END = re.compile(r"^\s*(?:Downloaded|Using cached)\s+([A-Za-z0-9][A-Za-z0-9._-]*)")
_ALL = re.compile(r"^\s*(?:Prepared \d+ packages?|Installing collected packages)")
_BUILD = re.compile(r"^\s*Building (?:wheel for )?([A-Za-z0-9][A-Za-z0-9._-]*)")
_BUILT = re.compile(r"^\s*(?:Built|Created wheel for)\s")
_WHEEL = re.compile(r"^(.+?)-\d[^-]*-.*\.(?:whl|metadata)$|^(.+)-\d[^-]*\.tar\.gz$")


class InstallProgress:
    """Fed with lines and with the bytes written so far."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """``sizes``: of every package of the list."""
        self._sizes = sizes
        self._done: set[str] = set()
        self._open: dict[str, None] = {}
        self._written = 0
        self._written_at_end = 0
        self.compiled = ""
        """The package that is being compiled; "" = none."""
        self.total_bytes = sum(sizes.values())

    def hear(self, line: str) -> None:
        """One line of its output."""
        if match := _BUILD.match(line):
            name = self._name(match[1].partition("==")[0])
            self.compiled = name if name in self._sizes else self.compiled
        elif _BUILT.match(line) or _ALL.match(line):
            self.compiled = ""
        if _ALL.match(line):
            self._done, self._open = set(self._sizes), {}
        elif match := _END.match(line):
            self._finish(self._name(match[1]))
        elif match := _BEGIN.match(line):
            name = self._name(match[1])
            if name in self._sizes and name not in self._done and name not in self._open:
                if line.lstrip().startswith("Collecting"):  # pip: one after the other
                    for before in tuple(self._open):
                        self._finish(before)
                self._open[name] = None

    def write(self, written_bytes: int) -> None:
        """What its processes have written since they began."""
        self._written = max(written_bytes, self._written)

    @property
    def done_bytes(self) -> int:
        """Of ``total_bytes``; never goes back."""
        done = sum(self._sizes[name] for name in self._done)
        coming = sum(self._sizes[name] for name in self._open)
        since = max(self._written - self._written_at_end, 0)
        return done + int(min(since, ALMOST * coming))

    @property
    def package(self) -> str:
        """The largest of those on their way."""
        return max(self._open, key=lambda name: self._sizes[name], default="")

    def _finish(self, name: str) -> None:
        if name in self._sizes and name not in self._done:
            kept = self.done_bytes
            self._open.pop(name, None)
            self._done.add(name)
            # What was counted of others that are still on their way stays counted.
            rest = kept - sum(self._sizes[each] for each in self._done)
            self._written_at_end = self._written - max(rest, 0)

    def _name(self, word: str) -> str:
        if match := _WHEEL.match(word):
            word = match[1] or match[2]
        return normalized(word)
