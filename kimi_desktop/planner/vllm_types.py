"""Settings and forecasts of server engines (vLLM, SGLang) as frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from kimi_desktop.base.errors import Param
from kimi_desktop.planner.types import DeviceMemory


class ServerEngine(StrEnum):
    """A program that holds a whole model in VRAM and serves many users at once."""

    VLLM = "vllm"
    SGLANG = "sglang"


class CacheFormat(StrEnum):
    """How K and V are stored; the value is what the flag takes."""

    AUTO = "auto"
    """As the model computes: 16 bits."""
    FP8 = "fp8"

    @property
    def element_bytes(self) -> int:
        """Of one number."""
        return 1 if self is CacheFormat.FP8 else 2


@dataclass(frozen=True, slots=True)
class Split:
    """How a model is divided over GPUs."""

    tensor: int = 1
    """Every matrix over so many GPUs."""
    pipeline: int = 1
    """Runs of layers over so many groups of them."""
    data: int = 1
    """So many copies of attention, each with users of its own; experts are not copied when they
    are dealt out."""
    experts: bool = False
    """Experts are dealt out whole instead of being divided inside."""
    decode_context: int = 1
    """The cache of a sequence over so many GPUs of a tensor-parallel group."""

    @property
    def n_gpu(self) -> int:
        """GPUs in use."""
        return self.tensor * self.pipeline * self.data


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The flags that decide about memory. None = the engine's own default."""

    engine: ServerEngine = ServerEngine.VLLM
    split: Split = Split()
    context: int = 0
    """Longest sequence (``--max-model-len``); 0 = what the model was trained for."""
    cache: CacheFormat = CacheFormat.AUTO
    memory_share: float | None = None
    """Of each GPU: ``--gpu-memory-utilization``, or ``--mem-fraction-static`` of SGLang."""
    n_sequences: int | None = None
    """Served at once at most (``--max-num-seqs``)."""
    n_batched_tokens: int | None = None
    """Tokens of one step (``--max-num-batched-tokens``, ``--chunked-prefill-size``)."""
    eager: bool = False
    """No CUDA graphs."""
    text_only: bool = False
    """The part that sees is not loaded (``--language-model-only``)."""
    offload_bytes: int = 0
    """Of the weights of each GPU, kept in RAM (``--cpu-offload-gb``)."""


class ServerProblem(StrEnum):
    """Why an engine would not start; text keys ``vllm.problem.<value>``."""

    TOO_FEW_GPUS = "too_few_gpus"
    HEADS = "heads"
    """The tensor-parallel size does not divide the attention heads."""
    KV_HEADS = "kv_heads"
    """It neither divides nor is divided by the heads of K and V."""
    COLUMNS = "columns"
    """It does not divide the columns of a matrix into whole blocks."""
    STAGES = "stages"
    """More pipeline stages than layers."""
    DECODE_CONTEXT = "decode_context"
    """The decode-context size does not divide the tensor-parallel size, or heads forbid it."""
    NOT_FREE = "not_free"
    """Others hold what the engine wants to reserve."""
    WEIGHTS = "weights"
    """Weights and working memory leave nothing for a cache."""
    CONTEXT = "context"
    """The cache does not hold one sequence of the longest length."""
    HOST = "host"
    """Main memory is too small for what is kept there."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem and what fills its sentence."""

    kind: ServerProblem
    params: Mapping[str, Param] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankMemory:
    """One GPU's share of a start, in bytes."""

    budget_bytes: int
    """What the engine reserves."""
    weights_bytes: int
    """On the GPU."""
    offloaded_bytes: int
    """In main memory."""
    activation_bytes: int
    """Working memory of the widest step, and CUDA graphs."""
    outside_bytes: int
    """CUDA context and communication, beside the budget."""
    cache_bytes: int
    """What is left of the budget; negative when nothing is."""


@dataclass(frozen=True, slots=True)
class ServerForecast:
    """What every device will hold, and how many users that serves."""

    settings: ServerSettings
    """With every default filled in."""
    devices: tuple[DeviceMemory, ...]
    """All GPUs of the machine, the host last."""
    gpus: tuple[int, ...]
    """Numbers of the machine's GPUs that are used, rank by rank."""
    ranks: tuple[RankMemory, ...]
    cache_bytes_per_token: int
    """On the rank with the most layers, for one more token."""
    block_tokens: int
    n_blocks: int
    """Of each rank."""
    tokens: int
    """That the caches hold together, as the engine's log counts them."""
    concurrency: float
    """Sequences of the longest length at once."""
    exact: bool
    """False: a rule of this model is not known here; the figures are an estimate."""
    problem: Problem | None = None

    @property
    def fits(self) -> bool:
        """The engine would start."""
        return self.problem is None

    @property
    def weights_bytes_per_rank(self) -> int:
        """Of the rank with the most."""
        return max((rank.weights_bytes for rank in self.ranks), default=0)


@dataclass(frozen=True, slots=True)
class ServerWishes:
    """What the user wants of a server. None = the planner chooses."""

    engine: ServerEngine = ServerEngine.VLLM
    context: int | None = None
    """Longest sequence."""
    users: int = 1
    """Sequences of the longest length that must fit at once."""
    cache: CacheFormat | None = None
    memory_share: float | None = None
    split: Split | None = None
    text_only: bool = False
    n_sequences: int | None = None
    n_batched_tokens: int | None = None
    eager: bool = False
    offload_bytes: int = 0


ILLEGAL = (
    ServerProblem.HEADS,
    ServerProblem.KV_HEADS,
    ServerProblem.COLUMNS,
    ServerProblem.STAGES,
    ServerProblem.DECODE_CONTEXT,
)
"""Ways to divide that the model itself does not allow."""


@dataclass(frozen=True, slots=True)
class Needed:
    """The smallest set of equal GPUs that would serve the model."""

    count: int
    vram_bytes: int
    """Of each, as people name the card's size."""


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """One way to serve a model, and why."""

    name: str
    """The model's."""
    wishes: ServerWishes
    forecast: ServerForecast
    alternatives: tuple[ServerForecast, ...] = ()
    """Other splits that work, the roomiest first."""
    needed: Needed | None = None
    """Given when it does not fit here."""
    fewer: int | None = None
    """So many GPUs would do as well, where more were taken for speed."""

    @property
    def fits(self) -> bool:
        """The engine would start."""
        return self.forecast.fits

    @property
    def holds_users(self) -> bool:
        """All users that were asked for fit at once."""
        return self.fits and self.forecast.concurrency >= self.wishes.users

    @property
    def is_illegal(self) -> bool:
        """The model itself cannot be divided as it was asked for; nothing was forecast."""
        problem = self.forecast.problem
        return problem is not None and problem.kind in ILLEGAL
