"""Engines as frozen data: what to load, what state it is in, what a stream says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import KimiError, Param
from kimi_desktop.base.events import Event
from kimi_desktop.planner.limits import SpeedLimits
from kimi_desktop.planner.plan_types import LoadMode, Numa, Plan, Remedy, RpcDevice, Wishes
from kimi_desktop.planner.speed_types import Band, SpeedForecast
from kimi_desktop.planner.vllm_types import ServerEngine, ServerSettings, ServerWishes


class EngineKind(StrEnum):
    """Which program runs the model."""

    EMBEDDED = "embedded"
    """llama.cpp out of the xllamacpp wheel."""
    LLAMA_SERVER = "llama-server"
    """A llama.cpp binary found or chosen by the user."""
    LLAMA_CPP_PYTHON = "llama-cpp-python"
    """The server of that package, in a Python of its own."""
    VLLM = "vllm"
    """Serves a folder of safetensors, as a rule from GPUs alone."""
    SGLANG = "sglang"
    """The same."""


SERVER_ENGINES: Mapping[EngineKind, ServerEngine] = {
    EngineKind.VLLM: ServerEngine.VLLM,
    EngineKind.SGLANG: ServerEngine.SGLANG,
}
"""As the planner calls them."""
SERVER_KINDS = frozenset(SERVER_ENGINES)
"""Engines that are given a folder in Hugging Face's layout and have ``VllmSettings``."""


@dataclass(frozen=True, slots=True)
class VllmSettings:
    """What only a server engine needs to know beside ``LoadSettings``."""

    server: ServerSettings | None = None
    """Splits and budgets; None = they are planned when it is started."""
    wishes: ServerWishes = field(default_factory=ServerWishes)
    """Of the user, for that plan."""
    served_name: str = ""
    """As requests call the model; "" = the folder's name."""
    reasoning_parser: str = ""
    """"kimi_k2": thoughts come apart from the answer; "" = the catalogue's, "none" = no parser."""
    tool_parser: str = ""
    needs: tuple[str, ...] = ()
    """Other flags that the catalogue knows the model to need."""
    trusted_code: str = ""
    """Digest of the model's own Python files that the user lets run; "" = none may."""
    sandbox: bool = False
    """That code runs shut in (``backends.sandbox``)."""
    cpu_cache_gib: int = 0
    """Of KV cache in RAM, for a build without GPUs; 0 = by the free memory."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What llama.cpp is told besides a placement; the user's own, kept per model.

    No forecast counts a projector, a draft model or an adapter.
    """

    flash_attention: str = ""
    """"on", "off"; "" = on where the cache needs it, else as the engine does by itself."""
    numa: str = ""
    """"off", "isolate", "distribute"; "" = as planned."""
    projector: str = ""
    """File that lets the model see images."""
    template_file: str = ""
    """Chat template (Jinja) instead of the model's own."""
    lora: str = ""
    """File of an adapter."""
    speculation: str = ""
    """How tokens are guessed ahead: one of ``SPECULATIONS``; "" = not at all."""
    draft_model: str = ""
    """File of the model that guesses, for the kinds that need one."""
    draft_tokens: int = 0
    """At most so many at once; 0 = as the engine does by itself."""
    extra: str = ""
    """More arguments, as they are typed in a shell."""


SPECULATIONS = ("draft-simple", "ngram-simple", "ngram-mod", "draft-mtp")
"""Names of llama.cpp b11434, ``common/speculative.cpp``; the first needs a draft model."""


