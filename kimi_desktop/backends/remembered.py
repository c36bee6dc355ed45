"""What was chosen for a model as an entry of the settings file, and back. Pure.

An entry has words and numbers alone: wishes for the planner (``"mode": "auto"``), or load settings.
What the file says is checked: a value of the wrong kind, or for GPUs that are gone, is passed over.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kimi_desktop.backends.types import SPECULATIONS, EngineOptions, LoadSettings
from kimi_desktop.planner.plan_types import LoadMode, Numa, Profile, RpcDevice, Wishes
from kimi_desktop.planner.profiles import CACHE_TYPES
from kimi_desktop.planner.types import HOST

Entry = Mapping[str, int | str]

COUNTS = (
    "n_gpu_layers", "n_cpu_moe", "context", "n_batch", "n_ubatch", "n_threads", "n_parallel",
)  # fmt: skip
WISHED_COUNTS = ("context", "n_batch", "n_ubatch", "n_threads", "n_parallel")
AUTO = "auto"
NO_WISH = Wishes()
OPTION_VALUES = {
    "flash_attention": ("", "on", "off"),
    "numa": ("", "off", "isolate", "distribute"),
    "speculation": ("", *SPECULATIONS),
}
SWITCHES = ("offload_ops", "repack")
PLACES = frozenset({"n_gpu_layers", "n_cpu_moe", "gpus", "workers", "tensor_split", "overrides"})
"""What says where a model goes: these belong together."""


def entry_of(settings: LoadSettings) -> dict[str, int | str]:
    """What of load settings is kept per model; the rest follows from the model and the engine."""
    entry: dict[str, int | str] = {"cache_type": settings.cache_type, "numa": settings.numa.value}
    for name in COUNTS:
        if (value := getattr(settings, name)) is not None:
            entry[name] = value
    for name in SWITCHES:
        entry[name] = int(getattr(settings, name))
    if settings.load_mode is not None:
        entry["load_mode"] = settings.load_mode.value
    if settings.gpus is not None:
        entry["gpus"] = json.dumps(settings.gpus)
    if settings.workers:
        entry["workers"] = json.dumps([dataclasses.astuple(each) for each in settings.workers])
    for name in ("tensor_split", "overrides"):
        if value := getattr(settings, name):
            entry[name] = json.dumps(value)
    return entry


def auto_entry_of(wishes: Wishes, profile: Profile) -> dict[str, int | str]:
    """Wishes as they are kept; what equals the defaults is left out.

    Args:
        wishes: of the user.
        profile: the one in force for models of which nothing else is known.
    """
    entry: dict[str, int | str] = {"mode": AUTO}
    if wishes.profile is not profile:
        entry["profile"] = wishes.profile.value
    for name in WISHED_COUNTS:
        value = getattr(wishes, name)
        if value != getattr(NO_WISH, name):
            entry[name] = value
    if wishes.cache_type is not None:
        entry["cache_type"] = wishes.cache_type
    if wishes.load_mode is not None:
        entry["load_mode"] = wishes.load_mode.value
    if wishes.tensor_split is not None:
        entry["tensor_split"] = json.dumps(wishes.tensor_split)
    return entry


def options_of(entry: Entry) -> EngineOptions:
    """Options that an entry of the settings file has and that make sense."""
    good: dict[str, Any] = {}
    for option in dataclasses.fields(EngineOptions):
        value = entry.get(option.name)
        allowed = OPTION_VALUES.get(option.name)
        if type(value) is type(option.default) and (allowed is None or value in allowed):
            good[option.name] = value
    return EngineOptions(**good)


def options_entry_of(options: EngineOptions) -> dict[str, int | str]:
    """Options as they are kept; what equals the defaults is left out."""
    names = [option.name for option in dataclasses.fields(EngineOptions)]
    kept = {name: getattr(options, name) for name in names}
    return {name: value for name, value in kept.items() if value}


def is_auto(entry: Entry) -> bool:
    """The planner owns the placement; so it does for a model that was never loaded."""
    return not entry or entry.get("mode") == AUTO


def wishes_of(entry: Entry, profile: Profile) -> Wishes:
    """The wishes that an entry has and that make sense; none of one with load settings."""
    if not is_auto(entry):
        return Wishes(profile=profile)
    good: dict[str, Any] = {"profile": profile}
    for name in WISHED_COUNTS:
        value = entry.get(name)
        if type(value) is int and value > 0:
            good[name] = value
    if entry.get("cache_type") in CACHE_TYPES:
        good["cache_type"] = entry["cache_type"]
    for name, kind in (("profile", Profile), ("load_mode", LoadMode)):
        with contextlib.suppress(ValueError):
            good[name] = kind(str(entry.get(name)))
    if "tensor_split" in entry:
        with contextlib.suppress(ValueError, TypeError):
            good["tensor_split"] = tuple(map(_share, json.loads(str(entry["tensor_split"]))))
    return Wishes(**good)


def changes_of(entry: Entry, n_gpus: int, workers: Sequence[RpcDevice] = ()) -> dict[str, Any]:
    """Fields of load settings that an entry has and that make sense.

    Args:
        entry: from the settings file, which anybody may have edited.
        n_gpus: of this machine; what was placed on others is no longer known.
        workers: devices of workers that answer now, behind them.
    """
    good: dict[str, Any] = {}
    for name in COUNTS:
        value = entry.get(name)
        if type(value) is int and value >= 0:
            good[name] = value
    for name in SWITCHES:
        if entry.get(name) in (0, 1):
            good[name] = bool(entry[name])
    if isinstance(cache_type := entry.get("cache_type"), str):
        good["cache_type"] = cache_type
    readers: dict[str, Callable[[Any], Any]] = {
        "load_mode": LoadMode,
        "numa": Numa,
        "gpus": lambda text: _gpus(json.loads(text), n_gpus + len(workers)),
        "workers": lambda text: _workers(json.loads(text), workers),
        "tensor_split": lambda text: tuple(map(_share, json.loads(text))),
        "overrides": lambda text: tuple(_rule(*pair) for pair in json.loads(text)),
    }
    for name, read in readers.items():
        if name in entry:
            try:
                good[name] = read(entry[name])
            except (ValueError, TypeError):
                good.pop(name, None)
    gpus = good.get("gpus", range(n_gpus))
    stray = any(place >= len(gpus) for _, place in good.get("overrides", ()))
    lost = any(name in entry and name not in good for name in ("gpus", "workers"))
    if stray or lost:
        return {name: value for name, value in good.items() if name not in PLACES}
    return good


def _gpus(numbers: list[int], n_gpus: int) -> tuple[int, ...]:
    if any(type(number) is not int or not 0 <= number < n_gpus for number in numbers):
        raise ValueError(numbers)
    return tuple(numbers)


def _workers(rows: list[list[Any]], known: Sequence[RpcDevice]) -> tuple[RpcDevice, ...]:
    found = tuple(RpcDevice(*row) for row in rows)
    if any(device not in known for device in found):
        raise ValueError(rows)
    return found


def _share(value: float) -> float:
    if not isinstance(value, int | float) or value < 0:
        raise ValueError(value)
    return float(value)


def _rule(pattern: str, place: int) -> tuple[str, int]:
    if type(pattern) is not str or type(place) is not int or place < HOST:
        raise TypeError(pattern)
    return pattern, place
