"""Round axes: which steps, which unit, which words stand at them. Pure.

An axis runs from 0 to ``intervals`` equal steps. Steps are round in the unit that people read:
1, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten, and for memory 1, 1.25, 1.5 or 1.75 times a
power of two, because memory comes in such sizes (24, 48, 80, 96 GiB).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from kimi_desktop.base.units import GB, GIB, MB, MIB

DECIMAL_STEPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
BINARY_STEPS = (1.0, 1.25, 1.5, 1.75, 2.0)
WHOLE_FROM = 4
"""Quarters of a power of two are whole numbers from here on; below, only halves are round."""


class Quantity(Enum):
    """What an axis measures, in its base unit."""

    TOKENS = "tokens per second"
    MEMORY = "bytes of memory"
    RATE = "bytes per second"
    PERCENT = "percent"
    POWER = "watts"
    CORES = "cores"
    SECONDS = "seconds"


SMALLEST_TOP = {
    Quantity.TOKENS: 10.0,
    Quantity.MEMORY: 64.0 * MIB,
    Quantity.RATE: 100.0 * MB,
    Quantity.PERCENT: 100.0,
    Quantity.POWER: 100.0,
    Quantity.CORES: 1.0,
    Quantity.SECONDS: 1.0,
}
"""An axis never shows less: noise around zero must not fill the graph."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis from 0 to ``top``."""

    quantity: Quantity
    step: float
    """In the base unit."""
    intervals: int
    unit: str
    """What stands behind a number: "GiB", "GB/s", "%", "W"; "" where the title names the unit."""
    unit_size: float

    @property
    def top(self) -> float:
        """The highest tick."""
        return self.step * self.intervals

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Value and text of every tick, from 0 up; the unit stands at the highest."""
        digits = _digits(self.step / self.unit_size)
        found = []
        for number in range(self.intervals + 1):
            value = number * self.step
            text = f"{value / self.unit_size:,.{digits if number else 0}f}"
            if self.quantity is Quantity.PERCENT:
                text += "%"
            elif self.unit and number == self.intervals:
                text += f" {self.unit}"
            found.append((value, text))
        return tuple(found)

    def share(self, value: float) -> float:
        """Where a value stands: 0 at the bottom, 1 at the top."""
        return value / self.top

    def number(self, value: float) -> str:
        """A reading in the axis' unit, as exact as people need it."""
        shown = value / self.unit_size
        if self.quantity in (Quantity.PERCENT, Quantity.POWER) or self.unit == "MiB":
            return f"{shown:,.0f}"
        if self.quantity is Quantity.MEMORY:
            return f"{shown:,.2f}" if shown < 10 else f"{shown:,.1f}"
        return f"{shown:,.1f}" if shown < 100 else f"{shown:,.0f}"


def scale_for(
    quantity: Quantity, largest: float, *, intervals: int = 2, top: float | None = None
) -> Scale:
    """The axis that shows everything up to ``largest``, or up to ``top`` where that is known.

    Args:
        quantity: what is measured.
        largest: the largest reading, in the base unit.
        intervals: steps between 0 and the top, at least 1.
        top: what can be reached at most (all memory, the power limit), None or 0 where that is not
            known; more than that still fits.
    """
    wanted = max(largest, top or SMALLEST_TOP[quantity])
    if quantity is Quantity.PERCENT and wanted <= 100:
        return Scale(quantity, 100 / intervals, intervals, "%", 1)
    unit, unit_size = _unit(quantity, wanted)
    step = nice_step(wanted / unit_size / intervals, binary=quantity is Quantity.MEMORY)
    return Scale(quantity, step * unit_size, intervals, unit, unit_size)


FAR_APART = 8.0
"""A line that nowhere reaches this part of another one lies flat on an even axis."""
MOST_LOG_TICKS = 7


@dataclass(frozen=True, slots=True)
class LogScale:
    """An axis on which equal distances are equal ratios, from ``bottom`` to ``top``."""

    bottom: float
    top: float
    unit: str = ""

    def share(self, value: float) -> float:
        """Where a value stands: 0 at the bottom, 1 at the top."""
        height = math.log(max(value, self.bottom) / self.bottom)
        return height / math.log(self.top / self.bottom)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """1, 2 and 5 times the powers of ten; of many powers these alone."""
        powers = range(round(math.log10(self.bottom)) - 1, math.ceil(math.log10(self.top)) + 1)
        found: list[float] = []
        for factors in ((1, 2, 5), (1, 3), (1,)):
            found = [factor * 10.0**power for power in powers for factor in factors]
            found = [one for one in found if self.bottom * 0.999 <= one <= self.top * 1.001]
            if len(found) <= MOST_LOG_TICKS:
                break
        last = found[-1]
        return tuple(
            (one, f"{one:,g}" + (f" {self.unit}" if self.unit and one == last else ""))
            for one in found
        )


def log_scale_for(quantity: Quantity, lines: Iterable[Sequence[float]]) -> LogScale | None:
    """The axis for lines that are far apart; None where an even one shows all of them.

    Args:
        quantity: what is measured.
        lines: the readings of each line, above 0.
    """
    known = [[value for value in line if value > 0] for line in lines]
    known = [line for line in known if line]
    highest = [max(line) for line in known]
    if not highest or max(highest) < FAR_APART * min(highest):
        return None
    least = min(value for line in known for value in line)
    unit, _ = _unit(quantity, max(highest))
    return LogScale(_round_down(least), _round_up(max(highest)), unit)


def _round_down(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= value * (1 + 1e-9))


def _round_up(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return min(factor * power for factor in (1, 2, 5, 10) if factor * power >= value * (1 - 1e-9))


def nice_step(least: float, *, binary: bool = False) -> float:
    """The smallest round number that is not less than ``least`` (> 0)."""
    base = 2.0 if binary else 10.0
    power = base ** math.floor(math.log(least, base))
    if power > least:  # the logarithm of an exact power may come out a hair too high
        power /= base
    for factor in BINARY_STEPS if binary else DECIMAL_STEPS:
        step = factor * power
        if step >= least * (1 - 1e-12) and (
            not binary or power >= WHOLE_FROM or factor * 2 == int(factor * 2)
        ):
            return step
    return power * base


def _unit(quantity: Quantity, top: float) -> tuple[str, float]:
    if quantity is Quantity.MEMORY:
        return ("GiB", GIB) if top >= GIB else ("MiB", MIB)
    if quantity is Quantity.RATE:
        return ("GB/s", GB) if top >= GB else ("MB/s", MB)
    return {Quantity.PERCENT: "%", Quantity.POWER: "W"}.get(quantity, ""), 1.0


def _digits(number: float) -> int:
    """Decimals needed to write a round number exactly."""
    for digits in range(9):
        if math.isclose(round(number, digits), number, rel_tol=1e-9):
            return digits
    return 9
