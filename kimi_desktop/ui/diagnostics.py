"""The facts of a failure as text for a report, with what is private removed. Qt thread."""

from __future__ import annotations

import platform

import kimi_desktop
from kimi_desktop.backends.types import EngineStatus
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.redaction import redact
from kimi_desktop.base.units import format_gib
from kimi_desktop.machine.types import Machine


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
