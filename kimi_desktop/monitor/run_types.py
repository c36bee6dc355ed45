"""Runs of engines as frozen data: what was planned, what was measured, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kimi_desktop.base.events import Event


class Outcome(StrEnum):
    """How a run ended."""

    RUNNING = "running"
    STOPPED = "stopped"
    """By the user, or with the app."""
    FAILED = "failed"
    LOST = "lost"
    """The app ended without a word: found at the next start."""


@dataclass(frozen=True, slots=True)
class Band:
    """A forecast: low, likely, high."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True, slots=True)
class RunForecast:
    """What was expected of a run; None where nothing was."""

    decode_tps: Band | None = None
    load_s: Band | None = None
    device_bytes: Mapping[str, int] = field(default_factory=dict)
    """Of our engine alone, per device ("gpu:0", "host")."""


@dataclass(frozen=True, slots=True)
class RunMeasures:
    """What was measured of a run; None where nothing was."""

    load_s: float | None = None
    answers: int = 0
    tokens: int = 0
    decode_tps: float | None = None
    """Of all answers, each by its tokens."""
    prefill_tps: float | None = None
    first_token_s: float | None = None
    """Of the last answer."""
    device_bytes: Mapping[str, int] = field(default_factory=dict)
    """The most that our engine held, per device."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One start of an engine."""

    id: int
    started_at: float
    """time.time()"""
    ended_at: float | None
    model_path: str
    title: str
    quantization: str
    engine: str
    settings: Mapping[str, Any]
    """Load settings by their names, those that differ from plain ones."""
    forecast: RunForecast
    measured: RunMeasures
    outcome: Outcome
    cause: str = ""
    """Why it failed: an id of ``base/messages/causes``, or an error's code."""
    note: str = ""
    starred: bool = False


@dataclass(frozen=True, slots=True)
class RunsChanged(Event):
    """A run began, ended, or was noted on."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting or figure in which two runs differ."""

    name: str
    first: str
    second: str


def differences(first: RunRecord, second: RunRecord) -> tuple[Difference, ...]:
    """The settings in which they differ, by name; ``""`` where one left it as it is."""
    found = [
        Difference(name, one, two)
        for name, one, two in (
            ("model", first.model_path, second.model_path),
            ("engine", first.engine, second.engine),
        )
        if one != two
    ]
    names = sorted({*first.settings, *second.settings})
    for name in names:
        one, two = first.settings.get(name, ""), second.settings.get(name, "")
        if one != two:
            found.append(Difference(name, str(one), str(two)))
    return tuple(found)
