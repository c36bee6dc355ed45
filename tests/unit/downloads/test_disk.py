"""What systems do differently, with their errors played."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from kimi_desktop.downloads import disk
from kimi_desktop.downloads.disk import PositionedFile


class WindowsError(PermissionError):
    """An OSError as Windows raises it."""

    def __init__(self, winerror: int) -> None:
        super().__init__(errno.EACCES, "held by another program")
        self._number = winerror

    @property
    def winerror(self) -> int:  # type: ignore[override]
        return self._number


@pytest.mark.parametrize("has_positions", [True, False])
def test_reads_and_writes_at_offsets(tmp_path: Path, has_positions: bool) -> None:
    descriptor = disk.open_file(tmp_path / "file")
    file = PositionedFile(descriptor, has_positions=has_positions)
    file.write(memoryview(b"world"), 6)
    file.write(memoryview(b"hello "), 0)
    buffer = memoryview(bytearray(20))
    assert file.read_into(buffer, 2) == 9
    assert bytes(buffer[:9]) == b"llo world"
    assert file.read_into(buffer, 100) == 0
    file.close()


@pytest.mark.parametrize("number", [5, 32])
def test_a_virus_scanner_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "a").write_bytes(b"x")
    calls: list[None] = []
    real = os.replace

    def play(source: Path, target: Path) -> None:
        calls.append(None)
        if len(calls) < 4:
            raise WindowsError(number)
        real(source, target)

    monkeypatch.setattr(disk, "RENAME_PAUSE_S", 0.0)
    monkeypatch.setattr(os, "replace", play)
    disk.replace(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"x"


def test_it_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []

    def play(_source: Path, _target: Path) -> None:
        calls.append(None)
        raise WindowsError(32)

    monkeypatch.setattr(disk, "RENAME_PAUSE_S", 0.0)
    monkeypatch.setattr(os, "replace", play)
    with pytest.raises(PermissionError):
        disk.replace(tmp_path / "a", tmp_path / "b")
    assert len(calls) == disk.RENAME_ATTEMPTS


def test_other_errors_of_a_rename_are_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disk.replace(tmp_path / "not there", tmp_path / "b")


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, 0])
def test_space_is_reserved_where_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    if code:
        monkeypatch.setattr(disk, "_linux_fallocate", lambda *_arguments: code)
    descriptor = disk.open_file(tmp_path / "file")
    disk.reserve(descriptor, 100_000)
    assert os.fstat(descriptor).st_size == 100_000
    disk.reserve(descriptor, 5)  # never shorter
    assert os.fstat(descriptor).st_size == 100_000
    os.close(descriptor)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG])
def test_no_space_is_said_before_the_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(disk, "_linux_fallocate", lambda *_arguments: code)
    descriptor = disk.open_file(tmp_path / "file")
    with pytest.raises(OSError, match=os.strerror(code)):
        disk.reserve(descriptor, 100_000)
    os.close(descriptor)


def test_the_real_call_reserves(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("Linux's own call")
    descriptor = disk.open_file(tmp_path / "file")
    assert disk._linux_fallocate(descriptor, 2**20) == 0
    assert os.fstat(descriptor).st_blocks * 512 >= 2**20
    os.close(descriptor)
    assert disk._linux_fallocate(-1, 10) == errno.EBADF


def test_macos_flushes_the_drive_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl  # noqa: PLC0415

    calls: list[int] = []
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(fcntl, "fcntl", lambda _fd, command: calls.append(command))
    descriptor = disk.open_file(tmp_path / "file")
    disk.sync_data(descriptor)
    assert calls == [51]

    def refuse(_descriptor: int, _command: int) -> None:
        raise OSError(errno.ENOTSUP, "network volume")

    monkeypatch.setattr(fcntl, "fcntl", refuse)
    disk.sync_data(descriptor)  # falls back
    os.close(descriptor)
