"""How fast a disk reads large files past the system's cache. Runs in a child process; blocking.

What is read: a large file that is there already (a model), else one that is written for it and
removed again. Several readers ask for different places at once, as a fast disk needs it. The
system's ways of going past its cache are behind ``OpenDirect``.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Protocol

from kimi_desktop.base.units import GB, MIB

READERS = 4
PIECE_BYTES = 4 * MIB
"""A multiple of every disk's sector."""
READ_S = 1.2
WRITE_S = 1.0
"""A file of our own grows no longer than this, ..."""
MOST_WRITTEN = GB
"""... nor larger than this."""
LEAST_FILE = 256 * MIB
SPARE_BYTES = 4 * GB
"""Left free on the disk."""
WANTED_FILE = 4 * GB
"""Enough for a second of the fastest disks."""

Progress = Callable[[float], None]


class DirectFile(Protocol):
    """A file that is read past the system's cache."""

    def read_at(self, offset: int, buffer: mmap.mmap) -> int:
        """Fill ``buffer`` (a whole number of sectors, page-aligned) from ``offset``.

        Returns:
            bytes read; fewer at the end of the file.

        Raises:
            OSError: the disk says no.
        """

    def close(self) -> None:
        """Let it go."""


OpenDirect = Callable[[Path], DirectFile]


def disk_bandwidth(
    folder: Path,
    progress: Progress = lambda _share: None,
    *,
    files: Iterable[Path] = (),
    open_direct: OpenDirect | None = None,
) -> float:
    """Bytes per second of the disk that holds ``folder``.

    Args:
        folder: where a file may be written when none of ``files`` will do.
        progress: told as time goes by.
        files: large files on that disk, the best first.
        open_direct: the way of this system.

    Raises:
        OSError: nothing can be read or written there, or there is too little room.
    """
    open_direct = open_direct or direct_here()
    for file in files:
        if _is_whole(file):
            with contextlib.suppress(OSError):
                return _read(file, open_direct, progress)
    with _written(folder) as own:
        progress(0.4)
        return _read(own, open_direct, lambda share: progress(0.4 + 0.6 * share))


def _is_whole(file: Path) -> bool:
    """Large, and no hole: holes are read from nowhere."""
    try:
        status = file.stat()
    except OSError:
        return False
    blocks = getattr(status, "st_blocks", None)
    kept = status.st_size if blocks is None else blocks * 512
    return status.st_size >= LEAST_FILE and kept >= 0.95 * status.st_size


def _read(file: Path, open_direct: OpenDirect, progress: Progress) -> float:
    size = min(file.stat().st_size, WANTED_FILE) // PIECE_BYTES * PIECE_BYTES
    race = _Race(file, size, open_direct)
    return race.run(progress)


class _Race:
    """Readers that take the next piece each, until time is up."""

    def __init__(self, file: Path, size_bytes: int, open_direct: OpenDirect) -> None:
        self._file = file
        self._pieces = max(size_bytes // PIECE_BYTES, 1)
        self._open = open_direct
        self._lock = threading.Lock()
        self._next = 0
        self._done = 0
        self._failed: OSError | None = None
        self._until = 0.0

    def run(self, progress: Progress) -> float:
        began = time.perf_counter()
        self._until = began + READ_S
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(READERS)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            threads[0].join(0.1)
            progress(min((time.perf_counter() - began) / READ_S, 1.0))
        seconds = time.perf_counter() - began
        for thread in threads:
            thread.join()
        if self._failed is not None:
            raise self._failed
        return self._done / seconds

    def _work(self) -> None:
        try:
            file = self._open(self._file)
        except OSError as error:
            self._failed = error
            return
        try:
            with mmap.mmap(-1, PIECE_BYTES) as buffer:
                while self._failed is None:
                    with self._lock:
                        piece = self._next % self._pieces
                        self._next += 1
                    count = file.read_at(piece * PIECE_BYTES, buffer)
                    with self._lock:
                        self._done += count
                    if time.perf_counter() >= self._until:  # late, but never without one piece
                        break
        except OSError as error:
            self._failed = error
        finally:
            file.close()


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[Path]:
    """A file of our own, gone afterwards; no disk can shorten what is in it."""
    status = os.statvfs(folder) if hasattr(os, "statvfs") else None
    free = status.f_bavail * status.f_frsize if status else MOST_WRITTEN + SPARE_BYTES
    most = min(MOST_WRITTEN, max(free - SPARE_BYTES, 0))
    if most < LEAST_FILE:
        raise OSError(f"{free} bytes free")
    handle, name = tempfile.mkstemp(prefix=".kimi-desktop-speed-", dir=folder)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            noise = os.urandom(PIECE_BYTES)
            written, until = 0, time.perf_counter() + WRITE_S
            while written < most and (written < LEAST_FILE or time.perf_counter() < until):
                file.write(noise)
                written += len(noise)
            os.fsync(file.fileno())
        yield path
    finally:
        path.unlink(missing_ok=True)


# the systems


def direct_here() -> OpenDirect:
    """The way of this system."""
    if sys.platform == "win32":
        from kimi_desktop.machine.windows_files import open_direct  # noqa: PLC0415

        return open_direct
    if sys.platform == "darwin":
        return MacFile
    return LinuxFile


class LinuxFile:
    """O_DIRECT; a file system that knows none is told to forget the pages instead."""

    def __init__(self, path: Path) -> None:
        flags = os.O_RDONLY | os.O_CLOEXEC
        self._forgets = False
        try:
            self._handle = os.open(path, flags | getattr(os, "O_DIRECT", 0))
        except OSError:  # tmpfs and others
            self._handle = os.open(path, flags)
            self._forgets = True
            os.posix_fadvise(self._handle, 0, 0, os.POSIX_FADV_DONTNEED)

    def read_at(self, offset: int, buffer: mmap.mmap) -> int:
        """Fill ``buffer``."""
        count = os.preadv(self._handle, [buffer], offset)
        if self._forgets:
            os.posix_fadvise(self._handle, offset, count, os.POSIX_FADV_DONTNEED)
        return count

    def close(self) -> None:
        """Let it go."""
        os.close(self._handle)


F_NOCACHE = 48


class MacFile:
    """F_NOCACHE: pages are not kept, and not looked for where the file was never cached."""

    def __init__(
        self, path: Path, control: Callable[[int, int, int], object] | None = None
    ) -> None:
        if control is None:
            import fcntl  # noqa: PLC0415 - not on Windows

            control = fcntl.fcntl
        self._handle = os.open(path, os.O_RDONLY)
        try:
            control(self._handle, F_NOCACHE, 1)
        except BaseException:
            os.close(self._handle)
            raise

    def read_at(self, offset: int, buffer: mmap.mmap) -> int:
        """Fill ``buffer``."""
        return os.preadv(self._handle, [buffer], offset)

    def close(self) -> None:
        """Let it go."""
        os.close(self._handle)
