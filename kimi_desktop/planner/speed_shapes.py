"""What a model reads per token, from its name, quantization and file size alone.

For published measurements, which say no more. Geometry and formats are those of ``assets/geometry``
and ``assets/mixes.json``; a name with "48B-A3B" in it will do for an estimate.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import cache
from math import prod

from kimi_desktop.models.geometry import LayerKind
from kimi_desktop.models.known_geometry import KnownModel, known_model
from kimi_desktop.models.mixes import is_expert, mix_named, mixed_tensors
from kimi_desktop.planner.cache import kv_bytes_per_token

_BLOCK = re.compile(r"blk\.(\d+)\.")
_ACTIVE = re.compile(r"(\d+(?:\.\d+)?)b[- ]?a(\d+(?:\.\d+)?)b", re.IGNORECASE)
_DENSE = re.compile(r"(\d+(?:\.\d+)?)b\b", re.IGNORECASE)
_USUAL_BITS = 4.8  # of a 4 bit mix, when only the model is known
# Of the active weights of mixtures of experts, this share is outside the experts (K2: 0.33,
# DeepSeek V3: 0.44, Qwen3-235B: 0.34); and an unknown one is taken for a DeepSeek.
_OTHER_SHARE = 0.37
_UNKNOWN_ROUTED_SHARE = 1 / 32
_UNKNOWN_OTHER_SHARE = 0.025
_UNKNOWN_LAYERS = 60
_UNKNOWN_KV_BYTES = 70_000


@dataclass(frozen=True, slots=True)
class SpeedShape:
    """Parameters by how they are read, and what a cache keeps."""

    expert_params: float
    routed_share: float
    """Of the experts' parameters, read for one token."""
    other_params: float
    """Read for every token."""
    embedding_params: float
    """A table of which one row is read."""
    n_layer: int
    n_layer_recurrent: int
    kv_bytes_per_token: int
    """In a 16 bit cache."""
    n_expert: int = 0
    """Of a layer; 0 when it is not known."""
    is_estimate: bool = False
    """From the name, not from a header."""

    @property
    def total_params(self) -> float:
        """All of them."""
        return self.expert_params + self.other_params + self.embedding_params

    @property
    def active_params(self) -> float:
        """Those that one token is multiplied with."""
        return self.expert_params * self.routed_share + self.other_params


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes of a file by how they are read."""

    expert_bytes: int
    routed_bytes: int
    """Of the experts, read for one token."""
    other_bytes: int
    is_i_quant: bool


@cache
def _known_shape(model: KnownModel) -> SpeedShape:
    """Counted from its tensors; blocks of multi-token prediction are not read."""
    tensors = mixed_tensors(model.tensors, mix_named("F16"), model.n_layer, 0)
    geometry, _ = model.geometry(tensors)
    sums = {True: 0, False: 0}
    embedding = 0
    for tensor in tensors:
        block = _BLOCK.match(tensor.name)
        if block and int(block[1]) >= geometry.n_layer_main:
            continue
        if tensor.name == "token_embd.weight":
            embedding = tensor.n_elements
        else:
            sums[is_expert(tensor.name)] += tensor.n_elements
    return SpeedShape(
        expert_params=float(sums[True]),
        routed_share=geometry.n_expert_used / max(geometry.n_expert, 1),
        other_params=float(sums[False]),
        embedding_params=float(embedding),
        n_layer=geometry.n_layer_main,
        n_layer_recurrent=sum(kind is LayerKind.RECURRENT for kind in geometry.layers),
        kv_bytes_per_token=kv_bytes_per_token(geometry),
        n_expert=geometry.n_expert,
    )


@cache
def _other_bits(quantization: str) -> float:
    """Of a weight outside the experts, in the geometry of Kimi K2 (others are close to it)."""
    model = known_model("kimi-k2")
    assert model is not None
    mix = mix_named(quantization)
    size = count = 0
    for name, shape in model.tensors:
        if name != "token_embd.weight" and not is_expert(name):
            size += mix.type_of(name, shape, model.n_layer).tensor_bytes(shape)
            count += prod(shape)
    return 8 * size / count


def find_shape(model: str, experts_used: int | None = None) -> SpeedShape | None:
    """The shape of a known model, or an estimate from the sizes in its name.

    Args:
        model: a title, repository or file name.
        experts_used: when the engine is told to use fewer than the model's.
    """
    if known := known_model(model):
        shape = _known_shape(known)
        if experts_used is None or not shape.n_expert:
            return shape
        return dataclasses.replace(shape, routed_share=experts_used / shape.n_expert)
    name = re.sub(r"[ _]", "-", model.casefold())
    if found := _ACTIVE.search(name):
        total, active = (float(number) * 1e9 for number in found.groups())
        other = active * _OTHER_SHARE
        experts = max(total - other, 1.0)
        return _estimate(experts, (active - other) / experts, other)
    if found := _DENSE.search(name):
        return _estimate(0.0, 0.0, float(found[1]) * 1e9)
    return None


def unknown_shape(file_bytes: float) -> SpeedShape:
    """A mixture of experts of which only the file's size is known."""
    total = file_bytes * 8 / _USUAL_BITS
    other = total * _UNKNOWN_OTHER_SHARE
    return _estimate(total - other, _UNKNOWN_ROUTED_SHARE, other)


def usual_file_bytes(shape: SpeedShape) -> int:
    """The size of a usual 4 bit file, when the real one is not known."""
    return int(shape.total_params * _USUAL_BITS / 8)


def traffic(shape: SpeedShape, quantization: str, file_bytes: int) -> Traffic:
    """Split a file into experts and the rest, whose bits follow from the quantization's name."""
    if not shape.expert_params:
        share = shape.other_params / shape.total_params
        return Traffic(0, 0, int(file_bytes * share), _is_i_quant(quantization))
    bits = _other_bits(quantization)
    other = min(shape.other_params * bits / 8, file_bytes / 2)
    embedding = shape.embedding_params * bits / 8
    experts = max(file_bytes - other - embedding, file_bytes * 0.3)
    return Traffic(
        expert_bytes=int(experts),
        routed_bytes=int(experts * shape.routed_share),
        other_bytes=int(other),
        is_i_quant=_is_i_quant(quantization),
    )


def _is_i_quant(quantization: str) -> bool:
    return bool(re.search(r"(?:^|[-_ ])iq\d", quantization, re.IGNORECASE))


def _estimate(experts: float, routed_share: float, other: float) -> SpeedShape:
    return SpeedShape(
        expert_params=experts,
        routed_share=routed_share,
        other_params=other,
        embedding_params=0.0,
        n_layer=_UNKNOWN_LAYERS,
        n_layer_recurrent=0,
        kv_bytes_per_token=_UNKNOWN_KV_BYTES,
        is_estimate=True,
    )
