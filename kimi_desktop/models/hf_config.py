"""What a Hugging Face ``config.json`` says: shapes and quantization. Pure; takes parsed JSON.

Multimodal models keep the language model's part in ``text_config``; everything is read from there
with the outer object as a fallback.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kimi_desktop.models.facts import clean_text
from kimi_desktop.models.geometry import LayerKind
from kimi_desktop.models.hf_layers import (
    MAX_NUMBER,
    NO_STATE,
    HfState,
    layer_kinds,
    rope_rows,
    state_of,
)


@dataclass(frozen=True, slots=True)
class HfQuantization:
    """How the stored weights are quantized."""

    method: str
    """compressed-tensors, fp8, awq, gptq, nvfp4, mxfp4, ... as the config names it."""
    bits: int | None
    group_size: int | None
    label: str
    """As people write it: INT4, FP8, AWQ 4-bit."""


@dataclass(frozen=True, slots=True)
class HfConfig:
    """The numbers that sizing needs; 0 where the model has no such thing."""

    architecture: str
    model_type: str
    n_layer: int
    n_embd: int
    n_head: int
    n_head_kv: int
    head_dim: int
    n_ff: int
    n_ff_expert: int
    n_expert: int
    n_expert_used: int
    n_expert_shared: int
    n_layer_dense_lead: int
    q_lora_rank: int
    kv_lora_rank: int
    qk_nope_head_dim: int
    qk_rope_head_dim: int
    v_head_dim: int
    n_vocab: int
    context_train: int
    window: int
    tied_output: bool
    dtype: str
    quantization: HfQuantization | None
    needs_code: bool
    """The repository brings Python files that the engine has to run (``auto_map``)."""
    layers: tuple[LayerKind, ...] = ()
    """What each layer keeps, without those of multi-token prediction."""
    layers_known: bool = True
    """False: layers of a kind that is not known here count as full attention."""
    state: HfState = NO_STATE
    """Of recurrent layers."""
    n_layer_nextn: int = 0
    """Layers of multi-token prediction, stored behind the others."""
    index_head_dim: int = 0
    """Width of the sparse-attention index kept beside K (DeepSeek V3.2)."""
    rope_rows: int = 0
    """Positions whose sines and cosines an engine tabulates."""
    has_vision: bool = False

    @property
    def is_mla(self) -> bool:
        """K is a compressed latent and V a view of it."""
        return self.kv_lora_rank > 0

    @property
    def kv_elements_per_token(self) -> int:
        """Of all layers; a window counts as full attention."""
        if self.is_mla:
            return self.n_layer * (self.kv_lora_rank + self.qk_rope_head_dim)
        return self.n_layer * 2 * self.n_head_kv * self.head_dim

    @property
    def value_head_dim(self) -> int:
        """Width of V per head where V is kept."""
        return self.head_dim if self.is_mla else self.v_head_dim or self.head_dim


def parse_config(data: Mapping[str, Any]) -> HfConfig:
    """Read a config. Values of a wrong kind count as missing.

    Args:
        data: the JSON object.
    """
    return _Reader(data).read()


_VISION_KEYS = ("vision_config", "vit_config", "visual")


class _Reader:
    """Looks into the language model's part first."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        inner = data.get("text_config") or data.get("llm_config") or {}
        self._outer = data
        self._inner: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}

    def read(self) -> HfConfig:
        n_head = self._int("num_attention_heads")
        n_embd = self._int("hidden_size")
        architectures = self._outer.get("architectures")
        first = architectures[0] if isinstance(architectures, list) and architectures else ""
        experts = self._int("n_routed_experts", "num_local_experts", "num_experts")
        n_ff = self._int("intermediate_size")
        n_layer = self._int("num_hidden_layers")
        kinds, known = layer_kinds(self._get, n_layer)
        return HfConfig(
            architecture=clean_text(str(first)),
            model_type=clean_text(str(self._get("model_type") or "")),
            n_layer=n_layer,
            n_embd=n_embd,
            n_head=n_head,
            n_head_kv=self._int("num_key_value_heads") or n_head,
            head_dim=self._int("head_dim") or (n_embd // n_head if n_head else 0),
            n_ff=n_ff,
            n_ff_expert=self._int("moe_intermediate_size") or (n_ff if experts else 0),
            n_expert=experts,
            n_expert_used=self._int("num_experts_per_tok", "num_experts_per_token"),
            n_expert_shared=self._int("n_shared_experts", "num_shared_experts"),
            n_layer_dense_lead=self._int("first_k_dense_replace"),
            q_lora_rank=self._int("q_lora_rank"),
            kv_lora_rank=self._int("kv_lora_rank"),
            qk_nope_head_dim=self._int("qk_nope_head_dim"),
            qk_rope_head_dim=self._int("qk_rope_head_dim"),
            v_head_dim=self._int("v_head_dim"),
            n_vocab=self._int("vocab_size"),
            context_train=self._int("max_position_embeddings", "model_max_length"),
            window=self._int("sliding_window"),
            tied_output=self._get("tie_word_embeddings") is True,
            dtype=clean_text(str(self._get("torch_dtype") or self._get("dtype") or "")),
            quantization=self._quantization(),
            needs_code=isinstance(self._outer.get("auto_map"), Mapping),
            layers=kinds,
            layers_known=known,
            state=state_of(self._get),
            n_layer_nextn=self._int("num_nextn_predict_layers"),
            index_head_dim=self._int("index_head_dim"),
            rope_rows=rope_rows(self._get),
            has_vision=any(isinstance(self._outer.get(key), Mapping) for key in _VISION_KEYS),
        )

    def _get(self, key: str) -> Any:  # noqa: ANN401
        value = self._inner.get(key)
        return self._outer.get(key) if value is None else value

    def _int(self, *keys: str) -> int:
        """The first of the keys that has a sound number."""
        for key in keys:
            value = self._get(key)
            if type(value) is int and 0 <= value <= MAX_NUMBER:
                return value
        return 0

    def _quantization(self) -> HfQuantization | None:
        found = self._get("quantization_config") or self._get("compression_config")
        if not isinstance(found, Mapping):
            return None
        method = clean_text(str(found.get("quant_method") or found.get("quantization") or ""))
        method = method.lower() or "compressed-tensors"
        weights = _weights_of_groups(found)
        bits = _small(found.get("bits")) or _small(weights.get("num_bits"))
        group = _small(found.get("group_size")) or _small(weights.get("group_size"))
        return HfQuantization(method, bits, group, _label(method, bits, found, weights))


def _weights_of_groups(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """The weights' entry of the first group of a compressed-tensors config."""
    groups = found.get("config_groups")
    if isinstance(groups, Mapping):
        for group in groups.values():
            weights = group.get("weights") if isinstance(group, Mapping) else None
            if isinstance(weights, Mapping):
                return weights
    return {}


def _label(
    method: str, bits: int | None, found: Mapping[str, Any], weights: Mapping[str, Any]
) -> str:
    number = clean_text(str(found.get("quant_algo") or found.get("format") or "")).lower()
    names = {"fp8": "FP8", "mxfp4": "MXFP4", "nvfp4": "NVFP4", "modelopt": "NVFP4"}
    if "nvfp4" in number or "nvfp4" in method:
        return "NVFP4"
    if method in names:
        return "FP8" if method == "modelopt" and "fp8" in number else names[method]
    if method == "compressed-tensors":
        kind = "FP" if weights.get("type") == "float" else "INT"
        return f"{kind}{bits}" if bits else "compressed-tensors"
    return f"{method.upper()} {bits}-bit" if bits else method.upper()


def _small(value: object) -> int | None:
    return value if type(value) is int and 0 < value <= 4096 else None
