"""Wishes and plans as frozen data: what the placement search takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from kimi_desktop.base.errors import Param
from kimi_desktop.planner.types import LoadForecast, ModelShape, Placement


class Profile(StrEnum):
    """What a plan is good at; text keys ``plan.profile.<value>``."""

    SAFE = "safe"
    """A tenth of every device stays free."""
    BALANCED = "balanced"
    LONG_CONTEXT = "long_context"
    FASTEST = "fastest"


class LoadMode(StrEnum):
    """How weights of main memory are held."""

    MMAP = "mmap"
    """Pages of the file: loaded once, evictable."""
    NONE = "none"
    """Memory of the engine's own; pinned where there is a GPU."""
    LOCKED = "mmap+mlock"
    """Pages of the file that other programs cannot push out."""
    DIRECT = "dio"
    """Memory of the engine's own, read past the system's cache."""

    @property
    def keeps_pages(self) -> bool:
        """Weights in main memory are pages of the file."""
        return self in (LoadMode.MMAP, LoadMode.LOCKED)


class Numa(StrEnum):
    """What the engine is told of memory nodes."""

    OFF = ""
    ISOLATE = "isolate"
    """Threads stay on the node that the engine starts on."""
    DISTRIBUTE = "distribute"
    """Threads and weights over all nodes."""


class Fit(StrEnum):
    """Where a plan's weights are; ``verdict`` has the sentences."""

    IN_VRAM = "in_vram"
    IN_VRAM_AND_RAM = "in_vram_and_ram"
    IN_RAM = "in_ram"
    DISK_BOUND = "disk_bound"
    """It starts, and reads weights from the disk again and again."""
    DOES_NOT_FIT = "does_not_fit"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user wants. None = the planner chooses; anything else is kept as it is."""

    profile: Profile = Profile.SAFE
    context: int | None = None
    """Tokens of all slots together."""
    cache_type: str | None = None
    """Of K and V alike: f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl."""
    n_parallel: int = 1
    n_gpu_layers: int | None = None
    """The output counts as one layer."""
    n_cpu_moe: int | None = None
    tensor_split: tuple[float, ...] | None = None
    """A share of the layers on GPUs per GPU of the machine, in its order; 0 = not used."""
    n_batch: int | None = None
    n_ubatch: int | None = None
    n_threads: int | None = None
    load_mode: LoadMode | None = None
    uses_gpus: bool = True
    """False: the engine was built without GPU support."""

    @property
    def fixes_layers(self) -> bool:
        """A part of the placement is the user's: layers, experts or shares of the GPUs."""
        named = (self.n_gpu_layers, self.n_cpu_moe, self.tensor_split)
        return any(wish is not None for wish in named)

    @property
    def without_layers(self) -> Wishes:
        """The same with the placement left to the planner."""
        return replace(self, n_gpu_layers=None, n_cpu_moe=None, tensor_split=None)


@dataclass(frozen=True, slots=True)
class Decision:
    """Why something is as it is, one sentence: text key ``plan.<key>`` and what fills it."""

    key: str
    params: Mapping[str, Param] = field(default_factory=dict)


class Remedy(StrEnum):
    """What would make a model fit; text keys ``plan.remedy.<value>``."""

    QUANTIZATION = "quantization"
    CONTEXT = "context"
    CACHE_TYPE = "cache_type"
    PROFILE = "profile"
    FREE_VRAM = "free_vram"
    FREE_RAM = "free_ram"
    MORE_RAM = "more_ram"
    QUANTIZATION_AUTO = "quantization_auto"
    """The same, once the layers are left to the planner."""
    AUTO = "auto"
    """Leave the layers to the planner."""
    SPREAD = "spread"
    """The same layers, spread otherwise over the GPUs."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One change after which the model fits."""

    remedy: Remedy
    params: Mapping[str, Param]
    seconds_per_token: float | None = None
    """By the rule of the search; None where it was not planned anew."""
    wishes: Wishes | None = None
    """Planned with these, it fits; None where no wish of the user's brings it about."""
    sibling: str = ""
    """Key of the quantization to take instead."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another quantization of the same model."""

    name: str
    """"UD-Q2_K_XL"."""
    size_bytes: int
    shape: ModelShape | None = None
    """None: only the size is known; it is planned as the model at hand in that size."""
    key: str = ""
    """What the caller knows it by."""


@dataclass(frozen=True, slots=True)
class TokenReads:
    """Bytes that one new token reads, per device."""

    host_bytes: float
    gpu_bytes: tuple[float, ...]
    """Per GPU of the machine."""


SpeedRule = Callable[[TokenReads], float]
"""Seconds per token; what the search makes small. Never less for more bytes."""


@dataclass(frozen=True, slots=True)
class RpcDevice:
    """A device of a worker, as the engine has to be told of it."""

    number: int
    """Among the machine's GPUs."""
    address: str
    """"192.168.1.20:50052"."""
    device: int
    """Its number at that worker."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What an engine has to be told to load a model in one way."""

    placement: Placement
    """Its device numbers count ``gpus``."""
    gpus: tuple[int, ...] | None
    """Numbers of the machine's GPUs, in the engine's order; None = all that there are."""
    n_threads: int
    load_mode: LoadMode | None = None
    """None = as the engine does by itself."""
    numa: Numa = Numa.OFF
    workers: tuple[RpcDevice, ...] = ()
    """All devices of the workers that are used."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One way to load a model, and why."""

    placement: Placement
    """Its device numbers count ``gpus``."""
    gpus: tuple[int, ...]
    """Numbers of the machine's GPUs that are used, in the engine's order."""
    n_threads: int
    load_mode: LoadMode
    numa: Numa
    fit: Fit
    forecast: LoadForecast
    """All devices of the machine."""
    reserve_share: float
    """Of every device, what the plan leaves free."""
    seconds_per_token: float
    """By the rule of the search."""
    decisions: tuple[Decision, ...]
    experts_in_ram: tuple[int, ...] = ()
    """Blocks whose experts are in main memory."""
    missing: tuple[Decision, ...] = ()
    """What is short, when it does not fit."""
    exchange_seconds: float | None = None
    """A prompt and an answer, by which the search compared; None where nothing was."""
    alternatives: tuple[Alternative, ...] = ()
    """The nearest first."""

    @property
    def can_start(self) -> bool:
        """An engine would load it; else no speed is forecast."""
        return self.fit is not Fit.DOES_NOT_FIT

    @property
    def fits(self) -> bool:
        """All of it is in memory, with the reserve kept."""
        return self.fit not in (Fit.DISK_BOUND, Fit.DOES_NOT_FIT)
