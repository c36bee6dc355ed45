"""How a load goes on, from what the engine's state tells: bytes, rate, time left, or a stall. Pure.

A stall is named and nothing more: a slow disk or a compiler may be silent for minutes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

RATE_OVER_S = 10.0
"""Rates jump: a page cache gives gigabytes at once, then the disk goes on."""
LEAST_RATE_S = 1.0
STALL_S = 30.0


@dataclass(frozen=True, slots=True)
class LoadPace:
    """How far a load is; None where it cannot be told."""

    read_bytes: int | None = None
    total_bytes: int | None = None
    bytes_per_s: float | None = None
    left_s: float | None = None
    stalled_s: float | None = None
    """Nothing has moved for so long: no byte, no step, no processor time; None below 30 s."""


UNKNOWN = LoadPace()


class LoadWatch:
    """Of one load. ``note`` it whenever something is known, and at least every few seconds."""

    def __init__(
        self,
        total_bytes: int,
        activity: Callable[[], float | None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin.

        Args:
            total_bytes: of the model; 0 = not known.
            activity: grows while the engine does anything (processor time and bytes of its
                processes); None where nobody can tell.
            now: seconds of a monotonic clock.
        """
        self._total = total_bytes
        self._activity = activity
        self._now = now
        self._seen: deque[tuple[float, float]] = deque()
        self._last: tuple[object, ...] = ()
        self._moved_at = now()

    def note(self, fraction: float | None, step: object = None) -> LoadPace:
        """What is known now.

        Args:
            fraction: 0 ... 1 of the bytes.
            step: anything that says what the engine does; a change of it is progress.
        """
        now = self._now()
        signs = (fraction, step, self._activity())
        if signs != self._last:
            self._last, self._moved_at = signs, now
        still_s = now - self._moved_at
        stalled_s = still_s if still_s >= STALL_S else None
        if fraction is None or not self._total:
            return LoadPace(stalled_s=stalled_s)
        rate = self._rate(fraction, now)
        left_s = (1 - fraction) * self._total / rate if rate and stalled_s is None else None
        return LoadPace(round(fraction * self._total), self._total, rate, left_s, stalled_s)

    def _rate(self, fraction: float, now: float) -> float | None:
        self._seen.append((now, fraction))
        while len(self._seen) > 2 and now - self._seen[1][0] >= RATE_OVER_S:
            self._seen.popleft()
        then, before = self._seen[0]
        if now - then < LEAST_RATE_S:
            return None
        return (fraction - before) * self._total / (now - then)
