"""A plan for a file whose header could not be read: the estimate by size, in words. Pure.

The same sentences and JSON keys as ``report``, as far as an estimate can fill them; no command
line, since where every layer goes is not known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import GIB, format_context, format_file_size, format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.by_size import RESERVE_SHARE, SizedForecast, forecast_by_size
from kimi_desktop.planner.plan_types import Alternative, Remedy, Sibling
from kimi_desktop.planner.profiles import check_context
from kimi_desktop.planner.remedies import MOST_QUANTIZATIONS, RAM_STEPS_GIB
from kimi_desktop.planner.report import (
    alternative_object,
    device_object,
    devices_table,
    helps_sentence,
    speed_object,
    speed_sentences,
)
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.verdict import verdict_sentence

DEFAULT_CONTEXT = 32_768
MOST_RAM_STEPS = 64


@dataclass(frozen=True, slots=True)
class SizedPlan:
    """An estimate, and what would help when it does not fit."""

    sized: SizedForecast
    context: int
    alternatives: tuple[Alternative, ...]


def plan_by_size(
    name: str,
    quantization: str,
    size_bytes: int,
    machine: Machine,
    *,
    context: int | None = None,
    siblings: Sequence[Sibling] = (),
    factors: Factors | None = None,
) -> SizedPlan:
    """The estimate of a file that nobody has opened.

    Args:
        name: of the model.
        quantization: "UD-Q4_K_XL".
        size_bytes: all parts together.
        machine: where it would run.
        context: tokens; None = 32K.
        siblings: other quantizations, offered when this one does not fit.
        factors: as learned on this machine; None = as shipped.

    Raises:
        PlanError: a context that no engine can have.
    """
    check_context(context)
    wanted = context or DEFAULT_CONTEXT

    def sized(label: str, size: int, where: Machine = machine) -> SizedForecast:
        return forecast_by_size(name, label, size, where, context=wanted, factors=factors)

    found = sized(quantization, size_bytes)
    if found.verdict.fits:
        return SizedPlan(found, wanted, ())
    smaller = (
        Alternative(
            Remedy.QUANTIZATION,
            {
                "name": one.name,
                "size": format_file_size(one.size_bytes),
                "size_gib": format_gib(one.size_bytes),
            },
        )
        for one in sorted(siblings, key=lambda one: (-one.size_bytes, one.name))
        if one.size_bytes < size_bytes and sized(one.name, one.size_bytes).verdict.fits
    )
    helps = [one for one, _ in zip(smaller, range(MOST_QUANTIZATIONS), strict=False)]
    for more_gib, grown in _with_more_ram(machine, found):
        if sized(quantization, size_bytes, grown).verdict.fits:
            params: dict[str, Param] = {"size": f"{more_gib:,} GiB"}
            helps.append(Alternative(Remedy.MORE_RAM, params))
            break
    return SizedPlan(found, wanted, tuple(helps))


def sized_lines(plan: SizedPlan, why: str, language: Language) -> list[str]:
    """The estimate for a terminal: verdict, that it is one and why, speeds, a table, what helps."""
    sized = plan.sized
    lines = [
        verdict_sentence(sized.verdict, language),
        message("plan.estimate", language, why=why),
        "",
        *speed_sentences(sized.speed, language),
        "",
        *devices_table(sized.memory.devices, language),
    ]
    notes = [_context(plan, language)]
    if not sized.verdict.fits:
        notes.insert(0, helps_sentence(plan.alternatives, language))
    return [*lines, "", *(f"- {note}" for note in notes)]


def sized_object(plan: SizedPlan, why: str, language: Language) -> dict[str, Any]:
    """One JSON object, with the keys of ``report.plan_object``."""
    sized = plan.sized
    return {
        "verdict": sized.verdict.fit.value,
        "headline": verdict_sentence(sized.verdict, language),
        "fits": sized.verdict.fits,
        "exact": False,
        "flags": [],
        "context": plan.context,
        "devices": [device_object(row) for row in sized.memory.devices],
        "speed": speed_object(sized.speed),
        "sentences": [message("plan.estimate", language, why=why), _context(plan, language)],
        "missing": [],
        "alternatives": [alternative_object(one, language) for one in plan.alternatives],
    }


def _context(plan: SizedPlan, language: Language) -> str:
    return message("plan.estimate.context", language, context=format_context(plan.context))


def _with_more_ram(machine: Machine, sized: SizedForecast) -> Iterator[tuple[int, Machine]]:
    """The machine with memory as it is sold, from about what is missing on."""
    host = sized.memory.devices[-1]
    short = RESERVE_SHARE * host.total_bytes - host.spare_bytes
    needed = max(short, 0) / (1 - RESERVE_SHARE) / GIB
    step = next((step for step in RAM_STEPS_GIB if needed <= 4 * step), RAM_STEPS_GIB[-1])
    first = max(-int(-needed // step), 1)
    memory = machine.memory
    for count in range(first, first + MOST_RAM_STEPS):
        more = count * step
        grown = dataclasses.replace(
            memory,
            total_bytes=memory.usable_total_bytes + more * GIB,
            available_bytes=min(memory.available_bytes, memory.usable_total_bytes) + more * GIB,
            limit_bytes=None,
        )
        yield more, dataclasses.replace(machine, memory=grown)
