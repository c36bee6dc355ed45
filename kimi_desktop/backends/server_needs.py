"""What a checkpoint asks of a server engine besides its settings. Reads small files (pool)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kimi_desktop.backends.engines.server_line import grouped
from kimi_desktop.backends.server_facts import PARSER_PRESET, REASONING_FLAG, TOOL_FLAG
from kimi_desktop.backends.types import VllmSettings
from kimi_desktop.models.catalogue_types import EngineFloor
from kimi_desktop.models.hf_folder import HfModel

KIMI_TYPES = frozenset({"kimi_k2", "kimi_k25"})
"""Of config.json: their tool calls and thoughts have one form."""
THINKS = "<think>"
MAX_TEMPLATE_BYTES = 4 * 2**20


def asked_flags(floor: EngineFloor | None, model: HfModel) -> tuple[str, ...]:
    """Flags and values by the catalogue, and the parsers that go by the kind of model.

    Thoughts are told from answers where the template has thoughts alone: elsewhere the parser
    would take an answer for a thought.

    Args:
        floor: of the catalogue; None = it does not know the model.
        model: the folder.
    """
    flags = floor.flags if floor else ()
    if TOOL_FLAG in flags or model.config.model_type not in KIMI_TYPES:
        return flags
    flags = (*flags, TOOL_FLAG, PARSER_PRESET, "--enable-auto-tool-choice")
    if floor is None and THINKS in _template(model.path):
        flags = (*flags, REASONING_FLAG, PARSER_PRESET)
    return flags


def parsers_of(flags: Sequence[str]) -> tuple[str, str]:
    """(tool calls, thoughts) that the flags name; "" = none."""
    known = dict(grouped(flags))
    return (*known.get(TOOL_FLAG, ()), "")[0], (*known.get(REASONING_FLAG, ()), "")[0]


def needed_beside(flags: Sequence[str], settings: VllmSettings) -> tuple[str, ...]:
    """The flags without what the settings say themselves. Consent to code is one of these."""
    said = {"--trust-remote-code"}
    if settings.reasoning_parser:
        said.add(REASONING_FLAG)
    if settings.tool_parser:
        said |= {TOOL_FLAG, "--enable-auto-tool-choice"}
    return tuple(
        word for flag, values in grouped(flags) if flag not in said for word in (flag, *values)
    )


def _template(folder: Path) -> str:
    """The chat template: of its own file, or within the tokenizer's settings; "" = none."""
    for name in ("chat_template.jinja", "tokenizer_config.json"):
        try:
            with (folder / name).open("rb") as file:
                text = file.read(MAX_TEMPLATE_BYTES).decode(errors="replace")
        except OSError:
            continue
        if name.endswith(".jinja"):
            return text
        try:
            return json.dumps(json.loads(text).get("chat_template") or "", ensure_ascii=False)
        except (ValueError, AttributeError):
            return ""
    return ""
