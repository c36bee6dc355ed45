"""The shape of a file that nobody has opened: from a geometry, a quantization and a size. Pure."""

from __future__ import annotations

from functools import lru_cache

from kimi_desktop.models.generic_geometry import generic_model
from kimi_desktop.models.geometry import TensorTable
from kimi_desktop.models.known_geometry import KnownModel, known_model
from kimi_desktop.models.mixes import mix_named, mixed_tensors
from kimi_desktop.planner.types import ModelShape

LEAST_BITS, MOST_BITS = 1.0, 33.0
"""Of a weight; a file beyond them is not the model that its name says."""


@lru_cache(maxsize=32)
def shape_by_size(name: str, quantization: str, file_bytes: int) -> ModelShape | None:
    """A model as its header would describe it; None when nothing is known of its geometry.

    Args:
        name: of the model or its repository.
        quantization: "UD-Q4_K_XL".
        file_bytes: all parts together.
    """
    for model in (known_model(name), generic_model(name)):
        if model is not None and _is_plausible(model, file_bytes):
            mix = mix_named(quantization)
            tensors = mixed_tensors(model.tensors, mix, model.n_layer, file_bytes)
            return ModelShape(*model.geometry(tensors), by_size=True)
    return None


def has_geometry(name: str, file_bytes: int) -> bool:
    """A name stands for a published geometry, and the size does not speak against it."""
    model = known_model(name)
    return model is not None and _is_plausible(model, file_bytes)


@lru_cache(maxsize=32)
def resized(shape: ModelShape, quantization: str, file_bytes: int) -> ModelShape:
    """The same model in another quantization, of which only name and size are known."""
    names = [(tensor.name, tensor.shape) for tensor in shape.tensors]
    mix = mix_named(quantization)
    tensors = mixed_tensors(names, mix, shape.geometry.n_layer, file_bytes)
    return ModelShape(shape.geometry, TensorTable(tensors), by_size=True)


def _is_plausible(model: KnownModel, file_bytes: int) -> bool:
    bits = 8 * file_bytes / model.parameter_count
    return LEAST_BITS <= bits <= MOST_BITS
