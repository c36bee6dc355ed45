"""What of a compute graph's working memory follows from the geometry and the flags. Pure.

llama.cpp reserves a compute buffer for the worst case: a whole micro-batch over a full cache. At
its fullest a device holds the attention masks, and beside them one of a few stages of a layer: the
widest part of the graph alone; the score matrix of attention without flash attention; K and V of a
layer that were brought from the host, or converted to F16; a weight that was brought from the host
to be multiplied there. These terms are written out here, in floats per token of the micro-batch
(bytes / 4 / n_ubatch). What else a stage holds is its width, measured per geometry
(``graph_width``).

Source of the terms: llama.cpp b11549, ``ggml-alloc.c`` (a tensor lives from its node to its last
reader), ``ggml-backend.cpp`` (inputs of a part of the graph are copied to its device before it;
each weight from the host begins a part of its own; pipelines keep four copies of every input), and
allocations of its own dry run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kimi_desktop.models.geometry import Geometry, LayerKind
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.planner.cache import Cells, cells, kv_widths
from kimi_desktop.planner.flash import SCORES_ON_HOST, last_on_host_attends
from kimi_desktop.planner.types import HOST, ModelShape, Placement
from kimi_desktop.planner.weights import HostStaging, host_staging

F32_BYTES = 4
PIPELINE_COPIES = 4
"""Inputs are kept so often when several GPUs work in a pipeline (GGML_SCHED_MAX_COPIES)."""
RESIDUAL_BLOCK = {"kimi-k3": 12}
"""Layers after which the graph keeps one more residual row (``attn_res.block_size``)."""

ATTENDS = frozenset({LayerKind.FULL, LayerKind.BOTH})


@dataclass(frozen=True, slots=True)
class Load:
    """One load, and what all devices have in common."""

    shape: ModelShape
    placement: Placement
    """With flash attention decided."""
    devices: Sequence[int]
    room: Cells
    n_gpu: int
    staging: HostStaging
    pipeline: bool
    kinds: Mapping[int | None, frozenset[LayerKind]]
    """Which kinds of layers a device holds; None = all devices."""

    @property
    def geometry(self) -> Geometry:
        """Of the model."""
        return self.shape.geometry

    @property
    def token_bytes(self) -> int:
        """Bytes of one F32 per token of the micro-batch."""
        return F32_BYTES * self.room.n_ubatch

    @property
    def copies(self) -> int:
        """How often an input is kept."""
        return PIPELINE_COPIES if self.pipeline else 1


def load_of(shape: ModelShape, placement: Placement, n_gpu: int, devices: Sequence[int]) -> Load:
    """Put together once per forecast.

    Args:
        shape: the model.
        placement: the flags, flash attention decided.
        n_gpu: GPUs in use.
        devices: of every layer (``weights.layer_devices``).
    """
    pipeline = (
        n_gpu > 1
        and HOST not in devices
        and not placement.overrides
        and not placement.n_cpu_moe
        and placement.offload_kv
    )
    return Load(
        shape,
        placement,
        devices,
        cells(shape.geometry, placement),
        n_gpu,
        host_staging(shape, placement, devices),
        pipeline,
        _kinds_by_device(shape.geometry, devices),
    )


def place_of(load: Load, device: int) -> str:
    """Which graph a device works on: the way of the whole, a dot, and the device's part.

    Ways: ``pipe`` a pipeline of GPUs; ``plain`` all on GPUs without one; ``ngl`` some layers on the
    host; ``stage`` experts on the host; ``noop`` behind these without bringing weights to a GPU;
    ``nkvo`` before any of them with the cache on the host. Parts: the ``only`` GPU, of several the
    ``first`` (the one that weights are brought to) and ``later`` ones, the ``host``. Behind a part:
    ``-`` it holds no layer; ``r`` all its layers are recurrent, of a model that has others; what of
    the experts is where, in the order of the layers: ``e`` its own layers' on it, ``h`` its own
    layers' on the host; ``f`` those of other GPUs' layers on it.
    """
    if not load.n_gpu:
        return "cpu"
    way = _way(load)
    part = _part(load, device)
    if device not in load.kinds:
        return f"{way}.{part}-"
    if device == HOST:
        return f"{way}.{part}"
    return f"{way}.{part}{_marks(load, device, way)}"


def _marks(load: Load, device: int, way: str) -> str:
    recurrent = frozenset({LayerKind.RECURRENT})
    mark = "r" if load.kinds[device] == recurrent != load.kinds[None] else ""
    if way.rpartition(" ")[2] in ("pipe", "plain"):
        return mark
    staging = load.staging
    own = "e" if device in staging.gpus_with_experts else ""
    away = "h" if device in staging.gpus_with_host_experts else ""
    mark += own + away if device in staging.gpus_that_begin_with_experts else away + own
    return mark + ("f" if device in staging.gpus_with_foreign_experts else "")


def _part(load: Load, device: int) -> str:
    if device == HOST:
        return "host"
    if load.n_gpu == 1:
        return "only"
    return "later" if device else "first"


def _way(load: Load) -> str:
    if load.pipeline:
        return "pipe"
    placement, staging = load.placement, load.staging
    way = "ngl" if staging.has_layers else "stage" if staging.expert_bytes else "plain"
    if way != "plain" and not placement.offload_ops:
        way += " noop"
    return way if placement.offload_kv else f"nkvo {way}"


def terms_of(load: Load, device: int) -> dict[str, float]:
    """The terms that a device may hold, by name; 0 for one that it does not. Floats per token."""
    geometry, placement = load.geometry, load.placement
    terms = {
        "scores": 0.0,
        "converted": 0.0,
        "lodged": 0.0,
        "spilled": 0.0,
        "bf16": 0.0,
        "copies": 0.0,
        "staged": 0.0,
        "dense": 0.0,
        "logits": _logits(load) if device == load.devices[-1] else 0.0,
        "states": _states(load),
        "context": float(load.room.n_ctx_seq) if geometry.n_indexer_key else 0.0,
        "inputs": 0.0,
        "before": 0.0,
        "through": 0.0,
    }
    brings = device == 0 and placement.offload_ops and load.staging.has_layers
    if device == HOST:
        terms["scores"] = _scores(load, device)
        terms["inputs"] = _inputs(load) if load.n_gpu else 0.0
        return terms
    if device in load.kinds or brings:  # else it works on the output alone
        terms["scores"] = _scores(load, device)
        terms["converted"] = _converted(load)
        query, whole = _holes(geometry)
        if terms["converted"] > query:
            terms["lodged" if terms["converted"] <= whole else "spilled"] = terms["converted"]
        terms["bf16"] = float(placement.cache_type_k == "BF16")
        terms["copies"] = _copied(load)
    if device == 0 and placement.offload_ops:
        terms["staged"] = load.staging.expert_bytes / load.token_bytes
        terms["dense"] = load.staging.dense_bytes / load.token_bytes
    if block := RESIDUAL_BLOCK.get(geometry.architecture):
        own = [index for index, at in enumerate(load.devices) if at == device]
        if own:
            terms["before"] = float(geometry.n_embd * -(-own[0] // block))
            terms["through"] = float(geometry.n_embd * -(-(own[-1] + 1) // block))
    return terms


def masks_of(load: Load, device: int) -> float:
    """Attention masks, which lie there all the time. Floats per token."""
    if device == HOST:
        return _masks(load, None)
    if not load.placement.flash_attention and _leaves_attention(load):
        return 0.0
    brings = device == 0 and (
        (load.staging.has_layers and load.placement.offload_ops)
        or (not load.placement.offload_kv and not load.staging.expert_bytes)
    )
    return load.copies * _masks(load, None if brings else device)


def _inputs(load: Load) -> float:
    """Inputs of the first GPU beside one set of masks: tokens, ids; several in a pipeline."""
    copies = load.copies
    floats = load.geometry.n_embd * (2 + 2 * copies) + 8 * copies
    return floats + (copies - 1) * _masks(load, None) + copies * _value_indices(load)


def _value_indices(load: Load) -> float:
    """Without flash attention V is stored transposed, and every element has its index (i64)."""
    if load.placement.flash_attention:
        return 0.0
    seen: dict[LayerKind, int] = {}
    for index, kind in enumerate(load.geometry.layers):
        if kind not in seen and kind is not LayerKind.RECURRENT:
            seen[kind] = kv_widths(load.geometry, index)[1]
    return float(sum(2 * (width - 1) for width in seen.values() if width))


def _kinds_by_device(
    geometry: Geometry, devices: Sequence[int]
) -> dict[int | None, frozenset[LayerKind]]:
    found: dict[int | None, set[LayerKind]] = {None: set(geometry.layers)}
    for device, kind in set(zip(devices, geometry.layers, strict=False)):
        found.setdefault(device, set()).add(kind)
    return {device: frozenset(kinds) for device, kinds in found.items()}


def _masks(load: Load, device: int | None) -> float:
    """Masks of the layers of a device (None = all)."""
    geometry = load.geometry
    kinds = load.kinds.get(device, frozenset())
    item = 0.5 if load.placement.flash_attention else 1.0
    floats = 0.0
    if kinds & ATTENDS:
        floats += item * load.room.n_ctx_seq
        if geometry.n_indexer_key:
            floats += 0.5 * load.room.n_ctx_seq
    if LayerKind.WINDOW in kinds:
        floats += item * load.room.n_window
    return floats


def _scores(load: Load, device: int) -> float:
    """The score matrix that flash attention does without, F32."""
    if load.placement.flash_attention:
        return 0.0
    if device != HOST and _leaves_attention(load):
        return 0.0
    kinds = load.kinds.get(device, frozenset())
    if load.n_gpu and kinds == {LayerKind.RECURRENT} and not load.staging.has_layers:
        return 0.0
    if device == HOST and load.n_gpu and not _attends_on_host(load):
        return 0.0
    return float(load.geometry.n_head * _longest_cells(load))


def _leaves_attention(load: Load) -> bool:
    """No GPU computes attention: it stays with its cache on the host."""
    return load.geometry.architecture in SCORES_ON_HOST and not load.placement.offload_kv


def _attends_on_host(load: Load) -> bool:
    """Attention of some layer is computed on the host beside GPUs."""
    if load.geometry.architecture in SCORES_ON_HOST:
        return load.staging.has_layers or not load.placement.offload_kv
    return load.staging.has_layers and not load.placement.offload_ops


def _longest_cells(load: Load) -> int:
    kinds = load.kinds[None]
    if kinds & ATTENDS:
        return load.room.n_ctx_seq
    return load.room.n_window if LayerKind.WINDOW in kinds else 0


@lru_cache(maxsize=64)
def _widest(geometry: Geometry) -> tuple[int, int]:
    widths = [
        kv_widths(geometry, index)
        for index, kind in enumerate(geometry.layers)
        if kind is not LayerKind.RECURRENT
    ]
    return max(widths, key=sum, default=(0, 0))


def _converted(load: Load) -> float:
    """One layer's K and V as F16, which the tensor cores want of any other type."""
    placement = load.placement
    if placement.cache_type_k == "F16" or not placement.flash_attention:
        return 0.0
    rows = _longest_cells(load) * load.room.n_stream
    return sum(_widest(load.geometry)) * 2 * rows / load.token_bytes


