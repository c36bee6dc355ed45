"""How many bytes one new token reads on which device, while a placement is searched. Pure.

Of the experts of a layer a token reads ``n_expert_used / n_expert``, of everything else all.
"""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.planner.plan_types import TokenReads
from kimi_desktop.planner.types import HOST, ModelShape
from kimi_desktop.planner.weights import layer_bytes

TYPICAL_DEPTH = 1_024
"""Tokens in the cache that a plan's speed is judged with, as in the speed forecast."""


def token_reads(
    shape: ModelShape,
    devices: Sequence[int],
    experts_in_ram: frozenset[int],
    cache_bytes: Sequence[int],
    *,
    context: int,
    n_gpu: int,
) -> TokenReads:
    """Bytes per device.

    Args:
        shape: the model.
        devices: of every layer, numbers of the machine's GPUs or HOST.
        experts_in_ram: blocks whose experts are in main memory, wherever the block is.
        cache_bytes: K and V per block with the whole context filled.
        context: tokens; the cache is read to ``TYPICAL_DEPTH`` at most.
        n_gpu: GPUs of the machine.
    """
    geometry = shape.geometry
    active = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
    depth = min(1.0, TYPICAL_DEPTH / max(context, 1))
    read = [0.0] * (n_gpu + 1)
    for index, layer in enumerate(layer_bytes(shape)):
        device = devices[index]
        place = n_gpu if device == HOST else device
        cache = cache_bytes[index] if index < len(cache_bytes) else 0
        # A layer reads the same bytes wherever it is; padding does not matter here.
        read[place] += layer.dense_gpu + cache * depth
        expert_place = n_gpu if index in experts_in_ram else place
        read[expert_place] += layer.experts_gpu * active
    return TokenReads(read[n_gpu], tuple(read[:n_gpu]))
