"""Which number format a quantization gives which tensor: ``assets/mixes.json``, any thread. Pure.

Names of quantizations are written by people; the first pattern that is found in one counts. What a
file really holds is in its header, so a mix is fitted to the size of the file: the formats keep
their names, and the bytes of their rows are scaled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from kimi_desktop.base.assets import asset
from kimi_desktop.models.ggml import TYPES_BY_NAME, GgmlType
from kimi_desktop.models.gguf import GgufTensor

_BLOCK = re.compile(r"^blk\.(\d+)\.")
_EXPERT = re.compile(r"ffn_(?:up|down|gate|gate_up)_(?:ch|)exps\.")
# Small tensors that llama-quantize leaves as they are.
_KEPT = re.compile(
    r"norm|\.bias$|ffn_gate_inp|ssm_conv1d|shortconv\.conv|exp_probs_b|attn_sinks|ssm_[ad]$"
    r"|rope_freqs|_res_score|indexer\.proj|time_mix"
)
_VALUES = ("attn_v", "attn_v_b", "attn_kv_b")
# Where a row is no whole number of blocks, llama-quantize takes the next simpler format.
_SIMPLER = {
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
    "TQ1_0": "Q4_0",
}
_SIMPLEST_SMALL, _SIMPLEST = "IQ4_NL", "F16"
MOST_STRETCH = 2.0
"""Experts whose format has to be scaled by more than this are not what the name says."""

Types = tuple[str, str]
"""Of the layers that get more bits, and of the others."""


@dataclass(frozen=True, slots=True)
class Mix:
    """One quantization: a role's format; roles as in ``_roles``."""

    types: Mapping[str, Types]

    def type_of(self, name: str, shape: tuple[int, ...], n_layer: int) -> GgmlType:
        """The format of a tensor.

        Args:
            name: as in a header.
            shape: the first dimension is the contiguous one.
            n_layer: blocks of the model.
        """
        if len(shape) == 1 or _KEPT.search(name):
            return TYPES_BY_NAME["F32"]
        more, others = next(self.types[role] for role in _roles(name) if role in self.types)
        block = _BLOCK.match(name)
        wanted = more if block and _gets_more(int(block[1]), n_layer) else others
        return _fitting(wanted, shape[0])


@cache
def _mixes() -> tuple[tuple[re.Pattern[str], Mix], ...]:
    data = json.loads(asset("mixes.json").read_text(encoding="utf-8"))
    found = []
    for row in data["mixes"]:
        types = {
            role: (value, value) if isinstance(value, str) else tuple(value)
            for role, value in row.items()
            if role not in ("pattern", "source")
        }
        found.append((re.compile(row["pattern"], re.IGNORECASE), Mix(types)))
    return tuple(found)


def mix_named(quantization: str) -> Mix:
    """The mix that a quantization's name stands for; some usual one when it says nothing."""
    return next(mix for pattern, mix in _mixes() if pattern.search(quantization))


def is_expert(name: str) -> bool:
    """A tensor of routed experts."""
    return bool(_EXPERT.search(name))


def mixed_tensors(
    tensors: Sequence[tuple[str, tuple[int, ...]]], mix: Mix, n_layer: int, file_bytes: int
) -> tuple[GgufTensor, ...]:
    """The tensors in the formats of a mix, scaled so that they fill a file.

    Experts are scaled, since dynamic mixes differ in them; in a model without, or when the mix is
    far from the file, everything that is quantized.

    Args:
        tensors: (name, shape).
        mix: of the file.
        n_layer: blocks of the model.
        file_bytes: of all parts.
    """
    typed = [(name, shape, mix.type_of(name, shape, n_layer)) for name, shape in tensors]
    sizes = [
        (kind.tensor_bytes(shape), kind.name != "F32", is_expert(name))
        for name, shape, kind in typed
    ]
    every = sum(size for size, _, _ in sizes)
    quantized = sum(size for size, scales, _ in sizes if scales)
    experts = sum(size for size, scales, expert in sizes if scales and expert)
    for_experts = file_bytes - every + experts
    only_experts = experts / MOST_STRETCH < for_experts < experts * MOST_STRETCH
    scaled = experts if only_experts else quantized
    factor = max(file_bytes - every + scaled, 0) / max(scaled, 1)
    found: list[GgufTensor] = []
    carried = 0.0  # of rounding, so that the sum is right
    for (name, shape, kind), (size, scales, expert) in zip(typed, sizes, strict=True):
        if scales and (expert or not only_experts):
            exact = size * factor
            fitted = _with_row_bytes(kind, shape, exact + carried)
            carried += exact - fitted.tensor_bytes(shape)
            found.append(GgufTensor(name, shape, fitted, 0))
        else:
            found.append(GgufTensor(name, shape, kind, 0))
    return tuple(found)


def _with_row_bytes(kind: GgmlType, shape: tuple[int, ...], size: float) -> GgmlType:
    """The format with other bytes per row; one block is a row."""
    row = max(round(size / prod(shape[1:])), 1)
    if row == kind.row_bytes(shape[0]):
        return kind
    return GgmlType(kind.id, kind.name, shape[0], row)


def _roles(name: str) -> tuple[str, ...]:
    """The most special first; every mix has ``rest``."""
    plain = _BLOCK.sub("", name).removesuffix(".weight")
    down = ("down",) if plain.startswith("ffn_down") else ()
    if is_expert(name):
        return (*(("experts_down",) if down else ()), "experts", *down, "rest")
    if plain == "token_embd":
        return ("embedding", "rest")
    if plain in _VALUES:
        return ("value", "rest")
    if plain == "attn_output":
        return ("attention_output", "rest")
    return ("output", "rest") if plain == "output" else (*down, "rest")


def _gets_more(index: int, n_layer: int) -> bool:
    """``use_more_bits`` of llama.cpp: the first and last eighth, and every third between."""
    eighth = n_layer // 8
    return index < eighth or index >= 7 * n_layer // 8 or (index - eighth) % 3 == 2


def _fitting(name: str, row: int) -> GgmlType:
    kind = TYPES_BY_NAME[name]
    if row % kind.block:
        kind = TYPES_BY_NAME[_SIMPLER.get(name, _SIMPLEST_SMALL)]
    return TYPES_BY_NAME[_SIMPLEST] if row % kind.block else kind
