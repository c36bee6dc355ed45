"""The processors: model, cores, sockets, NUMA nodes, instruction sets. Pool threads."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Collection, Mapping
from pathlib import Path

from kimi_desktop.machine.cgroup import find_cgroup, read_cpu_quota
from kimi_desktop.machine.linux_files import parse_cpu_list, read_int, read_text
from kimi_desktop.machine.types import Cpu

# The kernel's names of what engines are compiled for; as /proc/cpuinfo spells them -> our name.
LINUX_ISA: Mapping[str, str] = {
    "avx": "avx",
    "f16c": "f16c",
    "fma": "fma",
    "bmi2": "bmi2",
    "avx2": "avx2",
    "avx_vnni": "avx_vnni",
    "avx512f": "avx512f",
    "avx512_vnni": "avx512_vnni",
    "avx512_bf16": "avx512_bf16",
    "amx_tile": "amx_tile",
    "amx_int8": "amx_int8",
    "amx_bf16": "amx_bf16",
    "asimd": "neon",
    "asimddp": "dotprod",
    "i8mm": "i8mm",
    "bf16": "bf16",
    "sve": "sve",
    "sve2": "sve2",
    "sme": "sme",
}


def look_cpu() -> Cpu:
    """This computer's processors."""
    system = platform.system()
    if system == "Linux":
        return linux_cpu(Path("/"), os.sched_getaffinity(0))
    if system == "Darwin":
        from kimi_desktop.machine import macos  # noqa: PLC0415 - one system at a time

        return macos.look_cpu(macos.sysctl)
    from kimi_desktop.machine import windows  # noqa: PLC0415

    return windows.look_cpu(windows.kernel())


def linux_cpu(root: Path, affinity: Collection[int]) -> Cpu:
    """From /proc/cpuinfo and /sys. ``affinity`` = the logical cores that this process may use."""
    blocks = _parse_cpuinfo(read_text(root / "proc/cpuinfo") or "")
    first = blocks[0] if blocks else {}
    folder = root / "sys/devices/system/cpu"
    online = parse_cpu_list(read_text(folder / "online") or "")
    logical = len(online) or len(blocks) or len(affinity) or 1
    physical, sockets = _topology(folder, online)
    if not physical:  # no /sys (some sandboxes): the older way
        cores = {(block.get("physical id"), block.get("core id")) for block in blocks}
        physical = len(cores) if first.get("core id") is not None else logical
        sockets = len({block.get("physical id") for block in blocks}) or 1
    flags = set((first.get("flags") or first.get("Features") or "").split())
    return Cpu(
        model=_model(root, first),
        physical_cores=physical,
        logical_cores=logical,
        usable_cores=_usable(len(affinity) or logical, root),
        sockets=sockets,
        numa_nodes=_numa_nodes(root / "sys/devices/system/node"),
        isa=tuple(name for flag, name in LINUX_ISA.items() if flag in flags),
    )


def _usable(allowed: int, root: Path) -> int:
    quota = read_cpu_quota(find_cgroup(root, "cpu"))
    return max(1, min(allowed, math.ceil(quota))) if quota is not None else allowed


def _topology(folder: Path, online: Collection[int]) -> tuple[int, int]:
    """Physical cores and sockets; (0, 0) where the kernel does not tell."""
    cores: set[str] = set()
    packages: set[int] = set()
    for number in online:
        topology = folder / f"cpu{number}/topology"
        siblings = read_text(topology / "core_cpus_list") or read_text(
            topology / "thread_siblings_list"  # the name before Linux 5.3
        )
        if siblings is None:
            return 0, 0
        cores.add(siblings)
        package = read_int(topology / "physical_package_id")
        # Boards that do not number their packages say -1 for all.
        packages.add(-1 if package is None else package)
    return len(cores), len(packages)


def _numa_nodes(folder: Path) -> int:
    """Nodes with processors (a node of memory alone is no place to run threads)."""
    with_cpu = parse_cpu_list(read_text(folder / "has_cpu") or "")
    return len(with_cpu or parse_cpu_list(read_text(folder / "online") or "")) or 1


def _model(root: Path, first: Mapping[str, str]) -> str:
    name = first.get("model name") or ""
    if not name:  # ARM: only the board has a name
        board = read_text(root / "sys/firmware/devicetree/base/model") or ""
        name = board.strip("\0 ")
    return " ".join(name.split()) or platform.machine()


def _parse_cpuinfo(text: str) -> list[dict[str, str]]:
    """One mapping per processor; the first has the names that all share."""
    blocks = []
    for part in text.split("\n\n"):
        block: dict[str, str] = {}
        for line in part.splitlines():
            name, separator, value = line.partition(":")
            if separator:
                block[name.strip()] = value.strip()
        if "processor" in block:
            blocks.append(block)
    return blocks
