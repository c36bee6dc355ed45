"""The search around what the user fixed of the layers; what is left open is chosen. Pure.

Layers on GPUs, blocks whose experts stay in RAM and shares of the GPUs are kept as they are. Which
GPUs, how layers are split over them, micro-batch, cache type and experts that are left open follow:
first so that every GPU keeps its reserve, else so that the fullest one keeps the most.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import permutations

from kimi_desktop.planner.candidates import Candidate, Way
from kimi_desktop.planner.choose import SMALL_UBATCH, Chooser, whole_gib
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.run_split import RunSplit
from kimi_desktop.planner.site import Site
from kimi_desktop.planner.spread import kept_experts
from kimi_desktop.planner.types import ALL_LAYERS, Placement
from kimi_desktop.planner.weights import layer_devices

LEAST_UBATCH = 64
FEW_GPUS = 4
"""Of so few every order is tried when nothing else fits."""


class FixedChooser(Chooser):
    """Chooses what the user left open."""

    def __init__(self, site: Site, wishes: Wishes) -> None:
        super().__init__(site, wishes)
        layers = wishes.n_gpu_layers
        if layers is not None and layers != ALL_LAYERS:
            self.layers = layers
        self._has_gpus = bool(self.layers and site.order)
        self._experts_open = wishes.n_cpu_moe is None and bool(site.expert_blocks)

    def best(self, context: int) -> Candidate:
        """The cheapest that keeps the reserve, else the one that lacks the least."""
        best: Candidate | None = None
        price = 1.0
        for cache_type in self.cache_types():
            if (
                best is not None
                and self._is_good(best)
                and self._gain(context, best, cache_type) <= 0
            ):
                continue
            found = self._of_type(context, cache_type)
            if best is None or self._rank(found, price) < self._rank(best):
                best = found
            is_open = self._experts_open and best.experts_in_ram
            if self._is_good(best) and not is_open and not self._gave_up(best):
                break
            price = 1 + self.rules.cache_price
        assert best is not None  # there is one cache type at least
        return best

    def _of_type(self, context: int, cache_type: str) -> Candidate:
        if not self._has_gpus:
            return self._on_host(self.base(context, cache_type, SMALL_UBATCH))
        is_spread = self._experts_open and self.wishes.tensor_split is None
        if is_spread and (placed := self.on_gpus(context, cache_type)):
            return dataclasses.replace(placed, way=Way.AS_WISHED)
        bases = [self.base(context, cache_type, size) for size in self._ubatches()]
        best = self._first_good(bases)
        if best.reads.host_bytes and (best.over_share > 0 or self._gave_up(best)):
            # Each way with the micro-batch that suits it: bringing weights to a GPU wants a large
            # one, and a smaller one is still far faster than none of that.
            without = [dataclasses.replace(base, offload_ops=False) for base in bases]
            best = min(best, self._first_good(without), key=self._rank)
        is_open = self.wishes.n_gpu_layers is None and self.wishes.tensor_split is None
        if is_open and best.over_share > self.site.reserve_share:
            sizes = dict.fromkeys((self._ubatches()[0], SMALL_UBATCH))
            bases = [self.base(context, cache_type, size) for size in sizes]
            best = min((best, *map(self._with_fewer_layers, bases)), key=self._rank)
        return best

    def _first_good(self, bases: Sequence[Placement]) -> Candidate:
        """Of micro-batches from large to small the first that keeps the reserve, else the best."""
        best: Candidate | None = None
        for base in bases:
            found = self._over_sets(base)
            if best is None or self._rank(found) < self._rank(best):
                best = found
            if self._is_good(best) or not self._helps(found):
                break
        assert best is not None  # there is one micro-batch at least
        return best

    def _gave_up(self, found: Candidate) -> bool:
        """Prompts are read more slowly than they would be with more room."""
        placement = found.placement
        slower = placement.n_ubatch < self._ubatches()[0] or not placement.offload_ops
        return slower and found.reads.host_bytes > 0

    def _ubatches(self) -> list[int]:
        """From what reads prompts fastest to what takes the least memory."""
        if self.wishes.n_ubatch is not None:
            return [self.wishes.n_ubatch]
        with_experts = self.wishes.n_cpu_moe if self.site.expert_blocks else 0
        in_ram = self.layers < self.site.n_layers or with_experts or self._experts_open
        sizes = [self.rules.n_ubatch_staged if in_ram else SMALL_UBATCH]
        while sizes[-1] > LEAST_UBATCH:
            sizes.append(sizes[-1] // 2)
        return sizes

    def _helps(self, found: Candidate) -> bool:
        """Less working memory may be all that is needed, with another split that of all GPUs."""
        split = found.placement.tensor_split or (1.0,)
        compute = self.site.compute(found.placement, split, found.placement.n_gpu_layers)
        sizes = [self.site.machine.gpus[number].vram_total_bytes for number in found.gpus]
        lacks = max(found.over_share - self.site.reserve_share, 0.0) * max(sizes, default=0)
        return lacks < sum(compute.values())

    def _is_good(self, found: Candidate) -> bool:
        return not any(found.short_of(self.site.reserve_share))

    def _rank(self, found: Candidate, price: float = 1.0) -> tuple[int, int, bool, float]:
        """Less is better: what VRAM lacks, what RAM lacks, whether the reserve is broken, time."""
        lacks = max(found.over_share - self.site.reserve_share, 0.0)
        largest = max((gpu.vram_total_bytes for gpu in self.site.machine.gpus), default=0)
        return (
            whole_gib(int(lacks * largest)),
            whole_gib(found.host_short_bytes),
            found.over_share > 0,
            found.exchange_seconds * price,
        )

    def _over_sets(self, base: Placement) -> Candidate:
        """The best over all sets of GPUs."""
        first = self._sets()[0][-1]
        best = self._made(first, base)
        tried = {first}
        for sets in self._sets() if best.over_share or len(first) > 1 else ():
            for gpus in sets:
                if gpus in tried or not self._may_hold(gpus, base):
                    continue
                tried.add(gpus)
                found = self._made(gpus, base)
                best = min(best, found, key=self._rank)
                if not found.over_share:
                    break
            if not best.over_share:
                return best
        return best

    def _sets(self) -> list[list[tuple[int, ...]]]:
        """GPUs in the engine's order, first what is fast, last what is tried for want of room."""
        if (shares := self.wishes.tensor_split) is not None:
            return [[tuple(number for number, share in enumerate(shares) if share > 0)]]
        order, gpus = self.site.order, self.site.machine.gpus
        roomy = sorted(order, key=lambda number: -gpus[number].vram_free_bytes)
        lengths = range(1, len(order) + 1)
        fast = [order[:n] for n in lengths]
        sets = [fast, [tuple(roomy[:n]) for n in lengths]]
        if len(order) <= FEW_GPUS:
            sets.append([gpus for n in lengths for gpus in permutations(order, n)])
        else:
            sets.append([each[::-1] for each in sets[1]])
        return sets

    def _may_hold(self, gpus: tuple[int, ...], base: Placement) -> bool:
        """All that stays on GPUs is no more than they have together."""
        cache = self.site.cache_bytes(base)
        moe = self.site.n_layers if self.wishes.n_cpu_moe is None else self.wishes.n_cpu_moe
        in_ram = frozenset(block for block in self.site.expert_blocks if block < moe)
        held = sum(self.site.costs(cache, in_ram)[-self.layers :])
        return held <= sum(self.site.machine.gpus[number].vram_free_bytes for number in gpus)

    def _on_host(self, base: Placement) -> Candidate:
        """No layer on a GPU."""
        site = self.site
        blocks = self.wishes.n_cpu_moe or 0
        placement = dataclasses.replace(base, n_gpu_layers=self.layers, n_cpu_moe=blocks)
        in_ram = frozenset(site.expert_blocks)
        return site.priced(Way.AS_WISHED, placement, (), in_ram, site.cache_bytes(placement))

    def _made(self, gpus: tuple[int, ...], base: Placement) -> Candidate:
        """On these GPUs, with the layers and experts that are fixed."""
        if self.wishes.tensor_split is not None:
            return self._with_split(gpus, base)
        blocks = self.site.expert_blocks
        n_cpu_moe = self.wishes.n_cpu_moe or 0
        if self._experts_open:  # what is there was tried: the layers do not even fit without them
            n_cpu_moe = blocks[-1] + 1
        placement = dataclasses.replace(base, n_cpu_moe=n_cpu_moe)
        in_ram = frozenset(block for block in blocks if block < n_cpu_moe)
        return self._nearest(gpus, placement, in_ram, self.layers)

    def _with_fewer_layers(self, base: Placement) -> Candidate:
        """Layers are open and all of them are too many: as many as keep the reserve."""
        gpus = self._sets()[0][-1]
        blocks = self.site.expert_blocks
        placement = dataclasses.replace(base, n_cpu_moe=self.wishes.n_cpu_moe or 0)
        in_ram = frozenset(block for block in blocks if block < placement.n_cpu_moe)
        found = self._on_host(base)
        low, high = 1, self.layers - 1
        while low <= high:
            middle = (low + high) // 2
            fewer = self._nearest(gpus, placement, in_ram, middle)
            if fewer.over_share:
                high = middle - 1
            else:
                found, low = fewer, middle + 1
        return found

    # splits

    def _nearest(
        self, gpus: tuple[int, ...], base: Placement, in_ram: frozenset[int], layers: int
    ) -> Candidate:
        """The split with which the fullest GPU keeps the most, or all keep the reserve."""
        site = self.site
        placement = dataclasses.replace(base, n_gpu_layers=layers)
        cache = site.cache_bytes(placement)
        costs = site.costs(cache, in_ram)[-layers:]
        budgets = site.budgets(gpus, placement)
        counts, over = None, 0.0
        if min(budgets) > 0:
            counts = site.split(placement, budgets, costs, gpus)
        if counts is None:
            split = RunSplit(site, placement, costs, budgets, gpus)
            counts, over = split.nearest(site.reserve_share)
        return site.candidate(
            Way.AS_WISHED, placement, (gpus, counts), in_ram, cache, over_share=over
        )

    def _with_split(self, gpus: tuple[int, ...], base: Placement) -> Candidate:
        """The user's own shares of the GPUs."""
        site, wishes = self.site, self.wishes
        assert wishes.tensor_split is not None  # callers looked
        shares = tuple(share for share in wishes.tensor_split if share > 0)
        placement = dataclasses.replace(base, n_gpu_layers=self.layers)
        if len(gpus) > 1:
            placement = dataclasses.replace(placement, tensor_split=shares)
        devices = layer_devices(site.shape.geometry.n_layer, self.layers, shares)
        counts = tuple(devices.count(at) for at in range(len(gpus)))
        cache = site.cache_bytes(placement)
        budgets = site.budgets(gpus, placement)
        in_ram = frozenset(site.expert_blocks)
        if not self._experts_open:
            in_ram = frozenset(block for block in in_ram if block < (wishes.n_cpu_moe or 0))
            placement = dataclasses.replace(placement, n_cpu_moe=wishes.n_cpu_moe or 0)
        else:
            first = site.n_layers - self.layers
            dense = site.costs(cache, in_ram)[first:]
            rooms = site.rooms_staged(placement, budgets)
            kept = kept_experts(counts, dense, site.experts[first:], rooms)
            in_ram -= {first + index for index in kept}
            placement = site.with_experts_in_ram(placement, in_ram, len(gpus))
        costs = site.costs(cache, in_ram)[-self.layers :]
        over = RunSplit(site, placement, costs, budgets, gpus).over(counts)
        return site.priced(Way.AS_WISHED, placement, gpus, in_ram, cache, over_share=max(over, 0.0))
