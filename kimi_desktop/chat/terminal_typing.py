"""Lines typed in a terminal: asked for, and looked for while an answer streams. Main thread."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections import deque
from typing import TextIO

PROMPT = "> "
CONTINUED = "… "
READ_BYTES = 65_536


class TypedLines:
    """Reads questions. A line that ends in a backslash goes on in the next."""

    def __init__(self, stdin: TextIO, stdout: TextIO) -> None:
        self._stdin = stdin
        self._stdout = stdout
        self._waiting: deque[str] = deque()
        self._ended = False
        if stdin is sys.stdin and stdin.isatty():
            with contextlib.suppress(ImportError):  # Windows has its own line editing
                import readline  # noqa: F401, PLC0415 - input() edits and remembers lines by it

    def ask(self) -> str | None:
        """The next question; None at the end of the input.

        Raises:
            KeyboardInterrupt: Ctrl+C.
        """
        lines: list[str] = []
        while True:
            line = self._line(CONTINUED if lines else PROMPT)
            if line is None:
                return "\n".join(lines) if lines else None
            if not line.endswith("\\"):
                return "\n".join([*lines, line])
            lines.append(line[:-1])

    def poll(self) -> list[str]:
        """The lines typed meanwhile. None on a Windows console, which cannot be asked."""
        if sys.platform == "win32" or not self._stdin.isatty():
            return []
        if not select.select([self._stdin], [], [], 0)[0]:
            return []
        # Not through the file object: what its buffer took, input() would never see.
        typed = os.read(self._stdin.fileno(), READ_BYTES)
        self._ended = self._ended or not typed  # Ctrl+D: leave after this answer
        return typed.decode(self._stdin.encoding or "utf-8", "replace").splitlines()

    def put_back(self, line: str) -> None:
        """Answer a later ``ask`` with it."""
        self._waiting.append(line)

    def _line(self, prompt: str) -> str | None:
        if self._waiting:
            line = self._waiting.popleft()
            self._stdout.write(f"{prompt}{line}\n")
            return line
        if self._ended:
            return None
        if self._stdin is sys.stdin:
            try:
                return input(prompt)
            except EOFError:
                return None
        self._stdout.write(prompt)
        self._stdout.flush()
        line = self._stdin.readline()
        return line.rstrip("\n") if line else None
