"""One line of a terminal that tells how far something is. Main thread."""

from __future__ import annotations

from typing import TextIO

from kimi_desktop.base.terminal import columns_of, display_width, one_line

BAR_COLUMNS = 24
_FULL, _EMPTY = "█", "░"


class ProgressLine:
    """Overwrites its own line where ``out`` is a terminal; silent elsewhere."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.is_shown = out.isatty()
        self._is_there = False

    def show(self, fraction: float, text: str) -> None:
        """A bar and what stands behind it, cut to the width of the terminal."""
        if not self.is_shown:
            return
        full = round(min(max(fraction, 0.0), 1.0) * BAR_COLUMNS)
        line = f"{_FULL * full}{_EMPTY * (BAR_COLUMNS - full)} {text}"
        width = columns_of(self._out) - 1
        while display_width(line) > width:
            line = line[:-1]
        self._is_there = True
        self._out.write(f"\r{one_line(line)}\x1b[K")
        self._out.flush()

    def clear(self) -> None:
        """Make room for other text."""
        if self._is_there:
            self._is_there = False
            self._out.write("\r\x1b[K")
            self._out.flush()
