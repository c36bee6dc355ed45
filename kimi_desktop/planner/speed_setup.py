"""A placed model on a machine, as the input of the speed forecast. Pure.

Which tensor is where follows the same rules as the memory forecast (``weights``); of experts a
token reads ``used / all``, of the token embedding one row, of everything else all of it.
"""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from functools import lru_cache

from kimi_desktop.machine.types import Machine
from kimi_desktop.models.geometry import LayerKind, TensorTable
from kimi_desktop.planner.cache import cache_by_device
from kimi_desktop.planner.hardware import gpu_speed, host_speed, shared_gpu_speed
from kimi_desktop.planner.plan_types import Plan, SpeedRule, TokenReads
from kimi_desktop.planner.speed import decode_parts
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
    if uses_gpus and machine.gpus:
        free = tuple(float(gpu.vram_free_bytes) for gpu in machine.gpus)
        split = (placement.tensor_split or free)[: len(machine.gpus)]
    devices = layer_devices(geometry.n_layer, placement.n_gpu_layers, split)
    used = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
    sizes = dict.fromkeys((HOST, *range(len(split))), 0.0)
    whole, flops = dict(sizes), dict(sizes)
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
            routed += load.bytes * share
            is_i_quant = is_i_quant or load.is_i_quant
        if device == HOST:
            staged += load.bytes
    cache = cache_by_device(geometry, placement, devices)
    filled = min(kept_tokens / max(placement.context, 1), 1.0)
    for device, size in cache.items():
        sizes[device] += size * filled
    gpus = tuple(gpu_speed(gpu, rates.pcie) for gpu in machine.gpus[: len(split)])
    is_unified = uses_gpus and machine.gpu_note == "apple"
    if is_unified:
        gpus = (shared_gpu_speed(machine),)
    host = forecast.devices[-1]
    can_stage = bool(split) and placement.offload_ops
    file_bytes = sum(tensor.size_bytes for tensor in shape.tensors)
    return SpeedInput(
        host=host_speed(machine, rates.ram),
        gpus=gpus,
        work=TokenWork(
            host_bytes=int(sizes[HOST]),
            gpu_bytes=tuple(int(sizes[number]) for number in range(len(split))),
            host_flops=flops[HOST],
            gpu_flops=math.fsum(flops[number] for number in range(len(split))),
            n_layer=geometry.n_layer_main,
            n_layer_recurrent=sum(kind is LayerKind.RECURRENT for kind in geometry.layers),
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
    used = dataclasses.replace(machine, gpus=tuple(machine.gpus[number] for number in plan.gpus))
    return speed_input(
        shape,
        plan.placement,
        used,
        plan.forecast,
        uses_gpus=bool(plan.gpus) or machine.gpu_note == "apple",
        rates=rates,
        kept_tokens=kept_tokens,
    )


def speed_rule(
    shape: ModelShape,
    machine: Machine,
    *,
    rates: MeasuredRates = MeasuredRates(),
    factors: Factors | None = None,
) -> SpeedRule:
    """The decode forecast as the placement search asks for it: seconds per token of bytes.

    The rates are worked out once, since a search asks some thousand times.
    """
    factors = factors or shipped_speed_data().factors
    gpus = tuple(gpu_speed(gpu, rates.pcie) for gpu in machine.gpus)
    geometry = shape.geometry
    recurrent = sum(kind is LayerKind.RECURRENT for kind in geometry.layers)
    gib = 2**30

    def seconds(host_bytes: int, gpu_bytes: tuple[int, ...]) -> float:
        work = TokenWork(host_bytes, gpu_bytes, 0.0, 0.0, geometry.n_layer_main, recurrent)
        setup = SpeedInput(host_speed(machine, rates.ram), gpus, work)
        return sum(part.seconds for part in decode_parts(setup, factors))

    nothing = (0,) * len(gpus)
    units = [tuple(gib * (other == one) for other in range(len(gpus))) for one in range(len(gpus))]
    on_gpu = seconds(0, nothing)  # the fixed times of one GPU, without reading anything
    alone = seconds(gib, nothing)
    per_gpu = tuple((seconds(0, unit) - on_gpu) / gib for unit in units)
    both = seconds(gib, units[0]) - gib * per_gpu[0] if units else alone
    hop = seconds(0, (gib,) * len(gpus)) - gib * math.fsum(per_gpu) - on_gpu if gpus else 0.0
    hop /= max(len(gpus) - 1, 1)
    fixed_alone = seconds(1, nothing)
    per_host = (alone - fixed_alone) / (gib - 1)
    fixed_both = both - gib * per_host

    def rule(reads: TokenReads) -> float:
        count = sum(1 for size in reads.gpu_bytes if size)
        fixed = on_gpu
        if reads.host_bytes:
            fixed = fixed_both if count else fixed_alone
        time = fixed + max(count - 1, 0) * hop + reads.host_bytes * per_host
        return time + sum(a * b for a, b in zip(reads.gpu_bytes, per_gpu, strict=True))

    return rule


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
