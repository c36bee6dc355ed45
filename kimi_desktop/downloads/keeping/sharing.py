"""How much of a file the drive would get back. Blocking.

A clone (reflink) shares its blocks with another file. Linux says which extents are shared
(``FS_IOC_FIEMAP``, linux/fiemap.h); elsewhere that is not known and counts as nothing shared.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

_FS_IOC_FIEMAP = 0xC020660B
_HEAD = struct.Struct("=QQIIII")
"""start, length, flags, mapped extents, room for extents, reserved."""
_EXTENT = struct.Struct("=QQQQQIIII")
"""logical, physical, length, two reserved, flags, three reserved."""
_ROOM = 256
_LAST, _SHARED = 0x1, 0x2000
_BLOCK_BYTES = 512

AskExtents = Callable[[Path, int], bytes]
"""(file, offset from which on) -> the answer of the system call; raises OSError."""


def freed_bytes(paths: Iterable[Path], ask: AskExtents | None = None) -> int:
    """What removing all of these files together gives back."""
    names: dict[tuple[int, int], int] = {}
    """How many of its names go, per file."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for path in paths:
        try:
            status = path.lstat()
            if path.is_symlink():
                continue
            identity = (status.st_dev, status.st_ino)
            names[identity] = names.get(identity, 0) + 1
            blocks = getattr(status, "st_blocks", None)
            taken = status.st_size if blocks is None else blocks * _BLOCK_BYTES
            own = max(min(taken, status.st_size) - shared_bytes(path, ask), 0)
            found[identity] = (status.st_nlink, own)
        except OSError:
            continue
    return sum(own for one, (n_names, own) in found.items() if names[one] >= n_names)


def shared_bytes(path: Path, ask: AskExtents | None = None) -> int:
    """Bytes whose blocks another file has, too; 0 where that cannot be asked."""
    if ask is None:
        if sys.platform != "linux":
            return 0
        ask = linux_extents
    shared = start = 0
    try:
        while True:
            found = parse_extents(ask(path, start))
            shared += sum(length for _, length, flags in found if flags & _SHARED)
            if not found or found[-1][2] & _LAST:
                return shared
            start = found[-1][0] + found[-1][1]
    except OSError:
        return shared


def parse_extents(answer: bytes) -> list[tuple[int, int, int]]:
    """(offset, length, flags) of each extent."""
    mapped = _HEAD.unpack_from(answer)[3]
    found = []
    for number in range(min(mapped, _ROOM)):
        fields = _EXTENT.unpack_from(answer, _HEAD.size + number * _EXTENT.size)
        found.append((fields[0], fields[2], fields[5]))
    return found


def linux_extents(path: Path, start: int) -> bytes:
    """The system call.

    Raises:
        OSError: the file system does not say.
    """
    import fcntl  # noqa: PLC0415 - not on Windows

    question = bytearray(_HEAD.size + _ROOM * _EXTENT.size)
    _HEAD.pack_into(question, 0, start, 2**64 - 1 - start, 0, 0, _ROOM, 0)
    with path.open("rb") as file:
        fcntl.ioctl(file.fileno(), _FS_IOC_FIEMAP, question)
    return bytes(question)
