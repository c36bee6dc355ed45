"""Which local model a person means by a path, a name or a part of one. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.types import LocalModel, ModelFormat, ModelState

MOST_NAMES = 6


def choose_model(models: Iterable[LocalModel], wanted: str) -> LocalModel:
    """The one model that ``wanted`` names: its path, its name, or a part that only it has.

    GGUF files go before a checkpoint of the same name, which needs another engine.

    Raises:
        ModelError: NO_MODEL (there is none at all), MODEL_UNKNOWN (with the nearest names),
            MODEL_AMBIGUOUS (with the names that fit), or what keeps the model from being started.
    """
    rows = [model for model in models if model.state is not ModelState.COMPANION]
    if not rows:
        raise ModelError(ErrorCode.NO_MODEL)
    path = Path(wanted).expanduser().absolute()
    exact = [model for model in rows if wanted == model.id or path == model.path]
    named = exact or [model for model in rows if wanted.casefold() in names_of(model)]
    words = wanted.casefold().split()
    found = named or [
        model for model in rows if all(word in " ".join(names_of(model)) for word in words)
    ]
    if not found:
        raise ModelError(ErrorCode.MODEL_UNKNOWN, {"name": wanted, "near": _nearest(rows, wanted)})
    found = [model for model in found if model.format is ModelFormat.GGUF] or found
    if len(found) > 1:
        names = ", ".join(sorted(model.path.name for model in found))
        raise ModelError(ErrorCode.MODEL_AMBIGUOUS, {"name": wanted, "names": names})
    (model,) = found
    if model.problem is not None:
        raise model.problem
    return model


def names_of(model: LocalModel) -> tuple[str, ...]:
    """Everything that a person may call it, in lower case."""
    quantization = f"{model.title} {model.facts.quantization}" if model.facts else model.title
    return tuple(
        name.casefold() for name in (model.title, quantization, model.path.name, model.path.stem)
    )


def _nearest(models: Iterable[LocalModel], wanted: str) -> str:
    names = {name: model.path.name for model in models for name in names_of(model)}
    near = difflib.get_close_matches(wanted.casefold(), names, n=MOST_NAMES, cutoff=0.4)
    shown = dict.fromkeys(names[name] for name in near or names)
    return ", ".join(list(shown)[:MOST_NAMES])
