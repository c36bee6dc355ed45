"""Machines for tests, from a small laptop to a GPU server."""

from __future__ import annotations

from kimi_desktop.machine.types import Cpu, Disk, DiskKind, Gpu, Machine, Memory

GIB = 2**30
GB = 10**9


def cpu(**changes: object) -> Cpu:
    values: dict[str, object] = {
        "model": "AMD Ryzen Threadripper PRO 7975WX",
        "physical_cores": 32,
        "logical_cores": 64,
        "usable_cores": 64,
        "sockets": 1,
        "numa_nodes": 1,
        "isa": ("avx2", "avx512f", "avx512_bf16"),
    }
    return Cpu(**(values | changes))  # type: ignore[arg-type]


def memory(total_gib: float, available_gib: float | None = None, **changes: object) -> Memory:
    available = total_gib - 10 if available_gib is None else available_gib
    values: dict[str, object] = {
        "total_bytes": int(total_gib * GIB),
        "available_bytes": int(available * GIB),
        "limit_bytes": None,
        "swap_total_bytes": 0,
        "swap_used_bytes": 0,
    }
    return Memory(**(values | changes))  # type: ignore[arg-type]


def gpu(index: int = 0, vram_gib: float = 31.84, **changes: object) -> Gpu:
    values: dict[str, object] = {
        "index": index,
        "uuid": f"GPU-{index}",
        "name": "NVIDIA GeForce RTX 5090",
        "vram_total_bytes": int(vram_gib * GIB),
        "vram_free_bytes": int((vram_gib - 0.62) * GIB) if vram_gib else 0,
        "driver": "580.95",
        "compute_capability": "12.0",
        "pcie_gen": 5,
        "pcie_width": 16,
        "temperature_c": 40,
        "power_w": 30.0,
        "power_limit_w": 575.0,
        "load_percent": 0,
        "memory_bytes_per_s": 1792 * GB,
    }
    return Gpu(**(values | changes))  # type: ignore[arg-type]


def disk(free_gb: float = 2020, **changes: object) -> Disk:
    values: dict[str, object] = {
        "path": "/models",
        "kind": DiskKind.NVME,
        "file_system": "ext4",
        "total_bytes": 4000 * GB,
        "free_bytes": int(free_gb * GB),
        "writable": True,
    }
    return Disk(**(values | changes))  # type: ignore[arg-type]


def machine(**changes: object) -> Machine:
    """A workstation with one RTX 5090 and 755 GiB."""
    values: dict[str, object] = {
        "cpu": cpu(),
        "memory": memory(755.4),
        "gpus": (gpu(),),
        "disks": (disk(),),
        "system": "Debian GNU/Linux 12 (bookworm), Linux 6.1.0",
        "gpu_note": "",
    }
    return Machine(**(values | changes))  # type: ignore[arg-type]