@dataclass(frozen=True, slots=True)
class LoadSettings:
    """How to load one model. The sliders edit this; a change needs a restart."""

    model_path: Path
    n_gpu_layers: int = 0
    """0 ... n_layer + 1 (the output counts as one)."""
    n_cpu_moe: int = 0
    """Expert layers kept in RAM, counted from block 0."""
    gpus: tuple[int, ...] | None = None
    """Numbers of the machine's GPUs, in the engine's order; None = all that there are."""
    workers: tuple[RpcDevice, ...] = ()
    """Of other machines (RPC); their numbers in ``gpus`` follow the machine's own."""
    tensor_split: tuple[float, ...] = ()
    """Layers or shares of those GPUs; empty = by their free memory."""
    overrides: tuple[tuple[str, int], ...] = ()
    """(pattern of tensor names, place in ``gpus`` or HOST): the first match wins."""
    context: int = 4096
    """Tokens."""
    cache_type: str = "f16"
    """Of K and V alike (unlike types run attention on the CPU)."""
    n_batch: int = 2048
    n_ubatch: int = 512
    n_threads: int | None = None
    """None = what the planner takes: physical cores of one socket."""
    n_parallel: int = 1
    load_mode: LoadMode | None = None
    """How weights in main memory are held; None = as the engine does by itself."""
    numa: Numa = Numa.OFF
    offload_ops: bool = True
    """Long prompts bring weights from RAM to the first GPU."""
    repack: bool = True
    """The CPU rearranges some formats when no GPU is used."""
    chat_template: str | None = None
    """Template text for models without one."""
    stop: tuple[str, ...] = ()
    """Texts that end an answer unless the request names its own."""
    kind: EngineKind = EngineKind.EMBEDDED
    binary: Path | None = None
    """For ``LLAMA_SERVER`` a program, for ``SERVER_KINDS`` what the user points at."""
    extra: tuple[str, ...] = field(default=())
    options: EngineOptions = EngineOptions()
    server: VllmSettings | None = None
    """For ``SERVER_KINDS``."""


@dataclass(frozen=True, slots=True)
class PlanChoices:
    """What the user chose for one model: wishes, or load settings of his own."""

    wishes: Wishes
    """What the planner goes by; kept while ``settings`` rule, so that Auto comes back to it."""
    settings: LoadSettings | None = None
    """None: Auto, the planner owns the placement."""


@dataclass(frozen=True, slots=True)
class PricedLoad:
    """Load settings with everything that is forecast of them."""

    settings: LoadSettings
    plan: Plan
    """Its decisions: why it is so (Auto), or what is worth saying about it (the user's own)."""
    speed: SpeedForecast
    other_prompts: tuple[tuple[int, Band], ...]
    """(tokens of a prompt, seconds to the first token)."""
    limits: SpeedLimits

    @property
    def is_tight(self) -> bool:
        """It fits, but a device keeps less than the profile wants."""
        return self.plan.fits and any(
            decision.key == "why.reserve.broken" for decision in self.plan.decisions
        )


@dataclass(frozen=True, slots=True)
class Remedial:
    """A change that helps, or that shows what another choice would bring, in words."""

    title: str
    """"Context 64K"."""
    detail: str
    """What it does or costs."""
    speed: str
    """"11.9 tok/s", or "" when it was not planned anew."""
    wishes: Wishes | None
    """Plan with these; None where no wish of the user's brings it about."""
    model_id: str = ""
    """Take this model of the library instead."""
    offer_id: str = ""
    """Download this file instead: "owner/name:QUANTIZATION"."""


@dataclass(frozen=True, slots=True)
class PlanChange:
    """What would be if one thing of a plan were another."""

    remedy: Remedy
    """What kind of change: cache type, context, quantization."""
    params: Mapping[str, Param]
    wishes: Wishes
    """Plan with these."""
    model_id: str
    """Another quantization to take, or ""."""
    experts_moved: int
    """Expert layers that come to the GPUs; negative: that leave them."""
    spare_change_bytes: int
    """More memory left on the GPUs (in RAM where there are none)."""
    file_change_bytes: int
    """More to read and store."""
    speed_ratio: float
    """Of decoding, then to now."""


@dataclass(frozen=True, slots=True)
class PlanWords:
    """A priced load in words."""

    fit: str
    """For a chip: "Fits in VRAM + RAM"."""
    headline: str
    reasons: tuple[str, ...]
    """One sentence per decision, the weightiest first."""
    missing: tuple[str, ...]
    """What is short."""
    remedies: tuple[Remedial, ...]
    """The nearest first."""
    decode_limit: str
    prefill_limit: str
    load_limit: str


class LoadPhase(StrEnum):
    """What an engine does while it loads; text keys ``engine.phase.<value>``."""

    PROGRAM = "program"
    """The program itself: Python and its libraries."""
    CONFIG = "config"
    WEIGHTS = "weights"
    COMPILE = "compile"
    CACHE = "cache"
    GRAPHS = "graphs"
    WARM_UP = "warm_up"


