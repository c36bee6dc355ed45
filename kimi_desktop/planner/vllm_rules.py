"""What vLLM and SGLang choose by themselves, and which ways to divide a model are possible. Pure.

Defaults of vLLM 0.25.1 and of SGLang 0.5 (``server_args``); the user's own settings go first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.models.hf_config import HfConfig
from kimi_desktop.planner.vllm_types import (
    Problem,
    ServerEngine,
    ServerProblem,
    ServerSettings,
    Split,
)

DEFAULT_SHARE = 0.92
"""``--gpu-memory-utilization`` (0.90 before 0.20)."""
UNKNOWN_STATIC_SHARE = 0.88
"""Of SGLang, for a GPU whose memory is not known."""
LARGE_GPU_BYTES = 70 * GIB
"""From here on larger batches are the default."""
FP8_BLOCK = 128
"""Rows and columns that share a scale in block-wise FP8."""


def with_defaults(settings: ServerSettings, config: HfConfig, gpu_bytes: int) -> ServerSettings:
    """Every None filled with the engine's own choice.

    Args:
        settings: what the user set.
        config: the model.
        gpu_bytes: memory of the smallest GPU in use.
    """
    large = gpu_bytes >= LARGE_GPU_BYTES
    context = settings.context or config.context_train or 4096
    if settings.engine is ServerEngine.SGLANG:
        batched, graph_batch = _sglang_batches(settings.split.tensor, gpu_bytes)
        batched = settings.n_batched_tokens or batched
        sequences = settings.n_sequences or graph_batch
        share = settings.memory_share
        if share is None:
            share = _static_share(settings.split, batched, sequences, gpu_bytes)
    else:
        batched = settings.n_batched_tokens or (8192 if large else 2048)
        sequences = settings.n_sequences or (1024 if large else 256)
        share = settings.memory_share if settings.memory_share is not None else DEFAULT_SHARE
    return dataclasses.replace(
        settings,
        context=context,
        memory_share=share,
        n_sequences=sequences,
        n_batched_tokens=batched,
    )


def check_split(config: HfConfig, split: Split, n_gpu: int) -> Problem | None:
    """The first reason why an engine refuses a split, None when it is possible.

    Args:
        config: the model.
        split: how it is divided.
        n_gpu: GPUs of the machine.
    """
    return next(_refusals(config, split, n_gpu), None)


def tensor_sizes(config: HfConfig, n_gpu: int) -> tuple[int, ...]:
    """The tensor-parallel sizes that are possible with so many GPUs."""
    sizes = range(1, n_gpu + 1)
    return tuple(size for size in sizes if check_split(config, Split(size), n_gpu) is None)


def splits(config: HfConfig, n_gpu: int) -> Iterator[Split]:
    """The ways to use up to ``n_gpu`` GPUs that are possible, the plainest first."""
    for tensor in tensor_sizes(config, n_gpu):
        most = n_gpu // tensor
        for pipeline in range(1, most + 1):
            if pipeline not in (1, most) and n_gpu % (tensor * pipeline):
                continue  # it would leave GPUs idle that a longer pipeline uses
            plain = Split(tensor=tensor, pipeline=pipeline)
            for split in (plain, *_variants(config, plain)):
                if check_split(config, split, n_gpu) is None:
                    yield split


def pipeline_layers(n_layer: int, stages: int) -> tuple[range, ...]:
    """The layers of every stage: what is left over goes to the stages before the last."""
    counts = [n_layer // stages] * stages
    for index in range(n_layer % stages):
        counts[-2 - index] += 1
    found, start = [], 0
    for count in counts:
        found.append(range(start, start + count))
        start += count
    return tuple(found)


def local_experts(config: HfConfig, split: Split) -> float:
    """Of all routed experts, the share that the fullest rank holds."""
    if not split.experts or not config.n_expert:
        return 1.0 / split.tensor
    return -(-config.n_expert // (split.tensor * split.data)) / config.n_expert


def _refusals(config: HfConfig, split: Split, n_gpu: int) -> Iterator[Problem]:
    if split.n_gpu > n_gpu:
        yield Problem(ServerProblem.TOO_FEW_GPUS, {"needed": split.n_gpu, "count": n_gpu})
    tensor, kv = split.tensor, config.n_head_kv
    heads = (config.n_head, config.state.n_head)
    for count in heads:
        if count % tensor:
            yield Problem(ServerProblem.HEADS, {"size": tensor, "heads": count})
    if not config.is_mla and kv and kv % tensor and tensor % kv:
        yield Problem(ServerProblem.KV_HEADS, {"size": tensor, "heads": kv})
    for width in _columns(config, split):
        if width % (tensor * _block(config)):
            yield Problem(ServerProblem.COLUMNS, {"size": tensor, "columns": width})
    layers = len(config.layers)
    if split.pipeline > max(layers, 1):
        yield Problem(ServerProblem.STAGES, {"size": split.pipeline, "layers": layers})
    if split.decode_context > 1 and not _decode_context_fits(config, split):
        params = {"size": split.decode_context, "tensor": tensor}
        yield Problem(ServerProblem.DECODE_CONTEXT, params)


def _variants(config: HfConfig, plain: Split) -> Iterator[Split]:
    if plain.tensor < 2:
        return
    if config.n_expert:
        yield dataclasses.replace(plain, experts=True)
    if config.is_mla and plain.pipeline == 1 and not config.state.n_ssm:
        yield dataclasses.replace(plain, decode_context=plain.tensor)


def _columns(config: HfConfig, split: Split) -> Iterator[int]:
    """Widths that tensor parallelism cuts into equal parts."""
    if config.n_layer_dense_lead or not config.n_expert:
        yield config.n_ff
    if config.n_expert and not split.experts:
        yield config.n_ff_expert
    if config.n_expert_shared:
        yield config.n_ff_expert * config.n_expert_shared


def _block(config: HfConfig) -> int:
    """A part is a whole number of the quantization's groups."""
    found = config.quantization
    if found is None:
        return 1
    if found.label == "FP8":
        return FP8_BLOCK if found.group_size is None else found.group_size
    return found.group_size or 1


def _decode_context_fits(config: HfConfig, split: Split) -> bool:
    size, tensor, kv = split.decode_context, split.tensor, config.n_head_kv
    if tensor % size or config.state.n_ssm:
        return False
    if config.is_mla:
        return True
    return tensor > kv and size <= tensor // kv and (config.n_head // kv) % size == 0


def _sglang_batches(tensor: int, gpu_bytes: int) -> tuple[int, int]:
    """Chunked-prefill size and largest CUDA-graph batch by the memory of a GPU."""
    steps = (
        (20, 2048, 8, 8),
        (35, 2048, 24, 80),
        (60, 4096, 32, 160),
        (160, 8192, 256, 512),
    )
    for gib, chunk, few, many in steps:
        if gpu_bytes < gib * GIB:
            return chunk, few if tensor < 4 else many
    return 16384, 512


def _static_share(split: Split, chunk: int, graph_batch: int, gpu_bytes: int) -> float:
    """``--mem-fraction-static`` when it is left out."""
    if not gpu_bytes:
        return UNKNOWN_STATIC_SHARE
    reserved = 512 + 1.5 * max(chunk, 2048) + 2 * graph_batch
    reserved += split.tensor * split.pipeline / 8 * 1024
    total = gpu_bytes / MIB
    if total > 60 * 1024:
        reserved = max(reserved, 10 * 1024)
    return round((total - reserved) / total, 3)
