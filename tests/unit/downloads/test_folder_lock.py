"""One downloader in a folder."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads import folder_lock
from kimi_desktop.downloads.folder_lock import LEASE_FILE, FolderLock
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.transfers import Run, spec_of

HOLDER = """
import pathlib, sys, time
from kimi_desktop.downloads.folder_lock import FolderLock
with FolderLock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(300)
"""


def refused(folder: Path) -> bool:
    try:
        with FolderLock(folder):
            return False
    except DownloadError as error:
        return error.code is ErrorCode.DOWNLOAD_FOLDER_BUSY


def test_a_second_one_is_refused_until_the_first_has_gone(tmp_path: Path) -> None:
    folder = tmp_path / ".kimi-partial"
    with FolderLock(folder):
        assert refused(folder)
    assert not folder.exists()
    assert not refused(folder)


def test_what_lies_beside_the_lock_stays(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        (tmp_path / "x.part").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["x.part"]


def test_a_killed_owner_holds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert refused(tmp_path)
        process.kill()
        process.wait()
    assert not refused(tmp_path)


def test_where_locks_are_not_honoured_a_lease_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "try_lock", lambda _descriptor: True)
    monkeypatch.setattr(folder_lock, "RENEW_S", 0.05)
    with FolderLock(tmp_path):
        lease = tmp_path / LEASE_FILE
        os.utime(lease, (1.0, 1.0))
        while lease.stat().st_mtime == 1.0:  # its owner renews it
            time.sleep(0.01)
        assert refused(tmp_path)
    assert not tmp_path.exists() or not lease.exists()


def test_a_lease_that_nobody_renews_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_lock, "try_lock", lambda _descriptor: True)
    lease = tmp_path / LEASE_FILE
    lease.touch()
    assert refused(tmp_path)
    os.utime(lease, (1.0, 1.0))
    assert not refused(tmp_path)


def test_windows_locks_the_first_byte() -> None:
    class Msvcrt:
        LK_NBLCK = 2

        def __init__(self, *, is_taken: bool) -> None:
            self.is_taken = is_taken

        def locking(self, _descriptor: int, mode: int, count: int) -> None:
            assert (mode, count) == (2, 1)
            if self.is_taken:
                raise OSError(errno.EACCES, "taken")

    reader, writer = os.pipe()
    os.close(writer)
    with open(os.devnull, "rb") as file:  # noqa: PTH123
        assert folder_lock._try_lock_windows(file.fileno(), Msvcrt(is_taken=False))
        assert not folder_lock._try_lock_windows(file.fileno(), Msvcrt(is_taken=True))
    os.close(reader)


def test_two_transfers_into_one_folder(tmp_path: Path) -> None:
    with LocalHub("org/model", [HubFile("model.gguf", 300_000)]) as hub:
        hub.speeds["cdn"] = 300_000.0
        first = Run(spec_of(hub, tmp_path)).start()
        while not first.progress:
            time.sleep(0.02)
        with pytest.raises(DownloadError) as caught:
            Run(spec_of(hub, tmp_path)).now()
        assert caught.value.code is ErrorCode.DOWNLOAD_FOLDER_BUSY
        first.wait()
        assert (tmp_path / "model.gguf").stat().st_size == 300_000
