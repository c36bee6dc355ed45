"""Samples on a time axis: gaps, phases, round clock times, the sample under a cursor. Pure.

Times are ``time.time()`` seconds, ascending. A sample stands for the time since the one before it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from kimi_desktop.base.units import DAY_S, HOUR_S, MINUTE_S
from kimi_desktop.monitor.types import Phase, Sample

GAP_STEPS = 2.5
"""Two samples further apart than so many usual steps have a gap between them."""
LEAST_GAP_S = 3.0
"""A sample that came late by a second is no gap."""

TICK_STEPS_S = (
    *(5, 10, 15, 30),
    *(MINUTE_S * n for n in (1, 2, 5, 10, 15, 30)),
    *(HOUR_S * n for n in (1, 2, 3, 6, 12)),
    *(DAY_S * n for n in (1, 2, 7, 14, 28, 84, 364)),
)


def usual_step_s(times: Sequence[float]) -> float:
    """How far apart samples are as a rule: the lower quartile (gaps do not count), 1 s at least."""
    steps = sorted(after - before for before, after in pairwise(times))
    return max(1.0, steps[len(steps) // 4]) if steps else 1.0


def gap_s(times: Sequence[float]) -> float:
    """Longer than this between two samples is a gap (the computer slept, sampling failed)."""
    return max(LEAST_GAP_S, GAP_STEPS * usual_step_s(times))


def breaks(times: Sequence[float], longest_s: float) -> tuple[int, ...]:
    """The samples that have a gap before them."""
    pairs = enumerate(pairwise(times), start=1)
    return tuple([place for place, (before, after) in pairs if after - before > longest_s])


def runs(values: Sequence[float | None], torn: Sequence[int]) -> list[tuple[int, int]]:
    """Stretches without a gap and without an unknown value, as [first, end) indices.

    ``torn``: the samples that have a gap before them, ascending.
    """
    found: list[tuple[int, int]] = []
    for begin, stop in pairwise((0, *torn, len(values))):
        first = begin
        while first < stop:
            if values[first] is None:
                first += 1
                continue
            end = first
            while end < stop and values[end] is not None:
                end += 1
            found.append((first, end))
            first = end
    return found


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of one phase (never IDLE)."""

    phase: Phase
    start: float
    end: float
    prefill_tokens_per_s: float | None
    """How fast the prompt was read: the engine's own count where the answer's first sample brings
    it, else the mean of what was seen meanwhile."""


def phase_spans(samples: Sequence[Sample], longest_s: float) -> tuple[Span, ...]:
    """What the engine did, oldest first; a gap ends a span."""
    step = usual_step_s([sample.at for sample in samples])
    found: list[Span] = []
    rates: list[float] = []
    begun: tuple[Phase, float] | None = None
    end = 0.0
    for place, sample in enumerate(samples):
        joined = place > 0 and sample.at - samples[place - 1].at <= longest_s
        if begun is not None and (not joined or sample.phase is not begun[0]):
            counted = sample.prefill_tokens_per_s if joined else None
            found.append(Span(*begun, end, _mean(rates) if counted is None else counted))
            begun, rates = None, []
        if begun is None and sample.phase is not Phase.IDLE:
            begun = (sample.phase, samples[place - 1].at if joined else sample.at - step)
        if sample.prefill_tokens_per_s is not None:
            rates.append(sample.prefill_tokens_per_s)
        end = sample.at
    if begun is not None:
        found.append(Span(*begun, end, _mean(rates)))
    return tuple(found)


def _mean(rates: Sequence[float]) -> float | None:
    return sum(rates) / len(rates) if rates else None


def nearest(times: Sequence[float], at: float, reach_s: float) -> int | None:
    """The index of the sample nearest to ``at``, None when none is within ``reach_s``."""
    place = bisect_left(times, at)
    around = [index for index in (place - 1, place) if 0 <= index < len(times)]
    if not around:
        return None
    best = min(around, key=lambda index: abs(times[index] - at))
    return best if abs(times[best] - at) <= reach_s else None


class TickKind(Enum):
    """How much of the time a tick has to say."""

    SECOND = "second"
    MINUTE = "minute"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class TimeTick:
    """One mark on the time axis."""

    at: float
    kind: TickKind


def time_ticks(
    start: float, end: float, most: int, *, utc_offset_s: int = 0
) -> tuple[TimeTick, ...]:
    """Round local times in [start, end], at most ``most`` (>= 2) of them."""
    span = end - start
    step = next((step for step in TICK_STEPS_S if span / step <= most - 1), None)
    if step is None:
        step = TICK_STEPS_S[-1] * math.ceil(span / TICK_STEPS_S[-1] / (most - 1))
    first = math.ceil((start + utc_offset_s) / step) * step
    found = []
    for local in range(first, math.floor(end + utc_offset_s) + 1, step):
        if local % DAY_S == 0:
            kind = TickKind.DAY
        else:
            kind = TickKind.MINUTE if step >= MINUTE_S else TickKind.SECOND
        found.append(TimeTick(local - utc_offset_s, kind))
    return tuple(found)
