"""How fast all cores together read main memory. Runs in a child process; blocking.

Every thread compares the halves of a buffer of its own with the C library's ``memcmp``, which
reads two streams with the widest loads that the processor has and lets go of Python's lock. The
buffers together are larger than any cache. Measured against a loop of AVX2 loads in C on the same
cores: about the same (docs/decisions/0011).
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from kimi_desktop.base.units import GIB, MIB

MOST_BYTES = 4 * GIB
"""Of all buffers together: the largest processors have a cache of 1.1 GiB."""
LEAST_BYTES = 64 * MIB
EACH_BYTES = 256 * MIB
"""Of one thread, where there is room: filling more takes longer than it tells."""
AVAILABLE_SHARE = 0.25
PIECE_BYTES = 8 * MIB
"""Compared at once; between two pieces the clock is looked at."""
WINDOWS = 3
WINDOW_S = 0.4
"""The best of three: other programs only make it slower."""
MOST_S = 2.0
"""No further window after this."""
MOST_THREADS = 256
FILLING = 0x5A

Progress = Callable[[float], None]
"""0 ... 1."""


def read_bandwidth(
    threads: int, available_bytes: int, progress: Progress = lambda _share: None
) -> float:
    """Bytes per second, read by all threads together.

    Args:
        threads: one per physical core.
        available_bytes: free main memory; a quarter of it is used at most.
        progress: told after every step.

    Raises:
        MemoryError: there is no room for the buffers.
    """
    count = max(1, min(threads, MOST_THREADS))
    most = min(MOST_BYTES, count * EACH_BYTES, int(available_bytes * AVAILABLE_SHARE))
    room = max(most, LEAST_BYTES)
    each = max(room // count // (2 * PIECE_BYTES), 1) * 2 * PIECE_BYTES
    began = time.perf_counter()
    bench = _Bench(count, each)
    try:
        rates = []
        for number in range(WINDOWS):
            rates.append(bench.run(WINDOW_S))
            progress((number + 1) / WINDOWS)
            if time.perf_counter() - began > MOST_S:
                break
        return max(rates)
    finally:
        bench.close()


class _Bench:
    """Threads with a buffer each. A thread fills its own, so that it lies near its core."""

    def __init__(self, count: int, each_bytes: int) -> None:
        self._each = each_bytes
        self._compare = _memcmp()
        self._begin = threading.Barrier(count + 1)
        self._end = threading.Barrier(count + 1)
        self._until = 0.0
        self._done = [0] * count
        self._failed: BaseException | None = None
        self._threads = [
            threading.Thread(target=self._work, args=(number,), daemon=True)
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()
        self._wait(self._begin)  # all buffers are filled

    def run(self, seconds: float) -> float:
        """One window: bytes per second of all threads."""
        self._done = [0] * len(self._threads)
        began = time.perf_counter()
        self._until = began + seconds
        self._wait(self._begin)
        self._wait(self._end)
        return sum(self._done) / (time.perf_counter() - began)

    def close(self) -> None:
        """End the threads."""
        self._until = -1.0
        for barrier in (self._begin, self._end):
            barrier.abort()
        for thread in self._threads:
            thread.join()

    def _wait(self, barrier: threading.Barrier) -> None:
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            raise MemoryError(str(self._failed)) from self._failed

    def _work(self, number: int) -> None:
        try:
            with mmap.mmap(-1, self._each) as buffer:
                view = (ctypes.c_char * self._each).from_buffer(buffer)
                start = ctypes.addressof(view)
                ctypes.memset(start, FILLING, self._each)
                self._loop(number, start)
                del view  # the map cannot be closed while somebody points into it
        except threading.BrokenBarrierError:
            return
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            self._failed = error
            self._begin.abort()
            self._end.abort()

    def _loop(self, number: int, start: int) -> None:
        half = self._each // 2
        self._begin.wait()
        while True:
            self._begin.wait()
            done, offset = 0, 0
            while not done or time.perf_counter() < self._until:
                self._compare(start + offset, start + half + offset, PIECE_BYTES)
                done += 2 * PIECE_BYTES
                offset = (offset + PIECE_BYTES) % half
            self._done[number] = done
            self._end.wait()


def _memcmp() -> Any:  # noqa: ANN401 - a function of ctypes
    library = ctypes.CDLL("msvcrt") if sys.platform == "win32" else ctypes.CDLL(None)
    function = library.memcmp
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    function.restype = ctypes.c_int
    return function
