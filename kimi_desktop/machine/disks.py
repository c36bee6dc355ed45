"""The volumes that hold the folders the app writes to. Pool threads."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from kimi_desktop.machine.linux_disks import LinuxVolumes
from kimi_desktop.machine.types import Disk
from kimi_desktop.machine.volumes import FindVolume


def look_disks(folders: Iterable[Path], find_volume: FindVolume | None = None) -> tuple[Disk, ...]:
    """One entry per volume, named by the first folder on it.

    A folder that does not exist yet counts as its nearest parent that does. A folder that cannot
    be looked at (a lost network drive) is left out.
    """
    find = find_volume or volumes_here()
    found: dict[str, Disk] = {}
    for folder in folders:
        place = nearest_existing(folder)
        try:
            volume = find(place)
            size = shutil.disk_usage(place)
        except OSError:
            continue
        found.setdefault(
            volume.id,
            Disk(
                path=str(folder),
                kind=volume.kind,
                file_system=volume.file_system,
                total_bytes=size.total,
                free_bytes=size.free,
                writable=not volume.read_only and can_write(place),
            ),
        )
    return tuple(found.values())


def nearest_existing(folder: Path) -> Path:
    """The folder itself or its closest parent that exists, without links."""
    place = folder.expanduser().absolute()
    for candidate in (place, *place.parents):
        try:
            if candidate.is_dir():
                return candidate.resolve()
        except OSError:  # no permission to look
            continue
    return Path(place.anchor or "/")


def can_write(folder: Path) -> bool:
    """Whether this user may make files there."""
    if os.name == "posix":
        return os.access(folder, os.W_OK | os.X_OK)
    try:  # access lists answer only to a try
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def volumes_here() -> FindVolume:
    """The way of this system."""
    system = platform.system()
    if system == "Linux":
        return LinuxVolumes().find
    if system == "Darwin":
        from kimi_desktop.machine import macos  # noqa: PLC0415 - one system at a time

        return macos.volumes(macos.diskutil, macos.mounts)
    from kimi_desktop.machine import windows  # noqa: PLC0415

    return windows.volumes(windows.kernel())
