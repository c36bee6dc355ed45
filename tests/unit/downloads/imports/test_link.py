"""Names without bytes, each kind of them."""

from __future__ import annotations

import ctypes
import errno
import sys
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.downloads.imports import link
from kimi_desktop.downloads.imports.link import link_file
from kimi_desktop.downloads.imports.types import LinkKind


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "theirs" / "m.gguf"
    path.parent.mkdir()
    path.write_bytes(b"weights")
    return path


def cannot(_source: Path, _target: Path) -> None:
    raise OSError(errno.EXDEV, "another volume")


def test_whatever_works_here(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "ours" / "deep" / "m.gguf"
    kind = link_file(source, target)
    assert kind in (LinkKind.CLONE, LinkKind.HARD_LINK)
    assert target.read_bytes() == b"weights"
    assert not target.is_symlink()
    with pytest.raises(FileExistsError):
        link_file(source, target)


def test_the_kinds_in_their_order(source: Path, tmp_path: Path) -> None:
    methods = {LinkKind.CLONE: cannot, LinkKind.HARD_LINK: link.hard_link}
    target = tmp_path / "m"
    assert link_file(source, target, methods) is LinkKind.HARD_LINK
    assert target.samefile(source)
    methods = {LinkKind.HARD_LINK: cannot, LinkKind.SYMBOLIC_LINK: link.symbolic_link}
    other = tmp_path / "o"
    assert link_file(source, other, methods) is LinkKind.SYMBOLIC_LINK
    assert other.is_symlink()
    assert other.read_bytes() == b"weights"


def test_nothing_works(source: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="another volume"):
        link_file(source, tmp_path / "m", {LinkKind.CLONE: cannot, LinkKind.HARD_LINK: cannot})
    assert not (tmp_path / "m").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the system call of Linux")
def test_clones_on_linux(source: Path, tmp_path: Path) -> None:
    asked: list[tuple[int, int]] = []

    def works(target: int, number: int, _source: int) -> None:
        asked.append((target, number))

    link._clone_linux(source, tmp_path / "m", works)
    assert [number for _, number in asked] == [0x40049409]
    assert (tmp_path / "m").exists()

    def fails(*_arguments: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "no")

    with pytest.raises(OSError, match="no"):
        link._clone_linux(source, tmp_path / "n", fails)
    assert not (tmp_path / "n").exists()
    with pytest.raises(FileExistsError):
        link._clone_linux(source, tmp_path / "m", works)


class Library:
    """Of macOS."""

    def __init__(self, error: int) -> None:
        self.error = error

    def clonefile(self, source: bytes, target: bytes, flags: int) -> int:
        assert flags == 0
        if self.error:
            ctypes.set_errno(self.error)
            return -1
        Path(target.decode()).write_bytes(Path(source.decode()).read_bytes())
        return 0


def test_clones_on_macos(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link._clone_macos(source, tmp_path / "m", Library(0))
    assert (tmp_path / "m").read_bytes() == b"weights"
    with pytest.raises(OSError, match=r".") as caught:
        link._clone_macos(source, tmp_path / "n", Library(errno.ENOTSUP))
    assert caught.value.errno == errno.ENOTSUP

    real = link._clone_macos

    def played(*arguments: Any) -> None:
        real(*arguments, Library(0))

    monkeypatch.setattr(link.sys, "platform", "darwin")
    monkeypatch.setattr(link, "_clone_macos", played)
    link.clone(source, tmp_path / "o")


def test_no_clones_on_windows(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link.sys, "platform", "win32")
    with pytest.raises(OSError) as caught:
        link.clone(source, tmp_path / "m")
    assert caught.value.errno == errno.EOPNOTSUPP
