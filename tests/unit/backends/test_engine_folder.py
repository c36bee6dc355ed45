"""Only an engine's own folder is ever removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kimi_desktop.backends.engine_folder import make_engine_folder, remove_engine_folder


def test_a_new_private_folder_each_time(tmp_path: Path) -> None:
    first, second = make_engine_folder(tmp_path), make_engine_folder(tmp_path)
    assert first != second
    assert first.is_absolute()
    assert first.stat().st_mode & 0o077 == 0
    (first / "e.sock").write_text("", encoding="utf-8")
    remove_engine_folder(first)
    assert [*tmp_path.iterdir()] == [second]
    remove_engine_folder(first)


@pytest.mark.parametrize("name", ["models", "engine-", "engine-0123", "engine-0123abcd.old"])
def test_any_other_folder_stays(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    remove_engine_folder(folder)
    assert folder.is_dir()


def test_a_relative_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine-0123abcd").mkdir()
    monkeypatch.chdir(tmp_path)
    for path in (Path(), Path("engine-0123abcd")):
        remove_engine_folder(path)
    assert (tmp_path / "engine-0123abcd").is_dir()


@pytest.mark.skipif(os.name == "nt", reason="symlinks need a privilege")
def test_a_link_with_the_right_name_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "models"
    target.mkdir()
    (tmp_path / "engine-0123abcd").symlink_to(target)
    remove_engine_folder(tmp_path / "engine-0123abcd")
    assert target.is_dir()
