"""Which device gets which tensor, and how many bytes. Pure.

The rules are llama.cpp's (b11549), proven byte-exact on the measured cases in ``tests/data``:
layers are offloaded from the back, the output layer first; the token embedding never leaves the
host and a tied output matrix is a second copy of it; overrides go by tensor name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kimi_desktop.models.geometry import TensorTable
from kimi_desktop.models.gguf import GgufTensor
from kimi_desktop.planner.rounding import f32, gpu_bytes, host_bytes
from kimi_desktop.planner.types import ALL_LAYERS, HOST, ModelShape, Placement

REPACKED = frozenset({"Q4_0", "Q4_K", "IQ4_NL", "MXFP4"})
"""Types that the CPU backend rearranges into memory of its own (seen with AVX2)."""

_EXPERT = re.compile(r"\.ffn_(?:up|down|gate|gate_up)_(?:ch|)exps")
_BLOCK = re.compile(r"blk\.(\d+)\.")


@lru_cache(maxsize=256)
def _layer_devices(n_layer: int, n_gpu_layers: int, split: tuple[float, ...]) -> tuple[int, ...]:
    count = n_layer + 1
    wanted = count if n_gpu_layers == ALL_LAYERS else min(n_gpu_layers, count)
    if not split or wanted <= 0:
        return (HOST,) * count
    sums: list[float] = []
    total = 0.0
    for share in split:
        total = f32(total + share)
        sums.append(total)
    if total <= 0:  # no GPU has free memory: llama.cpp divides evenly
        return _layer_devices(n_layer, n_gpu_layers, (1.0,) * len(split))
    bounds = [f32(part / total) for part in sums]
    devices = [HOST] * (count - wanted)
    width = f32(wanted)
    for index in range(wanted):
        position = f32(index / width)  # whole numbers below 2**24 are exact in single precision
        devices.append(min(sum(bound <= position for bound in bounds), len(split) - 1))
    return tuple(devices)


def layer_devices(n_layer: int, n_gpu_layers: int, split: Sequence[float]) -> tuple[int, ...]:
    """The device of every layer; the last one is the output.

    Args:
        n_layer: blocks, with those of multi-token prediction.
        n_gpu_layers: as given, ALL_LAYERS for all.
        split: a share per GPU; empty without GPUs.
    """
    return _layer_devices(n_layer, n_gpu_layers, tuple(split))


@dataclass(slots=True)
class _Group:
    """The bytes of some tensors, as they would be on a GPU and on the host."""

    gpu: int = 0
    host: int = 0
    repacked: int = 0
    """Of the host bytes, those of types that the CPU rearranges."""
    largest: int = 0
    """The largest tensor, in file bytes: what is staged on the GPU when it stays on the host."""

    def add(self, tensor: GgufTensor, *, is_looked_up: bool = False) -> None:
        size = host_bytes(tensor.type, tensor.shape)
        self.gpu += gpu_bytes(tensor.type, tensor.shape)
        self.host += size
        # Rearranged are matrices and stacks of experts: no tables, no per-head stacks.
        fit = len(tensor.shape) == 2 or bool(_EXPERT.search(tensor.name))
        if tensor.type.name in REPACKED and fit and not is_looked_up:
            self.repacked += size
        self.largest = max(self.largest, tensor.size_bytes)


@dataclass(slots=True)
class _Layer:
    """The tensors of one block (or of the output layer) by what moves them."""

    dense: _Group = field(default_factory=_Group)
    experts: _Group = field(default_factory=_Group)
    dense_fixed: dict[int, _Group] = field(default_factory=dict)
    """By the device that an override names."""
    experts_fixed: dict[int, _Group] = field(default_factory=dict)


@dataclass(slots=True)
class _Sorted:
    """A whole model, sorted once per set of overrides."""

    layers: list[_Layer]
    output: _Layer
    embedding: _Group
    embedding_fixed: int | None
    tied_copy: _Group
    """The token embedding again, for a tied output."""
    rope: _Group


@dataclass(frozen=True, slots=True)
class WeightsByDevice:
    """Bytes of weights. Keys are device numbers."""

    bytes: Mapping[int, int]
    repacked_bytes: int
    """Of the host's, those that are rearranged: memory of their own, not file pages."""


def weights_by_device(
    shape: ModelShape, placement: Placement, split: Sequence[float]
) -> WeightsByDevice:
    """Byte-exact model buffers.

    Args:
        shape: the model.
        placement: the flags.
        split: a share per GPU in use; empty without GPUs.
    """
    geometry = shape.geometry
    devices = layer_devices(geometry.n_layer, placement.n_gpu_layers, split)
    model = _sort(shape.tensors, placement.overrides, geometry.n_layer)
    repacks = placement.repack and not split
    totals: dict[int, int] = {HOST: 0, **dict.fromkeys(range(len(split)), 0)}
    repacked = 0

    def put(group: _Group, device: int) -> None:
        nonlocal repacked
        totals[device] += group.host if device == HOST else group.gpu
        if device == HOST:
            repacked += group.repacked

    used = geometry.n_layer if placement.load_nextn else geometry.n_layer_main
    for index, layer in enumerate(model.layers[:used]):
        device = devices[index]
        put(layer.dense, device)
        for fixed, group in layer.dense_fixed.items():
            put(group, fixed)
        stays = index < placement.n_cpu_moe
        put(layer.experts, HOST if stays else device)
        for fixed, group in layer.experts_fixed.items():
            put(group, HOST if stays else fixed)
    output = devices[-1]
    put(model.output.dense, output)
    for fixed, group in model.output.dense_fixed.items():
        put(group, fixed)
    put(model.embedding, HOST if model.embedding_fixed is None else model.embedding_fixed)
    if geometry.tied_output and (output != HOST or (repacks and model.tied_copy.repacked)):
        put(model.tied_copy, output)
    if model.rope.host:
        for device in set(devices[: geometry.n_layer_main]):  # one copy per buffer with a layer
            put(model.rope, device)
    return WeightsByDevice(totals, repacked if repacks else 0)


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """One block (or the output layer) as it would be on a GPU and on the host."""

    dense_gpu: int
    dense_host: int
    experts_gpu: int
    experts_host: int


