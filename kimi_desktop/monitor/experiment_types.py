"""Experiments as frozen data: one variable value by value, or more and more users at once."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.base.events import Event


class Variable(StrEnum):
    """What is changed; all else stays."""

    THREADS = "threads"
    UBATCH = "ubatch"
    CACHE = "cache"
    EXPERTS = "experts"
    LAYERS = "layers"
    CONTEXT = "context"
    USERS = "users"
    """So many prompts at once, with one engine that has a slot for each."""


@dataclass(frozen=True, slots=True)
class ExperimentWish:
    """What to measure."""

    settings: LoadSettings
    """Everything that stays."""
    title: str
    """Of the model."""
    variable: Variable
    values: tuple[str, ...]
    """As they were typed."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value, or one number of users."""

    value: str
    prefill_tps: float | None = None
    decode_tps: float | None = None
    """Per user."""
    total_tps: float | None = None
    """Of all users together."""
    first_token_s: float | None = None
    """Median of the users."""
    load_s: float | None = None
    error: KimiError | None = None
    """Why there is no figure."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A curve that was measured."""

    id: int
    """0 while it goes on."""
    at: float
    """time.time() of its beginning."""
    title: str
    engine: str
    variable: Variable
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class ExperimentProgressed(Event):
    """A value is being measured, or the experiment has ended."""

    experiment: Experiment
    """So far."""
    now: str
    """The value that is being measured; "" at the end."""


def experiment_text(experiment: Experiment) -> str:
    """As JSON, without its id and its time."""
    points = [
        {
            field.name: getattr(point, field.name)
            for field in dataclasses.fields(point)
            if field.name != "error"
        }
        | ({} if point.error is None else {"error": _error_values(point.error)})
        for point in experiment.points
    ]
    return json.dumps(
        {
            "title": experiment.title,
            "engine": experiment.engine,
            "variable": experiment.variable.value,
            "points": points,
        }
    )


def experiment_of(number: int, at: float, text: str) -> Experiment | None:
    """The reverse; None for what this version does not understand."""
    try:
        raw = json.loads(text)
        points = tuple(_point_of(point) for point in raw["points"])
        variable = Variable(raw["variable"])
        return Experiment(number, at, raw["title"], raw["engine"], variable, points)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _error_values(error: KimiError) -> dict[str, Any]:
    return {"code": error.code.value, "params": dict(error.params)}


def _point_of(raw: dict[str, Any]) -> Point:
    told = raw.pop("error", None)
    error = None if told is None else KimiError(ErrorCode(told["code"]), told["params"])
    return Point(**raw, error=error)
