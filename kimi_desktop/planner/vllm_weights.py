"""The weights of a Hugging Face model by how a server engine divides them over its ranks. Pure.

Rules of vLLM 0.25.1, read from its model code and checked against what it loaded on an H200:
matrices whose heads or columns are independent are divided by the tensor-parallel size, those of
K and V by no more than there are heads; what makes the latent of MLA, routers and norms is on
every rank; experts are divided inside, or dealt out whole with expert parallelism. SGLang divides
alike. Packed formats (compressed-tensors, GPTQ, AWQ, FP8, NVFP4, MXFP4) keep their bytes in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kimi_desktop.models.hf_config import HfConfig
from kimi_desktop.models.hf_folder import HfModel
from kimi_desktop.models.safetensors import SafeTensor

FLOATS = frozenset({"F32", "F16", "BF16"})
FLOAT_BYTES = 2
"""Of an unquantized weight on the GPU: F32 checkpoints are narrowed to the model's 16 bits."""
ROPE_FLOAT_BYTES = 4
LOADED_BESIDE_BYTES = 16 * 2**20
"""Workspaces of kernels that count as loaded (measured: 17 MB beside weights and sine tables)."""

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.(.+)$")
_VISION = re.compile(
    r"(?:^|\.)(?:vision_tower|vision_model|visual|vit|mm_projector|multi_modal_projector"
    r"|vision_embed_tokens|audio_tower|merger)\."
)
_EXPERT = re.compile(r"\.experts\.|^experts\.")
_NOT_LOADED = re.compile(r"rotary_emb\.inv_freq$|\.weight_shape$")
_REPLICATED = frozenset({
    "q_a_proj", "kv_a_proj_with_mqa", "kv_a_proj", "fused_qkv_a_proj", "gate", "router",
    "shared_expert_gate", "A_log", "f_a_proj", "g_a_proj", "wk", "wq_b", "weights_proj", "eh_proj",
})  # fmt: skip
_KV = frozenset({"k_proj", "v_proj"})
_DIVIDED = frozenset({
    "q_proj", "q_b_proj", "kv_b_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    "gate_up_proj", "qkv_proj", "query_key_value", "f_b_proj", "g_b_proj", "g_proj", "b_proj",
    "q_conv1d", "k_conv1d", "v_conv1d", "in_proj", "in_proj_qkvz", "in_proj_ba", "out_proj",
    "conv1d", "w1", "w2", "w3", "c_attn", "c_proj", "dense", "dense_h_to_4h", "dense_4h_to_h",
    "fc1", "fc2", "Wqkv", "sinks",
})  # fmt: skip
_EMBEDDING = frozenset({"embed_tokens", "wte", "word_embeddings", "tok_embeddings"})
_HEAD = frozenset({"lm_head", "output", "embed_out"})
_PARAMETERS = frozenset({
    "weight", "bias", "weight_packed", "weight_scale", "weight_scale_inv", "weight_zero_point",
    "weight_g_idx", "weight_global_scale", "weight_scale_2", "input_scale", "input_global_scale",
    "qweight", "qzeros", "scales", "g_idx", "scale", "k_scale", "v_scale",
})  # fmt: skip


@dataclass(slots=True)
class _Sums:
    divided: int = 0
    kv: int = 0
    replicated: int = 0
    experts: int = 0


@dataclass(frozen=True, slots=True)
class ServedLayer:
    """The bytes of one layer, before they are divided."""

    divided: int
    """By the tensor-parallel size."""
    kv: int
    """Projections of K and V: by the tensor-parallel size, but no further than heads go."""
    replicated: int
    """On every rank."""
    experts: int
    """Of all routed experts."""


@dataclass(frozen=True, slots=True)
class ServedWeights:
    """A whole model."""

    layers: tuple[ServedLayer, ...]
    embedding: int
    """Divided; on the first stage of a pipeline, with a tied head also on the last."""
    head: int
    """Divided; on the last stage. 0 when tied."""
    last: int
    """Norms behind the layers, on the last stage."""
    vision: int
    """On every rank of the first stage."""
    beside: int
    """Tables and workspaces that every rank makes while it loads."""
    unknown: int
    """Of modules that no rule is known for; counted as on every rank."""

    @property
    def total(self) -> int:
        """As loaded by a single rank."""
        layers = sum(
            layer.divided + layer.kv + layer.replicated + layer.experts for layer in self.layers
        )
        return layers + self.embedding + self.head + self.last + self.vision + self.beside


