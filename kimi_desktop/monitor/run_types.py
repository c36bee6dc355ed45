"""Runs of engines as frozen data: what was planned, what was measured, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kimi_desktop.base.events import Event
from kimi_desktop.monitor.run_settings import shown_settings

AUTO = "auto"
"""Of a setting: left to the planner or the engine."""


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
    n_facts: int = 0
    """So many times facts of a failure, a slow or an odd answer are kept with it."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What was seen of a run when it failed, was slow or wrote nonsense."""

    at: float
    """time.time()"""
    text: str
    """As JSON, private things removed (``diagnosis.kept``)."""


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
    """The settings in which they differ, by name, with what held where a run says nothing.

    ``AUTO`` where it was left to the planner or the engine, ``""`` where a run knows no such
    setting.
    """
    found = [
        Difference(name, one, two)
        for name, one, two in (
            ("model", first.model_path, second.model_path),
            ("engine", first.engine, second.engine),
        )
        if one != two
    ]
    ones, twos = shown_settings(first.settings), shown_settings(second.settings)
    for name in sorted({*ones, *twos}):
        one, two = _told(ones.get(name, "")), _told(twos.get(name, ""))
        if one != two:
            found.append(Difference(name, one, two))
    return tuple(found)


def _told(value: object) -> str:
    if value is None:
        return AUTO
    if isinstance(value, list):
        return ", ".join(map(_told, value))
    return str(value)
