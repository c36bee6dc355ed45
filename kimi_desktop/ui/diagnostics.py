"""The facts of a failure as text for a report, with what is private removed. Qt thread."""

from __future__ import annotations

import getpass
import platform
import re
from pathlib import Path

import kimi_desktop
from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.units import format_gib
from kimi_desktop.machine.types import Machine

NAMED_SECRETS = (
    re.compile(r"(?i)((?:authorization[=: ]+(?:bearer\s+)?)|bearer\s+|api[-_ ]?key[=: ]+)\S+"),
    re.compile(r"(?i)(token[=:]\s*)\S+"),
)
SECRETS = (
    re.compile(r"\b(hf_|sk-|kimi-)[A-Za-z0-9_-]{8,}"),
    re.compile(r"\b[0-9a-fA-F]{32,}\b"),
)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def redact(text: str, *, home: str | None = None, user: str | None = None) -> str:
    """Remove keys, tokens, the home folder and the user's name."""
    home = str(Path.home()) if home is None else home
    user = _user_name() if user is None else user
    if len(home) > 1:
        text = text.replace(home, "~")
    text = re.sub(r"(/home/|/Users/|[A-Za-z]:\\Users\\)[^/\\\s\"']+", r"\1<user>", text)
    if len(user) > 2 and user not in ("root", "user"):
        text = re.sub(rf"\b{re.escape(user)}\b", "<user>", text)
    for pattern in NAMED_SECRETS:
        text = pattern.sub(r"\1<removed>", text)
    for pattern in SECRETS:
        text = pattern.sub("<removed>", text)
    return text


def diagnostics_text(status: EngineStatus, machine: Machine | None, log_text: str) -> str:
    """What a maintainer asks for first; English, because reports are read by many."""
    lines = [f"Kimi Desktop {kimi_desktop.__version__}"]
    if machine is not None:
        lines.append(machine.system)
        memory = machine.memory
        lines.append(f"CPU: {machine.cpu.model}, {machine.cpu.physical_cores} cores")
        free = format_gib(memory.available_bytes)
        lines.append(f"RAM: {format_gib(memory.usable_total_bytes)}, {free} free")
        lines.extend(
            f"GPU {gpu.index}: {gpu.name}, {format_gib(gpu.vram_total_bytes)}, driver {gpu.driver}"
            for gpu in machine.gpus
        )
    else:
        lines.append(f"{platform.system()} {platform.release()}")
    lines.append(f"Engine: {status.engine_name or 'unknown'}, state {status.state.value}")
    if status.settings is not None:
        lines.append(f"Load settings: {status.settings}")
    if status.error is not None:
        lines.append(f"Error: {status.error}")
        lines.extend(describe_error(status.error, Language.EN))
    tail = status.log_tail or tuple(log_text.splitlines()[-40:])
    lines.extend(("", "Log:", *tail))
    return redact("\n".join(lines))
