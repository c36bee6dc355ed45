"""Bandwidths of GPUs, processors and memory by their names: ``assets/speed/hardware.json``.

What is measured or told by a driver goes first; this table fills the gaps, and a guess is marked as
one. The file is read once, on any thread.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeVar

from kimi_desktop.base.assets import asset
from kimi_desktop.base.units import GB, GIB
from kimi_desktop.machine.types import Gpu, Machine, RpcLink
from kimi_desktop.planner.speed_factors import shipped_speed_data
from kimi_desktop.planner.speed_types import GpuSpeed, HostSpeed, Known, LinkSpeed

_CHANNELS = re.compile(r"(\d+)\s*(?:ch\b|channels?|dimms?)", re.IGNORECASE)
_MEMORY = re.compile(r"(lpddr5x|ddr[345]|mrdimm)(?:[- ](\d{4,5}))?", re.IGNORECASE)
_CORES = re.compile(r"(\d+)\s*(?:c\b|cores?)", re.IGNORECASE)
_TIMES = re.compile(r"(\d+)(?:-\d+)?\s*x\s", re.IGNORECASE)
_MARKS = re.compile(r"\((?:r|tm)\)|\bcpu\b", re.IGNORECASE)
_LAPTOP = "laptop"


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One card of the table."""

    name: str
    memory_bytes_per_s: float
    vram_bytes: int
    """0 = it shares main memory."""
    flops: float


@dataclass(frozen=True, slots=True)
class ProcessorRow:
    """One processor of the table or a family of them, a single socket."""

    name: str
    cores: int
    """0 for a family."""
    memory_bytes_per_s: float
    has_amx: bool


Row = TypeVar("Row", GpuRow, ProcessorRow)


@dataclass(frozen=True, slots=True)
class HardwareTable:
    """The whole file."""

    gpus: tuple[GpuRow, ...]
    processors: tuple[ProcessorRow, ...]
    families: tuple[tuple[re.Pattern[str], ProcessorRow], ...]
    """For processors that have no row of their own; the first that matches."""
    memory_types: Mapping[str, int]
    """Transfers per second / 10^6, a usual one per type."""
    channel_bytes: int
    guessed_channels: tuple[tuple[float, int], ...]
    """(GiB of memory from which on, channels), ascending."""
    lane_bytes_per_s: Mapping[int, float]
    guesses: Mapping[str, float]

    def gpu(self, text: str) -> GpuRow | None:
        """The card that a text names; of several the most exact."""
        return _named(self.gpus, text)

    def processor(self, text: str) -> ProcessorRow | None:
        """The processor that a text names, else its family."""
        if row := _named(self.processors, text):
            return row
        plain = " ".join(_MARKS.sub("", text.casefold()).split())
        return next((row for pattern, row in self.families if pattern.search(plain)), None)

    def memory_bytes_per_s(self, text: str, total_gib: float | None) -> float | None:
        """Theoretical bandwidth of "12ch DDR5-6400"; gaps are filled by size and type."""
        kind = _MEMORY.search(text)
        if kind is None:
            return None
        transfers = int(kind[2] or self.memory_types.get(kind[1].upper(), 0))
        channels = _CHANNELS.search(text)
        count = int(channels[1]) if channels else self.channels_for(total_gib or 0.0)
        return float(count * transfers * 10**6 * self.channel_bytes)

    def channels_for(self, total_gib: float) -> int:
        """How many memory channels a machine of this size usually has."""
        return [count for start, count in self.guessed_channels if total_gib >= start][-1]

    def pcie_bytes_per_s(self, generation: int | None, width: int | None) -> float | None:
        """One direction of a link."""
        lane = self.lane_bytes_per_s.get(generation or 0)
        return lane * width if lane and width else None


