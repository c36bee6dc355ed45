"""What an engine takes beside weights, cache and compute buffers. Pure.

GPU figures were measured on an NVIDIA H200 (driver 580, CUDA 13.0) with llama.cpp b11549; other
cards have another context size, so they are an estimate to within about 0.15 GiB.
"""

from __future__ import annotations

from kimi_desktop.base.units import MIB
from kimi_desktop.planner.types import ModelShape, Placement

CUDA_CONTEXT_BYTES = 527 * MIB
"""Per process and GPU, before any buffer."""
GRANULARITY_BYTES = 8 * MIB
QUANTIZED_WORKSPACE_BYTES = 98 * MIB
"""After the first prefill of a dense quantized model."""
BLAS_WORKSPACE_BYTES = 186 * MIB
"""The same with experts, or with weights that are not quantized."""
NO_FLASH_WORKSPACE_BYTES = 234 * MIB

HOST_BASE_BYTES = 112 * MIB
"""Vocabulary, graph, libraries and the process itself. Seen with the embedded engine and Gemma 3
270M: 60 to 110 MiB of resident memory beyond weights, cache and compute buffer."""


def gpu_overhead_bytes(shape: ModelShape, placement: Placement) -> int:
    """Beyond llama.cpp's own breakdown, per GPU in use."""
    if placement.flash_attention is False:
        workspace = NO_FLASH_WORKSPACE_BYTES
    elif shape.geometry.n_expert or _has_plain_matrices(shape):
        workspace = BLAS_WORKSPACE_BYTES
    else:
        workspace = QUANTIZED_WORKSPACE_BYTES
    return CUDA_CONTEXT_BYTES + GRANULARITY_BYTES + workspace


def worker_overhead_bytes(shape: ModelShape, placement: Placement) -> int:
    """The same on a worker's device: its context is there before it says what is free."""
    return gpu_overhead_bytes(shape, placement) - CUDA_CONTEXT_BYTES


def host_overhead_bytes(shape: ModelShape, placement: Placement) -> int:
    """The process, and a row of logits per slot. Prompt caches grow later and are not in it."""
    rows = max(placement.n_parallel, placement.n_outputs or 0)
    return HOST_BASE_BYTES + 4 * shape.geometry.n_vocab * rows


def _has_plain_matrices(shape: ModelShape) -> bool:
    """The widest block matrix is F16, BF16 or F32: cuBLAS multiplies it."""
    name = "blk.0.ffn_down.weight"
    return any(tensor.name == name and tensor.type.is_float for tensor in shape.tensors)
