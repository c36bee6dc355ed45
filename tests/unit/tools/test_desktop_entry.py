"""The menu entry must survive any path a user may have chosen."""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def desktop_entry() -> ModuleType:
    file = ROOT / "packaging" / "linux" / "desktop_entry.py"
    spec = importlib.util.spec_from_file_location("desktop_entry", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_exec(entry: str) -> str:
    """The program a desktop would start: unescape the string, then the quoting, then %%."""
    line = next(line for line in entry.splitlines() if line.startswith("Exec="))
    unescaped = line.removeprefix("Exec=").replace("\\\\", "\\")
    (argument,) = shlex.split(unescaped.replace("\\$", "$").replace("\\`", "`"))
    return argument.replace("%%", "%")


@pytest.mark.parametrize(
    "folder",
    [
        "/opt/kimi",
        "/home/me/my apps",
        "/home/me/it's",
        '/home/me/a "b"',
        "/home/月/50%",
        "/x/$HOME`",
    ],
)
def test_the_entry_starts_the_program_at_any_path(desktop_entry: ModuleType, folder: str) -> None:
    program = Path(folder) / "kimi-desktop"
    assert read_exec(desktop_entry.entry_text(program)) == str(program)


def test_install_and_remove_leave_nothing(desktop_entry: ModuleType, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "kimi-desktop"
    entry = desktop_entry.install(tmp_path / "share", program)
    text = entry.read_text(encoding="utf-8")
    assert "Icon=kimi-desktop" in text
    assert "Comment[zh_CN]=" in text
    icons = [file for file in (tmp_path / "share" / "icons").rglob("*") if file.is_file()]
    assert {file.suffix for file in icons} == {".svg", ".png"}
    assert all(file.stat().st_size for file in icons)
    desktop_entry.remove(tmp_path / "share")
    assert not [file for file in (tmp_path / "share").rglob("*") if file.is_file()]
