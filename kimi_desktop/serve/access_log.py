"""The gateway's access log: no bodies, no keys, and bounded where strangers can write into it.

What a program with a key asks is a line each. What is refused is a line each, too, but only so many
in a minute; the others are counted, and the count is a line of the next minute. The gateway's loop.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger("gateway")

LINES_A_MINUTE = 30
MINUTE_S = 60.0


class AccessLog:
    """Writes lines to the process's log."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """``now``: seconds of a monotonic clock."""
        self._now = now
        self._minute_began = now()
        self._lines = 0
        self._left_out = 0

    def answered(self, method: str, path: str, status: int, seconds: float) -> None:
        """A request of a program with a key; ``seconds`` to the first byte."""
        log.info("%s %s %d, %.0f ms to the first byte", method, path, status, seconds * 1000)

    def stranger(self, what: str, status: int, peer: str) -> None:
        """A request that anybody can make.

        Args:
            what: method and address, as far as they are ours; never what the client wrote itself.
            status: of the answer.
            peer: where it comes from.
        """
        now = self._now()
        if now - self._minute_began >= MINUTE_S:
            if self._left_out:
                log.info("%d more in the minute before", self._left_out)
            self._minute_began, self._lines, self._left_out = now, 0, 0
        if self._lines >= LINES_A_MINUTE:
            self._left_out += 1
            return
        self._lines += 1
        log.info("%s %d, from %s", what, status, peer or "-")
