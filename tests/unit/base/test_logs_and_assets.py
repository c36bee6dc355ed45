from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base import assets
from kimi_desktop.base.assets import asset, assets_folder
from kimi_desktop.base.logs import log_to_file


@pytest.fixture
def root_logger() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    for handler in [added for added in root.handlers if added not in handlers]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)


def test_the_log_goes_to_a_file(tmp_path: Path, root_logger: logging.Logger) -> None:
    log_to_file(tmp_path)
    logging.getLogger("kimi_desktop.x").info("模型已就绪")
    text = (tmp_path / "kimi-desktop.log").read_text(encoding="utf-8")
    assert "INFO kimi_desktop.x: 模型已就绪" in text


def test_without_a_folder_there_is_no_file_and_no_failure(
    tmp_path: Path, root_logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    log_to_file(tmp_path / "missing")
    assert "no log file" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_assets_are_found_in_a_checkout() -> None:
    assert asset("icons").parent == assets_folder()
    assert assets_folder().is_dir()


def test_an_installation_without_assets_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assets.kimi_desktop, "__file__", str(tmp_path / "x" / "__init__.py"))
    with pytest.raises(FileNotFoundError):
        assets_folder.__wrapped__()


def test_an_installed_package_holds_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "assets").mkdir()
    monkeypatch.setattr(assets.kimi_desktop, "__file__", str(tmp_path / "__init__.py"))
    assert assets_folder.__wrapped__() == tmp_path / "assets"
