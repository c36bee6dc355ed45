"""Whether llama.cpp computes attention the short way when it may choose (``-fa auto``). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.models.geometry import Geometry, LayerKind
from kimi_desktop.planner.types import HOST, Placement

SCORES_ON_HOST = frozenset({"lfm2"})
"""Architectures whose attention stays with a cache on the host, without flash attention."""


def uses_flash_attention(
    geometry: Geometry, placement: Placement, devices: Sequence[int], has_gpu: bool
) -> bool:
    """What ``-fa auto`` comes to: off where attention would change the device of its layer."""
    if placement.flash_attention is not None:
        return placement.flash_attention
    if placement.cache_type_v not in ("F32", "F16", "BF16"):
        return True  # a V of another type cannot be stored transposed
    if not has_gpu or geometry.architecture not in SCORES_ON_HOST:
        return True
    if all(device == HOST for device in devices):
        return True
    return placement.offload_kv and not last_on_host_attends(geometry, devices)


def last_on_host_attends(geometry: Geometry, devices: Sequence[int]) -> bool:
    """Whether attention is what lies before the first layer of the GPUs."""
    on_host = [kind for kind, at in zip(geometry.layers, devices, strict=False) if at == HOST]
    return bool(on_host) and on_host[-1] is not LayerKind.RECURRENT
