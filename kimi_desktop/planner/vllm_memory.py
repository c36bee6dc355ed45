"""The memory forecast of server engines: ranks, budgets, blocks, users. Pure.

vLLM: every rank reserves a share of its GPU; weights, the widest step and graphs are taken from
it, and what is left becomes blocks of cache, the same number on all ranks. SGLang: weights and
cache together take a share of what was free, the rest is working memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.base.errors import Param
from kimi_desktop.base.units import format_gib
from kimi_desktop.machine.types import Gpu, Machine
from kimi_desktop.planner import vllm_working as working
from kimi_desktop.planner.types import DeviceMemory
from kimi_desktop.planner.vllm_cache import (
    CacheShape,
    cache_shape,
    sequence_blocks,
    state_bytes,
)
from kimi_desktop.planner.vllm_rules import (
    DEFAULT_SHARE,
    check_split,
    local_experts,
    pipeline_layers,
    with_defaults,
)
from kimi_desktop.planner.vllm_types import (
    Problem,
    RankMemory,
    ServerEngine,
    ServerForecast,
    ServerProblem,
    ServerSettings,
)
from kimi_desktop.planner.vllm_weights import VllmModel

BLACKWELL = 10
"""Compute capability from which on kernels want larger blocks."""


@dataclass(frozen=True, slots=True)
class _Rank:
    memory: RankMemory
    shape: CacheShape
    blocks: int


def forecast_server(
    model: VllmModel,
    settings: ServerSettings,
    machine: Machine,
    gpus: Sequence[int] | None = None,
) -> ServerForecast:
    """What every device of ``machine`` will hold, and how many tokens fit.

    Args:
        model: the weights and the config.
        settings: None = the engine's defaults.
        machine: totals and what others use now.
        gpus: numbers of the GPUs to use, rank by rank (tensor-parallel neighbours first); None =
            the first ones.
    """
    split = settings.split
    used = tuple(range(len(machine.gpus))[: split.n_gpu] if gpus is None else gpus)
    smallest = min((machine.gpus[number].vram_total_bytes for number in used), default=0)
    filled = with_defaults(settings, model.config, smallest)
    problem = check_split(model.config, split, len(used))
    if problem is not None:
        return _impossible(model, filled, machine, used, problem)
    stages = pipeline_layers(len(model.config.layers), split.pipeline)
    known: dict[tuple[int, int, int, str | None], _Rank] = {}  # most ranks are alike
    ranks = []
    for index, number in enumerate(used):
        gpu, stage = machine.gpus[number], index // split.tensor % split.pipeline
        key = (stage, gpu.vram_total_bytes, gpu.vram_free_bytes, gpu.compute_capability)
        if key not in known:
            known[key] = _rank(model, filled, gpu, stages, stage)
        ranks.append(known[key])
    blocks = max(min(rank.blocks for rank in ranks), 0)
    largest = max((rank.shape for rank in ranks), key=lambda shape: shape.layer_bytes_per_token)
    per_sequence = sequence_blocks(model.config, filled, largest)
    concurrency = blocks / per_sequence * split.data if per_sequence else 0.0
    devices = _devices(machine, used, ranks, blocks)
    return ServerForecast(
        settings=filled,
        devices=devices,
        gpus=used,
        ranks=tuple(rank.memory for rank in ranks),
        cache_bytes_per_token=largest.layer_bytes_per_token,
        block_tokens=largest.block_tokens,
        n_blocks=blocks,
        tokens=int(concurrency * filled.context),
        concurrency=concurrency,
        exact=_is_exact(model, filled),
        problem=_problem(
            filled, [machine.gpus[number] for number in used], ranks, concurrency, devices[-1]
        ),
    )


def free_share(
    model: VllmModel, settings: ServerSettings, machine: Machine, gpus: Sequence[int]
) -> float:
    """VLLM's usual share of each GPU, or what is free of the fullest one in whole percents.

    The engine refuses to start when less is free than it would reserve.
    """
    shares = [DEFAULT_SHARE]
    for number in gpus:
        gpu = machine.gpus[number]
        free = _free_bytes(gpu, working.outside_bytes(model.config, settings))
        total = working.cuda_total_bytes(gpu.vram_total_bytes)
        shares.append(math.floor(100 * max(free, 0) / max(total, 1)) / 100)
    least = min(shares)
    return least if least > 0 else DEFAULT_SHARE


def rank_weights(model: VllmModel, settings: ServerSettings, layers: range, stage: int) -> int:
    """Bytes of weights on one rank of a pipeline stage, before any are moved to main memory."""
    config, weights, split = model.config, model.weights, settings.split
    experts = local_experts(config, split)
    kv_ways = min(split.tensor, max(config.n_head_kv, 1))
    total = float(weights.beside)
    for index in layers:
        layer = weights.layers[index]
        total += layer.divided / split.tensor + layer.kv / kv_ways + layer.replicated
        total += layer.experts * experts
    first, last = stage == 0, stage == split.pipeline - 1
    if first:
        total += weights.embedding / split.tensor
        total += 0 if settings.text_only else weights.vision
    if last:
        total += weights.head / split.tensor + weights.last
        if config.tied_output and not first:
            total += weights.embedding / split.tensor
    if settings.engine is ServerEngine.SGLANG and config.is_mla:
        # It keeps the halves of this matrix that attention by the latent multiplies with.
        heads = config.n_head // split.tensor * (config.qk_nope_head_dim + config.v_head_dim)
        total += len(layers) * heads * config.kv_lora_rank * working.HALF
    return int(total)


def _rank(
    model: VllmModel, settings: ServerSettings, gpu: Gpu, stages: Sequence[range], stage: int
) -> _Rank:
    config = model.config
    layers = stages[stage]
    weights = rank_weights(model, settings, layers, stage)
    offloaded = min(settings.offload_bytes, weights)
    outside = working.outside_bytes(config, settings)
    total = working.cuda_total_bytes(gpu.vram_total_bytes)
    share = settings.memory_share or 0.0
    shape = cache_shape(config, settings, layers, large_blocks=_is_blackwell(gpu))
    activation = working.activation_bytes(config, settings)
    if settings.engine is ServerEngine.SGLANG:
        # The share is of what is free at the start, and holds weights and cache alone.
        budget = int(max(_free_bytes(gpu, outside), 0) * share)
        states = shape.groups.total() and _states(model, settings, layers)
        cache = budget - (weights - offloaded) - states
    else:
        budget = math.ceil(total * share)
        activation += working.graph_bytes(config, settings)
        activation += working.forward_bytes(settings)
        cache = budget - (weights - offloaded) - activation
    block_bytes = shape.page_bytes * shape.pools
    if settings.engine is ServerEngine.SGLANG:
        block_bytes = shape.layer_bytes_per_token or block_bytes
    blocks = cache // block_bytes if block_bytes else 0
    memory = RankMemory(budget, weights - offloaded, offloaded, activation, outside, cache)
    return _Rank(memory, shape, blocks)


def _states(model: VllmModel, settings: ServerSettings, layers: range) -> int:
    """SGLang's pool of states: one per running sequence and recurrent layer."""
    recurrent = sum(model.config.layers[index].value == "recurrent" for index in layers)
    each = state_bytes(model.config, settings.split.tensor)
    return recurrent * each * (settings.n_sequences or 0)


