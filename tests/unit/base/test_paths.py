from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from kimi_desktop.base import paths
from kimi_desktop.base.paths import HOME_VARIABLE, MAX_SOCKET_FOLDER_BYTES, AppPaths

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")


def test_one_folder_for_everything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    assert AppPaths.default() == AppPaths.under(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(HOME_VARIABLE, "~/kimi")
    assert AppPaths.default() == AppPaths.under(tmp_path / "kimi")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(HOME_VARIABLE, "portable")
    assert AppPaths.default() == AppPaths.under(tmp_path / "portable")


def test_the_users_own_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    found = AppPaths.default()
    assert found.config == Path(platformdirs.user_config_dir("kimi-desktop", False, roaming=True))
    assert found.data == Path(platformdirs.user_data_dir("kimi-desktop", False))
    assert len({found.config, found.runtime, found.logs}) == 3


def test_sockets_go_to_the_session_and_without_one_to_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.setattr(paths.platform, "system", lambda: "Linux")
    monkeypatch.setattr(paths.platformdirs, "user_cache_dir", lambda *_, **__: str(tmp_path))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert AppPaths.default().runtime == tmp_path / "run"
    session = tmp_path / "session"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    assert AppPaths.default().runtime == tmp_path / "run"  # it is not there
    session.mkdir()
    assert AppPaths.default().runtime == session / "kimi-desktop"


@pytest.mark.parametrize("system", ["Darwin", "Windows"])
def test_the_other_systems_have_a_folder_of_their_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str
) -> None:
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    monkeypatch.setattr(paths.platform, "system", lambda: system)
    monkeypatch.setattr(
        paths.platformdirs, "user_runtime_dir", lambda name, **_: str(tmp_path / name)
    )
    assert AppPaths.default().runtime == tmp_path / "kimi-desktop"


def test_names_inside(tmp_path: Path) -> None:
    found = AppPaths.under(tmp_path)
    inside = (found.settings_file, found.database_file, found.default_models_folder)
    assert all(path.is_relative_to(tmp_path) for path in inside)
    assert len(set(inside)) == 3


@posix
def test_folders_are_made_for_the_owner_alone(tmp_path: Path) -> None:
    found = AppPaths.under(tmp_path / "home")
    found.data.mkdir(parents=True, mode=0o755)
    found.make()
    found.make()  # a second start
    for folder in (found.config, found.data, found.logs, found.runtime):
        assert folder.stat().st_mode & 0o777 == 0o700


@posix
def test_a_file_system_without_permissions_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, mode: int) -> None:
        raise PermissionError(self)

    monkeypatch.setattr(Path, "chmod", refuse)
    found = AppPaths.under(tmp_path)
    found.make()
    assert found.runtime.is_dir()


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("", encoding="utf-8")
    with pytest.raises(OSError, match="data"):
        AppPaths.under(tmp_path).make()


@posix
def test_sockets_get_a_private_folder_that_is_short_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "MAX_SOCKET_FOLDER_BYTES", len(os.fsencode(tmp_path)) + 10)
    short = AppPaths.under(tmp_path)
    short.runtime.mkdir(mode=0o755)
    assert short.socket_folder() == short.runtime
    assert short.runtime.stat().st_mode & 0o777 == 0o700


@posix
def test_too_long_a_path_gets_another_folder(tmp_path: Path) -> None:
    long = AppPaths.under(tmp_path / ("x" * 120))
    folder = long.socket_folder()
    try:
        assert len(os.fsencode(folder)) <= MAX_SOCKET_FOLDER_BYTES
        assert folder.stat().st_mode & 0o777 == 0o700
        assert not long.runtime.exists()
    finally:
        folder.rmdir()
