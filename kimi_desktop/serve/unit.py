"""A systemd user unit that serves a model without a window. Pure but for ``write_unit``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.files import write_atomically

UNIT_NAME = "kimi-desktop.service"
BEFORE = ".previous"


def unit_text(command: Sequence[str], environment: Mapping[str, str]) -> str:
    """The unit that runs ``command``; it ends the engine by SIGTERM and starts it after a crash."""
    variables = "".join(
        f"Environment={quoted(f'{name}={value}')}\n" for name, value in environment.items()
    )
    return f"""\
[Unit]
Description=Kimi Desktop: a local model for other programs
After=network-online.target

[Service]
Type=exec
{variables}ExecStart={" ".join(argument(word) for word in command)}
Restart=on-failure
RestartSec=5
TimeoutStopSec=45
KillMode=mixed
SuccessExitStatus=130

[Install]
WantedBy=default.target
"""


def quoted(text: str) -> str:
    """A value in double quotes; systemd reads it as it is (systemd.syntax(7), systemd.unit(5))."""
    for found, written in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t"), ("%", "%%")):
        text = text.replace(found, written)
    return f'"{text}"'


def argument(word: str) -> str:
    """One argument of ``ExecStart``, where variables have a meaning besides."""
    return quoted(word.replace("$", "$$"))


def unit_file() -> Path:
    """Where a user's own units belong."""
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "systemd" / "user" / UNIT_NAME


@dataclass(frozen=True, slots=True)
class WrittenUnit:
    """Where it is."""

    file: Path
    previous: Path | None
    """What was there before and said something else, kept under this name."""


def write_unit(command: Sequence[str], environment: Mapping[str, str]) -> WrittenUnit:
    """Write the unit; systemd is told nothing. One that says something else is kept beside it.

    Raises:
        OSError: it cannot be written.
    """
    file, text = unit_file(), unit_text(command, environment)
    file.parent.mkdir(parents=True, exist_ok=True)
    previous: Path | None = None
    if file.exists() and file.read_bytes() != text.encode():
        previous = file.with_name(file.name + BEFORE)
        write_atomically(previous, file.read_bytes())
    write_atomically(file, text)
    return WrittenUnit(file, previous)
