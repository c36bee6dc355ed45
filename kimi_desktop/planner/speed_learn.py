"""Finished runs correct the efficiency factors of this machine. Pure.

A run says how long a token really took, not which part of it was slow. So the correction is shared
among the parts in proportion to their time, is bounded, and gets smaller with every run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from kimi_desktop.base.units import GB
from kimi_desktop.planner.speed import Part, decode_parts, load_parts, prompt_parts
from kimi_desktop.planner.speed_factors import FACTOR_NAMES, Factors, shipped_speed_data
from kimi_desktop.planner.speed_types import FinishedRun

MAX_STEP = 0.35
"""Of one run, as a logarithm: a figure may change by 1.42 times at most."""
MIN_GAIN = 0.15
"""Late runs count this much, so that a machine that changed is noticed."""
MAX_DRIFT = 4.0
"""How far a factor may go from the shipped one, times."""
LEAST_BYTES = GB
"""Read per token by a run that is learned from."""
_NOISE_S = 1e-6


def is_telling(run: FinishedRun) -> bool:
    """The run says something about models that are worth a forecast.

    A small model spends its time on fixed costs that a large one hardly notices; corrected by such
    runs, the forecast of a trillion parameters would be off by times.
    """
    work = run.setup.work
    return work.host_bytes + sum(work.gpu_bytes) >= LEAST_BYTES


def learn(factors: Factors, run: FinishedRun, *, shipped: Factors | None = None) -> Factors:
    """The factors after one more run; the same factors when it measured nothing.

    Args:
        factors: as they are.
        run: what was measured.
        shipped: what ``MAX_DRIFT`` is counted from; None = what ships.
    """
    shipped = shipped or shipped_speed_data().factors
    gain = max(1 / (1 + factors.runs), MIN_GAIN)
    moved: dict[str, float] = {}
    for parts, seconds in _observations(factors, run):
        for name, step in _steps(parts, seconds, gain).items():
            moved[name] = moved.get(name, 0.0) + step
    if not moved:
        return factors
    values = {}
    for name, wanted in moved.items():
        step = min(max(wanted, -MAX_STEP), MAX_STEP)
        value = float(getattr(factors, name)) * math.exp(step)
        centre = float(getattr(shipped, name))
        values[name] = min(max(value, centre / MAX_DRIFT), centre * MAX_DRIFT)
    return replace(factors, **values, runs=factors.runs + 1)


def kept_values(factors: Factors) -> dict[str, float]:
    """What to keep between starts; ``factors_from`` reads it back."""
    return {name: float(getattr(factors, name)) for name in (*FACTOR_NAMES, "runs")}


def _observations(factors: Factors, run: FinishedRun) -> Iterable[tuple[tuple[Part, ...], float]]:
    """(parts of a forecast, seconds that it really took) of what was measured."""
    if run.decode_tps and run.decode_tps > 0:
        yield decode_parts(run.setup, factors), 1 / run.decode_tps
    if run.prefill_tps and run.prefill_tps > 0 and run.prompt_tokens > 0:
        parts = prompt_parts(run.setup, factors, run.prompt_tokens)
        yield parts, run.prompt_tokens / run.prefill_tps
    if run.load_s and run.load_s > 0 and run.setup.file.file_bytes > 0:
        yield load_parts(run.setup, factors), run.load_s


def _steps(parts: tuple[Part, ...], seconds: float, gain: float) -> dict[str, float]:
    """How each factor's logarithm moves. Together they change the time by the bounded gap."""
    total = sum(part.seconds for part in parts)
    if total <= _NOISE_S:
        return {}
    gap = math.log(seconds / total) * gain
    gap = min(max(gap, -MAX_STEP), MAX_STEP)
    pulls: dict[str, float] = {}  # d log(time) / d log(factor)
    for part in parts:
        for name, exponent in part.factors:
            pulls[name] = pulls.get(name, 0.0) + exponent * part.seconds / total
    norm = sum(pull * pull for pull in pulls.values())
    return {name: gap * pull / norm for name, pull in pulls.items()} if norm else {}
