"""What to do outside the load settings: which program to end, which file to verify. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kimi_desktop.base.units import GIB
from kimi_desktop.diagnosis.types import Beyond, Finding, SystemWay
from kimi_desktop.machine.holders import Holder
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.types import DeviceMemory, LoadForecast

ROOM = 1.1
"""Of what is needed: a limit that is met exactly is met by the next thing that grows."""
MENDABLE = frozenset({"file_truncated", "file_corrupted", "shard_set_incomplete"})
"""The verifier finds what is bad and fetches only that."""
MEMORY_FAMILY = "memory"


def ways_beyond(
    best: Finding,
    machine: Machine | None,
    forecast: LoadForecast,
    holders: Sequence[Holder],
) -> tuple[SystemWay, ...]:
    """The ways out for a cause, the most direct first.

    Args:
        best: the cause.
        machine: None before the first look.
        forecast: of the load that failed.
        holders: programs that hold VRAM now, the largest first.
    """
    action, setting = best.fix.action, best.fix.setting
    ways: list[SystemWay] = []
    if action == "end_process":
        ways += [SystemWay(Beyond.END_PROGRAM, holder=holder) for holder in holders[:1]]
    if action == "verify" or best.cause in MENDABLE:
        ways.append(SystemWay(Beyond.VERIFY))
    if action == "limit":
        ways.append(SystemWay(Beyond.LINE, line=_line(best, machine, forecast)))
    if action in ("install_engine", "update_engine"):
        ways.append(SystemWay(Beyond.ENGINE))
    if setting == "quantization" or (action == "download" and best.cause not in MENDABLE):
        ways.append(SystemWay(Beyond.OTHER_FILE))
    return tuple(ways)


def full_devices(best: Finding, forecast: LoadForecast) -> tuple[DeviceMemory, ...]:
    """Whose memory the cause is about: the fullest GPU, or RAM; none for other causes."""
    if not best.rule.startswith(f"{MEMORY_FAMILY}."):
        return ()
    host = [device for device in forecast.devices if device.device == "host"]
    gpus = [device for device in forecast.devices if device.device != "host"]
    if best.cause.startswith(("ram_", "memory_cap")) or not gpus:
        return tuple(host)
    return (min(gpus, key=lambda device: device.spare_bytes),)


def _line(best: Finding, machine: Machine | None, forecast: LoadForecast) -> str:
    """What to type: for a memory limit with the size that this load needs."""
    host = next((device for device in forecast.devices if device.device == "host"), None)
    if best.fix.setting != "memory_limit" or machine is None or host is None:
        return best.fix.value
    size = math.ceil(host.used_bytes * ROOM / GIB)
    if machine.memory.limit_source == "wsl":
        return f"[wsl2]\nmemory={size}GB"
    return f"docker run --memory={size}g --memory-swap={size}g ...\nMemoryMax={size}G"
