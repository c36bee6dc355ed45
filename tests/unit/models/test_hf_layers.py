"""Kinds of layers, states and tables of sines in Hugging Face configs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.models.geometry import LayerKind
from kimi_desktop.models.hf_config import parse_config
from kimi_desktop.models.hf_layers import HfState
from tests.support import hf_shapes


def kinds(**config: Any) -> str:
    parsed = parse_config({"num_hidden_layers": 6} | config)
    assert len(parsed.layers) == 6
    return "".join(kind.value[0] for kind in parsed.layers) + ("" if parsed.layers_known else "?")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, "ffffff"),
        ({"sliding_window": 4096, "use_sliding_window": False}, "ffffff"),
        ({"sliding_window": 4096}, "ffffff?"),
        ({"sliding_window": 4096, "sliding_window_pattern": 3}, "wwfwwf"),
        ({"layer_types": ["full_attention", "sliding_attention"] * 3}, "fwfwfw"),
        ({"layer_types": ["linear_attention", "mystery"] * 3}, "rfrfrf?"),
        ({"layer_types": [1, 2, 3, 4, 5, 6]}, "ffffff"),
        ({"layer_types": ["full_attention"]}, "ffffff"),
        ({"full_attention_interval": 3}, "rrfrrf"),
        ({"linear_attn_config": {"kda_layers": [1, 2, 5]}}, "rrffrf"),
    ],
)
def test_kinds(config: dict[str, Any], expected: str) -> None:
    assert kinds(**config) == expected


def test_state_of_kimi_linear() -> None:
    config = parse_config(hf_shapes.kimi_linear())
    assert config.state == HfState(3 * 32 * 128 * 3, 32 * 128 * 128, 32)
    assert config.layers.count(LayerKind.RECURRENT) == 20
    assert config.rope_rows == 0  # its positions are not rotated


@pytest.mark.parametrize(
    ("scaling", "rows"),
    [
        (None, 1000),
        ({"type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096}, 262_144),
        ({"type": "yarn", "factor": 64.0}, 1000),
        ({"rope_type": "linear", "factor": 8.0}, 8000),
        ({"rope_type": "linear", "factor": 1e9}, 1000),
        ({"rope_type": "yarn", "factor": "x"}, 1000),
    ],
)
def test_rows_of_sines(scaling: object, rows: int) -> None:
    config = parse_config({"max_position_embeddings": 1000, "rope_scaling": scaling})
    assert config.rope_rows == rows


@given(st.dictionaries(
    st.sampled_from([
        "num_hidden_layers", "layer_types", "linear_attn_config", "sliding_window",
        "sliding_window_pattern", "full_attention_interval", "rope_scaling",
        "max_position_embeddings", "vision_config",
    ]),
    st.recursive(
        st.none() | st.booleans() | st.integers(-2, 2**62) | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
            st.sampled_from(["kda_layers", "factor", "num_heads", "head_dim", "type"]), inner,
            max_size=3),
        max_leaves=6,
    ),
    max_size=6,
))  # fmt: skip
def test_hostile_configs_are_read_and_bounded(config: dict[str, Any]) -> None:
    parsed = parse_config(config)
    assert len(parsed.layers) <= 4096
    assert 0 <= parsed.rope_rows <= 2**51
