"""How tensors of Hugging Face models are divided over ranks."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.models.hf_config import parse_config
from kimi_desktop.models.hf_folder import HfModel
from kimi_desktop.planner.vllm_weights import weigh, weigh_tensors
from tests.support import hf_shapes
from tests.support.hf_shapes import safe_tensor


def test_native_kimi_k2_6_is_594_gb() -> None:
    model = hf_shapes.model_of(hf_shapes.kimi_k2(), "Kimi K2.6")
    stored = sum(
        layer.divided + layer.kv + layer.replicated + layer.experts
        for layer in model.weights.layers
    )
    stored += model.weights.embedding + model.weights.head + model.weights.last
    assert stored / 1e9 == pytest.approx(594.2, abs=0.2)
    assert sum(layer.experts for layer in model.weights.layers) / 1e9 == pytest.approx(
        570.76, abs=0.01
    )
    assert model.weights.unknown == 0
    assert model.is_known


def test_modules_by_what_divides_them() -> None:
    config = parse_config(hf_shapes.kimi_k2(2))
    table = {
        "model.layers.0.self_attn.kv_a_proj_with_mqa.weight": "replicated",
        "model.layers.0.self_attn.q_b_proj.weight": "divided",
        "model.layers.0.mlp.gate.weight": "replicated",
        "model.layers.0.mlp.experts.7.down_proj.weight_packed": "experts",
        "model.layers.0.mlp.shared_experts.up_proj.weight": "divided",
        "model.layers.0.self_attn.k_proj.qweight": "kv",
        "model.layers.0.input_layernorm.weight": "replicated",
    }
    for name, kind in table.items():
        weights = weigh_tensors(config, [safe_tensor(name, "BF16", (64, 64))])
        assert getattr(weights.layers[0], kind) == 64 * 64 * 2, name
        assert weights.unknown == 0, name


def test_what_is_not_loaded_is_not_counted() -> None:
    config = parse_config(hf_shapes.kimi_k2(2))
    names = (
        "model.layers.2.self_attn.o_proj.weight",  # multi-token prediction
        "model.layers.0.self_attn.rotary_emb.inv_freq",
        "model.layers.0.mlp.experts.0.up_proj.weight_shape",
    )
    weights = weigh_tensors(config, [safe_tensor(name, "F32", (64, 64)) for name in names])
    assert weights.total == weights.beside


def test_floats_are_loaded_as_16_bits_and_scales_as_they_are() -> None:
    config = parse_config(hf_shapes.kimi_k2(2))
    names = {
        "model.layers.0.self_attn.o_proj.weight": 2,
        "model.layers.0.self_attn.o_proj.weight_scale_inv": 4,
    }
    for name, size in names.items():
        weights = weigh_tensors(config, [safe_tensor(name, "F32", (8, 8))])
        assert weights.layers[0].divided == 64 * size


def test_an_fp8_latent_matrix_is_kept_twice() -> None:
    """Attention by the latent wants it in 16 bits, prompts in FP8."""
    config = parse_config(hf_shapes.kimi_k2(1))
    name = "model.layers.0.self_attn.kv_b_proj.weight"
    plain = weigh_tensors(config, [safe_tensor(name, "BF16", (16_384, 512))])
    fp8 = weigh_tensors(config, [safe_tensor(name, "F8_E4M3", (16_384, 512))])
    assert plain.layers[0].divided == 16_384 * 512 * 2
    assert fp8.layers[0].divided == 16_384 * 512 * 3


def test_a_tied_head_is_no_matrix_of_its_own() -> None:
    config = parse_config(hf_shapes.gemma3_12b())
    table = [
        safe_tensor("model.embed_tokens.weight", "BF16", (10, 4)),
        safe_tensor("lm_head.weight", "BF16", (10, 4)),
    ]
    weights = weigh_tensors(config, table)
    assert (weights.embedding, weights.head) == (80, 0)


def test_modules_without_a_rule_are_on_every_rank_and_said_to_be_estimates() -> None:
    config = parse_config(hf_shapes.qwen3_8b())
    table = [
        safe_tensor("model.layers.0.mixer.strange.weight", "BF16", (4096, 40_960)),
        safe_tensor("strange.weight", "BF16", (4096, 4096)),
    ]
    weights = weigh_tensors(config, table)
    assert weights.layers[0].replicated == 4096 * 40_960 * 2
    assert weights.unknown == 4096 * (40_960 + 4096) * 2
    model = hf_shapes.model_of(hf_shapes.qwen3_8b())
    assert not dataclasses.replace(model, weights=weights).is_known


def test_missing_parts_make_an_estimate() -> None:
    config = parse_config(hf_shapes.qwen3_8b())
    folder = HfModel(
        path=Path("models/qwen"), config=config, tensors=(), size_bytes=0, weights_bytes=0,
        parts=("a", "b"), missing=("b",),
    )  # fmt: skip
    model = weigh(folder)
    assert model.name == "qwen"
    assert not model.is_known


def test_a_state_of_unknown_layout_makes_an_estimate() -> None:
    config = parse_config(
        {key: value for key, value in hf_shapes.qwen3_8b().items() if key != "sliding_window"}
        | {"full_attention_interval": 4}
    )
    table = [safe_tensor(*entry) for entry in hf_shapes.entries(hf_shapes.qwen3_8b())]
    model = hf_shapes.model_of(hf_shapes.qwen3_8b())
    hybrid = dataclasses.replace(model, config=config, weights=weigh_tensors(config, table))
    assert hybrid.has_state
    assert not hybrid.is_known
