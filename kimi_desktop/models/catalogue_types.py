"""What is known of published models, as frozen data. None = not known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.messages import Language


class Hub(StrEnum):
    """Where a repository is."""

    HUGGINGFACE = "huggingface"
    MODELSCOPE = "modelscope"


class Holds(StrEnum):
    """What a repository holds."""

    NATIVE = "native"
    """The maker's own checkpoint."""
    GGUF = "gguf"
    NVFP4 = "nvfp4"
    MXFP4 = "mxfp4"
    FP8 = "fp8"
    MLX = "mlx"
    KTRANSFORMERS = "ktransformers"
    """Weights for the processors' part of that engine."""
    DRAFT = "draft"
    """A small model for speculative decoding."""


class Quality(StrEnum):
    """What a quantization does to the answers; text key ``forecast.quality.<value>``."""

    LOSSLESS = "lossless"
    NEAR_LOSSLESS = "near_lossless"
    GOOD = "good"
    REDUCED = "reduced"
    WORSE_THAN_NATIVE = "worse_than_native"
    """Larger than the native checkpoint, and worse."""


class Thinking(StrEnum):
    """Whether a model thinks before it answers."""

    NEVER = "never"
    OPTIONAL = "optional"
    ALWAYS = "always"


class Engine(StrEnum):
    """Engines by the names that people know."""

    LLAMA_CPP = "llama.cpp"
    IK_LLAMA_CPP = "ik_llama.cpp"
    VLLM = "vllm"
    SGLANG = "sglang"
    KTRANSFORMERS = "ktransformers"
    MLX = "mlx"


@dataclass(frozen=True, slots=True)
class Note:
    """A remark for people, in both languages."""

    en: str
    zh: str

    def text(self, language: Language) -> str:
        """In the language asked for."""
        return self.zh if language is Language.ZH_CN else self.en


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository of a hub."""

    hub: Hub
    id: str
    """"owner/name"."""
    holds: Holds
    confirmed: bool
    """False: the name follows a pattern, nobody looked."""
    variant: str | None = None
    """"base", "earlier": not the one that people usually want."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """One set of files."""

    name: str
    repo: str
    """The id of a ``Repo`` of the same model."""
    size_bytes: int | None
    size_is_rounded: bool
    shards: int | None
    quality: Quality | None
    engines: tuple[Engine, ...]
    """Those that read it."""
    perplexity: float | None = None
    kl_divergence: float | None = None
    """Mean, against the original."""
    note: Note | None = None


@dataclass(frozen=True, slots=True)
class Native:
    """The maker's own checkpoint: weights only."""

    format: str
    size_bytes: int | None
    size_is_rounded: bool
    shards: int | None


@dataclass(frozen=True, slots=True)
class Projector:
    """The separate file of the part that sees."""

    repo: str
    format: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class SamplingPreset:
    """How to draw tokens, by the maker or the packager."""

    mode: str
    """"default", "thinking", "instant"."""
    temperature: float
    top_p: float
    min_p: float | None
    confirmed: bool
    source: str


@dataclass(frozen=True, slots=True)
class EngineFloor:
    """What an engine must be to run a model."""

    engine: Engine
    min_version: str | None
    broken_versions: tuple[str, ...]
    flags: tuple[str, ...]
    """Flags that the model needs, beside those of placement."""
    min_vram_gb: float | None
    note: Note | None
    source: str


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """What a client must know of a model's template."""

    id: str
    turns: str | None
    stop_token: str | None
    stop_token_id: int | None
    uses_bos: bool | None
    tool_id: str | None
    """The form of a tool call's id."""
    thinking_tags: tuple[str, str] | None
    thinking_switch: str | None
    """The key of ``chat_template_kwargs`` that turns thinking on and off."""
    keeps_reasoning_in_tool_loop: bool
    """The client must send ``reasoning_content`` back within a chain of tool calls."""
    image_tag: str | None
    tool_parser: str | None
    """The name that vLLM and SGLang have for it."""
    reasoning_parser: str | None
    source: str


@dataclass(frozen=True, slots=True)
class License:
    """The terms of a model."""

    name: str
    confirmed: bool
    note: Note | None


@dataclass(frozen=True, slots=True)
class CatalogueModel:
    """One published model."""

    id: str
    name: str
    family: str
    released: str
    """"2026-04-20", or "2025-07" when only the month is known."""
    total_parameters: int
    active_parameters: int
    context_tokens: int | None
    modalities: tuple[str, ...]
    """text, image, video."""
    thinking: Thinking | None
    hf_architecture: str | None
    gguf_architecture: str | None
    projector_architecture: str | None
    chat_template: ChatTemplate | None
    license: License
    native: Native
    repos: tuple[Repo, ...]
    quantizations: tuple[Quantization, ...]
    projector: Projector | None
    sampling: tuple[SamplingPreset, ...]
    engines: tuple[EngineFloor, ...]
    sources: tuple[str, ...]

    def quantization(self, name: str, repo: str | None = None) -> Quantization | None:
        """One by its name (any case), of a certain repository if one is given."""
        return next(
            (
                item
                for item in self.quantizations
                if item.name.casefold() == name.casefold() and repo in (None, item.repo)
            ),
            None,
        )

    def floor(self, engine: Engine) -> EngineFloor | None:
        """What is known of running it with an engine."""
        return next((floor for floor in self.engines if floor.engine is engine), None)

    def preset(self, mode: str) -> SamplingPreset | None:
        """The sampling of a mode; a model with one mode has it under any name."""
        exact = (item for item in self.sampling if item.mode == mode)
        only = self.sampling[0] if len(self.sampling) == 1 else None
        return next(exact, only)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All models, the newest first."""

    models: tuple[CatalogueModel, ...]

    def __iter__(self) -> Iterator[CatalogueModel]:
        return iter(self.models)

    def find(self, name: str) -> CatalogueModel | None:
        """A model by its id, its name, or the id of one of its repositories (any case)."""
        wanted = _plain(name)
        for model in self.models:
            if wanted in (_plain(model.id), _plain(model.name)):
                return model
        return self.find_repo(name)

    def find_repo(self, repo: str) -> CatalogueModel | None:
        """The model that a repository holds."""
        wanted = repo.casefold()
        for model in self.models:
            if any(item.id.casefold() == wanted for item in model.repos):
                return model
        return None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().casefold())
