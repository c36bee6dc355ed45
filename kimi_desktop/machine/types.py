"""What a computer is, as frozen data. Sizes in bytes; JSON has GiB and GB (``describe.py``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import Language


@dataclass(frozen=True, slots=True)
class Cpu:
    """The processors of the machine."""

    model: str
    physical_cores: int
    logical_cores: int
    usable_cores: int
    """Logical cores that this process may use (affinity, cgroup quota rounded up)."""
    sockets: int
    numa_nodes: int
    isa: tuple[str, ...]
    """Instruction sets that matter to engines, lower case: avx2, avx512f, amx_int8, neon ..."""

    @property
    def usable_physical_cores(self) -> int:
        """Engine threads that do not share a core, as far as affinity and quota allow."""
        return max(1, min(self.physical_cores, self.usable_cores))


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory at one moment."""

    total_bytes: int
    available_bytes: int
    limit_bytes: int | None
    """What a cgroup or WSL lets this process have, when less than all."""
    swap_total_bytes: int
    swap_used_bytes: int
    limit_source: str = ""
    """Who sets the limit: "cgroup", "wsl" (then it equals the total), or "" without one."""
    page_cache_bytes: int | None = None
    """Files that the system keeps in memory, those that are mapped included."""
    read_bytes_per_s_measured: float | None = None
    """Reading with all cores. None = not measured."""
    read_bytes_per_s_theoretical: float | None = None
    """Channels x transfers x 8 bytes, all sockets together. None = not known."""

    @property
    def usable_total_bytes(self) -> int:
        """The total or the limit, whichever is less."""
        return min(self.total_bytes, self.limit_bytes or self.total_bytes)


@dataclass(frozen=True, slots=True)
class RpcLink:
    """How a device of another machine is reached (a worker of llama.cpp's RPC)."""

    address: str
    """"192.168.1.20:50052"."""
    device: int
    """Its number at that worker."""
    latency_s: float | None = None
    """One round trip. None = not measured."""
    bytes_per_s: float | None = None
    """Over the link. None = not measured."""
    is_processor: bool = False
    """It computes with its processor, in its main memory."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU at one moment. None = the driver does not say."""

    index: int
    uuid: str
    name: str
    vram_total_bytes: int
    """0 when the driver does not say (a GPU that shares main memory)."""
    vram_free_bytes: int
    driver: str
    compute_capability: str | None
    pcie_gen: int | None
    """The highest generation that card and slot allow (the link rests lower while idle)."""
    pcie_width: int | None
    temperature_c: int | None
    power_w: float | None
    power_limit_w: float | None
    load_percent: int | None
    memory_bytes_per_s: float | None = None
    """Theoretical VRAM bandwidth: highest memory clock x 2 x bus width."""
    pcie_bytes_per_s_measured: float | None = None
    """From pinned main memory. None = not measured."""
    link: RpcLink | None = None
    """None = a GPU of this machine; else a device that another machine lends."""


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one moment, with who holds its memory."""

    gpu: Gpu
    process_bytes: Mapping[int, int | None] | None
    """VRAM per process id; a None value = the system does not say (Windows). None = not told."""
    pcie_received_bytes_per_s: float | None = None
    pcie_sent_bytes_per_s: float | None = None
    throttled: tuple[str, ...] = ()
    """Why its clocks are held down now."""


class DiskKind(StrEnum):
    """What a disk is made of."""

    NVME = "nvme"
    SSD = "ssd"
    ROTATIONAL = "rotational"
    NETWORK = "network"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Disk:
    """The volume that holds one folder."""

    path: str
    kind: DiskKind
    file_system: str
    total_bytes: int
    free_bytes: int
    writable: bool
    read_bytes_per_s_measured: float | None = None
    """None = not measured."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One look at this computer."""

    cpu: Cpu
    memory: Memory
    gpus: tuple[Gpu, ...]
    disks: tuple[Disk, ...]
    system: str
    """Operating system and version, for reports."""
    gpu_note: str
    """"" (all GPUs are listed), "no_driver", "no_gpu", "hidden" (by
    CUDA_VISIBLE_DEVICES), "apple" (shares main memory), "failed"."""
    gpu_failures: tuple[str, ...] = ()
    """With "failed": what the driver said, one line per GPU that does not answer."""

    @property
    def vram_total_bytes(self) -> int:
        """Of all GPUs together."""
        return sum(gpu.vram_total_bytes for gpu in self.gpus)

    @property
    def memory_bytes(self) -> int:
        """RAM that this process may use and VRAM together: what must hold a model's file."""
        return self.memory.usable_total_bytes + self.vram_total_bytes


class Result(StrEnum):
    """How a row of the hardware check came out."""

    PASSED = "passed"
    WARN = "warn"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One row of the hardware check. The texts are keys and fields of ``base.messages``."""

    result: Result
    part: str
    """cpu, memory, gpu, gpu_link, disk ...: text key ``machine.part.<part>``."""
    seen: str
    """What was seen, already in words (one line)."""
    detail: str
    """More of it (a second, muted line)."""
    expected: str
    """What would be right, in words."""


class Tier(StrEnum):
    """How large a Kimi model fits into RAM and VRAM together, smallest first."""

    SMALL = "small"
    """Small models only."""
    WORKSTATION = "workstation"
    """Kimi-Linear 48B in 4 bit."""
    LARGE = "large"
    """Kimi K2.6 in 2 bit."""
    FULL = "full"
    """Kimi K2.6 in 4 bit."""
    SERVER = "server"
    """Kimi K2.6 in VRAM alone."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the machine is good for, in words."""

    tier: Tier
    tier_number: int
    """1 ... ``tier_count``."""
    tier_count: int
    headline: str
    """One sentence."""
    detail: str
    """A second, muted one: how the rows came out."""


JudgeMachine = Callable[[Machine, Language], Verdict]
"""Lives in the planner, which knows what fits (``planner.tiers``)."""


class MeasuredPart(StrEnum):
    """What a measurement is of; text key ``machine.measuring.<value>``."""

    RAM = "ram"
    DISK = "disk"
    PCIE = "pcie"


@dataclass(frozen=True, slots=True)
class MeasureProgressed(Event):
    """A bandwidth is being measured."""

    part: MeasuredPart
    share: float
    """0 ... 1 of all that is measured."""


@dataclass(frozen=True, slots=True)
class MachineProbed(Event):
    """A look at the machine has finished."""

    machine: Machine
    took_s: float
