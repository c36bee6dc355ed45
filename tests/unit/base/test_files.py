from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kimi_desktop.base.files import write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, "显存\r\n\n")
    assert file.read_bytes() == "显存\r\n\n".encode()
    write_atomically(file, b"\xff\r\n")
    assert file.read_bytes() == b"\xff\r\n"
    assert list(tmp_path.iterdir()) == [file]


@posix
@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_permissions(tmp_path: Path, private: bool, mode: int) -> None:
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "a", "x", private=private)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os if step == "fsync" else Path, step, fail)
    with pytest.raises(OSError, match="No space"):
        write_atomically(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no" / "a.txt", "x")


def test_text_that_is_no_utf8(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "a.txt", "\udcff")
    assert list(tmp_path.iterdir()) == []
