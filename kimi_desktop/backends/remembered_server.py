"""What was chosen for a checkpoint as an entry of the settings file, and back. Pure.

Wishes and consent are kept, never a plan: it is made anew for the machine as it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from kimi_desktop.backends.types import VllmSettings
from kimi_desktop.planner.vllm_types import CacheFormat, ServerWishes, Split

Entry = Mapping[str, int | str]
SERVER = "server"
COUNTS = ("context", "n_sequences", "n_batched_tokens", "offload_bytes", "users")
SWITCHES = ("text_only", "eager")
TEXTS = ("served_name", "reasoning_parser", "tool_parser", "trusted_code")
NO_WISH = ServerWishes()
MOST_SHARE = 100


def server_entry_of(settings: VllmSettings) -> dict[str, int | str]:
    """What is kept; what equals the defaults is left out."""
    wishes = settings.wishes
    entry: dict[str, int | str] = {"mode": SERVER}
    for name in (*COUNTS, *SWITCHES):
        value = getattr(wishes, name)
        if value != getattr(NO_WISH, name):
            entry[name] = int(value)
    if wishes.memory_share is not None:
        entry["memory_percent"] = round(wishes.memory_share * MOST_SHARE)
    if wishes.cache is not None:
        entry["cache"] = wishes.cache.value
    if wishes.split is not None:
        entry["split"] = json.dumps(dataclasses.asdict(wishes.split))
    if settings.sandbox:
        entry["sandbox"] = 1
    if settings.cpu_cache_gib:
        entry["cpu_cache_gib"] = settings.cpu_cache_gib
    for name in TEXTS:
        if value := getattr(settings, name):
            entry[name] = value
    return entry


def server_settings_of(entry: Entry) -> VllmSettings:
    """What an entry has and that makes sense; defaults for the rest."""
    if entry.get("mode") != SERVER:
        return VllmSettings()
    wishes: dict[str, Any] = {}
    for name in COUNTS:
        value = entry.get(name)
        if type(value) is int and value > 0:
            wishes[name] = value
    for name in SWITCHES:
        if entry.get(name) in (0, 1):
            wishes[name] = bool(entry[name])
    percent = entry.get("memory_percent")
    if type(percent) is int and 0 < percent <= MOST_SHARE:
        wishes["memory_share"] = percent / MOST_SHARE
    with contextlib.suppress(ValueError):
        wishes["cache"] = CacheFormat(str(entry.get("cache")))
    with contextlib.suppress(ValueError, TypeError):
        wishes["split"] = _split(json.loads(str(entry.get("split"))))
    special: dict[str, Any] = {
        name: str(entry[name]) for name in TEXTS if isinstance(entry.get(name), str)
    }
    special["sandbox"] = entry.get("sandbox") == 1
    kept = entry.get("cpu_cache_gib")
    if type(kept) is int and kept > 0:
        special["cpu_cache_gib"] = kept
    return VllmSettings(wishes=ServerWishes(**wishes), **special)


def _split(values: object) -> Split:
    if not isinstance(values, dict):
        raise TypeError(values)
    split = Split(**values)
    counts = (split.tensor, split.pipeline, split.data, split.decode_context)
    if any(type(count) is not int or count < 1 for count in counts):
        raise ValueError(values)
    return dataclasses.replace(split, experts=bool(split.experts))
