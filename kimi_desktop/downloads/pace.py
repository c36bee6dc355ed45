"""How fast: the user's limit, how many connections, pauses after failures, speed as people see it.

Clocks are handed in; only ``Throttle.take`` waits, on the thread of the connection that calls it.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable

from kimi_desktop.base.units import MIB

Clock = Callable[[], float]

BURST_S = 0.25
FIRST_CONNECTIONS = 4
MOST_CONNECTIONS = 8
FIRST_WAIT_S = 0.5
MOST_WAIT_S = 60.0
SPEED_MEMORY_S = 10.0


class Throttle:
    """Lets so many bytes a second through, over all connections. Thread-safe."""

    def __init__(self, bytes_per_s: float | None = None, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rate = bytes_per_s or None
        self._free_at = 0.0

    @property
    def bytes_per_s(self) -> float | None:
        """The limit; None without one."""
        return self._rate

    def set_rate(self, bytes_per_s: float | None) -> None:
        """Change the limit; at once."""
        with self._lock:
            self._rate = bytes_per_s or None
            self._free_at = 0.0

    def most_at_once(self, block_bytes: int) -> int:
        """How much a connection reads before it asks again: a twentieth of a second's worth."""
        rate = self._rate
        return block_bytes if rate is None else min(max(int(rate / 20), 2048), block_bytes)

    def take(self, count: int, stopped: threading.Event) -> None:
        """Account for bytes that came, and wait until they were due."""
        with self._lock:
            rate = self._rate
            if rate is None:
                return
            now = self._clock()
            self._free_at = max(self._free_at, now - BURST_S) + count / rate
            due = self._free_at
        stopped.wait(max(due - now, 0.0))


class Speed:
    """Bytes per second: a mean that forgets with a time constant of ten seconds."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._last = clock()
        self._first = self._last
        self._mean = 0.0

    def add(self, count: int) -> None:
        """So many bytes came since the last call."""
        now = self._clock()
        passed = now - self._last
        if passed <= 0:
            return
        self._last = now
        # In the beginning the plain mean, so that it does not creep up from zero.
        share = max(1.0 - math.exp(-passed / SPEED_MEMORY_S), passed / (now - self._first))
        self._mean += share * (count / passed - self._mean)

    @property
    def bytes_per_s(self) -> float:
        """Now."""
        return self._mean


class Governor:
    """How many connections pay off: more while that brings a tenth or more, else one step back.

    Fed once a second with the speed of the last second.
    """

    SETTLE_S = 8
    """A new connection needs this long to show what it brings (slow start, measuring)."""
    GAIN = 1.1
    REST_S = 120

    FORGET_S = 120
    """After so long without another complaint one more connection is allowed again."""

    def __init__(self, most: int = MOST_CONNECTIONS) -> None:
        self._limit = self._most = most
        self._quiet_s = self.FORGET_S
        self.target = min(FIRST_CONNECTIONS, most)
        self._before: float | None = None
        self._seconds: deque[float] = deque(maxlen=self.SETTLE_S)
        self._rest = 0

    def observe(self, bytes_per_s: float) -> None:
        """One second went by."""
        self._quiet_s += 1
        if self._most < self._limit and self._quiet_s >= self.FORGET_S:
            self._most += 1
            self._quiet_s = 0
        self._seconds.append(bytes_per_s)
        if self._rest:
            self._rest -= 1
            return
        if len(self._seconds) < self.SETTLE_S:
            return
        now = sum(self._seconds) / len(self._seconds)
        self._seconds.clear()
        if self._before is not None and now < self._before * self.GAIN:
            self.target = max(self.target - 1, min(FIRST_CONNECTIONS, self._most))
            self._before = None
            self._rest = self.REST_S
        elif self.target < self._most:
            self._before = now
            self.target += 1
        else:
            self._before = None
            self._rest = self.REST_S

    def allow_fewer(self) -> None:
        """The server complained about too many; several complaints at once are one."""
        if self._most < self._limit and self._quiet_s < self.SETTLE_S:
            return
        self._quiet_s = 0
        self._most = max(self._most - 1, 1)
        self.target = min(self.target, self._most)
        self._before = None


def backoff_s(failures: int) -> float:
    """The pause after so many failures in a row: doubling from half a second, with jitter."""
    exponent = min(max(failures - 1, 0), 10)
    return min(FIRST_WAIT_S * 2.0**exponent, MOST_WAIT_S) * random.uniform(0.8, 1.2)


def unit_bytes(bytes_per_s: float, left_bytes: int, connections: int, piece_bytes: int) -> int:
    """How much a connection takes on at once: about six seconds of work, less near the end.

    Large enough that the pause between two requests does not count, small enough that the
    connections of one file stay close together (the hasher follows them in the page cache).
    """
    wanted = min(max(int(bytes_per_s * 6), piece_bytes), 256 * MIB)
    fair = left_bytes // (2 * max(connections, 1))
    return max(min(wanted, fair), piece_bytes)
