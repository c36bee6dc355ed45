"""The cheapest of a model's placements for one context: which GPUs, cache, micro-batch. Pure.

Candidates come from ``site``. They are compared by the time of one exchange, a prompt and an
answer, so that a GPU which only helps with prompts counts as well.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kimi_desktop.base.units import GIB
from kimi_desktop.planner.candidates import Candidate, Way
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.profiles import RULES, cache_type_fits
from kimi_desktop.planner.run_split import RunSplit
from kimi_desktop.planner.site import Site
from kimi_desktop.planner.types import Placement

SMALL_UBATCH = 512
WHOLE_UBATCHES = (512, 256, 128)
"""With everything on GPUs a smaller one costs little, and less than a layer in RAM."""


class Chooser:
    """Chooses where the user fixed no layers."""

    def __init__(self, site: Site, wishes: Wishes) -> None:
        self.site, self.wishes = site, wishes
        self.shape = site.shape
        self.rules = RULES[wishes.profile]
        self._seen: dict[object, Candidate | None] = {}
        self.layers = site.n_layers
        """On GPUs, where all can be."""

    def best(self, context: int) -> Candidate:
        """The cheapest candidate for a context of so many tokens in all slots together."""
        first, *other_types = self.cache_types()
        best = self._with_cache(context, first)
        for cache_type in other_types:
            if best.way is Way.ALL_ON_GPUS or self._gain(context, best, cache_type) <= 0:
                continue
            found = self._with_cache(context, cache_type)
            if self.is_better(found, best, 1 + self.rules.cache_price):
                best = found
        return best

    def cache_types(self) -> tuple[str, ...]:
        """Types of K and V that may be chosen, the dearest first."""
        if self.wishes.cache_type is not None:
            return (self.wishes.cache_type,)
        return ("f16", "q8_0") if cache_type_fits(self.shape, "q8_0") else ("f16",)

    def base(self, context: int, cache_type: str, n_ubatch: int | None) -> Placement:
        """What candidates of a context have in common; the user's micro-batch goes first."""
        wishes = self.wishes
        ubatch = wishes.n_ubatch or n_ubatch or SMALL_UBATCH
        batch = wishes.n_batch or max(2048, ubatch)
        return Placement(
            context=context,
            cache_type_k=cache_type.upper(),
            cache_type_v=cache_type.upper(),
            n_batch=batch,
            n_ubatch=min(ubatch, batch),
            n_parallel=wishes.n_parallel,
        )

    def is_better(self, one: Candidate, other: Candidate, price: float = 1.0) -> bool:
        """Less short of main memory, by whole GiB, else cheaper, by a factor of ``price``."""
        short, other_short = (whole_gib(found.host_short_bytes) for found in (one, other))
        if short != other_short:
            return short < other_short
        return one.exchange_seconds * price < other.exchange_seconds

    def _gain(self, context: int, best: Candidate, cache_type: str) -> float:
        """Whether another cache type can be worth its price: the most it may save, over that."""
        if best.way not in (Way.EXPERTS_IN_RAM, Way.AS_WISHED) or best.host_short_bytes:
            return 1.0
        if not best.placement.offload_ops:
            return 1.0
        now = sum(self.site.cache_bytes(best.placement))
        then = sum(self.site.cache_bytes(self.base(context, cache_type, None)))
        in_ram = sum(self.site.experts[block] for block in best.experts_in_ram)
        return (now - then) / max(in_ram, 1) - self.rules.cache_price / 2

    def _with_cache(self, context: int, cache_type: str) -> Candidate:
        usual = self.base(context, cache_type, SMALL_UBATCH)
        best = self.on_gpus(context, cache_type)
        if best is not None and best.way is Way.ALL_ON_GPUS:
            return best
        others: list[Candidate | None] = [best, self.site.without_gpu(usual)]
        if best is None:
            staged = self.base(context, cache_type, self.rules.n_ubatch_staged)
            for part in (staged, usual, dataclasses.replace(usual, offload_ops=False)):
                others.append(self._over_gpus(part, staged=False))
        return min(
            (other for other in others if other is not None),
            key=lambda one: (whole_gib(one.host_short_bytes), one.exchange_seconds),
        )

    def on_gpus(self, context: int, cache_type: str) -> Candidate | None:
        """All layers on GPUs, with as many experts as fit."""
        fixed = self.wishes.n_ubatch
        usual = self.base(context, cache_type, SMALL_UBATCH)
        for n_ubatch in WHOLE_UBATCHES if fixed is None else (fixed,):
            best = self._whole(self.base(context, cache_type, n_ubatch))
            if best is not None:
                return best
        staged = self.base(context, cache_type, self.rules.n_ubatch_staged)
        for base in (staged, usual):
            if base is usual and (fixed or (best is not None and not self._ubatch_gain(best))):
                continue
            found = self._over_gpus(base, staged=True)
            if found is not None and (best is None or self.is_better(found, best)):
                best = found
        if best is None:
            best = self._over_gpus(dataclasses.replace(usual, offload_ops=False), staged=True)
        return best

    def _whole(self, base: Placement) -> Candidate | None:
        """Everything on GPUs: of every group the fewest and fastest that hold it."""
        site = self.site
        cache = site.cache_bytes(base)
        costs = site.costs(cache)[-self.layers :] if self.layers else []
        if sum(costs) > sum(site.with_room(site.order, base)[1]):
            return None
        best: Candidate | None = None
        for group in site.groups(base):
            for count in range(1, len(group) + 1):
                if found := site.whole(group[:count], base, self.layers):
                    if best is None or self.is_better(found, best):
                        best = found
                    break
        return best or self._whole_tight(base, costs, cache)

    def _whole_tight(
        self, base: Placement, costs: Sequence[int], cache: Sequence[int]
    ) -> Candidate | None:
        """The same where a split is only found by looking at its own compute buffers."""
        site = self.site
        gpus, _ = site.with_room(site.order, base)
        placement = dataclasses.replace(base, n_gpu_layers=self.layers)
        for order in dict.fromkeys((gpus, gpus[::-1])):
            budgets = site.budgets(order, placement)
            counts, over = RunSplit(site, placement, costs, budgets, order).nearest(0.0)
            if over <= 0:
                on = (order, counts)
                return site.candidate(Way.ALL_ON_GPUS, placement, on, frozenset(), cache)
        return None

    def _ubatch_gain(self, best: Candidate) -> bool:
        """A smaller micro-batch may bring enough experts back to be worth it."""
        in_ram = sum(self.site.experts[block] for block in best.experts_in_ram)
        tokens = best.placement.n_ubatch - SMALL_UBATCH
        saved = 4 * tokens * 20 * self.shape.geometry.n_embd  # about 20 rows of F32 per token
        return best.host_short_bytes > 0 or saved > in_ram * SMALL_UBATCH_PRICE

    def _over_gpus(self, base: Placement, *, staged: bool) -> Candidate | None:
        """Over as many GPUs as make it faster: the slowest, then the smallest are left out."""
        best: Candidate | None = None
        order = self.site.order
        slowest_last = [order[:count] for count in range(len(order), 0, -1)]
        for sets in (slowest_last, self.site.groups(base)[1:]):
            for gpus in sets:
                found = self._built(gpus, base, staged=staged)
                if found is None:
                    continue
                if best is not None and self.is_better(best, found):
                    break
                best = found  # a tie is for fewer of them
        return best

    def _built(self, gpus: tuple[int, ...], base: Placement, *, staged: bool) -> Candidate | None:
        """A candidate, built once: contexts and corrections ask for many again."""
        if staged:
            return self.site.staged(gpus, base, self.layers)
        key = (gpus, base, tuple(sorted(self.site.margins.items())))
        if key not in self._seen:
            self._seen[key] = self.site.partial(gpus, base)
        return self._seen[key]


SMALL_UBATCH_PRICE = 0.03
"""A smaller micro-batch is tried where it may bring back this share of the experts in RAM."""


def whole_gib(size_bytes: int) -> int:
    """Rounded up: a shortage of a few MiB is no reason to choose."""
    return -(-size_bytes // GIB)
