"""A Machine as the JSON object that ``doctor --json`` writes and other commands read back.

GiB = 2**30 bytes for memory, GB = 10**9 for disks and bandwidths; null = not known or not
measured. The keys are a promise to other programs: add, never rename.
"""

from __future__ import annotations

from typing import Any

from kimi_desktop.base.units import GB, GIB
from kimi_desktop.machine.types import Machine

SCHEMA = 1
NAME = "this-machine"  # the host's name is nobody's business when a report is pasted


def describe(machine: Machine) -> dict[str, Any]:
    """The object, ready for ``json.dumps``."""
    cpu, memory = machine.cpu, machine.memory
    return {
        "schema": SCHEMA,
        "name": NAME,
        "cpu": {
            "model": cpu.model,
            "physical_cores": cpu.physical_cores,
            "sockets": cpu.sockets,
            "numa_nodes": cpu.numa_nodes,
            "isa": list(cpu.isa),
        },
        "memory": {
            "total_gib": _gib(memory.total_bytes),
            "available_gib": _gib(memory.available_bytes),
            "limit_gib": None if memory.limit_bytes is None else _gib(memory.limit_bytes),
            "read_gb_s_measured": _gb_s(memory.read_bytes_per_s_measured),
            "read_gb_s_theoretical": _gb_s(memory.read_bytes_per_s_theoretical),
        },
        "gpus": [
            {
                "name": gpu.name,
                "vram_total_gib": _gib(gpu.vram_total_bytes),
                "vram_free_gib": _gib(gpu.vram_free_bytes),
                "memory_gb_s": (
                    None if gpu.memory_bytes_per_s is None else round(gpu.memory_bytes_per_s / GB)
                ),
                "pcie_gen": gpu.pcie_gen,
                "pcie_width": gpu.pcie_width,
                "pcie_gb_s_measured": _gb_s(gpu.pcie_bytes_per_s_measured),
                "compute_capability": gpu.compute_capability,
                "driver": gpu.driver,
            }
            for gpu in machine.gpus
        ],
        "disks": [
            {
                "path": disk.path,
                "kind": disk.kind.value,
                "free_gb": round(disk.free_bytes / GB, 1),
                "read_gb_s_measured": _gb_s(disk.read_bytes_per_s_measured),
            }
            for disk in machine.disks
        ],
    }


def _gb_s(bytes_per_s: float | None) -> float | None:
    return None if bytes_per_s is None else round(bytes_per_s / GB, 1)


def _gib(size_bytes: int) -> float:
    return round(size_bytes / GIB, 2)
