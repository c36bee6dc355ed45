"""Bytes of the KV cache and of recurrent state, per device. Pure.

Rules of llama.cpp b11549, proven byte-exact on the measured cases in ``tests/data``: contexts are
padded to 256 cells, MLA keeps one latent row per token and no V, window layers keep the window
and one micro-batch, recurrent layers a state of fixed size in F32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kimi_desktop.models.geometry import Geometry, LayerKind
from kimi_desktop.models.ggml import TYPES_BY_NAME, GgmlType
from kimi_desktop.planner.rounding import CONTEXT_PADDING, device_bytes, pad
from kimi_desktop.planner.types import HOST, Placement

F16 = TYPES_BY_NAME["F16"]
F32 = TYPES_BY_NAME["F32"]


@dataclass(frozen=True, slots=True)
class Cells:
    """How many tokens the caches hold."""

    n_ctx: int
    """Of all slots together, after padding."""
    n_ctx_seq: int
    """One slot's."""
    n_window: int
    """Of window layers, per stream."""
    n_stream: int
    """Separate caches: one per slot, or one for all."""
    n_ubatch: int
    """The micro-batch in force."""


def cells(geometry: Geometry, placement: Placement) -> Cells:
    """The cell counts that llama.cpp makes of ``-c``, ``-np``, ``-b`` and ``-ub``."""
    slots = max(placement.n_parallel, 1)
    context = max(placement.context, 1)
    if placement.kv_unified:
        n_ctx_seq = n_ctx = pad(context, CONTEXT_PADDING)
        streams = 1
    else:
        n_ctx_seq = pad(pad(context, CONTEXT_PADDING) // slots, CONTEXT_PADDING)
        n_ctx = n_ctx_seq * slots
        streams = slots
    ubatch = min(placement.n_ubatch, placement.n_batch, n_ctx)
    window = n_ctx_seq
    if not placement.full_window:
        wanted = geometry.window * (slots if placement.kv_unified else 1) + ubatch
        window = pad(min(n_ctx_seq, wanted), CONTEXT_PADDING)
    return Cells(n_ctx, n_ctx_seq, window, streams, ubatch)


def kv_widths(geometry: Geometry, layer: int) -> tuple[int, int]:
    """Elements per token of K and of V in one attention layer."""
    if geometry.is_mla:
        return geometry.kv_lora_rank + geometry.n_rot, 0
    heads = geometry.n_head_kv[layer]
    if geometry.layers[layer] is LayerKind.WINDOW:
        return heads * geometry.key_length_window, heads * geometry.value_length_window
    return heads * geometry.key_length, heads * geometry.value_length


def kv_bytes_per_token(geometry: Geometry) -> int:
    """What one more token of context takes in an f16 cache, once the windows are full."""
    total = 0
    for index, kind in enumerate(geometry.layers):
        if kind in (LayerKind.FULL, LayerKind.BOTH):
            total += sum(kv_widths(geometry, index)) + geometry.n_indexer_key
    return total * F16.block_bytes


def cache_by_device(
    geometry: Geometry, placement: Placement, devices: Sequence[int]
) -> dict[int, int]:
    """Byte-exact context buffers.

    Args:
        geometry: the model.
        placement: the flags.
        devices: of every layer (``weights.layer_devices``).
    """
    room = cells(geometry, placement)
    kind_k = TYPES_BY_NAME[placement.cache_type_k]
    kind_v = TYPES_BY_NAME[placement.cache_type_v]
    totals: dict[int, int] = {}
    prices: dict[tuple[int, int, GgmlType, bool], int] = {}  # most layers are alike

    def put(device: int, width: int, rows: int, kind: GgmlType, depth: int) -> None:
        if not width:
            return
        key = (width, rows * depth, kind, device != HOST)
        if key not in prices:
            prices[key] = device_bytes(kind, (width, rows, depth), on_gpu=device != HOST)
        totals[device] = totals.get(device, 0) + prices[key]

    for index, layer in enumerate(geometry.layers):
        device = devices[index] if placement.offload_kv else HOST
        if layer in (LayerKind.RECURRENT, LayerKind.BOTH):
            states = max(placement.n_parallel, 1) * (1 + placement.n_state_snapshots)
            put(device, geometry.n_state_conv, states, F32, 1)
            put(device, geometry.n_state_ssm, states, F32, 1)
        if layer in (LayerKind.FULL, LayerKind.WINDOW, LayerKind.BOTH):
            rows = room.n_window if layer is LayerKind.WINDOW else room.n_ctx_seq
            width_k, width_v = kv_widths(geometry, index)
            put(device, width_k, rows, kind_k, room.n_stream)
            put(device, width_v, rows, kind_v, room.n_stream)
            put(device, geometry.n_indexer_key, rows, kind_k, room.n_stream)
    return totals