@lru_cache(maxsize=64)
def layer_bytes(shape: ModelShape) -> tuple[LayerBytes, ...]:
    """Every layer by itself, the output layer last, without overrides.

    Blocks of multi-token prediction are not loaded and count nothing. A tied output matrix counts
    on a GPU alone.
    """
    geometry = shape.geometry
    model = _sort(shape.tensors, (), geometry.n_layer)
    nothing = LayerBytes(0, 0, 0, 0)
    rows = [
        LayerBytes(layer.dense.gpu, layer.dense.host, layer.experts.gpu, layer.experts.host)
        if index < geometry.n_layer_main
        else nothing
        for index, layer in enumerate(model.layers)
    ]
    output = model.output.dense
    tied = model.tied_copy.gpu if geometry.tied_output else 0
    rows.append(LayerBytes(output.gpu + tied, output.host, 0, 0))
    return tuple(rows)


@lru_cache(maxsize=64)
def embedding_bytes(shape: ModelShape) -> int:
    """What stays in main memory whatever is offloaded: the table of token embeddings."""
    everything = Placement(context=1, n_gpu_layers=ALL_LAYERS)
    return weights_by_device(shape, everything, (1.0,)).bytes[HOST]


def experts_in_ram(shape: ModelShape, placement: Placement) -> tuple[int, ...]:
    """The blocks whose experts a placement keeps in main memory, wherever the blocks are."""
    model = _sort(shape.tensors, placement.overrides, shape.geometry.n_layer)
    return tuple(
        index
        for index, layer in enumerate(model.layers)
        if (index < placement.n_cpu_moe and (layer.experts.host or layer.experts_fixed))
        or HOST in layer.experts_fixed
    )


@dataclass(frozen=True, slots=True)
class HostStaging:
    """What stays in main memory and may be brought to a GPU, in file bytes."""

    expert_bytes: int
    """The largest tensor of experts; 0 when all are on GPUs."""
    dense_bytes: int
    """The largest other matrix of a block; 0 when no block is on the host."""
    has_layers: bool
    """Whole blocks are on the host."""
    gpus_with_experts: frozenset[int]
    """GPUs that hold experts of blocks of their own."""
    gpus_with_host_experts: frozenset[int]
    """GPUs that hold blocks whose experts are on the host."""
    gpus_that_begin_with_experts: frozenset[int]
    """GPUs that hold the experts of their first block that has any."""
    gpus_with_foreign_experts: frozenset[int]
    """GPUs that an override gave experts of blocks that are elsewhere."""


def host_staging(shape: ModelShape, placement: Placement, devices: Sequence[int]) -> HostStaging:
    """What of the blocks is on the host.

    Args:
        shape: the model.
        placement: the flags.
        devices: of every layer (``layer_devices``).
    """
    n_layer = shape.geometry.n_layer
    model = _sort(shape.tensors, placement.overrides, n_layer)
    experts = dense = 0
    gpus: set[int] = set()
    foreign: set[int] = set()
    without: set[int] = set()
    begin: dict[int, bool] = {}
    for index, layer in enumerate(model.layers[: shape.geometry.n_layer_main]):
        stays = index < placement.n_cpu_moe
        groups = [(devices[index], layer.experts), *layer.experts_fixed.items()]
        for place, group in groups:
            if stays or place == HOST:
                experts = max(experts, group.largest)
                if group.largest and devices[index] != HOST:
                    without.add(devices[index])
                    begin.setdefault(devices[index], False)
            elif group.largest:
                (gpus if place == devices[index] else foreign).add(place)
                begin.setdefault(devices[index], place == devices[index])
        if devices[index] == HOST:
            dense = max(dense, layer.dense.largest)
    has_layers = HOST in devices[: shape.geometry.n_layer_main]
    return HostStaging(
        experts,
        dense,
        has_layers,
        frozenset(gpus),
        frozenset(without),
        frozenset(device for device, own in begin.items() if own),
        frozenset(foreign),
    )


@lru_cache(maxsize=64)
def _sort(table: TensorTable, overrides: tuple[tuple[str, int], ...], n_layer: int) -> _Sorted:
    patterns = [(re.compile(pattern), device) for pattern, device in overrides]
    model = _Sorted(
        [_Layer() for _ in range(n_layer)], _Layer(), _Group(), None, _Group(), _Group()
    )
    for tensor in table:
        fixed = next((device for regex, device in patterns if regex.search(tensor.name)), None)
        if tensor.name == "token_embd.weight":
            model.embedding.add(tensor, is_looked_up=True)
            model.embedding_fixed = fixed
            model.tied_copy.add(tensor)
        elif tensor.name == "rope_freqs.weight":
            model.rope.add(tensor)
        else:
            block = _BLOCK.match(tensor.name)
            index = int(block[1]) if block else n_layer
            layer = model.layers[index] if index < n_layer else model.output
            is_expert = bool(_EXPERT.search(tensor.name))
            group, by_device = (
                (layer.experts, layer.experts_fixed)
                if is_expert
                else (layer.dense, layer.dense_fixed)
            )
            if fixed is not None:
                group = by_device.setdefault(fixed, _Group())
            group.add(tensor)
    return model