@cache
def hardware_table() -> HardwareTable:
    """``assets/speed/hardware.json``."""
    data = json.loads(asset("speed/hardware.json").read_text(encoding="utf-8"))
    types: dict[str, int] = data["memory_types"]
    width: int = data["channel_bytes"]
    rates = [(re.compile(row["pattern"]), float(row["times"])) for row in data["integer_rates"]]

    def integer_rate(name: str) -> float:
        """GeForce cards halve FP16 sums in FP32, not the integers that llama.cpp multiplies."""
        return next((times for pattern, times in rates if pattern.search(name)), 1.0)

    gpus = tuple(
        GpuRow(
            row["name"],
            row["memory_gb_s"] * GB,
            int(row["vram_gib"] * GIB),
            row["tflops"] * 1e12 * integer_rate(row["name"]),
        )
        for row in data["gpus"]
    )

    def processor(row: Mapping[str, Any]) -> ProcessorRow:
        return ProcessorRow(
            row.get("name", ""),
            row.get("cores", 0),
            row["channels"] * _transfers(row["memory"], types) * 10**6 * width,
            row.get("amx", False),
        )

    return HardwareTable(
        gpus=gpus,
        processors=tuple(processor(row) for row in data["processors"]),
        families=tuple((re.compile(row["pattern"]), processor(row)) for row in data["families"]),
        memory_types=types,
        channel_bytes=width,
        guessed_channels=tuple((start, count) for start, count in data["guessed_channels"]),
        lane_bytes_per_s={int(name): value * GB for name, value in data["pcie_lane_gb_s"].items()},
        guesses=data["guesses"],
    )


def host_speed(machine: Machine, measured_bytes_per_s: float | None = None) -> HostSpeed:
    """Processors and memory of a machine; a measurement of now goes before one in the machine."""
    cpu = machine.cpu
    row = hardware_table().processor(cpu.model)
    specified = machine.memory.read_bytes_per_s_theoretical
    if specified is None and row is not None:
        specified = row.memory_bytes_per_s * max(cpu.sockets, 1)
    measured_bytes_per_s = measured_bytes_per_s or machine.memory.read_bytes_per_s_measured
    is_guess = not (specified or measured_bytes_per_s)
    if is_guess:
        specified = guessed_memory_bytes_per_s(machine.memory.total_bytes / GIB, cpu.model)
    return HostSpeed(
        measured_bytes_per_s=measured_bytes_per_s,
        specified_bytes_per_s=specified,
        sockets=max(cpu.sockets, 1),
        cores=cpu.usable_physical_cores,
        has_amx=any(name.startswith("amx") for name in cpu.isa),
        is_guess=is_guess,
    )


def guessed_memory_bytes_per_s(total_gib: float, cpu_model: str) -> float:
    """Theoretical bandwidth of a machine of which only the size is known: DDR5, usual channels."""
    table = hardware_table()
    shared = table.gpu(cpu_model)  # a chip whose processors and graphics share one memory
    if shared and not shared.vram_bytes:
        return shared.memory_bytes_per_s
    channels = table.channels_for(total_gib)
    return float(channels * table.memory_types["DDR5"] * 10**6 * table.channel_bytes)


def gpu_speed(gpu: Gpu, measured_pcie_bytes_per_s: float | None = None) -> GpuSpeed:
    """One card of a machine: what its driver reports, else the table, else a guess."""
    table = hardware_table()
    if gpu.link is not None:
        return _worker_speed(gpu, gpu.link)
    row = table.gpu(gpu.name)
    bandwidth = gpu.memory_bytes_per_s or (row.memory_bytes_per_s if row else None)
    return GpuSpeed(
        memory_bytes_per_s=bandwidth or table.guesses["gpu_gb_s"] * GB,
        known=Known.SPECIFIED if bandwidth else Known.ASSUMED,
        flops=row.flops if row else None,
        pcie_bytes_per_s=measured_pcie_bytes_per_s
        or gpu.pcie_bytes_per_s_measured
        or table.pcie_bytes_per_s(gpu.pcie_gen, gpu.pcie_width),
    )


