"""What is installed is what is in the repository."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_every_package_is_installed() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(rules["tool"]["setuptools"]["packages"])
    folders = (path.parent for path in (ROOT / "kimi_desktop").rglob("__init__.py"))
    there = {".".join(folder.relative_to(ROOT).parts) for folder in folders}
    assert listed == there | {"kimi_desktop.assets"}


def test_every_kind_of_asset_is_installed() -> None:
    rules = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = rules["tool"]["setuptools"]["package-data"]["kimi_desktop.assets"]
    kinds = {path.suffix for path in (ROOT / "assets").rglob("*") if path.is_file()}
    kinds -= {".ts", ".md"}  # compiled ones are; what explains a folder is for its readers
    assert {f"**/*{kind}" for kind in kinds} <= set(patterns)
