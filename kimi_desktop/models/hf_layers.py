"""What each layer of a Hugging Face config keeps of the tokens before. Pure; takes a lookup.

Configs say it in several ways: a list of names per layer, a list of layer numbers, or a period.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kimi_desktop.models.geometry import LayerKind

MAX_NUMBER = 2**40
MAX_LAYERS = 4_096
"""A hostile count must not size a list; no model comes near."""
MAX_ROPE_FACTOR = 1_024

Lookup = Callable[[str], Any]
"""The value of a config's key, None when there is none."""

_BY_NAME = {
    "full_attention": LayerKind.FULL,
    "attention": LayerKind.FULL,
    "global": LayerKind.FULL,
    "sliding_attention": LayerKind.WINDOW,
    "chunked_attention": LayerKind.WINDOW,
    "local": LayerKind.WINDOW,
    "linear_attention": LayerKind.RECURRENT,
    "mamba": LayerKind.RECURRENT,
    "recurrent": LayerKind.RECURRENT,
    "conv": LayerKind.RECURRENT,
}


@dataclass(frozen=True, slots=True)
class HfState:
    """The state of one recurrent layer and sequence, in elements; 0 = none, or not known."""

    n_conv: int = 0
    """In the model's own number format."""
    n_ssm: int = 0
    """In F32."""
    n_head: int = 0
    """Heads that tensor parallelism divides."""


NO_STATE = HfState()


def layer_kinds(get: Lookup, n_layer: int) -> tuple[tuple[LayerKind, ...], bool]:
    """The kind of every layer, and whether all of them are known.

    Args:
        get: looks into the language model's part of a config.
        n_layer: layers without those of multi-token prediction.
    """
    count = min(n_layer, MAX_LAYERS)
    linear = get("linear_attn_config")
    if isinstance(linear, Mapping) and isinstance(linear.get("kda_layers"), list):
        recurrent = {number for number in linear["kda_layers"] if type(number) is int}
        return tuple(
            LayerKind.RECURRENT if index + 1 in recurrent else LayerKind.FULL
            for index in range(count)
        ), True
    names = get("layer_types")
    if isinstance(names, list) and len(names) >= count:
        known = all(name in _BY_NAME for name in names[:count] if isinstance(name, str))
        return tuple(
            _BY_NAME.get(name, LayerKind.FULL) if isinstance(name, str) else LayerKind.FULL
            for name in names[:count]
        ), known
    interval = _count(get("full_attention_interval"))
    if interval > 1:
        return _periodic(count, interval, LayerKind.RECURRENT), True
    return _windows(get, count)


def state_of(get: Lookup) -> HfState:
    """The state of Kimi Delta Attention, the one recurrent kind whose layout is known here."""
    linear = get("linear_attn_config")
    if not isinstance(linear, Mapping):
        return NO_STATE
    heads, width = _count(linear.get("num_heads")), _count(linear.get("head_dim"))
    kernel = _count(linear.get("short_conv_kernel_size")) or 4
    return HfState(3 * heads * width * (kernel - 1), heads * width * width, heads)


def rope_rows(get: Lookup) -> int:
    """Rows of the tables of sines and cosines; 0 where positions are not rotated.

    With YaRN there is one for the original context times its factor; a linear factor stretches the
    table of the context, and window layers have a second one that is not stretched.
    """
    if get("mla_use_nope") is True:
        return 0
    plain = _count(get("max_position_embeddings")) or _count(get("model_max_length"))
    scaling = get("rope_scaling") or get("rope_parameters")
    if not isinstance(scaling, Mapping):
        return plain
    factor = scaling.get("factor")
    if not isinstance(factor, int | float) or not 0 < factor <= MAX_ROPE_FACTOR:
        return plain
    if (scaling.get("rope_type") or scaling.get("type")) == "linear":
        local = plain if _count(get("sliding_window")) else 0
        return int(plain * factor) + local
    original = _count(scaling.get("original_max_position_embeddings"))
    return max(plain, int(original * factor))


def _windows(get: Lookup, count: int) -> tuple[tuple[LayerKind, ...], bool]:
    """A window without a word about where it holds counts as full attention, the greatest."""
    full = (LayerKind.FULL,) * count
    if not _count(get("sliding_window")) or get("use_sliding_window") is False:
        return full, True
    period = get("sliding_window_pattern")
    if type(period) is int and 1 < period <= MAX_LAYERS:
        return _periodic(count, period, LayerKind.WINDOW), True
    return full, False


def _periodic(count: int, period: int, between: LayerKind) -> tuple[LayerKind, ...]:
    """Every ``period``-th layer attends in full."""
    return tuple(LayerKind.FULL if (index + 1) % period == 0 else between for index in range(count))


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value <= MAX_NUMBER else 0
