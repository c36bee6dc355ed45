"""What the volume of a folder allows: space for this user, longest file, longest name. Pool.

Each system's own call sits in a small function that a test replaces with a recorded answer.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import shutil
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.machine.disks import can_write, nearest_existing, volumes_here
from kimi_desktop.machine.linux_files import read_mounts
from kimi_desktop.machine.volumes import FindVolume

FAT_MAX_FILE_BYTES = 2**32 - 1
WINDOWS_MAX_NAME = 255
WINDOWS_MAX_PATH = 259
"""Characters, without the closing zero: what programs that know no long paths can open."""
WINDOWS_MAX_LONG_PATH = 32_000
POSIX_MAX_NAME = 255
POSIX_MAX_PATH = 4095

_FAT = frozenset({"vfat", "msdos", "fat", "fat12", "fat16", "fat32"})
_DRIVE_PLACES = frozenset(map(Path, ("/", "/mnt", "/media", "/run/media", "/Volumes")))
_DRIVE_OWNERS = frozenset(map(Path, ("/media", "/run/media")))
"""Below them lies a folder for each user, and the drives below that."""
# struct if_dqblk of linux/quota.h: eight 64-bit numbers and a mask of those that are valid.
_DQBLK = struct.Struct("=8QI")
_QUOTA_BLOCK_BYTES = 1024
_BLOCK_LIMITS_VALID, _SPACE_VALID = 1, 2
_Q_GETQUOTA_OF_USER = 0x800007 << 8


@dataclass(frozen=True, slots=True)
class VolumeFacts:
    """The place where a download would go."""

    folder: Path
    """As wanted; it need not exist."""
    file_system: str
    """As the system calls it; empty = not known."""
    free_bytes: int
    """That this user may take, quota included."""
    quota_bytes: int | None
    """What is left of this user's quota; None = there is none, or it cannot be asked."""
    writable: bool
    max_file_bytes: int | None
    """None = more than any model has."""
    max_name: int
    """Of one part of a path: bytes on POSIX, characters on Windows."""
    max_path: int
    """Of a whole path, in the same unit."""
    counts_characters: bool = False
    """The unit: UTF-16 characters instead of bytes."""

    def length_of(self, text: str) -> int:
        """In the unit of the limits."""
        return len(text.encode("utf-16-le")) // 2 if self.counts_characters else len(_bytes(text))


AskQuota = Callable[[str, int], bytes]
"""(block device, user id) -> ``struct if_dqblk``; raises OSError where there is no quota."""


def was_removed(folder: Path) -> bool:
    """A folder that is not there was deleted: its drive is connected.

    A drive that is not leaves its place empty, or nothing below where the system puts drives. Its
    place is above the folder of the publisher, in which that of the model lies.
    """
    if folder.is_dir():
        return False
    place = nearest_existing(folder)
    if place in _DRIVE_PLACES or place.parent in _DRIVE_OWNERS:
        return place != Path("/") and place.is_mount()
    try:
        is_publisher = place == folder.parent.resolve()
        return is_publisher or place.is_mount() or any(place.iterdir())
    except OSError:
        return False


def look_at_volume(folder: Path, find_volume: FindVolume | None = None) -> VolumeFacts:
    """The volume of a folder, or of its nearest parent that exists.

    Raises:
        OSError: it cannot be looked at (an unplugged drive, a lost network).
    """
    folder = folder.expanduser().absolute()
    place = nearest_existing(folder)
    volume = (find_volume or volumes_here())(place)
    free = shutil.disk_usage(place).free
    quota = quota_left(place)
    max_name, max_path, counts_characters = path_limits(place)
    return VolumeFacts(
        folder=folder,
        file_system=volume.file_system,
        free_bytes=free if quota is None else min(free, quota),
        quota_bytes=quota,
        writable=not volume.read_only and can_write(place),
        max_file_bytes=FAT_MAX_FILE_BYTES if volume.file_system.lower() in _FAT else None,
        max_name=max_name,
        max_path=max_path,
        counts_characters=counts_characters,
    )


def quota_left(place: Path, system: str | None = None) -> int | None:
    """What this user's quota leaves there; None = no quota, or none that can be asked for."""
    system = system or platform.system()
    if system == "Windows":
        return windows_free(place)
    if system == "Linux":
        return linux_quota_left(place, linux_quota)
    return None


def linux_quota_left(place: Path, ask: AskQuota, root: Path = Path("/")) -> int | None:
    """By the quota system of the volume's block device."""
    mounts = [mount for mount in read_mounts(root) if place.is_relative_to(mount.point)]
    if not mounts:
        return None
    source = max(mounts, key=lambda mount: len(mount.point)).source
    if not source.startswith("/dev/"):
        return None
    try:
        return parse_quota(ask(source, os.getuid()))
    except OSError:
        return None


def parse_quota(answer: bytes) -> int | None:
    """Bytes left below the limit that bites first; None = no limit. Source: linux/quota.h."""
    hard, soft, used, *_, valid = _DQBLK.unpack_from(answer)
    if not (valid & _BLOCK_LIMITS_VALID and valid & _SPACE_VALID):
        return None
    limits = [limit for limit in (hard, soft) if limit]
    return max(min(limits) * _QUOTA_BLOCK_BYTES - used, 0) if limits else None


def linux_quota(device: str, user: int) -> bytes:
    """The system call.

    Raises:
        OSError: no quota there, or it may not be asked for.
    """
    library = ctypes.CDLL(None, use_errno=True)
    answer = ctypes.create_string_buffer(_DQBLK.size + 4)  # the kernel pads it
    if library.quotactl(_Q_GETQUOTA_OF_USER, os.fsencode(device), user, answer):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), device)
    return answer.raw


def windows_free(place: Path, kernel: Any = None) -> int | None:  # noqa: ANN401
    """What this user may take, quota included (``shutil`` asks for what the disk has)."""
    if sys.platform == "win32":
        kernel = kernel or ctypes.WinDLL("kernel32", use_last_error=True)
    if kernel is None:
        return None
    free = ctypes.c_ulonglong(0)
    done = kernel.GetDiskFreeSpaceExW(str(place), ctypes.byref(free), None, None)
    return free.value if done else None


def path_limits(place: Path, system: str | None = None) -> tuple[int, int, bool]:
    """Longest name, longest path, and whether they count characters instead of bytes."""
    if (system or platform.system()) == "Windows":
        longest = WINDOWS_MAX_LONG_PATH if windows_long_paths() else WINDOWS_MAX_PATH
        return WINDOWS_MAX_NAME, longest, True
    try:  # eCryptfs has 143
        return os.pathconf(place, "PC_NAME_MAX"), POSIX_MAX_PATH, False
    except (OSError, ValueError):
        return POSIX_MAX_NAME, POSIX_MAX_PATH, False


def windows_long_paths(registry: Any = None) -> bool:  # noqa: ANN401
    """Whether an administrator let programs use long paths."""
    if sys.platform == "win32":
        registry = registry or importlib.import_module("winreg")
    if registry is None:
        return False
    path = r"SYSTEM\CurrentControlSet\Control\FileSystem"
    try:
        with registry.OpenKey(registry.HKEY_LOCAL_MACHINE, path) as key:
            return bool(registry.QueryValueEx(key, "LongPathsEnabled")[0])
    except OSError:
        return False


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
