"""What an installed server engine can do of what a model and its settings ask. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engines.argparse_help import choices_of
from kimi_desktop.backends.engines.server_line import grouped
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.planner.vllm_types import CacheFormat

NO_PARSER = "none"
"""Of a parser setting: not even the catalogue's."""
PARSER_PRESET = "kimi_k2"
TOOL_FLAG, REASONING_FLAG = "--tool-call-parser", "--reasoning-parser"
FLAGS_OF = {
    "pipeline": "--pipeline-parallel-size",
    "data": "--data-parallel-size",
    "experts": "--enable-expert-parallel",
    "decode_context": "--decode-context-parallel-size",
    "cache": "--kv-cache-dtype",
    "offload": "--cpu-offload-gb",
    "eager": "--enforce-eager",
    "text_only": "--language-model-only",
    "sequences": "--max-num-seqs",
    "batched": "--max-num-batched-tokens",
}
"""What a form offers, and the flag that it takes."""
SGLANG_FLAGS_OF = {
    "pipeline": "--pp-size",
    "data": "--dp-size",
    "experts": "--ep-size",
    "cache": "--kv-cache-dtype",
    "offload": "--cpu-offload-gb",
    "eager": "--disable-cuda-graph",
    "text_only": "--language-model-only",
    "sequences": "--max-running-requests",
    "batched": "--chunked-prefill-size",
}
"""The same of SGLang; the planner does not divide its cache over GPUs."""
ONLY_VLLM = frozenset({"--enable-auto-tool-choice"})
"""SGLang does it without being asked."""
SGLANG_FP8 = "fp8_e4m3"


@dataclass(frozen=True, slots=True)
class BuildFacts:
    """Of one installation, for one model."""

    name: str
    """"vLLM 0.32.0"."""
    tool_parsers: tuple[str, ...]
    """Their names, where its help lists them."""
    takes_fp8_cache: bool
    lacks: tuple[str, ...]
    """What the catalogue asks for and the build does not have: "--flag value"."""
    unknown: frozenset[str]
    """Keys of ``FLAGS_OF`` that it has no flag for."""
    names: Mapping[str, str] = field(default_factory=lambda: FLAGS_OF)
    """Those of its flags by the same keys."""


def facts_of(build: EngineBuild, needs: Sequence[str]) -> BuildFacts:
    """By its own help.

    Args:
        build: what was probed.
        needs: flags of the catalogue with their values.
    """
    flags = build.flags
    is_sglang = build.kind is EngineKind.SGLANG
    names = SGLANG_FLAGS_OF if is_sglang else FLAGS_OF
    fp8 = SGLANG_FP8 if is_sglang else CacheFormat.FP8.value
    formats = choices_of(flags.get(names["cache"], ""))
    return BuildFacts(
        build.name,
        tuple(sorted(choices_of(flags.get(TOOL_FLAG, "")))),
        names["cache"] in flags and (not formats or fp8 in formats),
        lacking(build, needs),
        frozenset(key for key in FLAGS_OF if names.get(key) not in flags),
        names,
    )


def lacking(build: EngineBuild, needs: Sequence[str]) -> tuple[str, ...]:
    """Flags of the catalogue that a build does not know, or not with that value."""
    found = []
    for flag, values in grouped(needs):
        if build.kind is EngineKind.SGLANG and flag in ONLY_VLLM:
            continue
        choices = choices_of(build.flags.get(flag, ""))
        refused = choices and values and values[0] not in choices
        if flag not in build.flags or refused:
            found.append(" ".join((flag, *values)))
    return tuple(found)
