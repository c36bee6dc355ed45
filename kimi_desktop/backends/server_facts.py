"""What an installed server engine can do of what a model and its settings ask. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engines.argparse_help import choices_of
from kimi_desktop.backends.engines.server_line import grouped
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


def facts_of(build: EngineBuild, needs: Sequence[str]) -> BuildFacts:
    """By its own help.

    Args:
        build: what was probed.
        needs: flags of the catalogue with their values.
    """
    flags = build.flags
    formats = choices_of(flags.get(FLAGS_OF["cache"], ""))
    return BuildFacts(
        build.name,
        tuple(sorted(choices_of(flags.get(TOOL_FLAG, "")))),
        FLAGS_OF["cache"] in flags and (not formats or CacheFormat.FP8.value in formats),
        lacking(build, needs),
        frozenset(key for key, flag in FLAGS_OF.items() if flag not in flags),
    )


def lacking(build: EngineBuild, needs: Sequence[str]) -> tuple[str, ...]:
    """Flags of the catalogue that a build does not know, or not with that value."""
    found = []
    for flag, values in grouped(needs):
        choices = choices_of(build.flags.get(flag, ""))
        refused = choices and values and values[0] not in choices
        if flag not in build.flags or refused:
            found.append(" ".join((flag, *values)))
    return tuple(found)
