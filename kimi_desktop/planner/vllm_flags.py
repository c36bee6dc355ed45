"""The command line of a server engine's plan. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.base.units import GIB
from kimi_desktop.planner.report import shell_word
from kimi_desktop.planner.vllm_types import (
    CacheFormat,
    ServerEngine,
    ServerPlan,
    ServerSettings,
)
from kimi_desktop.planner.vllm_weights import VllmModel

_NAMES = {
    ServerEngine.VLLM: {
        "tensor": "--tensor-parallel-size", "pipeline": "--pipeline-parallel-size",
        "data": "--data-parallel-size", "experts": "--enable-expert-parallel",
        "decode_context": "--decode-context-parallel-size", "context": "--max-model-len",
        "share": "--gpu-memory-utilization", "cache": "--kv-cache-dtype", "fp8": "fp8",
        "offload": "--cpu-offload-gb", "eager": "--enforce-eager",
        "text_only": "--language-model-only",
    },
    ServerEngine.SGLANG: {
        "tensor": "--tp-size", "pipeline": "--pp-size", "data": "--dp-size",
        "experts": "--ep-size", "decode_context": "", "context": "--context-length",
        "share": "--mem-fraction-static", "cache": "--kv-cache-dtype", "fp8": "fp8_e4m3",
        "offload": "--cpu-offload-gb", "eager": "--disable-cuda-graph",
        "text_only": "--language-model-only",
    },
}  # fmt: skip


NO_HOST = "nowhere.invalid"
"""A name that no host can have: pictures come from nowhere else than the request itself."""
KEY_FILE = "~/.vllm-api-key"
_WITH_KEY = (
    f"(umask 077; [ -s {KEY_FILE} ] || head -c 32 /dev/urandom | base64 > {KEY_FILE}; "
    f'read -r VLLM_API_KEY < {KEY_FILE} && [ -n "$VLLM_API_KEY" ] && export VLLM_API_KEY && %s)'
)
"""A line that starts nothing without a key, keeps it out of arguments, and makes one once."""


def with_key(line: str) -> str:
    """A line for a POSIX shell that starts vLLM, with its key out of a file."""
    return _WITH_KEY % line


def command_line(plan: ServerPlan, place: str, *, extra: Sequence[str] = ()) -> str:
    """What to type to start the server by hand, for this machine alone; vLLM with a key."""
    settings = plan.forecast.settings
    program = ["vllm", "serve", place]
    if settings.engine is ServerEngine.SGLANG:
        program = ["sglang", "serve", "--model-path", place]
    words = [*program, *server_flags(settings, extra=extra), "--host", "127.0.0.1"]
    if settings.engine is ServerEngine.SGLANG:  # takes a key as an argument only
        return " ".join(shell_word(word) for word in words)
    words += ["--allowed-media-domains", NO_HOST]
    return with_key(" ".join(shell_word(word) for word in words))


def server_flags(settings: ServerSettings, *, extra: Sequence[str] = ()) -> tuple[str, ...]:
    """The flags of ``vllm serve`` or of SGLang that the plan decides about.

    Args:
        settings: of a forecast.
        extra: what the model needs besides (the catalogue knows), without what is here already.
    """
    split = settings.split
    names = _NAMES[settings.engine]
    words: list[str] = []

    def put(name: str, value: object, *, when: bool) -> None:
        if when and names[name]:
            words.extend([names[name], *([] if value is None else [str(value)])])

    put("tensor", split.tensor, when=split.tensor > 1)
    put("pipeline", split.pipeline, when=split.pipeline > 1)
    put("data", split.data, when=split.data > 1)
    experts = split.tensor if settings.engine is ServerEngine.SGLANG else None
    put("experts", experts, when=split.experts)
    put("decode_context", split.decode_context, when=split.decode_context > 1)
    put("context", settings.context, when=True)
    put("share", settings.memory_share, when=settings.memory_share is not None)
    put("cache", names["fp8"], when=settings.cache is CacheFormat.FP8)
    put("offload", round(settings.offload_bytes / GIB, 1), when=settings.offload_bytes > 0)
    put("eager", None, when=settings.eager)
    put("text_only", None, when=settings.text_only)
    return (*words, *(word for word in extra if word not in words))


def split_flags(settings: ServerSettings) -> tuple[str, ...]:
    """Only those that say how the model is divided."""
    names = _NAMES[settings.engine]
    words = server_flags(settings)
    return words[: words.index(names["context"])]


def needed_flags(model: VllmModel, extra: Sequence[str]) -> tuple[str, ...]:
    """The flags of the catalogue, and the one that lets the repository's code run."""
    trust = "--trust-remote-code"
    needs = model.config.needs_code and trust not in extra
    return (trust, *extra) if needs else tuple(extra)
