"""Finds the files that ship beside the code: icons, translations, prompts, data."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import kimi_desktop


@cache
def assets_folder() -> Path:
    """``kimi_desktop/assets`` in an installed package, ``assets`` beside it in a checkout.

    Raises:
        FileNotFoundError: the installation is incomplete.
    """
    package = Path(kimi_desktop.__file__).resolve().parent
    for folder in (package / "assets", package.parent / "assets"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(package / "assets")


def asset(name: str) -> Path:
    """One file, by its path inside the folder (``"icons/chat.svg"``)."""
    return assets_folder() / name
