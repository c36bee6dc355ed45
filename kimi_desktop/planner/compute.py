"""Bytes of the compute (graph) buffers, per device. Pure.

llama.cpp reserves them for the worst case: a whole micro-batch over a full cache. What is large in
them follows from the geometry and is written out here: attention masks, the score matrix without
flash attention, copies of one layer's K and V, weights that are staged on the first GPU, rows of
logits. What remains is the width of the graph at its widest place, ``4 * n_ubatch * floats``. How
wide that is depends on how the allocator packs the tensors of each architecture, so it is a table
of measurements (``compute_table``). A geometry that is not in it gets a rule, marked as an
estimate.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kimi_desktop.models.geometry import Geometry, LayerKind
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.planner.cache import Cells, cells, kv_widths
from kimi_desktop.planner.flash import SCORES_ON_HOST, last_on_host_attends, uses_flash_attention
from kimi_desktop.planner.graph_width import (
    MEASURED_UBATCH,
    between,
    generic_width,
    widened,
    widths_of,
)
from kimi_desktop.planner.types import HOST, ModelShape, Placement
from kimi_desktop.planner.weights import HostStaging, host_staging

F32_BYTES = 4
PIPELINE_COPIES = 4
"""Inputs are kept so often when several GPUs work in a pipeline (GGML_SCHED_MAX_COPIES)."""

STAGES_TWO = frozenset({"kimi-linear", "kimi-k3", "llama4", "qwen3next"})
"""Architectures whose graph holds two staged expert tensors at once."""


@dataclass(frozen=True, slots=True)
class ComputeByDevice:
    """Bytes of compute buffers. Keys are device numbers."""

    bytes: Mapping[int, int]
    measured: bool
    """The geometry is in the table; else these are estimates."""


@dataclass(frozen=True, slots=True)
class _Load:
    """One load, and what all devices have in common."""

    shape: ModelShape
    placement: Placement
    devices: Sequence[int]
    room: Cells
    n_gpu: int
    staging: HostStaging
    pipeline: bool
    kinds: Mapping[int | None, frozenset[LayerKind]]
    """Which kinds of layers a device holds; None = all devices."""

    @property
    def geometry(self) -> Geometry:
        return self.shape.geometry


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
    geometry = shape.geometry
    if placement.flash_attention is None:
        flash = uses_flash_attention(geometry, placement, devices, bool(split))
        placement = dataclasses.replace(placement, flash_attention=flash)
    staging = host_staging(shape, placement, devices)
    pipeline = (
        len(split) > 1
        and HOST not in devices
        and not placement.overrides
        and not placement.n_cpu_moe
        and placement.offload_kv
    )
    room = cells(geometry, placement)
    kinds = _kinds_by_device(geometry, devices)
    load = _Load(shape, placement, devices, room, len(split), staging, pipeline, kinds)
    totals = {HOST: _host_bytes(load)}
    for device in range(len(split)):
        totals[device] = _gpu_bytes(load, device)
    return ComputeByDevice(totals, widths_of(geometry) is not None)


# the host


def _host_bytes(load: _Load) -> int:
    geometry, placement = load.geometry, load.placement
    copies = PIPELINE_COPIES if load.pipeline else 1
    if not load.n_gpu:
        name = "cpu" if placement.flash_attention else "cpu_off"
        floats = _width(load, name) + _scores(load) + _masks(load, None)
        return _round(load, max(floats, _logits(load)))
    # Inputs of the first GPU: the embedded tokens; a pipeline keeps more of them.
    inputs = geometry.n_embd * (2 + 2 * copies) + 8 * copies
    floats = inputs + copies * (_masks(load, None) + _value_indices(load))
    if load.n_gpu and placement.offload_ops:
        floats = max(floats, _host_graph(load))
    if not placement.offload_ops and load.staging.has_layers:
        floats = max(floats, _width(load, "cpu") + _masks(load, None))
    elif not placement.offload_ops and load.staging.expert_bytes:
        floats = max(floats, _width(load, "noop_host") + _noop_host_masks(load))
    return _round(load, floats + _widened(load, "host"))


def _host_graph(load: _Load) -> float:
    """What a few architectures compute on the host although a GPU could."""
    if load.staging.has_layers:
        name = "ngl" if any(device != HOST for device in load.devices) else "ngl0"
    elif not load.placement.offload_kv:
        name = "nkvo"
    else:
        return 0.0
    table = widths_of(load.geometry) or {}
    off = "" if load.placement.flash_attention else "_off"
    points = table.get(f"{name}{off}_host")
    if points is None:
        return 0.0
    scores = _scores(load) if load.geometry.architecture in SCORES_ON_HOST else 0.0
    return between(points, load.room.n_ctx_seq) + _masks(load, None) + scores


def _noop_host_masks(load: _Load) -> float:
    """Experts on the CPU are a graph of their own without masks, beside which the inputs lie."""
    return _masks(load, None) if widths_of(load.geometry) is None else 0.0


def _value_indices(load: _Load) -> float:
    """Without flash attention V is stored transposed, and every element has its index (i64)."""
    if load.placement.flash_attention:
        return 0.0
    seen: dict[LayerKind, int] = {}
    for index, kind in enumerate(load.geometry.layers):
        if kind not in seen and kind is not LayerKind.RECURRENT:
            seen[kind] = kv_widths(load.geometry, index)[1]
    return float(sum(2 * (width - 1) for width in seen.values() if width))


# a GPU


def _gpu_bytes(load: _Load, device: int) -> int:
    placement = load.placement
    holds_layers = device in load.devices
    first = device == 0
    if not holds_layers and not (first and placement.offload_ops):
        return 0
    if device not in load.kinds and not first and not load.pipeline:
        return _round(load, _output_only(load))
    name = _regime(load, device)
    if name == "nkvo" and _attends_on_host(load):
        return _round(load, _width(load, "nkvo_off"))
    staged = 0.0
    if first and placement.offload_ops:
        staged = _staged_floats(load, name)
    copies = PIPELINE_COPIES if load.pipeline else 1
    everything = first and name in ("ngl", "nkvo")
    masks = copies * _masks(load, None if everything else device)
    floats = _plane(load, name, device) + masks + staged
    if load.devices[-1] == device:
        floats = max(floats, _logits(load) + masks)
        name += "+"
    return _round(load, max(floats + _widened(load, name), 0.0))


def _widened(load: _Load, place: str) -> float:
    """What measurements with several GPUs found beside the widths: more, or less."""
    if load.n_gpu < 2:
        return 0.0
    variant = "" if load.placement.flash_attention else "_off"
    if _converted_floats(load):
        variant = "_q"
    name = f"{_mode(load)}.{place}{variant}"
    return widened(load.geometry, name, load.room.n_ubatch, load.room.n_ctx_seq)


def _mode(load: _Load) -> str:
    """How a graph is spread over several GPUs."""
    if load.pipeline:
        return "pipe"
    if not load.placement.offload_kv:
        return "nkvo"
    if load.staging.has_layers:
        return "ngl" if load.placement.offload_ops else "ngl_noop"
    if load.staging.expert_bytes:
        return "stage" if load.placement.offload_ops else "noop"
    return "plain"


def _attends_on_host(load: _Load) -> bool:
    """Nothing of the attention comes to the GPUs: no mask, no scores, no cache."""
    on_host = load.geometry.architecture in SCORES_ON_HOST
    return on_host and not load.placement.flash_attention


def _output_only(load: _Load) -> float:
    """A GPU with the output matrix alone works on the rows that are asked for."""
    if whole := (widths_of(load.geometry) or {}).get("output"):
        return float(whole[-1][1])
    rows = max(load.placement.n_outputs or 0, load.placement.n_parallel)
    geometry = load.geometry
    return rows * (geometry.n_vocab + 4 * geometry.n_embd) / load.room.n_ubatch


def _regime(load: _Load, device: int) -> str:
    """Which row of the table a GPU reads."""
    placement = load.placement
    if load.pipeline:
        return "first" if device == 0 else "mid"
    if device > 0 and placement.offload_kv:
        if device in load.staging.gpus_with_experts:
            return "rest_experts"
        foreign = device in load.staging.gpus_with_foreign_experts
        return "rest_foreign" if foreign else "rest"
    if load.staging.has_layers:
        return "ngl" if placement.offload_ops else "rest_experts"
    if load.staging.expert_bytes:
        return "stage" if placement.offload_ops else "noop"
    return "plain" if placement.offload_kv else "nkvo"


def _plane(load: _Load, name: str, device: int) -> float:
    """The widest place of the graph beside masks and staged weights, floats per token."""
    placement = load.placement
    converts = _converted_floats(load)
    copies = _copied_floats(load, name)
    if not placement.flash_attention:
        recurrent = load.kinds.get(device) == frozenset({LayerKind.RECURRENT})
        attends = name in ("ngl", "nkvo") or not recurrent
        scores = _scores(load) if attends else 0.0
        off = _width(load, f"{name}_off") + scores + copies
        return max(off, _width(load, name) + copies)
    base = _width(load, name) + copies
    if name == "stage":
        base = _stage_width(load)
    if load.pipeline and (by_start := (widths_of(load.geometry) or {}).get("mid_by_start")):
        base = between(by_start, load.devices.index(device)) + converts
    elif converts:
        base = max(base, _width(load, f"{name}_q") + converts + copies)
    alone = name == "ngl" and not copies  # no attention on the host whose cache would come over
    if alone or (name == "noop" and load.staging.gpus_with_experts):
        base = max(base, _width(load, "plain"))
    return base


def _stage_width(load: _Load) -> float:
    """With experts on the host the widest place depends on how large the micro-batch is."""
    several = load.n_gpu > 1
    narrow = _width(load, "stage_multi" if several else "stage")
    wide = (widths_of(load.geometry) or {}).get("stage_4096")
    if wide is None:
        return narrow
    if load.geometry.architecture in STAGES_TWO:  # or one staged tensor beside more of the graph
        return max(narrow, wide[-1][1] - load.staging.expert_bytes / _token_bytes(load))
    if several:
        return narrow
    share = (load.room.n_ubatch - MEASURED_UBATCH) / (4096 - MEASURED_UBATCH)
    return narrow + (wide[-1][1] - narrow) * min(max(share, 0.0), 1.0)


def _token_bytes(load: _Load) -> int:
    """Bytes of one F32 per token of the micro-batch."""
    return F32_BYTES * load.room.n_ubatch


def _staged_floats(load: _Load, name: str) -> float:
    """Weights of the host that a large batch brings to the first GPU."""
    staging = load.staging
    if name == "stage":
        times = 2 if load.geometry.architecture in STAGES_TWO else 1
        return times * staging.expert_bytes / _token_bytes(load)
    if name == "ngl":
        return max(staging.expert_bytes, staging.dense_bytes) / _token_bytes(load)
    return 0.0


def _kinds_by_device(
    geometry: Geometry, devices: Sequence[int]
) -> dict[int | None, frozenset[LayerKind]]:
    found: dict[int | None, set[LayerKind]] = {None: set(geometry.layers)}
    for device, kind in set(zip(devices, geometry.layers, strict=False)):
        found.setdefault(device, set()).add(kind)
    return {device: frozenset(kinds) for device, kinds in found.items()}


def _masks(load: _Load, device: int | None) -> float:
    """Attention masks of the layers of a device (None = all), floats per token."""
    geometry = load.geometry
    kinds = load.kinds.get(device, frozenset())
    item = 0.5 if load.placement.flash_attention else 1.0
    floats = 0.0
    if kinds & {LayerKind.FULL, LayerKind.BOTH}:
        floats += item * load.room.n_ctx_seq
        if geometry.n_indexer_key:
            floats += 0.5 * load.room.n_ctx_seq
    if LayerKind.WINDOW in kinds:
        floats += item * load.room.n_window
    return floats


def _scores(load: _Load) -> float:
    """The score matrix that flash attention does without, F32."""
    if load.placement.flash_attention:
        return 0.0
    longest = _longest_cells(load)
    return float(load.geometry.n_head * longest)


def _longest_cells(load: _Load) -> int:
    kinds = load.kinds[None]
    if kinds & {LayerKind.FULL, LayerKind.BOTH}:
        return load.room.n_ctx_seq
    return load.room.n_window if LayerKind.WINDOW in kinds else 0


def _widest_kv(load: _Load) -> tuple[int, int]:
    return _widest(load.geometry)


@lru_cache(maxsize=64)
def _widest(geometry: Geometry) -> tuple[int, int]:
    widths = [
        kv_widths(geometry, index)
        for index, kind in enumerate(geometry.layers)
        if kind in (LayerKind.FULL, LayerKind.BOTH, LayerKind.WINDOW)
    ]
    return max(widths, key=sum, default=(0, 0))


def _converted_floats(load: _Load) -> float:
    """One layer's K and V as F16, which the tensor cores want of any other type."""
    placement = load.placement
    if placement.cache_type_k == "F16" or not placement.flash_attention:
        return 0.0
    rows = _longest_cells(load) * load.room.n_stream
    return sum(_widest_kv(load)) * 2 * rows / _token_bytes(load)


