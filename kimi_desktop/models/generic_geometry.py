"""A geometry made up from the sizes in a name: "48B-A3B", "8B". Pure.

For lists, until a header is read: parameters by how they are read are about right, widths and
layers are those of usual models of that size. Its architecture has no name, so that every forecast
from it counts as an estimate.
"""

from __future__ import annotations

import re

from kimi_desktop.models.gguf import Value
from kimi_desktop.models.known_geometry import KnownModel

_ACTIVE = re.compile(r"(\d+(?:\.\d+)?)b[- ]?a(\d+(?:\.\d+)?)b", re.IGNORECASE)
_DENSE = re.compile(r"(\d+(?:\.\d+)?)b\b", re.IGNORECASE)
_OTHER_SHARE = 0.37
"""Of active weights, outside the experts (K2: 0.33, DeepSeek V3: 0.44, Qwen3-235B: 0.34)."""
_VOCABULARY = 131_072
_HEAD = 128
_N_HEAD_KV = 8
_N_EXPERT = 128
_STEP = 256  # widths are multiples of it
_LAYERS_PER_WIDTH = 1 / 100  # Llama 70B: 80 layers, 8192 wide; Qwen3 32B: 64 and 5120
_PER_SQUARE = 12  # parameters of a dense layer over the square of its width
_CONTEXT = 131_072


def generic_model(name: str) -> KnownModel | None:
    """A model of the size that a name tells; None when it tells none."""
    if found := _ACTIVE.search(name):
        total, active = (float(number) * 1e9 for number in found.groups())
        return _mixture(total, active) if 0 < active <= total else None
    if found := _DENSE.search(name):
        total = float(found[1]) * 1e9
        return _dense(total) if total > 0 else None
    return None


def _dense(total: float) -> KnownModel:
    n_embd = _width(total)
    n_layer = max(round(n_embd * _LAYERS_PER_WIDTH), 1)
    in_blocks = max(total - 2 * n_embd * _VOCABULARY, total / 2)
    attention = 2 * n_embd * (n_embd + _N_HEAD_KV * _HEAD)
    n_ff = _whole((in_blocks / n_layer - attention) / (3 * n_embd))
    return _model(n_embd, n_layer, n_ff, (0, 0, 0))


def _mixture(total: float, active: float) -> KnownModel:
    other = active * _OTHER_SHARE
    n_embd = _width(2 * other)  # about as wide as a dense model of twice that
    n_layer = max(round(n_embd * _LAYERS_PER_WIDTH), 24)
    experts = max(total - other, 1.0)
    n_ff = _whole(experts / (n_layer * 3 * n_embd * _N_EXPERT))
    used = round((active - other) / experts * _N_EXPERT)
    shared = max((other / n_layer - 4 * n_embd * n_embd) / (3 * n_embd), _STEP)
    return _model(n_embd, n_layer, _whole(shared), (_N_EXPERT, min(max(used, 1), _N_EXPERT), n_ff))


def _model(n_embd: int, n_layer: int, n_ff: int, experts: tuple[int, int, int]) -> KnownModel:
    """``experts``: how many, how many are used, and their width."""
    n_expert, n_used, n_ff_expert = experts
    n_kv = _N_HEAD_KV * _HEAD
    tensors: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (n_embd, _VOCABULARY)),
        ("output.weight", (n_embd, _VOCABULARY)),
    ]
    for block in range(n_layer):
        rows: dict[str, tuple[int, ...]] = {
            "attn_q": (n_embd, n_embd),
            "attn_k": (n_embd, n_kv),
            "attn_v": (n_embd, n_kv),
            "attn_output": (n_embd, n_embd),
            "ffn_gate": (n_embd, n_ff),
            "ffn_up": (n_embd, n_ff),
            "ffn_down": (n_ff, n_embd),
        }
        if n_expert:
            rows |= {
                "ffn_gate_exps": (n_embd, n_ff_expert, n_expert),
                "ffn_up_exps": (n_embd, n_ff_expert, n_expert),
                "ffn_down_exps": (n_ff_expert, n_embd, n_expert),
            }
        tensors += [(f"blk.{block}.{part}.weight", shape) for part, shape in rows.items()]
    metadata: dict[str, Value] = {
        "general.architecture": "",
        ".block_count": n_layer,
        ".embedding_length": n_embd,
        ".feed_forward_length": n_ff,
        ".attention.head_count": max(n_embd // _HEAD, 1),
        ".attention.head_count_kv": _N_HEAD_KV,
        ".attention.key_length": _HEAD,
        ".attention.value_length": _HEAD,
        ".context_length": _CONTEXT,
    }
    if n_expert:
        metadata |= {
            ".expert_count": n_expert,
            ".expert_used_count": n_used,
            ".expert_feed_forward_length": n_ff_expert,
        }
    return KnownModel(metadata, tuple(tensors), is_generic=True)


def _width(total: float) -> int:
    """``n_layer * 12 * width^2`` parameters."""
    return _whole((total / (_PER_SQUARE * _LAYERS_PER_WIDTH)) ** (1 / 3))


def _whole(size: float) -> int:
    return max(round(size / _STEP), 1) * _STEP
