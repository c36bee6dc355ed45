"""Main memory: total, available, what a cgroup or WSL leaves of it, swap. Pool threads."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Protocol

from kimi_desktop.base.errors import ErrorCode, HardwareError
from kimi_desktop.base.units import KIB
from kimi_desktop.machine.cgroup import find_cgroup, read_memory_limit
from kimi_desktop.machine.linux_files import read_text
from kimi_desktop.machine.types import Memory


class MemoryReader(Protocol):
    """Reads the memory as often as asked; what does not change is found once."""

    def read(self) -> Memory:
        """Now.

        Raises:
            HardwareError: the system does not tell.
        """


def memory_reader() -> MemoryReader:
    """The reader for this system."""
    if platform.system() == "Linux":
        return LinuxMemory()
    return PsutilMemory()


class LinuxMemory:
    """From /proc/meminfo and the cgroup's files (about 0.1 ms a reading)."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self._cgroup = find_cgroup(root, "memory")
        kernel = read_text(root / "proc/sys/kernel/osrelease") or ""
        self._is_wsl = "microsoft" in kernel.lower()

    def read(self) -> Memory:
        """Now.

        Raises:
            HardwareError: /proc/meminfo cannot be read.
        """
        values = _parse_meminfo(read_text(self._root / "proc/meminfo") or "")
        if "MemTotal" not in values:
            raise HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "/proc/meminfo"})
        total = values["MemTotal"]
        # Kernels before 3.14 have no MemAvailable.
        rough = sum(values.get(name, 0) for name in ("MemFree", "Buffers", "Cached"))
        available = values.get("MemAvailable", rough)
        limit, source = None, ""
        if (group := read_memory_limit(self._cgroup)) is not None and group.limit_bytes < total:
            limit, source = group.limit_bytes, "cgroup"
            available = min(available, group.available_bytes)
        elif self._is_wsl:
            limit, source = total, "wsl"
        swap_total = values.get("SwapTotal", 0)
        return Memory(
            total_bytes=total,
            available_bytes=available,
            limit_bytes=limit,
            swap_total_bytes=swap_total,
            swap_used_bytes=max(swap_total - values.get("SwapFree", swap_total), 0),
            limit_source=source,
            page_cache_bytes=values.get("Cached"),
        )


class PsutilMemory:
    """macOS and Windows, by psutil."""

    def read(self) -> Memory:
        """Now.

        Raises:
            HardwareError: the system does not tell.
        """
        import psutil  # noqa: PLC0415 - 35 ms that the window's start should not pay

        try:
            memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        except (OSError, RuntimeError, psutil.Error) as error:
            raise HardwareError(
                ErrorCode.MACHINE_PROBE_FAILED, {"part": "RAM"}, cause=error
            ) from error
        return Memory(
            total_bytes=memory.total,
            available_bytes=memory.available,
            limit_bytes=None,
            swap_total_bytes=swap.total,
            swap_used_bytes=swap.used,
            page_cache_bytes=getattr(memory, "cached", None),
        )


def _parse_meminfo(text: str) -> dict[str, int]:
    values: dict[str, int] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        number, _, unit = rest.strip().partition(" ")
        if number.isdecimal() and unit in ("", "kB"):
            values[name] = int(number) * (KIB if unit else 1)
    return values