def _free_bytes(gpu: Gpu, outside: int) -> int:
    """What CUDA reports as free once the engine's contexts are there."""
    driver = gpu.vram_total_bytes - working.cuda_total_bytes(gpu.vram_total_bytes)
    return gpu.vram_free_bytes - driver - outside


def _is_blackwell(gpu: Gpu) -> bool:
    major = (gpu.compute_capability or "0").partition(".")[0]
    return major.isdigit() and int(major) >= BLACKWELL


def _devices(
    machine: Machine, used: Sequence[int], ranks: Sequence[_Rank], blocks: int
) -> tuple[DeviceMemory, ...]:
    by_gpu = dict(zip(used, ranks, strict=True))
    rows = []
    for number, gpu in enumerate(machine.gpus):
        rank = by_gpu.get(number)
        rows.append(
            DeviceMemory(
                device=f"gpu:{number}",
                name=gpu.name,
                total_bytes=gpu.vram_total_bytes,
                weights_bytes=rank.memory.weights_bytes if rank else 0,
                kv_bytes=_pool_bytes(rank, blocks) if rank else 0,
                compute_bytes=rank.memory.activation_bytes if rank else 0,
                overhead_bytes=_overhead(gpu, rank) if rank else 0,
                others_bytes=gpu.vram_total_bytes - gpu.vram_free_bytes,
            )
        )
    memory = machine.memory
    offloaded = sum(working.pinned_bytes(rank.memory.offloaded_bytes) for rank in ranks)
    rows.append(
        DeviceMemory(
            device="host",
            name="RAM",
            total_bytes=memory.usable_total_bytes,
            weights_bytes=offloaded,
            kv_bytes=0,
            compute_bytes=0,
            overhead_bytes=working.host_bytes(len(ranks)) if ranks else 0,
            others_bytes=max(memory.usable_total_bytes - memory.available_bytes, 0),
        )
    )
    return tuple(rows)


