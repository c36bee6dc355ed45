"""Layers and experts over several unequal GPUs. Pure arithmetic on bytes.

Layers stay in order, so every GPU gets a run of them; the runs are given to the engine as counts
(``-ts``). GPUs come fastest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

LEVELS = 14
"""Halvings while an even level is searched: to 1/16,000 of the memory."""

MOVES = 8
"""Layers are moved between GPUs so often at most."""


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
            budget * level if number in group else budget for number, budget in enumerate(budgets)
        ]
        found = fill(costs, levelled)
        if found is None:
            low = level
        else:
            high, best = level, found
    return best


def spread_experts(
    dense: Sequence[int], experts: Sequence[int], budgets: Sequence[float]
) -> Spread | None:
    """All layers onto the GPUs with as many experts as fit; None when not even the rest fits.

    Args:
        dense: weights without experts, and cache, per layer; the output layer last.
        experts: bytes of the experts per layer, 0 without.
        budgets: bytes per GPU.
    """
    counts = _runs(dense, experts, budgets)
    counts = None if counts is None else _repaired(counts, dense, budgets)
    if counts is None:
        return None
    runs = _Runs(dense, experts, budgets)
    held = runs.held_bytes(counts)
    for _ in range(MOVES):  # layers are unlike each other: other runs may hold more
        best = max(_shifted(counts), key=runs.held_bytes, default=counts)
        if runs.held_bytes(best) <= held:
            break
        counts, held = best, runs.held_bytes(best)
    return Spread(tuple(counts), runs.kept(counts))


class _Runs:
    """What runs of layers hold of experts; every run is looked at once."""

    def __init__(
        self, dense: Sequence[int], experts: Sequence[int], budgets: Sequence[float]
    ) -> None:
        self._experts, self._budgets = experts, budgets
        self._sums = [0, *accumulate(dense)]
        self._seen: dict[tuple[int, int, int], tuple[int, tuple[int, ...]]] = {}

    def held_bytes(self, counts: Sequence[int]) -> int:
        """Bytes of experts that fit beside the layers; -1 when the layers themselves do not."""
        total = at = 0
        for number, count in enumerate(counts):
            size = self._run(number, at, at + count)[0]
            if size < 0:
                return -1
            total += size
            at += count
        return total

    def kept(self, counts: Sequence[int]) -> frozenset[int]:
        """The layers whose experts fit."""
        ends = list(accumulate(counts))
        runs = zip(range(len(counts)), [0, *ends], ends, strict=False)
        return frozenset(layer for run in runs for layer in self._run(*run)[1])

    def _run(self, number: int, start: int, end: int) -> tuple[int, tuple[int, ...]]:
        """Experts on one GPU with the layers from ``start`` to before ``end``, from the back."""
        key = (number, start, end)
        if key not in self._seen:
            room = self._budgets[number] - (self._sums[end] - self._sums[start])
            size, kept = (0, []) if room >= 0 else (-1, [])
            for layer in reversed(range(start, end)) if room >= 0 else ():
                if not self._experts[layer]:
                    continue
                if self._experts[layer] <= room:
                    room -= self._experts[layer]
                    size += self._experts[layer]
                    kept.append(layer)
                elif len(self._budgets) == 1:
                    break  # one GPU: the first blocks stay in RAM, which a single number says
            self._seen[key] = (size, tuple(kept))
        return self._seen[key]


def _shifted(counts: Sequence[int]) -> Iterator[list[int]]:
    """The runs with one of them a layer shorter and another one longer."""
    for giver, count in enumerate(counts):
        for taker in range(len(counts)):
            if count and giver != taker:
                moved = list(counts)
                moved[giver] -= 1
                moved[taker] += 1
                yield moved


def _runs(
    dense: Sequence[int], experts: Sequence[int], budgets: Sequence[float]
) -> list[int] | None:
    """How long each GPU's run is, by the mean sizes of a layer and of its experts."""
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
    for number in gpus:
        more = min(thin_room(number), need)
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