def _copied_floats(load: _Load, name: str) -> float:
    """One layer's K and V brought from the host, where attention runs on the GPU."""
    placement = load.placement
    if name not in ("nkvo", "ngl"):
        return 0.0
    stays = load.geometry.architecture in SCORES_ON_HOST
    if name == "ngl" and stays and not last_on_host_attends(load.geometry, load.devices):
        return 0.0
    cells_held = _longest_cells(load)
    if name == "ngl" and not load.kinds.get(HOST, frozenset()) & {LayerKind.FULL, LayerKind.BOTH}:
        cells_held = min(cells_held, load.room.n_window)
    width_k, width_v = _widest_kv(load)
    kind_k = TYPES_BY_NAME[placement.cache_type_k]
    kind_v = TYPES_BY_NAME[placement.cache_type_v]
    row = kind_k.row_bytes(width_k) + kind_v.row_bytes(width_v)
    rows = cells_held * load.room.n_stream
    return row * rows / _token_bytes(load)


def _logits(load: _Load) -> float:
    """Rows of logits, where more than one per slot is asked for."""
    geometry, room = load.geometry, load.room
    rows = load.placement.n_outputs
    rows = min(room.n_ubatch, load.placement.n_parallel if rows is None else rows)
    beside = (widths_of(geometry) or {}).get("logits")
    floats = 4 * geometry.n_embd if beside is None else beside[-1][1]
    return rows / room.n_ubatch * geometry.n_vocab + (floats if rows > 1 else 4 * geometry.n_embd)


def _round(load: _Load, floats: float) -> int:
    return max(int(floats * _token_bytes(load)), 0)


def _width(load: _Load, name: str) -> float:
    table = widths_of(load.geometry)
    if table is not None and name in table:
        context: float = load.room.n_ctx_seq
        if name.partition("_")[0] in ("ngl", "nkvo") or name.endswith("_q"):
            # Copies of the cache do not grow with the micro-batch, so a small one sees a longer
            # context, in floats per token.
            context *= load.room.n_stream * MEASURED_UBATCH / load.room.n_ubatch
        return between(table[name], context)
    return generic_width(load.geometry, name)
