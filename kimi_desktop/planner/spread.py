"""Layers and experts over several unequal GPUs. Pure arithmetic on bytes.

Layers stay in order, so every GPU gets a run of them; the runs are given to the engine as counts
(``-ts``). GPUs come fastest first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

LEVELS = 14
"""Halvings while an even level is searched: to 1/16,000 of the memory."""

MOVES = 16
"""Layers are moved between GPUs so often at most."""
FEW = 5
"""Between so few GPUs every number of layers is tried, between more of them ``STEPS``."""
STEPS = (1, 4)


@dataclass(frozen=True, slots=True)
class Spread:
    """Runs of layers, and the experts that stay with them."""

    counts: tuple[int, ...]
    """Layers per GPU, the output layer among them."""
    experts_on_gpu: frozenset[int]
    """Blocks whose experts are on their GPU."""


def fill(costs: Sequence[int], budgets: Sequence[float]) -> tuple[int, ...] | None:
    """As many layers as fit onto each GPU in turn; None when some are left over."""
    counts: list[int] = []
    at = 0
    for budget in budgets:
        room, start = budget, at
        while at < len(costs) and costs[at] <= room:
            room -= costs[at]
            at += 1
        counts.append(at - start)
    return tuple(counts) if at == len(costs) else None


def spread_whole(
    costs: Sequence[int], budgets: Sequence[float], speeds: Sequence[float]
) -> tuple[int, ...] | None:
    """All layers onto the GPUs; None when they do not fit.

    Faster GPUs are filled first; those that are equally fast share evenly, by their room.
    """
    full = fill(costs, budgets)
    if full is None:
        return None
    last = max(number for number, count in enumerate(full) if count)
    group = [number for number, speed in enumerate(speeds) if speed == speeds[last]]
    low, high, best = 0.0, 1.0, full
    for _ in range(LEVELS):
        level = (low + high) / 2
        levelled = [
            budget * level if number in group else budget if number < last else 0.0
            for number, budget in enumerate(budgets)
        ]
        found = fill(costs, levelled)
        if found is None:
            low = level
        else:
            high, best = level, found
    return best


@dataclass(frozen=True, slots=True)
class Reads:
    """What a token reads of every layer, and how dear a byte is where."""

    dense: Sequence[float]
    """Bytes per layer without experts."""
    active: float
    """Share of the experts that a token reads."""
    gpus: Sequence[float]
    """Seconds per byte, per GPU."""
    host: float
    """Seconds per byte of main memory."""


def spread_experts(
    dense: Sequence[int], experts: Sequence[int], budgets: Sequence[float], reads: Reads
) -> Spread | None:
    """All layers onto the GPUs with as many experts as fit; None when not even the rest fits.

    A first guess is improved layer by layer; over few GPUs two of them, and the faster result is
    taken.

    Args:
        dense: weights without experts, and cache, per layer; the output layer last.
        experts: bytes of the experts per layer, 0 without.
        budgets: bytes per GPU.
        reads: what makes one spread faster than another.
    """
    runs = _Runs(dense, experts, budgets, reads)
    best: Spread | None = None
    least = math.inf
    for fastest_first in (True, False) if len(budgets) <= FEW else (True,):
        counts = _runs(dense, experts, budgets, fastest_first=fastest_first)
        counts = None if counts is None else _repaired(counts, dense, budgets)
        if counts is None:
            continue
        seconds = runs.seconds(counts)
        for _ in range(MOVES):
            moved = min(_shifted(counts), key=runs.seconds, default=counts)
            if runs.seconds(moved) >= seconds:
                break
            counts, seconds = moved, runs.seconds(moved)
        if seconds < least:
            best, least = Spread(tuple(counts), runs.kept(counts)), seconds
    return best


def kept_experts(
    counts: Sequence[int], dense: Sequence[int], experts: Sequence[int], budgets: Sequence[float]
) -> frozenset[int]:
    """The layers whose experts fit beside runs that are given; of a run too long none."""
    reads = Reads([0.0] * len(dense), 1.0, [0.0] * len(counts), 1.0)
    return _Runs(dense, experts, budgets, reads).kept(counts)


class _Runs:
    """What runs of layers hold of experts, and what that costs; every run is looked at once."""

    def __init__(
        self,
        dense: Sequence[int],
        experts: Sequence[int],
        budgets: Sequence[float],
        reads: Reads,
    ) -> None:
        self._experts, self._budgets, self._reads = experts, budgets, reads
        self._sums = [0, *accumulate(dense)]
        self._read = [0.0, *accumulate(reads.dense)]
        self._seen: dict[tuple[int, int, int], tuple[float, tuple[int, ...]]] = {}

    def seconds(self, counts: Sequence[int]) -> float:
        """Of one token; endless when the layers do not fit."""
        total = 0.0
        at = 0
        for number, count in enumerate(counts):
            total += self._run(number, at, at + count)[0]
            if total == math.inf:
                break
            at += count
        return total

    def kept(self, counts: Sequence[int]) -> frozenset[int]:
        """The layers whose experts fit."""
        ends = list(accumulate(counts))
        runs = zip(range(len(counts)), [0, *ends], ends, strict=False)
        return frozenset(layer for run in runs for layer in self._run(*run)[1])

    def _run(self, number: int, start: int, end: int) -> tuple[float, tuple[int, ...]]:
        """One GPU with the layers from ``start`` to before ``end``; experts from the back."""
        key = (number, start, end)
        if key not in self._seen:
            self._seen[key] = self._look(number, start, end)
        return self._seen[key]

    def _look(self, number: int, start: int, end: int) -> tuple[float, tuple[int, ...]]:
        room = self._budgets[number] - (self._sums[end] - self._sums[start])
        if room < 0:
            return math.inf, ()
        kept: list[int] = []
        on_gpu = on_host = 0
        for layer in reversed(range(start, end)):
            size = self._experts[layer]
            # One GPU keeps the last blocks without a gap, which a single number says.
            if size <= room and not (on_host and len(self._budgets) == 1):
                room -= size
                on_gpu += size
                kept += [layer] if size else []
            else:
                on_host += size
        reads = self._reads
        on_gpu_read = self._read[end] - self._read[start] + reads.active * on_gpu
        seconds = on_gpu_read * reads.gpus[number] + on_host * reads.active * reads.host
        return seconds, tuple(kept)


def _shifted(counts: Sequence[int]) -> Iterator[list[int]]:
    """The runs with one of them some layers shorter and another one longer."""
    for giver, count in enumerate(counts):
        steps = range(1, count + 1) if len(counts) <= FEW else STEPS
        for taker in range(len(counts)):
            for step in steps if giver != taker else ():
                if step > count:
                    break
                moved = list(counts)
                moved[giver] -= step
                moved[taker] += step
                yield moved


def _runs(
    dense: Sequence[int],
    experts: Sequence[int],
    budgets: Sequence[float],
    *,
    fastest_first: bool,
) -> list[int] | None:
    """How long each GPU's run is, by the mean sizes of a layer and of its experts.

    Layers whose experts stay in main memory go where room is left, to the fastest GPU first or to
    the slowest.
    """
    gpus = range(len(budgets))
    n = len(dense) - 1
    with_experts = [size for size in experts if size]
    thin = max(sum(dense[:-1]) / max(n, 1), 1.0)
    thick = thin + sum(with_experts) / max(len(with_experts), 1)
    rooms = [budget - (dense[-1] if number == gpus[-1] else 0) for number, budget in enumerate(
        budgets)]  # fmt: skip
    if any(room < 0 for room in rooms):
        return None
    held: list[int] = []
    for room in rooms:
        held.append(min(int(room // thick), len(with_experts) - sum(held)))

    def thin_room(number: int) -> int:
        return int((rooms[number] - held[number] * thick) // thin)

    while sum(thin_room(number) for number in gpus) < n - sum(held):
        slowest = max((number for number in gpus if held[number]), default=None)
        if slowest is None:
            break  # by the mean it is too much; the exact sums decide
        held[slowest] -= 1
    need = n - sum(held)
    counts = list(held)
    for number in gpus if fastest_first else reversed(gpus):
        more = min(max(thin_room(number), 0), need)
        counts[number] += more
        need -= more
    counts[-1] += need + 1
    return counts


def _repaired(
    counts: list[int], dense: Sequence[int], budgets: Sequence[float]
) -> list[int] | None:
    """The same runs, moved by single layers until no GPU is over its budget."""
    for _ in range(2 * len(dense)):
        left = _left(counts, dense, budgets)
        over = min(range(len(left)), key=lambda number: left[number])
        if left[over] >= 0:
            return counts
        roomiest = max(range(len(left)), key=lambda number: left[number])
        if left[roomiest] <= 0 or counts[over] == 0:
            return None
        counts[over] -= 1
        counts[roomiest] += 1
    return None


def _left(counts: Sequence[int], dense: Sequence[int], budgets: Sequence[float]) -> list[float]:
    left: list[float] = []
    at = 0
    for count, budget in zip(counts, budgets, strict=True):
        left.append(budget - sum(dense[at : at + count]))
        at += count
    return left