@dataclass(frozen=True, slots=True)
class LoadStep:
    """One of them, and how far it is where the engine counts."""

    phase: LoadPhase
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class EngineMetrics:
    """What a running engine counts; None where it does not say."""

    running: float | None = None
    """Requests."""
    waiting: float | None = None
    cache_used: float | None = None
    """0 ... 1 of the KV cache, of the fullest engine where there are several."""
    prompt_tokens: float | None = None
    """Since its start."""
    prompt_seconds: float | None = None
    """In which they were read, where it counts a request's tokens at its end."""
    generated_tokens: float | None = None
    generated_seconds: float | None = None
    looked_up_tokens: float | None = None
    """Of prompts, looked for in the prefix cache."""
    found_tokens: float | None = None
    """Of those, found there."""


class EngineState(StrEnum):
    """Where an engine is in its life. ``docs/engine-states.md`` draws the transitions."""

    STOPPED = "stopped"
    STARTING = "starting"
    """The process is being made and has not yet begun to load."""
    LOADING = "loading"
    READY = "ready"
    GENERATING = "generating"
    STOPPING = "stopping"
    FAILED = "failed"


class ServerProgram(StrEnum):
    """What answers at an address that the user named, as far as it shows."""

    LLAMA_CPP = "llama.cpp"
    VLLM = "vLLM"
    SGLANG = "SGLang"
    OLLAMA = "Ollama"
    OTHER = ""

    @property
    def takes_switches(self) -> bool:
        """It passes switches such as thinking on to the chat template; others refuse them."""
        return self in (ServerProgram.LLAMA_CPP, ServerProgram.VLLM, ServerProgram.SGLANG)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A model on a server that is not ours: it is asked, and never started or ended."""

    server: str
    """The entry's name."""
    url: str
    """Of its API: "http://192.168.1.5:8000/v1"."""
    model: str
    """As requests call it."""
    program: ServerProgram = ServerProgram.OTHER
    version: str = ""
    context: int | None = None
    """Tokens, where the server tells."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine listens: a Unix socket, 127.0.0.1 and a port, or another server's address."""

    socket_path: Path | None
    port: int | None
    api_key: str = field(repr=False)
    url: str = ""
    """Of a server that is not ours, its API; "" = an engine of this app."""


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What was seen of an engine when it ended or could not be started: evidence, no judgement."""

    code: int | None = None
    signal: str | None = None
    """"SIGKILL"."""
    is_alive: bool = False
    spawn_errno: str | None = None
    """"ENOEXEC": the system did not run it."""
    phase: str = ""
    """"start", "load" or "serve"."""
    log: tuple[str, ...] = ()
    """All that is kept of it, keys removed."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    """Memory, limits and the model's file, by the names of ``docs/diagnosis.md``."""


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Everything the window shows about the engine."""

    state: EngineState
    settings: LoadSettings | None = None
    load_fraction: float | None = None
    """0 ... 1 while loading, where it can be told."""
    load_step: LoadStep | None = None
    """What it does while loading, where it tells."""
    engine_name: str = ""
    """"llama.cpp b11549"."""
    pid: int | None = None
    error: KimiError | None = None
    """Why it failed."""
    log_tail: tuple[str, ...] = ()
    """The last lines, keys removed; filled when failed."""
    facts: EngineFacts | None = None
    """What was seen of the end; filled when failed."""
    started_at: float | None = None
    """time.time() of the start."""
    attached: Attachment | None = None
    """No process of ours: a model on another server (``settings`` is None)."""


@dataclass(frozen=True, slots=True)
class EngineStateChanged(Event):
    """The engine moved to another state or made progress in loading."""

    status: EngineStatus


@dataclass(frozen=True, slots=True)
class LoadRemarked(Event):
    """Something about a load that succeeded is not as it should be; told once."""

    remarks: tuple[KimiError, ...]
    """The gravest first."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An engine that outlived a crash of the app."""

    pid: int
    model_path: str
    started_at: float


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw tokens."""

    temperature: float = 1.0
    top_p: float = 0.95
    max_tokens: int = 4096
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to the engine. Messages are (role, text)."""

    messages: tuple[tuple[str, str], ...]
    sampling: Sampling
    thinking: bool | None = None
    """Sent as chat_template_kwargs where the template knows it; None leaves it out."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost, by the engine's own count where it tells."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    prefill_s: float = 0.0
    decode_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Delta:
    """One piece of a streamed answer; any of the fields may be empty."""

    content: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    prefill_done: int | None = None
    """Prompt tokens processed so far, of ``prefill_total``; only before the first text."""
    prefill_total: int | None = None
    completion_tokens: int | None = None
    """Tokens of the answer so far, where the engine counts them for us."""
    decode_s: float | None = None
    """How long those took it, where it tells."""
