"""One place says which engine a GGUF file would be started with; every question goes to it."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path

import pytest

from kimi_desktop.backends.engines.choose import engines_of
from kimi_desktop.backends.rpc import managing
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.cli import main
from kimi_desktop.models.header_copy import copy_file_header
from tests.support.scripted_llama_python import make_llama_environment

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a scripted environment with symlinks")


@pytest.fixture
def paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppPaths:
    """A profile whose engine is llama-cpp-python."""
    home = tmp_path / "profile"
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(home))
    environment = make_llama_environment(tmp_path / "env")
    paths = AppPaths.under(home)
    SettingsStore(paths.settings_file).update(
        lambda s: dataclasses.replace(
            s, engine=dataclasses.replace(s.engine, llama_python=str(environment))
        )
    )
    return paths


def test_it_is_the_one_of_the_settings(paths: AppPaths) -> None:
    build = asyncio.run(engines_of(paths, SettingsStore(paths.settings_file)).chosen_build())
    assert build.kind is EngineKind.LLAMA_CPP_PYTHON
    assert build.name == "llama-cpp-python 0.3.36"


def test_plan_asks_it_whether_it_would_load_the_model(
    paths: AppPaths, tiny_kimi: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["plan", str(tiny_kimi)])
    assert "llama-cpp-python 0.3.36" in capsys.readouterr().out
    assert copy_file_header(tiny_kimi) is not None


def test_workers_are_checked_against_it(paths: AppPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = managing.Workers

    class Told(real):  # type: ignore[misc, valid-type]
        def __init__(self, *arguments: object, build: object, **named: object) -> None:
            async def name() -> None:
                asked.append((await build()).name)  # type: ignore[operator]

            asyncio.run(name())
            super().__init__(*arguments, build=build, **named)

    monkeypatch.setattr(managing, "Workers", Told)
    assert managing.manage_workers(paths, "list", "", "", "en", json_output=True) == 0  # type: ignore[arg-type]
    assert asked == ["llama-cpp-python 0.3.36"]
