"""A saved description of a computer, read back: ``doctor --json`` elsewhere, planned for here.

The keys are those of ``describe.py``. An unknown key is an error that names it: a slip of the pen
must not silently become a machine without that part. Blocking; callers read it off the Qt thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import ErrorCode, HardwareError, Param
from kimi_desktop.base.units import GB, GIB
from kimi_desktop.machine.describe import SCHEMA
from kimi_desktop.machine.types import Cpu, Disk, DiskKind, Gpu, Machine, Memory

MAX_BYTES = 2**20
"""A description is a few KiB."""
MAX_GPUS = 256
MAX_COUNT = 2**20
MAX_SOCKETS = 64
MAX_NODES = 1024
MAX_PCIE_GEN = 7
"""PCI Express 7.0, of 2025."""
MAX_PCIE_WIDTH = 32
MAX_GIB = 2.0**24
MAX_GB_S = 1e6

_APPLE = re.compile(r"apple m\d", re.IGNORECASE)
_ROOT = frozenset({"schema", "name", "cpu", "memory", "gpus", "disks"})
_CPU = frozenset({"model", "physical_cores", "sockets", "numa_nodes", "isa"})
_MEMORY = frozenset(
    {"total_gib", "available_gib", "limit_gib", "read_gb_s_measured", "read_gb_s_theoretical"}
)
_GPU = frozenset(
    {
        "name", "vram_total_gib", "vram_free_gib", "memory_gb_s", "pcie_gen", "pcie_width",
        "pcie_gb_s_measured", "compute_capability", "driver",
    }
)  # fmt: skip
_DISK = frozenset({"path", "kind", "free_gb", "read_gb_s_measured"})


def read_machine_file(path: Path) -> Machine:
    """The machine that a file describes.

    Raises:
        HardwareError: the file cannot be read, is no such description, has unknown keys, or a
            value that no machine has.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        detail = error.strerror or type(error).__name__
        params = {"path": str(path), "detail": detail}
        raise HardwareError(ErrorCode.MACHINE_FILE_UNREADABLE, params, cause=error) from error
    if len(content) > MAX_BYTES:
        params = {"path": str(path), "detail": f"> {MAX_BYTES:,} B"}
        raise HardwareError(ErrorCode.MACHINE_FILE_NOT_JSON, params)
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        params = {"path": str(path), "detail": str(error)[:200]}
        raise HardwareError(ErrorCode.MACHINE_FILE_NOT_JSON, params, cause=error) from error
    return machine_of(data, str(path))


def machine_of(data: object, label: str) -> Machine:
    """The machine that a parsed description describes.

    Args:
        data: what ``json.loads`` gave.
        label: names the description in errors.

    Raises:
        HardwareError: unknown keys, or a value that no machine has.
    """
    root = _Fields(data, label, "")
    root.only(_ROOT, _paths_of(root))
    schema = root.count("schema", least=1, default=SCHEMA)
    if schema > SCHEMA:
        params: dict[str, Param] = {"path": label, "schema": schema, "known": SCHEMA}
        raise HardwareError(ErrorCode.MACHINE_FILE_TOO_NEW, params)
    cpu = _cpu(root.part("cpu"))
    if root.data.get("name", "") is None:
        raise root.bad("name", '"..."')
    gpus = tuple(_gpu(fields, number) for number, fields in enumerate(root.items("gpus")))
    is_apple = any(_APPLE.match(name) for name in (cpu.model, *(gpu.name for gpu in gpus)))
    if is_apple:  # the graphics of the chip: its memory is the main memory, and counts once
        gpus = ()
    return Machine(
        cpu=cpu,
        memory=_memory(root.part("memory")),
        gpus=gpus,
        disks=tuple(_disk(fields) for fields in root.items("disks")),
        system=root.text("name", "machine"),
        gpu_note="apple" if is_apple else "" if gpus else "no_gpu",
    )


def _cpu(fields: _Fields) -> Cpu:
    cores = fields.count("physical_cores", least=1)
    isa = fields.data.get("isa", [])
    if not isinstance(isa, list) or not all(isinstance(item, str) for item in isa):
        raise fields.bad("isa", '["avx2", ...]')
    return Cpu(
        model=fields.text("model"),
        physical_cores=cores,
        logical_cores=cores,
        usable_cores=cores,
        sockets=fields.count("sockets", least=1, most=min(cores, MAX_SOCKETS), default=1),
        numa_nodes=fields.count("numa_nodes", least=1, most=MAX_NODES, default=1),
        isa=tuple(isa),
    )


def _memory(fields: _Fields) -> Memory:
    total = fields.size("total_gib", GIB)
    limit = fields.maybe("limit_gib", MAX_GIB)
    available = fields.size("available_gib", GIB)
    if available > total:
        raise fields.bad("available_gib", "0 ... total_gib")
    return Memory(
        total_bytes=total,
        available_bytes=available,
        limit_bytes=None if limit is None else round(limit * GIB),
        swap_total_bytes=0,
        swap_used_bytes=0,
        limit_source="" if limit is None else "cgroup",
        read_bytes_per_s_measured=fields.bandwidth("read_gb_s_measured"),
        read_bytes_per_s_theoretical=fields.bandwidth("read_gb_s_theoretical"),
    )


