"""What a volume allows, with each system's answers played."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.downloads import volume
from kimi_desktop.downloads.volume import (
    linux_quota,
    linux_quota_left,
    look_at_volume,
    parse_quota,
    path_limits,
    quota_left,
    was_removed,
    windows_free,
    windows_long_paths,
)
from kimi_desktop.machine.types import DiskKind
from kimi_desktop.machine.volumes import Volume

GIB = 2**30
MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 8:17 / /data rw,relatime - xfs /dev/sdb1 rw,usrquota
31 22 0:40 / /net rw - nfs4 server:/export rw
"""


def dqblk(hard: int, soft: int, used: int, valid: int = 0x3F) -> bytes:
    return struct.pack("=8QI", hard, soft, used, 0, 0, 12, 0, 0, valid) + b"\0\0\0\0"


def on(file_system: str, *, read_only: bool = False) -> Any:
    return lambda _folder: Volume("8:1", DiskKind.SSD, file_system, read_only)


def test_this_computer(tmp_path: Path) -> None:
    found = look_at_volume(tmp_path / "not" / "there")
    assert found.folder == tmp_path / "not" / "there"
    assert found.free_bytes > 0
    assert found.writable
    assert found.max_file_bytes is None
    assert found.max_name == os.pathconf(tmp_path, "PC_NAME_MAX")
    assert found.length_of("é") == 2


@pytest.mark.parametrize("name", ["vfat", "msdos", "FAT32", "FAT"])
def test_fat_holds_4_gib(tmp_path: Path, name: str) -> None:
    assert look_at_volume(tmp_path, on(name)).max_file_bytes == 4 * GIB - 1
    assert look_at_volume(tmp_path, on("exfat")).max_file_bytes is None


def test_read_only(tmp_path: Path) -> None:
    assert not look_at_volume(tmp_path, on("ext4", read_only=True)).writable


def test_a_quota_counts_as_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume, "quota_left", lambda _place: 5)
    found = look_at_volume(tmp_path)
    assert (found.free_bytes, found.quota_bytes) == (5, 5)


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (dqblk(hard=10 * 2**20, soft=0, used=4 * GIB), 6 * GIB),
        (dqblk(hard=10 * 2**20, soft=8 * 2**20, used=4 * GIB), 4 * GIB),
        (dqblk(hard=2**20, soft=0, used=4 * GIB), 0),
        (dqblk(hard=0, soft=0, used=4 * GIB), None),
        (dqblk(hard=2**20, soft=0, used=0, valid=1), None),
        (dqblk(hard=2**20, soft=0, used=0, valid=0), None),
    ],
)
def test_linux_quota_records(answer: bytes, left: int | None) -> None:
    assert parse_quota(answer) == left


def test_the_quota_of_the_right_volume(tmp_path: Path) -> None:
    proc = tmp_path / "proc/self"
    proc.mkdir(parents=True)
    (proc / "mountinfo").write_text(MOUNTS)
    asked: list[tuple[str, int]] = []

    def ask(device: str, user: int) -> bytes:
        asked.append((device, user))
        if device == "/dev/sda1":
            raise OSError(errno.ESRCH, "no quota")
        return dqblk(hard=2**20, soft=0, used=0)

    assert linux_quota_left(Path("/data/models"), ask, tmp_path) == GIB
    assert linux_quota_left(Path("/home/me"), ask, tmp_path) is None
    assert linux_quota_left(Path("/net/models"), ask, tmp_path) is None
    assert asked == [("/dev/sdb1", os.getuid()), ("/dev/sda1", os.getuid())]
    (proc / "mountinfo").write_text("")
    assert linux_quota_left(Path("/data"), ask, tmp_path) is None


def test_the_system_call_itself() -> None:
    with pytest.raises(OSError, match="/dev/there-is-no-such-device"):
        linux_quota("/dev/there-is-no-such-device", os.getuid())


def test_other_systems(tmp_path: Path) -> None:
    assert quota_left(tmp_path, "Darwin") is None
    assert quota_left(tmp_path, "Windows") is None  # there is no such kernel here
    assert quota_left(tmp_path, "Linux") is None


class Kernel:
    """Of Windows: 7 GiB for this user."""

    def __init__(self, works: bool) -> None:
        self.works = works

    def GetDiskFreeSpaceExW(self, place: str, free: Any, total: None, all_free: None) -> int:  # noqa: N802 - Windows' own name
        assert (total, all_free) == (None, None)
        ctypes.cast(free, ctypes.POINTER(ctypes.c_ulonglong))[0] = 7 * GIB
        return int(self.works)


def test_windows_counts_the_quota_itself() -> None:
    assert windows_free(Path("D:/models"), Kernel(True)) == 7 * GIB
    assert windows_free(Path("D:/models"), Kernel(False)) is None


class Registry:
    """Of Windows."""

    HKEY_LOCAL_MACHINE = 0

    def __init__(self, value: int | None) -> None:
        self.value = value

    def OpenKey(self, _root: int, path: str) -> Registry:  # noqa: N802 - Windows' own name
        if self.value is None:
            raise FileNotFoundError(path)
        return self

    def QueryValueEx(self, _key: object, name: str) -> tuple[int | None, int]:  # noqa: N802 - Windows' own name
        assert name == "LongPathsEnabled"
        return self.value, 4

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_error: object) -> None:
        pass


def test_long_paths_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert windows_long_paths(Registry(1))
    assert not windows_long_paths(Registry(0))
    assert not windows_long_paths(Registry(None))
    assert path_limits(tmp_path, "Windows") == (255, 259, True)
    monkeypatch.setattr(volume, "windows_long_paths", lambda: True)
    assert path_limits(tmp_path, "Windows") == (255, 32_000, True)


def test_a_folder_that_cannot_be_asked() -> None:
    assert path_limits(Path("/there/is/no/such/folder")) == (255, 4095, False)


def test_a_folder_that_was_deleted_is_told_from_a_drive_that_is_gone(tmp_path: Path) -> None:
    models = tmp_path / "models"
    (models / "other").mkdir(parents=True)
    assert was_removed(models / "org" / "K")
    (models / "left").mkdir()
    assert was_removed(models / "left" / "K")
    assert not was_removed(models / "other")
    empty = tmp_path / "mounted here"
    empty.mkdir()
    assert not was_removed(empty / "org" / "K")
    assert not was_removed(Path("/media/nobody/Big/org/K"))
    assert not was_removed(Path("/nowhere/org/K"))
