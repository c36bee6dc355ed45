"""What the bootstrap asks for depends on what is there."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def system_packages() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "system_packages", ROOT / "tools" / "system_packages.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def bare(system_packages: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    def refuse(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(system_packages.sys, "platform", "linux")
    monkeypatch.setattr(system_packages.ctypes, "CDLL", refuse)
    monkeypatch.setattr(system_packages.shutil, "which", lambda _name: None)
    monkeypatch.setattr(system_packages, "FONT_FOLDERS", ())
    return system_packages


def test_a_bare_system_needs_all(bare: ModuleType) -> None:
    offscreen = bare.missing_packages("offscreen")
    window = bare.missing_packages("window")
    tests = bare.missing_packages("tests")
    assert set(offscreen) == {"libgomp1", *bare.OFFSCREEN.values(), "fonts-wqy-microhei"}
    assert set(window) == set(offscreen) | set(bare.X11.values())
    assert set(tests) == set(window) | {"xvfb", "xauth", "curl"}


def test_one_missing_library_is_the_only_one_named(
    bare: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def load(name: str) -> None:
        if name == "libxcb-cursor.so.0":
            raise OSError(name)

    (tmp_path / "wqy-microhei.ttc").touch()
    monkeypatch.setattr(bare.ctypes, "CDLL", load)
    monkeypatch.setattr(bare, "FONT_FOLDERS", (tmp_path,))
    assert bare.missing_packages("window") == ["libxcb-cursor0"]
    assert bare.missing_packages("offscreen") == []


def test_other_systems_need_nothing(bare: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bare.sys, "platform", "darwin")
    assert bare.missing_packages("tests") == []
