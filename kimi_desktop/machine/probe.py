"""One look at the whole computer. Blocking (0.1 s to a second): pool threads and the terminal."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from kimi_desktop.machine.cpu import look_cpu
from kimi_desktop.machine.disks import look_disks
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.memory import memory_reader
from kimi_desktop.machine.types import Machine


def look(folders: Sequence[Path], gpus: GpuReader) -> Machine:
    """CPU, RAM, GPUs, and the volumes that hold ``folders``.

    Raises:
        HardwareError: the system does not even tell its memory.
    """
    found = gpus.look()
    note = found.note
    is_apple = platform.system() == "Darwin" and platform.machine() == "arm64"
    if note in ("no_gpu", "no_driver") and is_apple:
        note = "apple"
    return Machine(
        cpu=look_cpu(),
        memory=memory_reader().read(),
        gpus=found.gpus,
        disks=look_disks(folders),
        system=_system(),
        gpu_note=note,
        gpu_failures=found.failures,
    )


def _system() -> str:
    """The operating system as its owner calls it."""
    system = platform.system()
    if system == "Linux":
        try:
            name = platform.freedesktop_os_release().get("PRETTY_NAME", "Linux")
        except OSError:
            name = "Linux"
        return f"{name}, Linux {platform.release()}"
    if system == "Darwin":
        return f"macOS {platform.mac_ver()[0]}"
    return f"{system} {platform.release()} {platform.version()}"
