"""What the speed forecast takes and gives, as frozen data. Rates in bytes per second."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Resource(StrEnum):
    """What the time goes to; text key ``forecast.bottleneck.<value>``."""

    RAM = "ram"
    """Reading weights from main memory."""
    GPU_MEMORY = "gpu_memory"
    """Reading weights from the memory of a GPU (or of a chip that shares it)."""
    PCIE = "pcie"
    """Bringing weights to a GPU."""
    DISK = "disk"
    """Reading a file."""
    NETWORK = "network"
    """Between machines."""
    COMPUTE = "compute"
    """Arithmetic, and the fixed work of every layer."""


class Known(StrEnum):
    """How well a rate is known; the less, the wider the band."""

    MEASURED = "measured"
    SPECIFIED = "specified"
    """From the maker's data sheet, or the clock that the driver reports."""
    ASSUMED = "assumed"


class Split(StrEnum):
    """How several devices share the work of one token."""

    LAYERS = "layers"
    """One after the other (llama.cpp)."""
    TENSORS = "tensors"
    """All at once (vLLM, SGLang)."""
    NODES = "nodes"
    """One after the other, over a network (RPC)."""


class EngineKind(StrEnum):
    """Engines that differ in speed."""

    LLAMA_CPP = "llama_cpp"
    """llama.cpp and its relatives."""
    KTRANSFORMERS = "ktransformers"
    SERVER = "server"
    """vLLM, SGLang and their like."""


@dataclass(frozen=True, slots=True)
class HostSpeed:
    """Processors and main memory. None = not known."""

    measured_bytes_per_s: float | None = None
    """Read by all cores."""
    specified_bytes_per_s: float | None = None
    """Channels x transfers x 8 bytes, of all sockets together."""
    sockets: int = 1
    cores: int | None = None
    """Physical ones, of all sockets together."""
    has_amx: bool = False
    is_guess: bool = False
    """The specified rate was guessed from the size of the memory."""


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """Between this machine and a worker. None = not measured."""

    latency_s: float | None = None
    """One round trip."""
    bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class GpuSpeed:
    """One GPU, or the graphics part of a chip with shared memory. None = not known."""

    memory_bytes_per_s: float
    known: Known = Known.SPECIFIED
    flops: float | None = None
    """Dense FP16 matrix arithmetic, per second."""
    pcie_bytes_per_s: float | None = None
    link: LinkSpeed | None = None
    """None = it is in this machine."""


@dataclass(frozen=True, slots=True)
class TokenWork:
    """What one new token reads and computes, per device."""

    host_bytes: int = 0
    """Weights and cache that the processors read from main memory."""
    gpu_bytes: tuple[int, ...] = ()
    """The same per GPU."""
    host_flops: float = 0.0
    """Arithmetic on weights in main memory: two operations per weight."""
    gpu_flops: float = 0.0
    n_layer: int = 0
    n_layer_recurrent: int = 0
    is_i_quant: bool = False
    """Experts in a format that is dear for processors (IQ...)."""
    activation_bytes: int = 0
    """What one token carries from device to device."""
    logits_bytes: int = 0
    """What the last device gives back for one token."""
    host_expert_flops: float = 0.0
    """Of ``host_flops``, on routed experts."""
    gpu_expert_flops: float = 0.0
    expert_share: float = 1.0
    """Experts used per token, of all."""


@dataclass(frozen=True, slots=True)
class PromptWork:
    """How a prompt is read."""

    n_ubatch: int = 512
    staged_bytes: int = 0
    """Weights that are brought to a GPU anew for every micro-batch."""
    staged_from_tokens: int = 32
    """Smaller batches stay on the processors (llama.cpp's threshold)."""


@dataclass(frozen=True, slots=True)
class FileWork:
    """The model's file and the disk."""

    file_bytes: int = 0
    missing_bytes: int = 0
    """What neither main memory nor GPUs can hold: read again and again."""
    gpu_bytes: int = 0
    """Brought to GPUs while loading."""
    read_bytes_per_token: int = 0
    """Expert bytes of one token, wherever they are."""
    disk_bytes_per_s: float | None = None
    worker_bytes: tuple[int, ...] = ()
    """Weights per GPU, of those that another machine lends; else 0."""


@dataclass(frozen=True, slots=True)
class SpeedInput:
    """One model, placed on one machine."""

    host: HostSpeed
    gpus: tuple[GpuSpeed, ...]
    work: TokenWork
    prompt: PromptWork = PromptWork()
    file: FileWork = FileWork()
    engine: EngineKind = EngineKind.LLAMA_CPP
    split: Split = Split.LAYERS
    is_unified: bool = False
    """CPU and GPU share one memory."""
    is_estimate: bool = False
    """Sizes were guessed (no header, no placement): a wider band."""


@dataclass(frozen=True, slots=True)
class Band:
    """A figure with what it may be instead, in the unit of its field."""

    low: float
    likely: float
    high: float
    bottleneck: Resource


@dataclass(frozen=True, slots=True)
class SpeedForecast:
    """How fast it will be."""

    decode_tps: Band
    """Tokens per second while answering."""
    prefill_tps: Band
    """Tokens per second while reading a prompt."""
    first_token_s: Band
    """Seconds from a prompt to the first token of the answer."""
    prompt_tokens: int
    """The prompt that ``first_token_s`` and ``prefill_tps`` are about."""
    load_s: Band
    """Seconds to load the model from disk."""

    @property
    def is_disk_bound(self) -> bool:
        """The file does not fit into memory and is read while answering."""
        return self.decode_tps.bottleneck is Resource.DISK


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a run really did; None = not measured."""

    setup: SpeedInput
    decode_tps: float | None = None
    prefill_tps: float | None = None
    prompt_tokens: int = 0
    load_s: float | None = None
