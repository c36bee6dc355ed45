"""Bytes of the compute (graph) buffers, per device. Pure.

A device's buffer is as large as the fullest stage of its graph: what follows from the flags
(``graph_terms``) and how wide the graph is there (``graph_width``), beside the attention masks.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kimi_desktop.planner.flash import uses_flash_attention
from kimi_desktop.planner.graph_terms import Load, load_of, masks_of, place_of, terms_of
from kimi_desktop.planner.graph_width import USUAL_UBATCH, Widths, stage_floats, widths_of
from kimi_desktop.planner.types import HOST, ModelShape, Placement

UNMEASURED_SHARE = 0.1
"""On top of a graph that was not measured, or seldom. Of 800 random settings that no width was
fitted to, nearly all devices that a forecast was too low for had such a graph."""


@dataclass(frozen=True, slots=True)
class ComputeByDevice:
    """Bytes of compute buffers. Keys are device numbers."""

    bytes: Mapping[int, int]
    measured: bool
    """Every graph was measured; else some of these are upper bounds."""


def compute_by_device(
    shape: ModelShape, placement: Placement, split: Sequence[float], devices: Sequence[int]
) -> ComputeByDevice:
    """Compute buffers of every GPU in use and of the host.

    Args:
        shape: the model.
        placement: the flags.
        split: a share per GPU in use; empty without GPUs.
        devices: of every layer (``weights.layer_devices``).
    """
    if placement.flash_attention is None:
        flash = uses_flash_attention(shape.geometry, placement, devices, bool(split))
        placement = dataclasses.replace(placement, flash_attention=flash)
    load = load_of(shape, placement, len(split), devices)
    widths = widths_of(shape.geometry)
    totals: dict[int, int] = {}
    measured = widths.measured
    for device in (HOST, *range(len(split))):
        totals[device], known = _device_bytes(load, widths, device)
        measured = measured and known
    return ComputeByDevice(totals, measured)


def _device_bytes(load: Load, widths: Widths, device: int) -> tuple[int, bool]:
    """The buffer, and whether its graph was measured."""
    if is_idle(load, device):
        return 0, True
    terms = terms_of(load, device)
    usual = load.room.n_ubatch == USUAL_UBATCH and load.placement.n_parallel == 1
    stages, known = widths.stages(place_of(load, device), terms, usual=usual)
    floats = max(
        (
            beside + width
            for stage, width in stages
            if (beside := stage_floats(stage, terms)) is not None
        ),
        default=0.0,
    )
    if not known:
        floats *= 1 + UNMEASURED_SHARE
    return int((floats + masks_of(load, device)) * load.token_bytes), known


def is_idle(load: Load, device: int) -> bool:
    """A GPU without a layer, to which no weights are brought."""
    if device == HOST or device in load.devices:
        return False
    return device > 0 or not load.placement.offload_ops
