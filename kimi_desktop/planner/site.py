"""Builds the ways to place one model on one machine, each priced by its bytes. Pure.

A candidate is built from sums per layer, which are exact, and compute buffers of a placement like
it; ``placement`` prices the best one exactly and gives margins back where that was not enough.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kimi_desktop.base.units import GIB
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.cache import cache_by_device
from kimi_desktop.planner.candidates import Candidate, Way, experts_rule
from kimi_desktop.planner.compute import compute_by_device
from kimi_desktop.planner.graph_width import USUAL_UBATCH, widths_of
from kimi_desktop.planner.hardware import gpu_speed, shares_memory
from kimi_desktop.planner.overhead import (
    gpu_overhead_bytes,
    host_overhead_bytes,
    worker_overhead_bytes,
)
from kimi_desktop.planner.plan_types import SpeedRule, TokenReads
from kimi_desktop.planner.reads import TYPICAL_DEPTH, token_reads
from kimi_desktop.planner.speed_setup import ForecastRule
from kimi_desktop.planner.spread import Reads, spread_experts, spread_whole
from kimi_desktop.planner.types import HOST, ModelShape, Placement
from kimi_desktop.planner.weights import LayerBytes, embedding_bytes, layer_bytes, layer_devices

WIDER = 6
"""Rows of F32 per token that are kept free on each of several GPUs with micro-batches above the
usual one, for a geometry that was not measured."""
ROUNDS = 4
"""Compute buffers depend on the split and the split on them: this often at most."""


@dataclass
class Site:
    """One model and one machine, and what stays the same while candidates are built."""

    shape: ModelShape
    machine: Machine
    reserve_share: float
    rule: SpeedRule
    prompts: ForecastRule
    uses_gpus: bool
    margins: dict[tuple[int, bool], int] = field(default_factory=dict)
    """Bytes per GPU that an exact forecast found to be missing, where weights are brought to GPUs
    and where they are not: one is no reason to leave more free with the other."""
    _staged: dict[object, Candidate | None] = field(default_factory=dict)
    _caches: dict[Placement, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The GPUs that have memory of their own, fastest first, then the roomiest.

        Devices of workers come after the machine's own, however fast they are: what is between
        two machines is slower than any memory.
        """
        gpus, rates = self.machine.gpus, self.gpu_rates

        def place(number: int) -> tuple[bool, float, int, int]:
            gpu = gpus[number]
            return gpu.link is not None, -rates[number], -gpu.vram_free_bytes, number

        return tuple(
            sorted(
                (
                    number
                    for number, gpu in enumerate(gpus)
                    if gpu.vram_total_bytes > 0 and (self.uses_gpus or gpu.link is not None)
                ),
                key=place,
            )
        )

    @cached_property
    def is_unified(self) -> bool:
        """One memory for processors and graphics."""
        return self.uses_gpus and shares_memory(self.machine)

    @cached_property
    def gpu_rates(self) -> tuple[float, ...]:
        """Bandwidth of every GPU's memory, in bytes per second."""
        return tuple(gpu_speed(gpu).memory_bytes_per_s for gpu in self.machine.gpus)

    @cached_property
    def layers(self) -> tuple[LayerBytes, ...]:
        """Bytes of weights per layer, the output last."""
        return layer_bytes(self.shape)

    @cached_property
    def experts(self) -> tuple[int, ...]:
        """Bytes of the experts per layer, on a GPU."""
        return tuple(layer.experts_gpu for layer in self.layers)

    @cached_property
    def expert_blocks(self) -> tuple[int, ...]:
        """The blocks that have experts."""
        return tuple(index for index, size in enumerate(self.experts) if size)

    @cached_property
    def embedding_bytes(self) -> int:
        """What never leaves main memory."""
        return embedding_bytes(self.shape)

    @cached_property
    def seconds_per_byte(self) -> tuple[tuple[float, ...], float]:
        """What one more byte costs by the rule, per GPU and in main memory.

        Between one GiB and two: the first byte on a device may cost a fixed time.
        """
        n_gpu = len(self.machine.gpus)

        def price(device: int) -> float:
            once = [float(GIB) if at == device else 0.0 for at in range(n_gpu + 1)]
            twice = [2 * size for size in once]
            return (self.rule(_reads_of(twice)) - self.rule(_reads_of(once))) / GIB

        return tuple(price(number) for number in range(n_gpu)), price(n_gpu)

    @property
    def n_layers(self) -> int:
        """With the output."""
        return len(self.layers)

    def cache_bytes(self, base: Placement) -> tuple[int, ...]:
        """K, V and state per layer on a GPU, 0 for the output."""
        if base not in self._caches:
            count = self.shape.geometry.n_layer
            found = cache_by_device(self.shape.geometry, base, range(count))
            self._caches[base] = tuple(found.get(index, 0) for index in range(count + 1))
        return self._caches[base]

    def costs(self, cache: Sequence[int], in_ram: frozenset[int] = frozenset()) -> list[int]:
        """Weights and cache per layer on a GPU, without the experts of the blocks in RAM."""
        return [
            layer.dense_gpu + size + (0 if index in in_ram else layer.experts_gpu)
            for index, (layer, size) in enumerate(zip(self.layers, cache, strict=True))
        ]

    def budgets(
        self, gpus: Sequence[int], base: Placement, reserve_share: float | None = None
    ) -> list[float]:
        """What weights, cache and compute may take, per GPU."""
        reserve = self.reserve_share if reserve_share is None else reserve_share
        overhead = gpu_overhead_bytes(self.shape, base)
        far = worker_overhead_bytes(self.shape, base)
        wider = 0
        if len(gpus) > 1 and not widths_of(self.shape.geometry).measured:
            tokens = max(base.n_ubatch - USUAL_UBATCH, 0)
            wider = 4 * tokens * WIDER * self.shape.geometry.n_embd
        return [
            self.machine.gpus[number].vram_free_bytes
            - reserve * self.machine.gpus[number].vram_total_bytes
            - (overhead if self.machine.gpus[number].link is None else far)
            - wider
            - self.margins.get((number, base.offload_ops), 0)
            for number in gpus
        ]

    def _without_staging(self, gpus: Sequence[int], base: Placement) -> Placement:
        """Weights of main memory are never brought to a worker: it computes on what it holds."""
        if not gpus or any(self.machine.gpus[number].link is None for number in gpus):
            return base
        return dataclasses.replace(base, offload_ops=False)

    def groups(self, base: Placement) -> list[tuple[int, ...]]:
        """The GPUs that have at least some room, once per amount: every further GPU costs a hop."""
        rooms = dict(zip(self.order, self.budgets(self.order, base), strict=True))
        found = {tuple(g for g in self.order if rooms[g] >= least) for least in rooms.values()}
        return sorted(found, key=lambda gpus: (-len(gpus), gpus))

    # ways

    def whole(
        self, gpus: tuple[int, ...], base: Placement, layers: int | None = None
    ) -> Candidate | None:
        """Everything on these GPUs, or of the last ``layers`` everything."""
        layers = self.n_layers if layers is None else layers
        gpus, budgets = self.with_room(gpus, base)
        cache = self.cache_bytes(base)
        costs = self.costs(cache)[-layers:]
        if not gpus or sum(costs) > sum(budgets):
            return None
        placement = dataclasses.replace(base, n_gpu_layers=layers)
        counts = self.split(placement, budgets, costs, gpus)
        if counts is None:
            return None
        return self.candidate(Way.ALL_ON_GPUS, placement, (gpus, counts), frozenset(), cache)

    def staged(
        self, gpus: tuple[int, ...], base: Placement, layers: int | None = None
    ) -> Candidate | None:
        """All layers on these GPUs (or the last ``layers``), as many experts with them as fit.

        A GPU that gets nothing only stands in the way; without it the others are tried again. Many
        sets of GPUs come to the same few in the end, so results are kept.
        """
        layers = self.n_layers if layers is None else layers
        key = (gpus, base, layers, tuple(sorted(self.margins.items())))
        if key not in self._staged:
            self._staged[key] = self._staged_on(gpus, base, layers)
        return self._staged[key]

    def _staged_on(self, gpus: tuple[int, ...], base: Placement, layers: int) -> Candidate | None:
        first = self.n_layers - layers
        base = self._without_staging(gpus, base)
        gpus, budgets = self.with_room(gpus if self.expert_blocks else (), base)
        if not gpus:
            return None
        cache = self.cache_bytes(base)
        placement = dataclasses.replace(base, n_gpu_layers=layers)
        dense = self.costs(cache, frozenset(self.expert_blocks))[first:]
        rooms = self.rooms_staged(placement, budgets)
        # It has to hold a layer at least beside its working memory.
        useful = tuple(g for g, room in zip(gpus, rooms, strict=True) if room >= min(dense))
        if useful != gpus:
            return self.staged(useful, base, layers)
        spread = spread_experts(
            dense, self.experts[first:], rooms, self._reads(gpus, base, cache, first)
        )
        if spread is None:
            return None
        useful = tuple(g for g, n in zip(gpus, spread.counts, strict=True) if n)
        if useful != gpus:
            return self.staged(useful, base, layers)
        kept = frozenset(first + index for index in spread.experts_on_gpu)
        in_ram = frozenset(self.expert_blocks) - kept
        in_ram = in_ram or frozenset(self.expert_blocks[:1])  # else it would be the way ``whole``
        placement = self.with_experts_in_ram(placement, in_ram, len(gpus))
        on = (gpus, spread.counts)
        return self.candidate(Way.EXPERTS_IN_RAM, placement, on, in_ram, cache)

    def with_experts_in_ram(
        self, placement: Placement, in_ram: frozenset[int], n_gpu: int
    ) -> Placement:
        """One GPU keeps the last blocks, which a count says; several want a rule of names."""
        if n_gpu == 1:
            return dataclasses.replace(placement, n_cpu_moe=max(in_ram) + 1)
        return dataclasses.replace(placement, overrides=(experts_rule(in_ram),))

    def partial(self, gpus: tuple[int, ...], base: Placement) -> Candidate | None:
        """As many layers as fit onto these GPUs, from the back, experts in RAM."""
        gpus, budgets = self.with_room(gpus, base)
        if not gpus:
            return None
        base = self._without_staging(gpus, base)
        cache = self.cache_bytes(base)
        in_ram = frozenset(self.expert_blocks)
        n_cpu_moe = max(in_ram) + 1 if in_ram else 0
        costs = self.costs(cache, in_ram)

        def placed(layers: int) -> tuple[Placement, tuple[int, ...]] | None:
            placement = dataclasses.replace(base, n_gpu_layers=layers, n_cpu_moe=n_cpu_moe)
            counts = self.split(placement, budgets, costs[-layers:], gpus)
            return None if counts is None else (placement, counts)

        low, high = 0, self.n_layers - 1
        while low < high:
            middle = (low + high + 1) // 2
            if placed(middle) is None:
                high = middle - 1
            else:
                low = middle
        found = placed(low) if low else None
        if found is None:
            return None
        on = (gpus, found[1])
        return self.candidate(Way.LAYERS_IN_RAM, found[0], on, in_ram, cache)

    def without_gpu(self, base: Placement) -> Candidate:
        """Everything in main memory."""
        in_ram = frozenset(self.expert_blocks)
        placement = dataclasses.replace(base, n_gpu_layers=0)
        if self.is_unified:  # the GPU shares the memory: all layers are its own
            placement = dataclasses.replace(base, n_gpu_layers=self.n_layers, repack=False)
        return self.candidate(Way.NO_GPU, placement, ((), ()), in_ram, self.cache_bytes(base))

    # parts

    def with_room(
        self, gpus: Sequence[int], base: Placement
    ) -> tuple[tuple[int, ...], list[float]]:
        """Those that have anything left for the model, and their budgets."""
        budgets = self.budgets(gpus, base)
        found = [(gpu, room) for gpu, room in zip(gpus, budgets, strict=True) if room > 0]
        return tuple(gpu for gpu, _ in found), [room for _, room in found]

    def rooms_staged(self, placement: Placement, budgets: Sequence[float]) -> list[float]:
        """What is left for layers and experts, per GPU, with experts on both sides.

        Graphs of GPUs with and without experts differ; room is kept for the larger.
        """
        rooms = list(budgets)
        for blocks in (self.n_layers, self.expert_blocks[0] + 1):
            with_blocks = dataclasses.replace(placement, n_cpu_moe=blocks)
            compute = self.compute(with_blocks, tuple(budgets), placement.n_gpu_layers)
            for at, budget in enumerate(budgets):
                rooms[at] = min(rooms[at], budget - compute.get(at, 0))
        return rooms

    def _reads(
        self, gpus: Sequence[int], base: Placement, cache: Sequence[int], first: int
    ) -> Reads:
        geometry = self.shape.geometry
        depth = min(1.0, TYPICAL_DEPTH / base.context)
        on_gpus, on_host = self.seconds_per_byte
        return Reads(
            [
                layer.dense_gpu + size * depth
                for layer, size in zip(self.layers[first:], cache[first:], strict=True)
            ],
            geometry.n_expert_used / max(geometry.n_expert, 1),
            [on_gpus[number] for number in gpus],
            on_host,
        )

    def split(
        self,
        placement: Placement,
        budgets: Sequence[float],
        costs: Sequence[int],
        gpus: Sequence[int],
    ) -> tuple[int, ...] | None:
        """Layers per GPU, with the compute buffers of that very split; None = too much."""
        speeds = [self.gpu_rates[number] for number in gpus]
        split: tuple[float, ...] = tuple(budgets)
        counts: tuple[int, ...] | None = None
        for _ in range(ROUNDS):
            compute = self.compute(placement, split, placement.n_gpu_layers)
            rooms = [budget - compute.get(at, 0) for at, budget in enumerate(budgets)]
            counts = spread_whole(costs, rooms, speeds)
            if counts is None or counts == split or len(gpus) == 1:
                break
            split = counts
        return counts

    def compute(
        self, placement: Placement, split: tuple[float, ...], layers: int
    ) -> Mapping[int, int]:
        """Compute buffers, by the engine's number of a device."""
        devices = layer_devices(self.shape.geometry.n_layer, layers, split)
        return compute_by_device(self.shape, placement, split, devices).bytes

    def candidate(
        self,
        way: Way,
        placement: Placement,
        on: tuple[tuple[int, ...], tuple[int, ...]],
        in_ram: frozenset[int],
        cache: Sequence[int],
        *,
        over_share: float = 0.0,
    ) -> Candidate:
        """Priced; ``on`` are the GPUs and their counts of layers."""
        used = [(gpu, count) for gpu, count in zip(*on, strict=True) if count]
        gpus, counts = tuple(gpu for gpu, _ in used), [count for _, count in used]
        placement = self._without_staging(gpus, placement)
        if len(gpus) > 1:
            placement = dataclasses.replace(placement, tensor_split=tuple(map(float, counts)))
        return self.priced(way, placement, gpus, in_ram, cache, over_share=over_share)

    def priced(
        self,
        way: Way,
        placement: Placement,
        gpus: tuple[int, ...],
        in_ram: frozenset[int],
        cache: Sequence[int],
        *,
        over_share: float = 0.0,
    ) -> Candidate:
        """A placement on GPUs that all hold some of it, with what it costs."""
        split = placement.tensor_split or ((1.0,) if gpus else ())
        engine = layer_devices(self.shape.geometry.n_layer, placement.n_gpu_layers, split)
        devices = [HOST if device == HOST else gpus[device] for device in engine]
        reads = token_reads(
            self.shape,
            devices,
            in_ram,
            cache,
            context=placement.context,
            n_gpu=len(self.machine.gpus),
        )
        prompt = self.prompts.prompt(placement, gpus, devices, in_ram, reads)
        held = self.host_bytes(placement, split, engine, in_ram, cache)
        short = max(int(held - self._host_budget()), 0)
        return Candidate(
            way, placement, gpus, in_ram, reads, self.rule(reads), prompt, short, over_share
        )

    def host_bytes(
        self,
        placement: Placement,
        split: tuple[float, ...],
        devices: Sequence[int],
        in_ram: frozenset[int],
        cache: Sequence[int],
    ) -> int:
        """What main memory holds; arguments as in ``priced``, devices by the engine's numbers."""
        total = self.embedding_bytes + host_overhead_bytes(self.shape, placement)
        total += compute_by_device(
            self.shape,
            # The host's buffer does not depend on which experts are there.
            dataclasses.replace(placement, overrides=(), n_cpu_moe=max(in_ram, default=-1) + 1),
            split,
            devices,
        ).bytes[HOST]
        for index, layer in enumerate(self.layers):
            on_host = devices[index] == HOST
            total += layer.dense_host + cache[index] if on_host else 0
            total += layer.experts_host if on_host or index in in_ram else 0
        return total

    def _host_budget(self) -> float:
        memory = self.machine.memory
        total = memory.usable_total_bytes
        return min(memory.available_bytes, total) - self.reserve_share * total


def _reads_of(sizes: Sequence[float]) -> TokenReads:
    return TokenReads(sizes[-1], tuple(sizes[:-1]))
