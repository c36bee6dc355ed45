"""What the systems do differently with files: positioned reads, flushing, reserving, renaming.

Blocking; called from the worker's threads. Everything that makes bytes durable goes through here.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

BLOCK_BYTES = 512
"""What ``st_blocks`` counts, whatever the file system has."""
RENAME_ATTEMPTS = 10
RENAME_PAUSE_S = 0.5
"""Virus scanners hold new files for seconds (Windows)."""
HELD_BY_ANOTHER = frozenset({5, 32})
"""ERROR_ACCESS_DENIED and ERROR_SHARING_VIOLATION."""
_CANNOT_RESERVE = frozenset({errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL})
_F_FULLFSYNC = 51


def open_file(path: Path) -> int:
    """Open for reading and writing, made if need be, never through a link.

    Raises:
        OSError: it cannot be opened, or it is not a plain file of one name.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o644)
    if os.fstat(descriptor).st_nlink > 1:  # whoever made the other name would see our writes
        os.close(descriptor)
        raise OSError(errno.EMLINK, os.strerror(errno.EMLINK), str(path))
    return descriptor


def open_to_read(path: Path) -> int:
    """Open for reading.

    Raises:
        OSError: it cannot be opened.
    """
    return os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))


def append(descriptor: int, data: bytes) -> None:
    """Write at the end of the file, all or nothing."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    if os.write(descriptor, data) != len(data):  # what comes after half a record is never read
        os.ftruncate(descriptor, end)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def cut_file(descriptor: int, length: int) -> None:
    """Make the file so long."""
    os.ftruncate(descriptor, length)


def sync_data(descriptor: int) -> None:
    """Bring the bytes of a file to the disk."""
    if sys.platform == "darwin":  # fsync there leaves them in the drive's cache
        import fcntl  # noqa: PLC0415

        with suppress(OSError):  # network volumes do not know it
            fcntl.fcntl(descriptor, _F_FULLFSYNC)
            return
    getattr(os, "fdatasync", os.fsync)(descriptor)


def sync_folder(folder: Path) -> None:
    """Make a new name last through a power loss (Windows does so by itself)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def reserve(descriptor: int, size_bytes: int) -> None:
    """Make the file so long and take the space for it, where the file system can.

    Not ``posix_fallocate``: where the file system cannot, the C library writes to every block.

    Raises:
        OSError: ENOSPC, EDQUOT or EFBIG.
    """
    if sys.platform == "linux":
        code = _linux_fallocate(descriptor, size_bytes)
        if code == 0:
            return
        if code not in _CANNOT_RESERVE:
            raise OSError(code, os.strerror(code))
    if os.fstat(descriptor).st_size < size_bytes:
        cut_file(descriptor, size_bytes)


def taken_bytes(descriptor: int) -> int:
    """The space that a file has on its disk."""
    status = os.fstat(descriptor)
    blocks = getattr(status, "st_blocks", None)
    return status.st_size if blocks is None else int(blocks) * BLOCK_BYTES


def _linux_fallocate(descriptor: int, size_bytes: int) -> int:
    """The system call; 0 or an errno."""
    library = ctypes.CDLL(None, use_errno=True)
    # On 32-bit systems the plain name takes shorter numbers; musl has no other.
    function: Any = getattr(library, "fallocate64", None) or library.fallocate
    length = ctypes.c_int64
    function.argtypes = (ctypes.c_int, ctypes.c_int, length, length)
    if function(descriptor, 0, 0, size_bytes) == 0:
        return 0
    return ctypes.get_errno()


def replace(source: Path, target: Path) -> None:
    """Rename over what is there; waits for another program that holds the file (Windows)."""
    for attempt in range(RENAME_ATTEMPTS):
        try:
            os.replace(source, target)  # noqa: PTH105 - tests play errors here
        except OSError as error:
            held = getattr(error, "winerror", None) in HELD_BY_ANOTHER
            if not held or attempt + 1 == RENAME_ATTEMPTS:
                raise
            time.sleep(RENAME_PAUSE_S)
        else:
            return


class PositionedFile:
    """Reads and writes at offsets, from several threads at once. Owns the descriptor."""

    def __init__(self, descriptor: int, *, has_positions: bool = hasattr(os, "pwrite")) -> None:
        self.descriptor = descriptor
        self._has_positions = has_positions
        self._lock = threading.Lock()

    def write(self, data: memoryview, offset: int) -> None:
        """All of ``data`` at ``offset``."""
        while data:
            count = self._write_some(data, offset)
            data, offset = data[count:], offset + count

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Fill ``buffer`` from ``offset`` on; fewer bytes at the end of the file."""
        done = 0
        while done < len(buffer):
            count = self._read_some(buffer[done:], offset + done)
            if not count:
                break
            done += count
        return done

    def close(self) -> None:
        """Close it; a second time does nothing."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write_some(self, data: memoryview, offset: int) -> int:
        if self._has_positions:
            return os.pwrite(self.descriptor, data, offset)
        with self._lock:  # Windows
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            return os.write(self.descriptor, data)

    def _read_some(self, buffer: memoryview, offset: int) -> int:
        if self._has_positions and hasattr(os, "preadv"):
            return os.preadv(self.descriptor, [buffer], offset)
        with self._lock:
            os.lseek(self.descriptor, offset, os.SEEK_SET)
            data = os.read(self.descriptor, len(buffer))
        buffer[: len(data)] = data
        return len(data)