def _holes(geometry: Geometry) -> tuple[float, float]:
    """What attention has freed by the time that it converts a cache of latents (MLA).

    On the first GPU the query of all heads, then with it their output and the token's own row of
    the cache. A converted copy that fits lies there; a larger one lies behind what is in use. Seen
    with DeepSeek V3 in a pipeline (b11549): of 24,480 and 24,768 floats per token the one fits into
    the first and the other does not, of 41,472 and 41,760 into the second; these are 24,576 and
    41,536.
    """
    if not geometry.is_mla:
        return 0.0, 0.0
    query = geometry.n_head * geometry.key_length_mla
    output = geometry.n_head * geometry.value_length_mla
    return float(query), float(query + output + geometry.kv_lora_rank + geometry.n_rot)


def _copied(load: Load) -> float:
    """One layer's K and V brought from the host, where attention runs on the GPU."""
    placement = load.placement
    if placement.offload_kv and not load.staging.has_layers:
        return 0.0
    stays = load.geometry.architecture in SCORES_ON_HOST and not placement.flash_attention
    brought = placement.offload_kv and last_on_host_attends(load.geometry, load.devices)
    if stays and not brought:
        return 0.0
    width_k, width_v = _widest(load.geometry)
    kind_k = TYPES_BY_NAME[placement.cache_type_k]
    kind_v = TYPES_BY_NAME[placement.cache_type_v]
    row = kind_k.row_bytes(width_k) + kind_v.row_bytes(width_v)
    return row * _longest_cells(load) * load.room.n_stream / load.token_bytes


def _states(load: Load) -> float:
    """One recurrent layer's state of all slots."""
    geometry = load.geometry
    width = geometry.n_state_conv + geometry.n_state_ssm
    return width * max(load.placement.n_parallel, 1) / load.room.n_ubatch


def _logits(load: Load) -> float:
    """Rows of logits, where more than one is asked for."""
    rows = load.placement.n_outputs
    rows = min(load.room.n_ubatch, load.placement.n_parallel if rows is None else rows)
    return rows / load.room.n_ubatch * load.geometry.n_vocab if rows > 1 else 0.0