def _pool_bytes(rank: _Rank, blocks: int) -> int:
    shape = rank.shape
    if shape.block_tokens == 1 and shape.layer_bytes_per_token:
        return blocks * shape.layer_bytes_per_token
    return blocks * shape.page_bytes * shape.pools


def _overhead(gpu: Gpu, rank: _Rank) -> int:
    driver = gpu.vram_total_bytes - working.cuda_total_bytes(gpu.vram_total_bytes)
    return rank.memory.outside_bytes + driver


def _is_exact(model: VllmModel, settings: ServerSettings) -> bool:
    hybrid = len(set(model.config.layers)) > 1
    return model.is_known and not (settings.engine is ServerEngine.SGLANG and hybrid)


def _problem(
    settings: ServerSettings,
    gpus: Sequence[Gpu],
    ranks: Sequence[_Rank],
    concurrency: float,
    host: DeviceMemory,
) -> Problem | None:
    """The first thing that the engine would refuse."""
    for gpu, rank in zip(gpus, ranks, strict=True):
        free = _free_bytes(gpu, rank.memory.outside_bytes)
        if settings.engine is ServerEngine.VLLM and free < rank.memory.budget_bytes:
            params: dict[str, Param] = {
                "device": f"GPU {gpu.index}",
                "free": format_gib(max(free, 0)),
                "wanted": format_gib(rank.memory.budget_bytes),
                "share": f"{settings.memory_share:.2f}",
            }
            return Problem(ServerProblem.NOT_FREE, params)
    memory = min(ranks, key=lambda rank: rank.memory.cache_bytes).memory
    if memory.cache_bytes <= 0:
        params = {
            "weights": format_gib(memory.weights_bytes),
            "working": format_gib(memory.activation_bytes),
            "budget": format_gib(memory.budget_bytes),
        }
        return Problem(ServerProblem.WEIGHTS, params)
    if concurrency < 1:
        tokens = int(concurrency * settings.context)
        params = {"context": f"{settings.context:,}", "tokens": f"{tokens:,}"}
        return Problem(ServerProblem.CONTEXT, params)
    if host.spare_bytes < 0:
        return Problem(ServerProblem.HOST, {"short": format_gib(-host.spare_bytes)})
    return None


def _impossible(
    model: VllmModel,
    settings: ServerSettings,
    machine: Machine,
    used: Sequence[int],
    problem: Problem,
) -> ServerForecast:
    return ServerForecast(
        settings=settings,
        devices=_devices(machine, (), (), 0),
        gpus=tuple(used),
        ranks=(),
        cache_bytes_per_token=0,
        block_tokens=0,
        n_blocks=0,
        tokens=0,
        concurrency=0.0,
        exact=model.is_known,
        problem=problem,
    )
