"""Real models cut to their first blocks: small enough to try every placement of them."""

from __future__ import annotations

import dataclasses
import re
from functools import cache

from kimi_desktop.models.geometry import TensorTable
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.types import ModelShape
from tests.support.measured import model_facts

_BLOCK = re.compile(r"blk\.(\d+)\.")


@cache
def first_blocks(name: str, count: int) -> ModelShape:
    """The first ``count`` blocks of a model, with its embeddings and its output."""
    shape = shape_of(model_facts(name))
    geometry = dataclasses.replace(
        shape.geometry,
        n_layer=count,
        n_layer_nextn=0,
        n_head_kv=shape.geometry.n_head_kv[:count],
        layers=shape.geometry.layers[:count],
    )
    kept = [
        tensor
        for tensor in shape.tensors
        if not (block := _BLOCK.match(tensor.name)) or int(block[1]) < count
    ]
    return ModelShape(geometry, TensorTable(tuple(kept)))
