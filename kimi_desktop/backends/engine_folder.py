"""The private folder of one engine run: its socket, its key, its working folder.

Only a folder with the name that ``make_engine_folder`` gives is ever removed, whatever a caller or
a damaged record says. Standard library only: the supervisor uses it, too.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

_NAME = re.compile(r"engine-[0-9a-f]{8}")


def make_engine_folder(parent: Path) -> Path:
    """A new folder that only the owner may enter.

    Raises:
        OSError: it cannot be made.
    """
    folder = parent.absolute() / f"engine-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o700)
    return folder


def remove_engine_folder(folder: Path) -> None:
    """Remove it and what is in it; anything else than an engine's folder stays."""
    if folder.is_absolute() and _NAME.fullmatch(folder.name) and not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)
