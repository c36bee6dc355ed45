"""What is tried when no usual way fits: every way, with as little working memory as there can be.

Pure. Layers on GPUs, experts in RAM, orders of GPUs, cache types and micro-batches are gone through
as far as the user left them open; the fastest way that fits is taken. Of long models and many GPUs
a part is looked at: there a single layer decides less.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations

from kimi_desktop.planner.candidates import Candidate, Way
from kimi_desktop.planner.choose import SMALL_UBATCH, Chooser
from kimi_desktop.planner.fixed import LEAST_UBATCH
from kimi_desktop.planner.run_split import RunSplit
from kimi_desktop.planner.types import Placement
from kimi_desktop.planner.weights import layer_devices

FEW_GPUS = 4
FEW_LAYERS = 16
MOST_STEPS = 8
"""Of a long model so many counts of layers are tried."""


class Squeeze:
    """Looks for anything that fits."""

    def __init__(
        self, chooser: Chooser, share: float, accepts: Callable[[Candidate], bool]
    ) -> None:
        """What is asked.

        Args:
            chooser: the usual search, which found nothing.
            share: of every device, what has to stay free.
            accepts: the exact forecast of a candidate leaves that.
        """
        self._chooser, self._site, self._wishes = chooser, chooser.site, chooser.wishes
        self._share, self._accepts = share, accepts

    def find(self, contexts: Sequence[int]) -> Candidate | None:
        """The longest context that fits, with the fastest way; None when none does."""
        if self._wishes.tensor_split is not None or not self._may_fit(contexts[-1]):
            return None
        if self._of_context(contexts[-1], least=True) is None:
            return None
        found = (self._of_context(context) for context in contexts)
        return next((one for one in found if one is not None), None)

    def _may_fit(self, context: int) -> bool:
        """All memory together holds weights and cache."""
        site = self._site
        base = self._chooser.base(context, self._chooser.cache_types()[-1], LEAST_UBATCH)
        rooms = [self._room(number) for number in site.order]
        held = sum(site.costs(site.cache_bytes(base)))
        return bool(rooms) and held <= sum(rooms) + max(self._host_room(), 0.0)

    def _room(self, number: int) -> float:
        gpu = self._site.machine.gpus[number]
        return gpu.vram_free_bytes - self._share * gpu.vram_total_bytes

    def _host_room(self) -> float:
        memory = self._site.machine.memory
        total = memory.usable_total_bytes
        return min(memory.available_bytes, total) - self._share * total

    def _of_context(self, context: int, *, least: bool = False) -> Candidate | None:
        """The fastest that fits, of each way with the largest micro-batch that does."""
        sizes = [self._wishes.n_ubatch or LEAST_UBATCH]
        while not least and self._wishes.n_ubatch is None and sizes[0] < SMALL_UBATCH:
            sizes.insert(0, 2 * sizes[0])
        for cache_type in self._chooser.cache_types():
            bases = [self._chooser.base(context, cache_type, size) for size in sizes]
            best = self._first_of(bases)
            if best is None or best.placement.n_ubatch < bases[0].n_ubatch:
                without = [dataclasses.replace(base, offload_ops=False) for base in bases]
                best = _faster(best, self._first_of(without))
            if best is not None:
                return best
        return None

    def _first_of(self, bases: Sequence[Placement]) -> Candidate | None:
        """The fastest that fits, with the largest micro-batch that does."""
        return next((found for base in bases if (found := self._of_base(base))), None)

    def _of_base(self, base: Placement) -> Candidate | None:
        best: Candidate | None = None
        for layers in self._layers():
            for found in self._with_layers(base, layers):
                if _faster(best, found) is found and self._accepts(found):
                    best = found
        return best

    def _layers(self) -> Sequence[int]:
        """Counts of layers on GPUs."""
        n_layers = self._site.n_layers
        if self._wishes.n_gpu_layers is not None:
            return [self._chooser.layers] if self._chooser.layers else []
        step = max(n_layers // MOST_STEPS, 1) if n_layers > FEW_LAYERS else 1
        return range(n_layers, 0, -step)

    def _with_layers(self, base: Placement, layers: int) -> Iterator[Candidate]:
        """For every order of GPUs the fewest experts in RAM that leave enough room."""
        placement = dataclasses.replace(base, n_gpu_layers=layers)
        for gpus in self._orders():
            least, most = self._range_of_experts(placement, gpus)
            if most is None or (found := self._placed(placement, gpus, most)) is None:
                continue
            while least < most:  # fewer in RAM are faster
                middle = (least + most) // 2
                if fewer := self._placed(placement, gpus, middle):
                    found, most = fewer, middle
                else:
                    least = middle + 1
            yield found

    def _range_of_experts(
        self, placement: Placement, gpus: Sequence[int]
    ) -> tuple[int, int | None]:
        """Counts of blocks whose experts may be in RAM; None when RAM is too small for any."""
        blocks = self._site.expert_blocks
        fixed = self._wishes.n_cpu_moe
        least, most = (0, blocks[-1] + 1 if blocks else 0) if fixed is None else (fixed, fixed)
        if self._host_short(placement, gpus, least) > 0:
            return least, None
        low = least
        while low < most:
            middle = (low + most + 1) // 2
            if self._host_short(placement, gpus, middle) > 0:
                most = middle - 1
            else:
                low = middle
        return least, low

    def _host_short(self, placement: Placement, gpus: Sequence[int], n_cpu_moe: int) -> float:
        site = self._site
        even = tuple(1.0 for _ in gpus)
        layers = placement.n_gpu_layers
        devices = layer_devices(site.shape.geometry.n_layer, layers, even)
        in_ram = frozenset(block for block in site.expert_blocks if block < n_cpu_moe)
        held = site.host_bytes(placement, even, devices, in_ram, site.cache_bytes(placement))
        return held - self._host_room()

    def _placed(
        self, placement: Placement, gpus: tuple[int, ...], n_cpu_moe: int
    ) -> Candidate | None:
        site = self._site
        placement = dataclasses.replace(placement, n_cpu_moe=n_cpu_moe)
        in_ram = frozenset(block for block in site.expert_blocks if block < n_cpu_moe)
        cache = site.cache_bytes(placement)
        layers = placement.n_gpu_layers
        costs = site.costs(cache, in_ram)[-layers:]
        if sum(costs) > sum(map(self._room, gpus)):
            return None
        budgets = site.budgets(gpus, placement, self._share)
        counts, over = RunSplit(site, placement, costs, budgets, gpus).nearest(0.0)
        if over > 0:
            return None
        way = Way.EXPERTS_IN_RAM if in_ram else Way.ALL_ON_GPUS
        if layers < site.n_layers:
            way = Way.LAYERS_IN_RAM
        if self._wishes.n_gpu_layers is not None or self._wishes.n_cpu_moe is not None:
            way = Way.AS_WISHED
        return site.candidate(way, placement, (gpus, counts), in_ram, cache)

    def _orders(self) -> list[tuple[int, ...]]:
        order = self._site.order
        if len(order) <= FEW_GPUS:
            return [gpus for n in range(1, len(order) + 1) for gpus in permutations(order, n)]
        roomy = tuple(sorted(order, key=lambda number: -self._room(number)))
        return list(dict.fromkeys([order, roomy, order[::-1], roomy[::-1]]))


def _faster(one: Candidate | None, other: Candidate | None) -> Candidate | None:
    """The faster of two, the first when they are as fast."""
    if one is None or other is None:
        return one or other
    return other if other.exchange_seconds < one.exchange_seconds else one
