"""A placed model on a machine, as the input of the speed forecast. Pure.

Which tensor is where follows the same rules as the memory forecast (``weights``); of experts a
token reads ``used / all``, of the token embedding one row, of everything else all of it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kimi_desktop.machine.types import Machine
from kimi_desktop.models.geometry import LayerKind, TensorTable
from kimi_desktop.planner.cache import cache_by_device
from kimi_desktop.planner.hardware import gpu_speed, host_speed, shared_gpu_speed, shares_memory
from kimi_desktop.planner.host_settings import host_in_use, threads_for
from kimi_desktop.planner.plan_types import Numa, Plan, TokenReads, Wishes
from kimi_desktop.planner.speed import decode_parts, link_parts, prompt_parts
from kimi_desktop.planner.speed_factors import Factors, shipped_speed_data
from kimi_desktop.planner.speed_types import (
    EngineKind,
    FileWork,
    PromptWork,
    SpeedInput,
    TokenWork,
)
from kimi_desktop.planner.types import HOST, LoadForecast, ModelShape, Placement
from kimi_desktop.planner.weights import layer_devices

_EXPERT = re.compile(r"\.ffn_(?:up|down|gate|gate_up)_(?:ch|)exps")
_BLOCK = re.compile(r"blk\.(\d+)\.")
PROMPT_TOKENS = 2_048
"""The prompt that placements are judged by, as the forecast tells it."""


@dataclass(frozen=True, slots=True)
class MeasuredRates:
    """What a micro-benchmark found, in bytes per second. None = not measured."""

    ram: float | None = None
    disk: float | None = None
    pcie: float | None = None


@dataclass(frozen=True, slots=True)
class _Load:
    """One group of tensors: where an override sends it, and what it weighs."""

    block: int
    """The output is block ``n_layer``."""
    is_expert: bool
    fixed: int | None
    bytes: int
    params: int
    is_i_quant: bool


def speed_input(
    shape: ModelShape,
    placement: Placement,
    machine: Machine,
    forecast: LoadForecast,
    *,
    uses_gpus: bool = True,
    rates: MeasuredRates = MeasuredRates(),
    kept_tokens: int = 1024,
) -> SpeedInput:
    """What every device of ``machine`` reads for one token.

    Args:
        shape: the model.
        placement: where it goes.
        machine: the devices.
        forecast: their memory with this placement; what main memory lacks comes from disk.
        uses_gpus: False for an engine without GPU support.
        rates: measured on this machine.
        kept_tokens: tokens that the cache holds when the speed is asked for.
    """
    geometry = shape.geometry
    split: tuple[float, ...] = ()
    is_unified = uses_gpus and shares_memory(machine)
    if uses_gpus and machine.gpus and not is_unified:
        free = tuple(float(gpu.vram_free_bytes) for gpu in machine.gpus)
        split = (placement.tensor_split or free)[: len(machine.gpus)]
    devices = layer_devices(geometry.n_layer, placement.n_gpu_layers, split)
    used = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
    sizes = dict.fromkeys((HOST, *range(len(split))), 0.0)
    whole, flops, routed_flops = dict(sizes), dict(sizes), dict(sizes)
    staged = routed = 0.0
    is_i_quant = False
    for load in _loads(shape.tensors, placement.overrides, geometry.n_layer):
        if geometry.n_layer_main <= load.block < geometry.n_layer and not placement.load_nextn:
            continue
        device = devices[load.block] if load.fixed is None else load.fixed
        if load.is_expert and load.block < placement.n_cpu_moe:
            device = HOST
        share = used if load.is_expert else 1.0
        sizes[device] += load.bytes * share
        whole[device] += load.bytes
        flops[device] += 2 * load.params * share
        if load.is_expert:
            routed_flops[device] += 2 * load.params * share
            routed += load.bytes * share
            is_i_quant = is_i_quant or load.is_i_quant
        if device == HOST:
            staged += load.bytes
    cache = cache_by_device(geometry, placement, devices)
    filled = min(kept_tokens / max(placement.context, 1), 1.0)
    for device, size in cache.items():
        sizes[device] += size * filled
    gpus = tuple(gpu_speed(gpu, rates.pcie) for gpu in machine.gpus[: len(split)])
    if is_unified:
        gpus = (shared_gpu_speed(machine),)
    host = forecast.devices[-1]
    own = any(gpu.link is None for gpu in gpus)
    can_stage = bool(split) and placement.offload_ops and own
    file_bytes = sum(tensor.size_bytes for tensor in shape.tensors)
    return SpeedInput(
        host=host_speed(machine, rates.ram),
        gpus=gpus,
        work=TokenWork(
            host_bytes=int(sizes[HOST]),
            gpu_bytes=tuple(int(sizes[number]) for number in range(len(split))),
            host_flops=flops[HOST],
            gpu_flops=math.fsum(flops[number] for number in range(len(split))),
            host_expert_flops=routed_flops[HOST],
            gpu_expert_flops=math.fsum(routed_flops[number] for number in range(len(split))),
            expert_share=used,
            n_layer=geometry.n_layer_main,
            n_layer_recurrent=sum(kind is LayerKind.RECURRENT for kind in geometry.layers),
            activation_bytes=4 * geometry.n_embd,
            logits_bytes=4 * geometry.n_vocab,
            is_i_quant=is_i_quant,
        ),
        prompt=PromptWork(
            n_ubatch=min(placement.n_ubatch, placement.n_batch),
            staged_bytes=int(staged) if can_stage else 0,
        ),
        file=FileWork(
            file_bytes=file_bytes,
            missing_bytes=min(max(-host.spare_bytes, 0), host.weights_bytes),
            gpu_bytes=int(sum(whole[number] for number in range(len(split)))),
            worker_bytes=tuple(
                int(whole[number]) if gpu.link is not None else 0 for number, gpu in enumerate(gpus)
            )
            if split and not is_unified
            else (),
            read_bytes_per_token=int(routed or sum(sizes.values())),
            disk_bytes_per_s=rates.disk or _disk_bytes_per_s(machine),
        ),
        engine=EngineKind.LLAMA_CPP,
        is_unified=is_unified,
        is_estimate=not forecast.exact,
    )


def plan_input(
    shape: ModelShape,
    plan: Plan,
    machine: Machine,
    *,
    rates: MeasuredRates = MeasuredRates(),
    kept_tokens: int = 1024,
) -> SpeedInput:
    """The same for a plan of the placement search, which may leave GPUs out."""
    is_unified = not plan.gpus and plan.placement.n_gpu_layers != 0 and shares_memory(machine)
    used = machine
    if not is_unified:
        gpus = tuple(machine.gpus[number] for number in plan.gpus)
        used = dataclasses.replace(machine, gpus=gpus)
    found = speed_input(
        shape,
        plan.placement,
        used,
        plan.forecast,
        uses_gpus=bool(plan.gpus) or is_unified,
        rates=rates,
        kept_tokens=kept_tokens,
    )
    host = host_in_use(found.host, plan.n_threads, plan.numa, machine.cpu.numa_nodes)
    return dataclasses.replace(found, host=host)


class ForecastRule:
    """The speed forecast as the placement search asks for it, some hundred times.

    Called with what a token reads it gives the seconds of that token; the rates behind that are
    worked out once.
    """

    def __init__(
        self, shape: ModelShape, machine: Machine, rates: MeasuredRates, factors: Factors
    ) -> None:
        self._machine, self._factors = machine, factors
        # The cores that the plan will have: what the forecast of a finished plan counts as well.
        threads, _ = threads_for(machine, Wishes())
        whole = host_speed(machine, rates.ram)
        self._host = host_in_use(whole, threads, Numa.OFF, machine.cpu.numa_nodes)
        self._gpus = tuple(gpu_speed(gpu, rates.pcie) for gpu in machine.gpus)
        self._is_unified = shares_memory(machine)
        self._links: dict[tuple[bool, ...], float] = {}
        geometry = shape.geometry
        used = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
        self._expert_share = used
        self._activation, self._logits = 4 * geometry.n_embd, 4 * geometry.n_vocab
        self._n_layer = geometry.n_layer_main
        self._recurrent = sum(kind is LayerKind.RECURRENT for kind in geometry.layers)
        self._weights = _layer_weights(shape)
        self._fit()

    def __call__(self, reads: TokenReads) -> float:
        """Seconds of one new token."""
        count = sum(1 for size in reads.gpu_bytes if size)
        fixed = self._on_gpu
        if reads.host_bytes:
            fixed = self._fixed_both if count else self._fixed_alone
        time = fixed + max(count - 1, 0) * self._hop + reads.host_bytes * self._per_host
        time += self._link_seconds(tuple(size > 0 for size in reads.gpu_bytes))
        return time + sum(a * b for a, b in zip(reads.gpu_bytes, self._per_gpu, strict=True))

    def prompt(
        self,
        placement: Placement,
        gpus: Sequence[int],
        devices: Sequence[int],
        experts_in_ram: Container[int],
        reads: TokenReads,
    ) -> float:
        """Seconds that a prompt of ``PROMPT_TOKENS`` takes.

        Args:
            placement: micro-batch, and whether weights are brought to the GPU.
            gpus: numbers of the machine's GPUs in use, in the engine's order.
            devices: of every layer, HOST or anything else.
            experts_in_ram: blocks whose experts are in main memory.
            reads: what a token reads.
        """
        host_bytes = all_bytes = 0
        host_flops = all_flops = host_routed = all_routed = 0.0
        for index, layer in enumerate(self._weights):
            on_host = devices[index] == HOST
            all_bytes += layer.dense_bytes + layer.expert_bytes
            all_flops += layer.dense_flops + layer.expert_flops
            all_routed += layer.expert_flops
            if on_host:
                host_bytes += layer.dense_bytes
                host_flops += layer.dense_flops
            if on_host or index in experts_in_ram:
                host_bytes += layer.expert_bytes
                host_flops += layer.expert_flops
                host_routed += layer.expert_flops
        is_unified = self._is_unified and not gpus and placement.n_gpu_layers != 0
        used = (shared_gpu_speed(self._machine),) if is_unified else tuple(
            self._gpus[number] for number in gpus)  # fmt: skip
        work = TokenWork(
            host_bytes=int(reads.host_bytes),
            gpu_bytes=tuple(int(reads.gpu_bytes[number]) for number in gpus),
            host_flops=host_flops,
            gpu_flops=all_flops - host_flops,
            host_expert_flops=host_routed,
            gpu_expert_flops=all_routed - host_routed,
            expert_share=self._expert_share,
            n_layer=self._n_layer,
            n_layer_recurrent=self._recurrent,
            activation_bytes=self._activation,
            logits_bytes=self._logits,
        )
        own = any(gpu.link is None for gpu in used)
        stages = own and placement.offload_ops
        prompt = PromptWork(
            n_ubatch=min(placement.n_ubatch, placement.n_batch),
            staged_bytes=host_bytes if stages else 0,
        )
        file = FileWork(file_bytes=all_bytes, gpu_bytes=all_bytes - host_bytes)
        setup = SpeedInput(self._host, used, work, prompt, file, is_unified=is_unified)
        return sum(part.seconds for part in prompt_parts(setup, self._factors, PROMPT_TOKENS))

    def _fit(self) -> None:
        """What a byte costs where, and what a device and a step between two cost."""
        count, gib = len(self._gpus), 2**30
        nothing = (0,) * count
        units = [tuple(gib * (other == one) for other in range(count)) for one in range(count)]
        self._on_gpu = self._seconds(0, nothing)  # the fixed times of one GPU, reading nothing
        alone = self._seconds(gib, nothing)
        self._per_gpu = tuple((self._seconds(0, unit) - self._on_gpu) / gib for unit in units)
        both = self._seconds(gib, units[0]) - gib * self._per_gpu[0] if units else alone
        hop = 0.0
        if count:
            every = self._seconds(0, (gib,) * count)
            hop = every - gib * math.fsum(self._per_gpu) - self._on_gpu
        self._hop = hop / max(count - 1, 1)
        self._fixed_alone = self._seconds(1, nothing)
        self._per_host = (alone - self._fixed_alone) / (gib - 1)
        self._fixed_both = both - gib * self._per_host

    def _seconds(self, host_bytes: int, gpu_bytes: tuple[int, ...]) -> float:
        work = TokenWork(host_bytes, gpu_bytes, 0.0, 0.0, self._n_layer, self._recurrent)
        near = tuple(dataclasses.replace(gpu, link=None) for gpu in self._gpus)
        setup = SpeedInput(self._host, near, work)
        return sum(part.seconds for part in decode_parts(setup, self._factors))

    def _link_seconds(self, used: tuple[bool, ...]) -> float:
        """What a token waits for the network, with these GPUs in use."""
        if used not in self._links:
            work = TokenWork(
                gpu_bytes=tuple(map(int, used)),
                activation_bytes=self._activation,
                logits_bytes=self._logits,
            )
            parts = link_parts(SpeedInput(self._host, self._gpus, work), self._factors)
            self._links[used] = math.fsum(part.seconds for part in parts)
        return self._links[used]


def speed_rule(
    shape: ModelShape,
    machine: Machine,
    *,
    rates: MeasuredRates = MeasuredRates(),
    factors: Factors | None = None,
) -> ForecastRule:
    """The speed forecast as a rule for the placement search."""
    return ForecastRule(shape, machine, rates, factors or shipped_speed_data().factors)


@dataclass(frozen=True, slots=True)
class _LayerWeights:
    """One block (or the output): bytes of its weights, operations of one token."""

    dense_bytes: int
    expert_bytes: int
    dense_flops: float
    expert_flops: float


@lru_cache(maxsize=64)
def _layer_weights(shape: ModelShape) -> tuple[_LayerWeights, ...]:
    geometry = shape.geometry
    used = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
    sums = [[0, 0, 0.0, 0.0] for _ in range(geometry.n_layer + 1)]
    for load in _loads(shape.tensors, (), geometry.n_layer):
        if geometry.n_layer_main <= load.block < geometry.n_layer:
            continue  # blocks of multi-token prediction are not loaded
        row = sums[load.block]
        row[load.is_expert] += load.bytes
        row[2 + load.is_expert] += 2 * load.params * (used if load.is_expert else 1.0)
    return tuple(_LayerWeights(int(a), int(b), c, d) for a, b, c, d in sums)


def _disk_bytes_per_s(machine: Machine) -> float | None:
    found = (disk.read_bytes_per_s_measured for disk in machine.disks)
    return next((rate for rate in found if rate), None)


@lru_cache(maxsize=64)
def _loads(
    table: TensorTable, overrides: tuple[tuple[str, int], ...], n_layer: int
) -> tuple[_Load, ...]:
    """All tensors that are read, grouped; without the table of token embeddings.

    A tied output matrix is that table, read as a whole.
    """
    patterns = [(re.compile(pattern), device) for pattern, device in overrides]
    is_tied = all(tensor.name != "output.weight" for tensor in table)
    sums: dict[tuple[int, bool, int | None, bool], list[int]] = {}
    for tensor in table:
        if tensor.name == "token_embd.weight" and not is_tied:
            continue
        block = _BLOCK.match(tensor.name)
        index = min(int(block[1]), n_layer) if block else n_layer
        is_expert = bool(_EXPERT.search(tensor.name))
        fixed = next((device for regex, device in patterns if regex.search(tensor.name)), None)
        key = (index, is_expert, fixed, is_expert and tensor.type.name.startswith("IQ"))
        total = sums.setdefault(key, [0, 0])
        total[0] += tensor.size_bytes
        total[1] += math.prod(tensor.shape)
    return tuple(
        _Load(index, is_expert, fixed, size, params, is_i_quant)
        for (index, is_expert, fixed, is_i_quant), (size, params) in sums.items()
    )
