"""The system's trash, through Qt: freedesktop.org's, the Recycle Bin, the Finder's. Any thread."""

from __future__ import annotations

import errno
from pathlib import Path

from PySide6.QtCore import QFile


def move_to_trash(path: Path) -> Path:
    """Put a file or a folder into the trash of its volume.

    Returns:
        Where it is now.

    Raises:
        OSError: the volume has no trash, or it cannot be written.
    """
    file = QFile(str(path))
    if not file.moveToTrash():
        raise OSError(errno.EIO, file.errorString() or "no trash", str(path))
    return Path(file.fileName())
