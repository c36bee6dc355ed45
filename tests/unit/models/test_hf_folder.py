"""Hugging Face folders: configs of many kinds, indexes, missing and broken parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models import hf_folder
from kimi_desktop.models.hf_config import parse_config
from kimi_desktop.models.hf_folder import read_folder
from tests.support.safetensors_files import write_file

KIMI = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
    "text_config": {
        "model_type": "kimi_k2",
        "num_hidden_layers": 61, "hidden_size": 7168, "num_attention_heads": 64,
        "num_key_value_heads": 64, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "n_routed_experts": 384, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "vocab_size": 163840, "max_position_embeddings": 262144, "tie_word_embeddings": False,
        "quantization_config": {
            "quant_method": "compressed-tensors", "format": "pack-quantized",
            "config_groups": {"group_0": {"weights": {
                "num_bits": 4, "group_size": 32, "type": "int"}}},
        },
    },
}  # fmt: skip

PARTS = {
    "model-00001-of-00002.safetensors": {"a": ("BF16", (8, 8)), "b": ("I32", (4,))},
    "model-00002-of-00002.safetensors": {"c": ("F8_E4M3", (32,))},
}


def folder(path: Path) -> Path:
    (path / "config.json").write_text(json.dumps(KIMI))
    weight_map = {name: part for part, tensors in PARTS.items() for name in tensors}
    (path / hf_folder.INDEX).write_text(json.dumps({"weight_map": weight_map}))
    for part, tensors in PARTS.items():
        write_file(path / part, tensors)
    return path


def failed(path: Path) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_folder(path)
    return caught.value


def test_kimi_config() -> None:
    config = parse_config(KIMI)
    assert config.architecture == "KimiK25ForConditionalGeneration"
    assert config.model_type == "kimi_k2"
    assert config.is_mla
    assert config.kv_elements_per_token * 2 == 70_272
    assert (config.n_expert, config.n_expert_used, config.n_expert_shared) == (384, 8, 1)
    assert config.needs_code
    assert config.quantization is not None
    assert config.quantization.label == "INT4"
    assert (config.quantization.bits, config.quantization.group_size) == (4, 32)


@pytest.mark.parametrize(
    ("quantization", "label"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "FP8"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "AWQ 4-bit"),
        ({"quant_method": "gptq", "bits": 8}, "GPTQ 8-bit"),
        ({"quant_method": "mxfp4"}, "MXFP4"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "NVFP4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "FP8"),
        ({"quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized"}, "NVFP4"),
        ({"quant_method": "compressed-tensors"}, "compressed-tensors"),
        (
            {"config_groups": {"g": {"weights": {"num_bits": 8, "type": "float"}}}},
            "FP8",
        ),
        ({"quant_method": "bitsandbytes"}, "BITSANDBYTES"),
        ({"quant_method": "awq", "bits": "four", "config_groups": {"g": 5}}, "AWQ"),
    ],
)
def test_quantizations(quantization: dict[str, object], label: str) -> None:
    found = parse_config({"quantization_config": quantization}).quantization
    assert found is not None
    assert found.label == label


def test_plain_config_and_defaults() -> None:
    config = parse_config({
        "architectures": ["Qwen3ForCausalLM"], "num_attention_heads": 16, "hidden_size": 2048,
        "num_hidden_layers": 28, "num_key_value_heads": 8, "head_dim": 128,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": True, "num_local_experts": 8, "intermediate_size": 100,
    })  # fmt: skip
    assert config.kv_elements_per_token == 28 * 2 * 8 * 128
    assert not config.is_mla
    assert config.tied_output
    assert config.quantization is None
    assert not config.needs_code
    assert config.n_ff_expert == 100
    odd = parse_config({"num_hidden_layers": -5, "hidden_size": True, "text_config": [1]})
    assert (odd.n_layer, odd.n_embd, odd.head_dim) == (0, 0, 0)
    assert parse_config({"architectures": "x"}).architecture == ""


def test_a_whole_folder(tmp_path: Path) -> None:
    model = read_folder(folder(tmp_path))
    assert model.parts == tuple(PARTS)
    assert model.missing == ()
    assert model.weights_bytes == 128 + 16 + 32
    assert len(model.tensors) == 3
    assert model.size_bytes == sum((tmp_path / part).stat().st_size for part in PARTS)


def test_missing_parts_are_listed(tmp_path: Path) -> None:
    (folder(tmp_path) / "model-00002-of-00002.safetensors").unlink()
    model = read_folder(tmp_path)
    assert model.missing == ("model-00002-of-00002.safetensors",)
    assert model.weights_bytes == 144


def test_a_single_file(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert read_folder(tmp_path).missing == ("model.safetensors",)
    write_file(tmp_path / "model.safetensors", {"a": ("F32", (2,))})
    assert read_folder(tmp_path).weights_bytes == 8


def test_broken_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failed(tmp_path).code is ErrorCode.MODEL_NOT_FOUND
    folder(tmp_path)
    for text in ("not json", "[1]", "[" * 100_000):
        (tmp_path / "config.json").write_text(text)
        assert failed(tmp_path).params["field"] == "JSON"
    monkeypatch.setattr(hf_folder, "MAX_CONFIG_BYTES", 10)
    (tmp_path / "config.json").write_text(json.dumps(KIMI))
    assert failed(tmp_path).params["field"] == "length"


@pytest.mark.parametrize(
    "weight_map",
    [{}, None, {"a": "../../etc/passwd.safetensors"}, {"a": "x.bin"}, {"a": "a\\b.safetensors"}],
)
def test_hostile_indexes(tmp_path: Path, weight_map: object) -> None:
    (folder(tmp_path) / hf_folder.INDEX).write_text(json.dumps({"weight_map": weight_map}))
    assert failed(tmp_path).params["field"] == "weight_map"


def test_a_part_that_is_cut(tmp_path: Path) -> None:
    path = folder(tmp_path) / "model-00001-of-00002.safetensors"
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)
    assert failed(tmp_path).code is ErrorCode.MODEL_TOO_SHORT


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder(tmp_path)
    original = Path.open
    closed: list[str] = []

    def refuse(path: Path, *arguments: object, **options: object) -> object:
        if path.name in closed:
            raise PermissionError(13, "Permission denied")
        return original(path, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    for name in ("model-00001-of-00002.safetensors", "config.json"):
        closed.append(name)
        error = failed(tmp_path)
        assert error.code is ErrorCode.MODEL_UNREADABLE
        assert name in str(error.params["path"])
