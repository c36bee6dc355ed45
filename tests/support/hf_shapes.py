"""Hugging Face configs and tensor tables of real geometries, made from their published numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

from kimi_desktop.models.hf_config import parse_config
from kimi_desktop.models.hf_folder import INDEX
from kimi_desktop.models.safetensors import DTYPE_BITS, SafeTensor
from kimi_desktop.planner.vllm_weights import VllmModel, weigh_tensors
from tests.support.hub.content import HubFile
from tests.support.safetensors_files import table, wrapped, write_file

Entry = tuple[str, str, tuple[int, ...]]

INT4 = {
    "quant_method": "compressed-tensors", "format": "pack-quantized",
    "config_groups": {"group_0": {"weights": {"num_bits": 4, "group_size": 32, "type": "int"}}},
}  # fmt: skip
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
YARN = {"type": "yarn", "factor": 64.0, "original_max_position_embeddings": 4096}


def kimi_k2(layers: int = 61, quantization: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2",
        "num_hidden_layers": layers, "hidden_size": 7168, "num_attention_heads": 64,
        "num_key_value_heads": 64, "intermediate_size": 18432, "moe_intermediate_size": 2048,
        "n_routed_experts": 384, "num_experts_per_tok": 8, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "vocab_size": 163840, "max_position_embeddings": 262144, "rope_scaling": YARN,
        "tie_word_embeddings": False, "torch_dtype": "bfloat16",
        "quantization_config": INT4 if quantization is None else quantization,
    }  # fmt: skip


def kimi_k25(layers: int = 61) -> dict[str, Any]:
    """K2.5 and K2.6: the language model inside one that sees."""
    return {
        "architectures": ["KimiK25ForConditionalGeneration"], "model_type": "kimi_k25",
        "auto_map": {"AutoConfig": "configuration_kimi_k25.KimiK25Config"},
        "text_config": kimi_k2(layers), "vision_config": {"hidden_size": 1152},
    }  # fmt: skip


def moonlight() -> dict[str, Any]:
    return kimi_k2(27, {}) | {
        "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 11264, "moe_intermediate_size": 1408, "n_routed_experts": 64,
        "num_experts_per_tok": 6, "n_shared_experts": 2, "q_lora_rank": None,
        "max_position_embeddings": 8192, "rope_scaling": None,
    }  # fmt: skip


def kimi_linear() -> dict[str, Any]:
    full = [4, 8, 12, 16, 20, 24, 27]
    return {
        "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear",
        "num_hidden_layers": 27, "hidden_size": 2304, "num_attention_heads": 32,
        "num_key_value_heads": 32, "head_dim": 72, "intermediate_size": 9216,
        "moe_intermediate_size": 1024, "num_experts": 256, "num_experts_per_token": 8,
        "num_shared_experts": 1, "first_k_dense_replace": 1, "q_lora_rank": None,
        "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "vocab_size": 163840, "model_max_length": 1048576, "tie_word_embeddings": False,
        "mla_use_nope": True,
        "linear_attn_config": {
            "full_attn_layers": full, "kda_layers": [n for n in range(1, 28) if n not in full],
            "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4,
        },
    }  # fmt: skip


def qwen3_8b() -> dict[str, Any]:
    return {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_hidden_layers": 36,
        "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
        "intermediate_size": 12288, "vocab_size": 151936, "max_position_embeddings": 40960,
        "sliding_window": None, "use_sliding_window": False, "tie_word_embeddings": False,
    }  # fmt: skip


def qwen3_30b() -> dict[str, Any]:
    return qwen3_8b() | {
        "architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe", "hidden_size": 2048,
        "num_hidden_layers": 48, "num_key_value_heads": 4, "intermediate_size": 6144,
        "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
    }  # fmt: skip


def gemma3_12b() -> dict[str, Any]:
    return {
        "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "head_dim": 256,
        "hidden_size": 3840, "intermediate_size": 15360, "max_position_embeddings": 131072,
        "num_attention_heads": 16, "num_hidden_layers": 48, "num_key_value_heads": 8,
        "sliding_window": 1024, "vocab_size": 262208, "tie_word_embeddings": True,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "layer_types": ["full_attention" if n % 6 == 5 else "sliding_attention" for n in range(48)],
    }  # fmt: skip


CONFIGS = {
    "kimi5": lambda: kimi_k2(5),
    "kimi6": lambda: kimi_k2(6),
    "kimi5fp8": lambda: kimi_k2(5, FP8),
    "moonlight": moonlight,
    "linear": kimi_linear,
    "qwen8": qwen3_8b,
    "qwen30": qwen3_30b,
    "gemma12": gemma3_12b,
}


def model_of(config: Mapping[str, Any], name: str = "model") -> VllmModel:
    parsed = parse_config(config)
    tensors = [safe_tensor(*entry) for entry in entries(config)]
    size = sum(tensor.size_bytes for tensor in tensors)
    return VllmModel(name, parsed, weigh_tensors(parsed, tensors), size, is_complete=True)


def safe_tensor(name: str, dtype: str, shape: tuple[int, ...]) -> SafeTensor:
    return SafeTensor(name, dtype, shape, 0, prod(shape) * DTYPE_BITS[dtype] // 8)


def entries(config: Mapping[str, Any]) -> Iterator[Entry]:
    """The table of a checkpoint as its makers store it."""
    inner = config.get("text_config")
    if inner is not None:
        for name, dtype, shape in entries(inner):
            yield f"language_model.{name}", dtype, shape
        yield "vision_tower.patch_embed.proj.weight", "BF16", (1152, 3, 14, 14)
        for block in range(27):
            for part, shape in (("wqkv", (3456, 1152)), ("wo", (1152, 1152)),
                                ("mlp.fc0", (4304, 1152)), ("mlp.fc1", (1152, 4304))):  # fmt: skip
                yield f"vision_tower.encoder.blocks.{block}.{part}.weight", "BF16", shape
        yield "mm_projector.proj.0.weight", "BF16", (4608, 4608)
        yield "mm_projector.proj.2.weight", "BF16", (7168, 4608)
        return
    embd, vocab = config["hidden_size"], config["vocab_size"]
    yield "model.embed_tokens.weight", "BF16", (vocab, embd)
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", "BF16", (vocab, embd)
    yield "model.norm.weight", "BF16", (embd,)
    for layer in range(config["num_hidden_layers"]):
        for name, dtype, shape in _layer(config, layer):
            yield f"model.layers.{layer}.{name}", dtype, shape


def _layer(config: Mapping[str, Any], layer: int) -> Iterator[Entry]:
    embd = config["hidden_size"]
    yield "input_layernorm.weight", "BF16", (embd,)
    yield "post_attention_layernorm.weight", "BF16", (embd,)
    linear = config.get("linear_attn_config")
    if linear is not None and layer + 1 in linear["kda_layers"]:
        yield from _kda(config, linear)
    elif config.get("kv_lora_rank"):
        yield from _mla(config)
    else:
        yield from _gqa(config)
    experts = config.get("n_routed_experts") or config.get("num_experts") or 0
    if not experts or layer < config.get("first_k_dense_replace", 0):
        yield from _ffn("mlp", embd, config["intermediate_size"], config)
        return
    yield "mlp.gate.weight", "BF16", (experts, embd)
    width = config["moe_intermediate_size"]
    shared = config.get("n_shared_experts") or config.get("num_shared_experts") or 0
    if shared:
        yield from _ffn("mlp.shared_experts", embd, width * shared, config)
        yield "mlp.gate.e_score_correction_bias", "F32", (experts,)
    for expert in range(experts):
        yield from _ffn(f"mlp.experts.{expert}", embd, width, config, packed=True)


def _ffn(
    prefix: str, embd: int, width: int, config: Mapping[str, Any], *, packed: bool = False
) -> Iterator[Entry]:
    for name, rows, columns in (
        ("gate_proj", width, embd),
        ("up_proj", width, embd),
        ("down_proj", embd, width),
    ):
        yield from _matrix(f"{prefix}.{name}", rows, columns, config, packed=packed)


def _mla(config: Mapping[str, Any]) -> Iterator[Entry]:
    embd, heads = config["hidden_size"], config["num_attention_heads"]
    lora, rope = config["kv_lora_rank"], config["qk_rope_head_dim"]
    nope, value, q_lora = config["qk_nope_head_dim"], config["v_head_dim"], config["q_lora_rank"]
    if q_lora:
        yield from _matrix("self_attn.q_a_proj", q_lora, embd, config)
        yield "self_attn.q_a_layernorm.weight", "BF16", (q_lora,)
        yield from _matrix("self_attn.q_b_proj", heads * (nope + rope), q_lora, config)
    else:
        yield from _matrix("self_attn.q_proj", heads * (nope + rope), embd, config)
    yield from _matrix("self_attn.kv_a_proj_with_mqa", lora + rope, embd, config)
    yield "self_attn.kv_a_layernorm.weight", "BF16", (lora,)
    yield from _matrix("self_attn.kv_b_proj", heads * (nope + value), lora, config)
    yield from _matrix("self_attn.o_proj", embd, heads * value, config)


def _gqa(config: Mapping[str, Any]) -> Iterator[Entry]:
    embd, head = config["hidden_size"], config["head_dim"]
    heads, kv = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    for name, rows, columns in (
        ("q_proj", heads, embd), ("k_proj", kv, embd), ("v_proj", kv, embd), ("o_proj", embd, heads)
    ):  # fmt: skip
        yield f"self_attn.{name}.weight", "BF16", (rows, columns)


def _kda(config: Mapping[str, Any], linear: Mapping[str, Any]) -> Iterator[Entry]:
    embd, head = config["hidden_size"], linear["head_dim"]
    width = linear["num_heads"] * head
    for name in ("q", "k", "v"):
        yield f"self_attn.{name}_proj.weight", "BF16", (width, embd)
        yield f"self_attn.{name}_conv1d.weight", "BF16", (width, 1, 4)
    yield "self_attn.o_proj.weight", "BF16", (embd, width)
    for name in ("f", "g"):
        yield f"self_attn.{name}_a_proj.weight", "BF16", (head, embd)
        yield f"self_attn.{name}_b_proj.weight", "BF16", (width, head)
    yield "self_attn.b_proj.weight", "BF16", (linear["num_heads"], embd)
    yield "self_attn.A_log", "F32", (1, 1, linear["num_heads"], 1)
    yield "self_attn.dt_bias", "F32", (width,)
    yield "self_attn.o_norm.weight", "BF16", (head,)


def _matrix(
    name: str, rows: int, columns: int, config: Mapping[str, Any], *, packed: bool = False
) -> Iterator[Entry]:
    quantization = config.get("quantization_config") or {}
    if quantization.get("quant_method") == "fp8":
        yield f"{name}.weight", "F8_E4M3", (rows, columns)
        yield f"{name}.weight_scale_inv", "F32", (-(-rows // 128), -(-columns // 128))
    elif quantization.get("quant_method") == "compressed-tensors" and packed:
        yield f"{name}.weight_packed", "I32", (rows, columns // 8)
        yield f"{name}.weight_scale", "BF16", (rows, columns // 32)
        yield f"{name}.weight_shape", "I64", (2,)
    else:
        yield f"{name}.weight", "BF16", (rows, columns)


def write_checkpoint(folder: Path, config: Mapping[str, Any], parts: int = 2) -> Path:
    """A folder of sparse files with right headers, as a hub has it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    weight_map: dict[str, str] = {}
    for name, part in _parts(config, parts).items():
        write_file(folder / name, part)
        weight_map |= dict.fromkeys(part, name)
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    return folder


def hub_checkpoint(config: Mapping[str, Any], parts: int = 2) -> list[HubFile]:
    """The same as files of a hub, of which only the headers exist."""
    files = [HubFile("config.json", content=json.dumps(config).encode(), lfs=False)]
    weight_map: dict[str, str] = {}
    for name, entries_of_part in _parts(config, parts).items():
        head = wrapped(json.dumps(table(entries_of_part, {"format": "pt"})))
        data = sum(
            prod(shape) * DTYPE_BITS[dtype] // 8 for dtype, shape in entries_of_part.values()
        )
        files.append(HubFile(name, size_bytes=len(head) + data, head=head))
        weight_map |= dict.fromkeys(entries_of_part, name)
    index = json.dumps({"weight_map": weight_map}).encode()
    return [*files, HubFile(INDEX, content=index, lfs=False)]


def _parts(
    config: Mapping[str, Any], parts: int
) -> dict[str, dict[str, tuple[str, tuple[int, ...]]]]:
    rows = list(entries(config))
    share = -(-len(rows) // parts)
    return {
        f"model-{number + 1:05}-of-{parts:05}.safetensors": {
            name: (dtype, shape)
            for name, dtype, shape in rows[number * share : (number + 1) * share]
        }
        for number in range(parts)
    }