def _gpu(fields: _Fields, index: int) -> Gpu:
    total, free = fields.size("vram_total_gib", GIB), fields.size("vram_free_gib", GIB)
    if free > total:
        raise fields.bad("vram_free_gib", "0 ... vram_total_gib")
    return Gpu(
        index=index,
        uuid=f"GPU-{index}",
        name=fields.text("name"),
        vram_total_bytes=total,
        vram_free_bytes=free,
        driver=fields.text("driver"),
        compute_capability=fields.text("compute_capability") or None,
        pcie_gen=fields.count("pcie_gen", most=MAX_PCIE_GEN, default=0) or None,
        pcie_width=fields.count("pcie_width", most=MAX_PCIE_WIDTH, default=0) or None,
        temperature_c=None,
        power_w=None,
        power_limit_w=None,
        load_percent=None,
        memory_bytes_per_s=fields.bandwidth("memory_gb_s"),
        pcie_bytes_per_s_measured=fields.bandwidth("pcie_gb_s_measured"),
    )


def _disk(fields: _Fields) -> Disk:
    kind = fields.text("kind", DiskKind.UNKNOWN.value)
    if kind not in list(DiskKind):
        raise fields.bad("kind", " | ".join(DiskKind))
    free = fields.size("free_gb", GB)
    return Disk(
        path=fields.text("path"),
        kind=DiskKind(kind),
        file_system="",
        total_bytes=free,
        free_bytes=free,
        writable=True,
        read_bytes_per_s_measured=fields.bandwidth("read_gb_s_measured"),
    )


def _paths_of(root: _Fields) -> list[str]:
    """Every unknown key below the root, so that one message names them all."""
    unknown: list[str] = []
    for name, known in (("cpu", _CPU), ("memory", _MEMORY)):
        unknown += root.part(name).unknown(known)
    for name, known in (("gpus", _GPU), ("disks", _DISK)):
        for fields in root.items(name):
            unknown += fields.unknown(known)
    return unknown


class _Fields:
    """One object of the description, and where it stands in it."""

    def __init__(self, data: object, label: str, path: str) -> None:
        self.label, self.path = label, path
        if not isinstance(data, dict):
            raise self.bad("", "{...}")
        self.data: Mapping[str, Any] = data

    def name(self, key: str) -> str:
        return ".".join(filter(None, (self.path, key))) or "{}"

    def bad(self, key: str, expected: str) -> HardwareError:
        params = {"path": self.label, "field": self.name(key), "expected": expected}
        return HardwareError(ErrorCode.MACHINE_FILE_BAD_VALUE, params)

    def unknown(self, known: frozenset[str]) -> list[str]:
        return [self.name(key) for key in self.data if key not in known]

    def only(self, known: frozenset[str], below: list[str]) -> None:
        """Refuse keys beyond ``known``; ``below`` are those of its parts."""
        if unknown := [*self.unknown(known), *below]:
            params = {"path": self.label, "keys": ", ".join(key[:60] for key in unknown[:20])}
            raise HardwareError(ErrorCode.MACHINE_FILE_UNKNOWN_KEYS, params)

    def part(self, key: str) -> _Fields:
        return _Fields(self.data.get(key), self.label, self.name(key))

    def items(self, key: str) -> list[_Fields]:
        found = self.data.get(key, [])
        if not isinstance(found, list) or len(found) > MAX_GPUS:
            raise self.bad(key, f"[...], 0 ... {MAX_GPUS}")
        return [
            _Fields(item, self.label, f"{self.name(key)}[{at}]") for at, item in enumerate(found)
        ]

    def text(self, key: str, default: str = "") -> str:
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, str) or len(value) > 1000:
            raise self.bad(key, '"..."')
        return value

    def count(
        self, key: str, *, least: int = 0, most: int = MAX_COUNT, default: int | None = None
    ) -> int:
        value = self.data.get(key, default)
        if value is None:
            value = default
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value <= most:
            raise self.bad(key, f"{least:,} ... {most:,}")
        return int(value)

    def maybe(self, key: str, most: float) -> float | None:
        value = self.data.get(key)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or not 0 <= value <= most:
            raise self.bad(key, f"0 ... {most:,.0f}")
        return float(value)

    def size(self, key: str, unit: int) -> int:
        value = self.maybe(key, MAX_GIB)
        if value is None:
            raise self.bad(key, f"0 ... {MAX_GIB:,.0f}")
        return round(value * unit)

    def bandwidth(self, key: str) -> float | None:
        value = self.maybe(key, MAX_GB_S)
        return value * GB if value else None  # 0 is a slip, not a bandwidth
