"""Where the app's own log goes: one rotating file, and stderr when asked."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def log_to_file(folder: Path) -> None:
    """Add the rotating file ``kimi-desktop.log`` (4 x 2 MB); without it when not writable."""
    logging.raiseExceptions = False  # a full disk must not print a traceback per line
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    try:
        handler = RotatingFileHandler(
            folder / "kimi-desktop.log", maxBytes=2_000_000, backupCount=3, encoding="utf-8"
        )
    except OSError:
        root.addHandler(logging.NullHandler())
        root.warning("no log file in %s", folder)
        return
    handler.setFormatter(logging.Formatter(FORMAT))
    root.addHandler(handler)
    logging.getLogger("httpx").setLevel(logging.WARNING)