@dataclass(frozen=True, slots=True)
class VllmModel:
    """What the forecast of a server engine needs to know of a model."""

    name: str
    config: HfConfig
    weights: ServedWeights
    file_bytes: int
    is_complete: bool
    """False: parts are missing, and the weights are those of the parts that are there."""

    @property
    def is_known(self) -> bool:
        """All rules are known; else the forecast is an estimate."""
        few = self.weights.unknown <= self.weights.total // 100
        recurrent_known = self.config.state.n_ssm > 0 or not self.has_state
        return self.config.layers_known and few and recurrent_known and self.is_complete

    @property
    def has_state(self) -> bool:
        """Some layers keep a state instead of K and V."""
        return any(kind.value == "recurrent" for kind in self.config.layers)


@dataclass(slots=True)
class _Model:
    layers: list[_Sums]
    embedding: int = 0
    head: int = 0
    last: int = 0
    vision: int = 0
    unknown: int = 0
    absorbed: dict[int, int] = field(default_factory=dict)


def weigh(model: HfModel, name: str = "") -> VllmModel:
    """Sort the tensors of a model.

    Args:
        model: with the headers of its parts; what is missing is counted as nothing.
        name: for people; else the folder's.
    """
    return VllmModel(
        name=name or model.path.name,
        config=model.config,
        weights=weigh_tensors(model.config, model.tensors),
        file_bytes=model.size_bytes,
        is_complete=not model.missing,
    )


def weigh_tensors(config: HfConfig, tensors: Iterable[SafeTensor]) -> ServedWeights:
    """The same from a table of tensors."""
    found = _Model([_Sums() for _ in config.layers])
    for tensor in tensors:
        if not _NOT_LOADED.search(tensor.name):
            _put(found, config, tensor)
    for index, extra in found.absorbed.items():
        found.layers[index].divided += extra
    rope = config.rope_rows * (config.qk_rope_head_dim or config.head_dim)
    bytes_each = ROPE_FLOAT_BYTES if config.is_mla else FLOAT_BYTES
    return ServedWeights(
        layers=tuple(
            ServedLayer(sums.divided, sums.kv, sums.replicated, sums.experts)
            for sums in found.layers
        ),
        embedding=found.embedding,
        head=0 if config.tied_output else found.head,
        last=found.last,
        vision=found.vision,
        beside=rope * bytes_each + LOADED_BESIDE_BYTES,
        unknown=found.unknown,
    )


def _put(found: _Model, config: HfConfig, tensor: SafeTensor) -> None:
    size = _loaded_bytes(tensor)
    if _VISION.search(tensor.name):
        found.vision += size
        return
    layer = _LAYER.search(tensor.name)
    if layer is None:
        _put_outside(found, tensor.name, size)
        return
    index = int(layer[1])
    if index >= len(found.layers):  # multi-token prediction, loaded on demand alone
        return
    sums, path = found.layers[index], layer[2]
    module = _module(path)
    if _EXPERT.search(path):
        sums.experts += size
    elif module in _KV and not config.state.n_ssm:
        sums.kv += size
    elif module in _DIVIDED or module in _KV:
        sums.divided += size
    else:
        sums.replicated += size
        known = module in _REPLICATED or "norm" in module or len(tensor.shape) < 2
        found.unknown += 0 if known else size
    if module == "kv_b_proj" and config.is_mla and tensor.dtype not in FLOATS:
        # Attention by the latent multiplies with halves of this matrix, kept in 16 bits beside it.
        heads = config.n_head * (config.qk_nope_head_dim + config.v_head_dim)
        found.absorbed[index] = heads * config.kv_lora_rank * FLOAT_BYTES


def _put_outside(found: _Model, name: str, size: int) -> None:
    module = _module(name)
    if module in _EMBEDDING:
        found.embedding += size
    elif module in _HEAD:
        found.head += size
    elif "norm" in module or module in ("model", "ln_f"):
        found.last += size
    else:
        found.last += size
        found.unknown += size


def _module(path: str) -> str:
    """The module that a parameter belongs to: ``mlp.gate.weight`` -> ``gate``."""
    head, _, last = path.rpartition(".")
    if last not in _PARAMETERS:
        return last  # parameters without a module of their own: A_log, e_score_correction_bias
    return head.rpartition(".")[2]


def _loaded_bytes(tensor: SafeTensor) -> int:
    plain = tensor.name.endswith((".weight", ".bias")) and tensor.dtype in FLOATS
    return tensor.n_elements * FLOAT_BYTES if plain else tensor.size_bytes
