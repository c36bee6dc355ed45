"""A systemd user unit that serves a model without a window. Pure but for ``write_unit``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from kimi_desktop.base.files import write_atomically

UNIT_NAME = "kimi-desktop.service"


def unit_text(command: Sequence[str]) -> str:
    """The unit that runs ``command``; it ends the engine by SIGTERM and starts it after a crash."""
    return f"""\
[Unit]
Description=Kimi Desktop: a local model for other programs
After=network-online.target

[Service]
Type=exec
ExecStart={" ".join(map(quoted, command))}
Restart=on-failure
RestartSec=5
TimeoutStopSec=45
KillMode=mixed
SuccessExitStatus=130

[Install]
WantedBy=default.target
"""


def quoted(word: str) -> str:
    """One argument of ``ExecStart``: quoted, with specifiers and variables taken out of play."""
    inner = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{inner}"'


def unit_file() -> Path:
    """Where a user's own units belong."""
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "systemd" / "user" / UNIT_NAME


def write_unit(command: Sequence[str]) -> Path:
    """Write the unit; systemd is told nothing.

    Raises:
        OSError: it cannot be written.
    """
    file = unit_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, unit_text(command))
    return file
