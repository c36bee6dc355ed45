"""What an engine says: bounded in memory and on disk, keys removed before anything is kept.

Fed on the IO thread; read from any.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

HEAD_LINES = 500
"""The start is kept apart: it names the buffers and the first error, which a long run buries."""
TAIL_LINES = 2000
LONGEST_LINE = 4096
FILE_BYTES = 4 * 2**20
"""Then the file becomes the previous one, and a new one begins."""
GAP = "[...]"
HIDDEN = "***"

_SECRETS = re.compile(
    r"(?i)\bbearer\s+[^\s\"']+|\b(?:sk|hf)[-_][A-Za-z0-9_-]{8,}"
    r"|(?<=api_keys: )\S+|(?<=api_key: )\S+"
)
_LINE_END = re.compile(rb"\r\n|\n|\r")


class EngineLog:
    """One engine run's output. ``close`` it at the end."""

    def __init__(self, file: Path | None, secrets: Sequence[str] = ()) -> None:
        self._secrets = [secret for secret in secrets if secret]
        self._lock = threading.Lock()
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._dropped = False
        self._rest = b""
        self._path = file
        """None once it cannot be written."""
        self._file: TextIO | None = None
        self._written = 0

    def feed(self, chunk: bytes) -> list[str]:
        """Take bytes as they come; returns the lines that are complete now, keys removed."""
        *complete, self._rest = _LINE_END.split(self._rest + chunk)
        if len(self._rest) > LONGEST_LINE * 4:
            complete.append(self._rest)
            self._rest = b""
        lines = [self._clean(raw.decode("utf-8", "replace")) for raw in complete if raw.strip()]
        for line in lines:
            self._keep(line)
        self._write(lines)
        return lines

    def feed_line(self, line: str) -> list[str]:
        """Take a whole line that came another way, whatever ``feed`` has half read."""
        if not line.strip():
            return []
        lines = [self._clean(line)]
        self._keep(lines[0])
        self._write(lines)
        return lines

    def tail(self, count: int) -> tuple[str, ...]:
        """The last lines."""
        with self._lock:
            return tuple([*self._head, *self._tail][-count:])

    def lines(self) -> tuple[str, ...]:
        """Everything that was kept, with a mark where lines are missing."""
        with self._lock:
            gap = [GAP] if self._dropped else []
            return (*self._head, *gap, *self._tail)

    def close(self) -> None:
        """Write what is left; the memory stays readable."""
        if self._rest.strip():
            self.feed(b"\n")
        self._close_file()

    def _clean(self, line: str) -> str:
        for secret in self._secrets:
            line = line.replace(secret, HIDDEN)
        line = _SECRETS.sub(HIDDEN, line)
        return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"

    def _keep(self, line: str) -> None:
        with self._lock:
            if len(self._head) < HEAD_LINES:
                self._head.append(line)
                return
            self._dropped = self._dropped or len(self._tail) == TAIL_LINES
            self._tail.append(line)

    def _write(self, lines: Sequence[str]) -> None:
        if self._path is None or not lines:
            return
        text = "\n".join(lines) + "\n"
        try:
            if self._file is None:
                self._file = _opened(self._path)
                self._written = 0
            self._file.write(text)
            self._file.flush()
        except OSError:  # read-only or full: the memory is enough to run on
            self._path = None
            self._close_file()
            return
        self._written += len(text)
        if self._written > FILE_BYTES:
            self._close_file()

    def _close_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None


def _opened(path: Path) -> TextIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        path.replace(path.with_suffix(".previous.log"))
    return path.open("w", encoding="utf-8")
