"""A run of layers for each of several GPUs that are almost, or really, too small. Pure.

The usual split (``spread``) takes compute buffers as they come. Here every split is priced with the
buffers that it would have, and the fullest GPU decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import comb

from kimi_desktop.planner.site import Site
from kimi_desktop.planner.spread import fill
from kimi_desktop.planner.types import Placement

FEW_SPLITS = 300
"""So many are all priced; of more the nearest is improved layer by layer."""
LEVELS = 20
ROUNDS = 4
MOVES = 24
NEAR = 0.1
"""A share of a GPU that another split may still save."""


class RunSplit:
    """Runs of layers over GPUs that are too small for them with their reserve."""

    def __init__(
        self,
        site: Site,
        placement: Placement,
        costs: Sequence[int],
        budgets: Sequence[float],
        gpus: Sequence[int],
    ) -> None:
        self._site, self._placement, self._costs = site, placement, costs
        self._budgets = budgets
        self._sums = [0, *accumulate(costs)]
        self._seen: dict[tuple[int, ...], dict[int, float]] = {}
        self._totals = [site.machine.gpus[number].vram_total_bytes for number in gpus]

    def over(self, counts: Sequence[int]) -> float:
        """Of the fullest GPU, its share over the budget."""
        return max(self._shares(counts).values())

    def _shares(self, counts: Sequence[int]) -> dict[int, float]:
        """Every GPU's share over its budget; what holds no layer is not used."""
        key = tuple(counts)
        if key not in self._seen:
            used = [at for at, count in enumerate(counts) if count]
            compute = self._compute(tuple(float(counts[at]) for at in used))
            ends = [0, *accumulate(counts)]
            self._seen[key] = {
                at: (
                    self._sums[ends[at + 1]]
                    - self._sums[ends[at]]
                    + compute.get(place, 0)
                    - self._budgets[at]
                )
                / self._totals[at]
                for place, at in enumerate(used)
            }
        return self._seen[key]

    def nearest(self, reserve: float) -> tuple[tuple[int, ...], float]:
        """Counts of layers, and how far the fullest GPU is over its budget as a share.

        Args:
            reserve: what may be given up, as a share; to stay within it is worth a longer look.
        """
        n_layer, n_gpu = len(self._costs), len(self._budgets)
        counts, over = self._guess()
        is_near = over < NEAR or reserve < over < reserve + NEAR
        if over <= 0 or not is_near or not self._may_fit(counts, reserve):
            return counts, max(over, 0.0)
        if comb(n_layer + n_gpu - 1, n_gpu - 1) <= FEW_SPLITS:
            found = min(_all_counts(n_layer, n_gpu), key=self.over)
            return found, max(self.over(found), 0.0)
        for _ in range(MOVES):
            moved = min(self._moved(counts), key=self.over, default=counts)
            if self.over(moved) >= over:
                break
            counts, over = moved, self.over(moved)
        return counts, max(over, 0.0)

    def _may_fit(self, counts: Sequence[int], reserve: float) -> bool:
        """All GPUs together have room, but for a compute buffer that another split may save."""
        shares = self._shares(counts)
        used = [at for at, count in enumerate(counts) if count]
        buffers = self._compute(tuple(float(counts[at]) for at in used))
        lacking = sum((shares[at] - reserve) * self._totals[at] for at in used)
        unused = sum(self._budgets[at] for at, count in enumerate(counts) if not count)
        return lacking <= unused + max(buffers.values())

    def _moved(self, counts: Sequence[int]) -> Iterator[tuple[int, ...]]:
        """A layer, or two, of the fullest GPU to another; those between pass them on."""
        shares = self._shares(counts)
        giver = max(shares, key=lambda at: shares[at])
        for taker in range(len(counts)):
            for step in (1, 2):
                if giver != taker and counts[giver] >= step:
                    moved = list(counts)
                    moved[giver] -= step
                    moved[taker] += step
                    yield tuple(moved)

    def _guess(self) -> tuple[tuple[int, ...], float]:
        """With the compute buffers of the split before, a few times."""
        split: tuple[float, ...] = tuple(max(budget, 1.0) for budget in self._budgets)
        best: tuple[tuple[int, ...], float] | None = None
        for _ in range(ROUNDS):
            compute = self._compute(split)
            rooms = [budget - compute.get(at, 0) for at, budget in enumerate(self._budgets)]
            counts = self._levelled(rooms)
            over = self.over(counts)
            if best is None or over < best[1]:
                best = counts, over
            if counts == split or 0 in counts:
                break
            split = tuple(map(float, counts))
        assert best is not None  # the loop ran
        return best

    def _levelled(self, rooms: Sequence[float]) -> tuple[int, ...]:
        """Runs with the least share over, whatever the compute buffers then are."""
        high = 1 / 64
        while (best := self._filled(rooms, high)) is None:
            high *= 2
        low = 0.0
        for _ in range(LEVELS):
            middle = (low + high) / 2
            found = self._filled(rooms, middle)
            if found is None:
                low = middle
            else:
                high, best = middle, found
        return best

    def _filled(self, rooms: Sequence[float], over: float) -> tuple[int, ...] | None:
        sizes = zip(rooms, self._totals, strict=True)
        return fill(self._costs, [room + over * total for room, total in sizes])

    def _compute(self, split: tuple[float, ...]) -> dict[int, int]:
        return dict(self._site.compute(self._placement, split, self._placement.n_gpu_layers))


def _all_counts(layers: int, n_gpu: int) -> Iterator[tuple[int, ...]]:
    """Every way to give so many layers to so many GPUs."""
    if n_gpu == 1:
        yield (layers,)
        return
    for first in range(layers + 1):
        for rest in _all_counts(layers - first, n_gpu - 1):
            yield (first, *rest)