def _worker_speed(gpu: Gpu, link: RpcLink) -> GpuSpeed:
    """A device of another machine: by the name that the user knows it by, else a guess."""
    table = hardware_table()
    card = None if link.is_processor else table.gpu(gpu.name)
    chip = table.processor(gpu.name) if card is None else None
    found = card or chip
    guess = "ram_gb_s" if link.is_processor else "gpu_gb_s"
    cores = chip.cores if chip else None
    return GpuSpeed(
        memory_bytes_per_s=found.memory_bytes_per_s if found else table.guesses[guess] * GB,
        known=Known.SPECIFIED if found else Known.ASSUMED,
        flops=card.flops if card else _core_flops(cores) if link.is_processor else None,
        link=LinkSpeed(link.latency_s, link.bytes_per_s),
    )


def _core_flops(cores: int | None) -> float:
    """Arithmetic of a whole processor, as the factor of GPUs takes it."""
    factors = shipped_speed_data().factors
    count = cores or hardware_table().guesses["cores"]
    return float(count * factors.core_gflops * 1e9 / factors.gpu_compute)


def shared_gpu_speed(machine: Machine) -> GpuSpeed:
    """The graphics part of a chip that shares main memory."""
    table = hardware_table()
    names = (*(gpu.name for gpu in machine.gpus), machine.cpu.model)
    row = next((row for name in names if (row := table.gpu(name))), None)
    if row is not None:
        return GpuSpeed(row.memory_bytes_per_s, Known.SPECIFIED, row.flops)
    specified = host_speed(machine).specified_bytes_per_s
    return GpuSpeed(specified or table.guesses["ram_gb_s"] * GB, Known.ASSUMED)


def shares_memory(machine: Machine) -> bool:
    """Apple, or a chip whose graphics is known to share main memory."""
    if machine.gpu_note == "apple":
        return True
    if any(gpu.vram_total_bytes and not _is_shared(gpu.name) for gpu in machine.gpus):
        return False
    return any(_is_shared(name) for name in (*(g.name for g in machine.gpus), machine.cpu.model))


def with_own_memory(machine: Machine) -> Machine:
    """The machine without the VRAM of chips that share main memory: it must not count twice."""
    if not any(gpu.vram_total_bytes and _is_shared(gpu.name) for gpu in machine.gpus):
        return machine
    gpus = (
        dataclasses.replace(gpu, vram_total_bytes=0, vram_free_bytes=0)
        if _is_shared(gpu.name)
        else gpu
        for gpu in machine.gpus
    )
    return dataclasses.replace(machine, gpus=tuple(gpus))


def _is_shared(name: str) -> bool:
    row = hardware_table().gpu(name)
    return row is not None and not row.vram_bytes


def count_in(text: str) -> int:
    """How many a text speaks of: "2x EPYC 9355" are two, "2-3x RTX 3090" at least two."""
    found = _TIMES.match(text)
    return int(found[1]) if found else 1


def cores_in(text: str) -> int | None:
    """Physical cores that a text names ("EPYC 7773X 64c"), or that the table has for it."""
    if found := _CORES.search(text):
        return int(found[1])
    row = hardware_table().processor(text)
    return row.cores * count_in(text) if row and row.cores else None


def _transfers(memory: str, types: Mapping[str, int]) -> int:
    kind, _, speed = memory.partition("-")
    return int(speed) if speed else types[kind]


@lru_cache(maxsize=1024)  # a slider asks for the same names on every move
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z0-9]+", text.casefold()))


def _named(rows: Sequence[Row], text: str) -> Row | None:
    """The row all of whose words stand in the text; of several the longest name.

    A laptop's card is another one than the desktop's of the same number.
    """
    words = _words(text)
    found = [row for row in rows if _words(row.name) <= words]
    if _LAPTOP in words:
        found = [row for row in found if _LAPTOP in _words(row.name)]
    return max(found, key=lambda row: len(row.name), default=None)
