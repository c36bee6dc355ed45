"""Load settings as the notebook keeps them, and as two runs are compared by them. Pure.

Kept is what differs from plain settings; shown is what held, defaults included: a run that says
nothing of its cache had one of 16 bits all the same.
"""

from __future__ import annotations

import dataclasses
import itertools
import types
import typing
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from kimi_desktop.backends.types import SERVER_KINDS, LoadSettings

PLAIN = LoadSettings(Path())
TEXTS = frozenset({"model_path", "chat_template", "stop"})
"""The model has a column of its own; the others are long, and belong to the model."""
OF_SERVERS = {
    "context": "server.server.context",
    "cache_type": "server.server.cache",
    "n_parallel": "server.server.n_sequences",
}
"""vLLM and SGLang are told these in settings of their own; people know them by one name."""
FOR_ALL = frozenset({"kind", "binary", "extra"})
"""Besides those, what means something to every engine."""
WISHES = "server.wishes."
"""What the user wanted; what held is in the server's settings."""


def changed_settings(settings: LoadSettings) -> dict[str, Any]:
    """Load settings as JSON has them; those that are as plain ones are left out, and so is text."""
    return {
        field.name: _plain(value)
        for field in dataclasses.fields(settings)
        if field.name not in TEXTS
        and (value := getattr(settings, field.name)) != getattr(PLAIN, field.name)
    }


def settings_from(model: Path, kept: Mapping[str, Any]) -> LoadSettings | None:
    """The reverse of ``changed_settings``; None for a name or a value that is not known."""
    try:
        return typing.cast("LoadSettings", _built(LoadSettings, {"model_path": str(model), **kept}))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def shown_settings(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting by its name, whether it was changed or not; nested ones as ``options.lora``.

    Args:
        kept: of a run (``changed_settings``).

    Returns:
        Plain values; None = left to the planner or the engine.
    """
    shown = {
        name: value
        for field in dataclasses.fields(PLAIN)
        if field.name not in TEXTS
        for name, value in _flat(field.name, _plain(getattr(PLAIN, field.name)))
    }
    for name, value in kept.items():
        shown.update(_flat(name, value))
    del shown["server"]
    if shown["kind"] not in SERVER_KINDS:
        return shown
    theirs = {name: shown[name] for name in shown if name.startswith("server.") or name in FOR_ALL}
    for name, of_servers in OF_SERVERS.items():
        # 0 and null: as the model was trained, as the engine does by itself
        theirs[name] = theirs.pop(of_servers, None) or None
    return {name: value for name, value in theirs.items() if not name.startswith(WISHES)}


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    if isinstance(value, Mapping):
        for inner, each in value.items():
            yield from _flat(f"{name}.{inner}", each)
    else:
        yield name, value


def _plain(value: Any) -> Any:  # noqa: ANN401 - anything that JSON has
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _built(kind: type[Any], values: Mapping[str, Any]) -> object:
    hints = typing.get_type_hints(kind)
    return kind(**{name: _typed(hints[name], value) for name, value in values.items()})


def _typed(kind: Any, value: Any) -> Any:  # noqa: ANN401
    """``value`` of JSON as the annotation ``kind`` says."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None and type(None) in inner:
            return None
        return _typed(next(one for one in inner if one is not type(None)), value)
    if origin is tuple:
        kinds = itertools.repeat(inner[0]) if inner[-1] is Ellipsis else inner
        return tuple(_typed(one, item) for one, item in zip(kinds, value, strict=False))
    if dataclasses.is_dataclass(kind):
        return _built(typing.cast("type[Any]", kind), value)
    if isinstance(kind, type) and issubclass(kind, (StrEnum, Path)):
        return kind(value)
    return value
