"""Reads one failure: its cause, and the changes that cure it with what they free.

Pure, but for the sizes of the model's files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kimi_desktop.backends.defaults import is_plannable
from kimi_desktop.backends.placed import placement_of
from kimi_desktop.backends.types import EngineStatus, LoadSettings
from kimi_desktop.base.errors import KimiError
from kimi_desktop.diagnosis.beyond import full_devices, ways_beyond
from kimi_desktop.diagnosis.collect import (
    evidence_of_status,
    file_facts,
    holder_facts,
    plan_facts,
)
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.ladder import ModelBounds, Step, ladder
from kimi_desktop.diagnosis.types import FailureReading, WayOut
from kimi_desktop.machine.holders import Holder
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.planner.weights import experts_in_ram

MOST_WAYS = 3
PLACING = frozenset({"experts", "layers"})
"""Steps after which the planner spreads the model anew over the GPUs."""

Tried = tuple[str, LoadSettings]
"""A step's key and the settings that it led to."""


@dataclass(frozen=True, slots=True)
class Pricing:
    """What the planner does for a way out."""

    forecast: Callable[[LoadSettings, LocalModel], LoadForecast]
    arrange: Callable[[LoadSettings, LocalModel], LoadSettings]
    """May raise KimiError when the settings cannot be spread."""


def read_failure(
    status: EngineStatus,
    model: LocalModel | None,
    machine: Machine | None,
    pricing: Pricing,
    tried: Collection[Tried] = (),
    *,
    holders: Sequence[Holder] = (),
    around: Mapping[str, Any] | None = None,
) -> FailureReading:
    """Diagnose a failed engine.

    Args:
        status: in the state FAILED.
        model: what it loaded; None when the library does not know it.
        machine: None before the first look.
        pricing: the planner.
        tried: ways that were taken since the last good start; they are not offered again.
        holders: other programs that hold VRAM now, the largest first.
        around: more facts of the machine and of what the engine did; they are kept with the rest.
    """
    forecast = LoadForecast(())
    if status.settings is not None and model is not None:
        forecast = pricing.forecast(status.settings, model)
    evidence = evidence_of_status(status, machine)
    seen = {**(around or {}), **holder_facts(machine, forecast, holders), **plan_facts(forecast)}
    if model is not None:
        seen |= file_facts(model)
    evidence = replace(evidence, machine={**seen, **evidence.machine})
    found = diagnose(evidence)
    best = found.cause
    if best is None:
        return FailureReading(found, evidence, (), status.started_at, error=status.error)
    ways: tuple[WayOut, ...] = ()
    if status.settings is not None and model is not None:
        ways = ways_out(best.cause, status.settings, model, pricing, tried)
    return FailureReading(
        found,
        evidence,
        ways,
        status.started_at,
        beyond=ways_beyond(best, machine, forecast, holders),
        devices=full_devices(best, forecast),
        error=status.error,
    )


def ways_out(
    cause: str,
    settings: LoadSettings,
    model: LocalModel,
    pricing: Pricing,
    tried: Collection[Tried] = (),
) -> tuple[WayOut, ...]:
    """The changes of the settings that cure a cause, priced; at most ``MOST_WAYS``."""
    ways = (
        _priced(step, settings, model, pricing)
        for step in ladder(cause, settings, _bounds(model, settings))
    )
    untried = (way for way in ways if way is not None and (way.key, way.settings) not in tried)
    return tuple(itertools.islice(untried, MOST_WAYS))


def _bounds(model: LocalModel, settings: LoadSettings) -> ModelBounds:
    facts = model.facts
    if facts is None:
        return ModelBounds(n_layer=0, has_experts=False)
    in_ram = 0
    if is_plannable(model):
        in_ram = len(experts_in_ram(shape_of(facts), placement_of(settings)))
    return ModelBounds(facts.n_layer, facts.n_expert > 0, in_ram)


def _priced(step: Step, before: LoadSettings, model: LocalModel, pricing: Pricing) -> WayOut | None:
    settings = step.settings
    if step.key in PLACING:
        try:
            settings = pricing.arrange(settings, model)
        except KimiError:
            return None
    old = {row.device: row.used_bytes for row in pricing.forecast(before, model).devices}
    new = {row.device: row.used_bytes for row in pricing.forecast(settings, model).devices}
    freed = [(device, old[device] - used) for device, used in new.items() if device in old]
    return WayOut(
        key=step.key,
        params=step.params,
        settings=settings,
        freed=tuple(row for row in freed if row[1] > 0),
        needs_consent=step.needs_consent,
    )
