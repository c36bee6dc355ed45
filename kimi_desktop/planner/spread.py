"""Layers and experts over several unequal GPUs. Pure arithmetic on bytes.

Layers stay in order, so every GPU gets a run of them; the runs are given to the engine as counts
(``-ts``). GPUs come fastest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

LEVELS = 14
"""Halvings while an even level is searched: to 1/16,000 of the memory."""

MOVES = 16
"""Layers are moved between GPUs so often at most."""
FEW = 5
"""Between so few GPUs every number of layers is tried, between more of them ``STEPS``."""
STEPS = (1, 4)
ROUNDING = 1 - 1e-9
"""Sums in another order may differ by their last bits."""


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
            moved, then = runs.best_move(counts, seconds)
            if then >= seconds:
                break
            counts, seconds = moved, then
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
        self._counts = [0, *accumulate(map(bool, experts))]
        sizes = set(experts) - {0}
        self._size = sizes.pop() if len(sizes) == 1 else 0
        """Of all experts of a layer, where every layer has as many bytes of them."""
        self._span = len(dense) + 1
        self._seen: dict[int, float] = {}

    def seconds(self, counts: Sequence[int]) -> float:
        """Of one token; endless when the layers do not fit."""
        total = 0.0
        at = 0
        for number, count in enumerate(counts):
            total += self._run(number, at, at + count)
            if total == math.inf:
                break
            at += count
        return total

    def best_move(self, counts: list[int], least: float) -> tuple[list[int], float]:
        """The first of the fastest neighbours below ``least`` seconds; without one, both as given.

        A move changes the runs from the one GPU to the other; the others keep their time. Times
        are added in the order of the GPUs, so that equal spreads are equal to the last bit.
        """
        n_gpu, run = len(counts), self._run
        starts = [0, *accumulate(counts)]
        times = [run(at, starts[at], starts[at + 1]) for at in range(n_gpu)]
        before = [0.0, *accumulate(times)]
        after = [*reversed([0.0, *accumulate(reversed(times))])]
        ends: dict[tuple[int, int], float] = {}
        best: tuple[int, int, int] | None = None
        for giver, count in enumerate(counts):
            steps = range(1, count + 1) if n_gpu <= FEW else STEPS
            for taker in range(n_gpu):
                first, last = (giver, taker) if giver < taker else (taker, giver)
                for step in steps if giver != taker else ():
                    if step > count:
                        break
                    by = -step if giver < taker else step
                    if (end := ends.get((first, by))) is None:
                        end = run(first, starts[first], starts[first + 1] + by)
                        ends[first, by] = end
                    total = before[first] + end
                    if (total + after[last + 1]) * ROUNDING >= least:
                        continue
                    ending = run(last, starts[last] + by, starts[last + 1])
                    if (total + ending + after[last + 1]) * ROUNDING >= least:
                        continue
                    for at in range(first + 1, last):
                        total += run(at, starts[at] + by, starts[at + 1] + by)
                        if total >= least:
                            break
                    total += ending
                    for seconds in times[last + 1 :]:
                        total += seconds
                    if total < least:
                        best, least = (giver, taker, step), total
        if best is None:
            return counts, least
        giver, taker, step = best
        moved = list(counts)
        moved[giver] -= step
        moved[taker] += step
        return moved, least

    def kept(self, counts: Sequence[int]) -> frozenset[int]:
        """The layers whose experts fit."""
        ends = list(accumulate(counts))
        runs = zip(range(len(counts)), [0, *ends], ends, strict=False)
        return frozenset(layer for run in runs for layer in self._kept(*run))

    def _run(self, number: int, start: int, end: int) -> float:
        """Seconds of one GPU with the layers from ``start`` to before ``end``."""
        key = (number * self._span + start) * self._span + end
        try:
            return self._seen[key]
        except KeyError:
            found = self._seen[key] = self._look(number, start, end)
            return found

    def _look(self, number: int, start: int, end: int) -> float:
        room = self._budgets[number] - (self._sums[end] - self._sums[start])
        if room < 0:
            return math.inf
        if self._size:
            count = self._counts[end] - self._counts[start]
            on_gpu = self._size * min(count, int(room // self._size))
            on_host = self._size * count - on_gpu
        else:
            on_gpu = sum(self._experts[layer] for layer in self._kept(number, start, end))
            on_host = sum(self._experts[start:end]) - on_gpu
        reads = self._reads
        on_gpu_read = self._read[end] - self._read[start] + reads.active * on_gpu
        return on_gpu_read * reads.gpus[number] + on_host * reads.active * reads.host

    def _kept(self, number: int, start: int, end: int) -> list[int]:
        """Of one GPU's run the layers whose experts fit, from the back; of one too long none."""
        room = self._budgets[number] - (self._sums[end] - self._sums[start])
        kept: list[int] = []
        if room < 0:
            return kept
        for layer in reversed(range(start, end)):
            size = self._experts[layer]
            if size <= room:
                room -= size
                kept += [layer] if size else []
            elif len(self._budgets) == 1:
                break  # one GPU keeps the last blocks without a gap, which a single number says
        return kept


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
