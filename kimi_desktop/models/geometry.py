"""The shape of a model: what the planner counts with. Pure; read from a GGUF header.

Which layers attend over a window, and which keep a recurrent state, is code in llama.cpp and not
in every header, so the tables below repeat its rules (b11549, ``src/models/*.cpp``). Layers with
an unknown rule count as full attention, the greatest of all, and ``exact`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.models.gguf import GgufHeader, GgufTensor


class LayerKind(StrEnum):
    """What a layer keeps of the tokens before."""

    FULL = "full"
    """K and V of every token."""
    WINDOW = "window"
    """K and V of the last ``window`` tokens."""
    RECURRENT = "recurrent"
    """A state of fixed size."""
    BOTH = "both"
    """K and V of every token, and a state."""
    NOTHING = "nothing"
    """No attention, or it shares the K and V of another layer."""


@dataclass(frozen=True, eq=False, slots=True)
class TensorTable:
    """All tensors of a model, over all parts. Compared by identity, so that it can key a cache."""

    tensors: tuple[GgufTensor, ...]

    def __iter__(self) -> Iterator[GgufTensor]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


@dataclass(frozen=True, slots=True)
class Geometry:
    """Counts and widths in llama.cpp's terms; 0 where the model has no such thing."""

    architecture: str
    n_layer: int
    """Blocks, with those of multi-token prediction."""
    n_layer_nextn: int
    """Blocks of multi-token prediction, the last ones; skipped unless asked for."""
    n_embd: int
    n_vocab: int
    n_head: int
    n_head_kv: tuple[int, ...]
    """Per layer."""
    key_length: int
    value_length: int
    key_length_window: int
    value_length_window: int
    n_ff: int
    """Of the widest dense layer."""
    n_expert: int
    n_expert_used: int
    n_expert_shared: int
    n_ff_expert: int
    n_ff_shared: int
    n_layer_dense_lead: int
    layers: tuple[LayerKind, ...]
    """Per layer, without those of multi-token prediction."""
    window: int
    """Tokens that window layers attend over."""
    is_mla: bool
    """K is a compressed latent and V a view of it (Kimi K2, DeepSeek)."""
    kv_lora_rank: int
    n_rot: int
    """Elements of a head that are rotated; of MLA those beside the latent."""
    n_indexer_key: int
    """Width of the sparse-attention index kept beside K (DeepSeek V3.2)."""
    n_state_conv: int
    """F32 elements per recurrent layer and sequence, convolution part."""
    n_state_ssm: int
    """The same, state part."""
    tied_output: bool
    """The output matrix is the token embedding."""
    context_train: int
    exact: bool
    """False: the architecture's cache rule is not known, full attention is assumed."""
    key_length_mla: int = 0
    """Of MLA: elements of a head's query, outside of the latent."""
    value_length_mla: int = 0
    """The same of its output."""

    @property
    def n_layer_main(self) -> int:
        """Blocks without those of multi-token prediction."""
        return self.n_layer - self.n_layer_nextn


# architecture -> (period, first layers are full): layer i is full when (i + 1) % period == 0, or,
# with the second, when i % period == 0.
_WINDOW_PERIODS = {
    "afmoe": (4, False),
    "cohere2": (4, False),
    "exaone-moe": (4, False),
    "exaone4": (4, False),
    "gemma2": (2, False),
    "gemma3": (6, False),
    "gemma3n": (5, False),
    "gpt-oss": (2, False),
    "llama4": (4, False),
    "olmo2": (4, False),
    "plamo3": (8, False),
    "smallthinker": (4, True),
}
_LLAMA4_CHUNK = 8192  # attention chunks, not in the header
_GEMMA3N_OWN_KV = 20  # later layers use the cache of earlier ones

_ALL_RECURRENT = frozenset({"arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7"})
_BOTH = frozenset({"falcon-h1"})
_INTERVAL_RECURRENT = frozenset({"qwen3next", "qwen35", "qwen35moe"})
_NO_FFN_MEANS_RECURRENT = frozenset({"nemotron_h", "nemotron_h_moe"})

# Full attention with one K and V row per token and layer, and nothing beside them.
_PLAIN = frozenset({
    "apertus", "arcee", "baichuan", "bailingmoe", "bailingmoe2", "command-r", "deepseek",
    "deepseek2", "deepseek32", "dots1", "ernie4_5", "ernie4_5-moe", "exaone", "falcon", "gemma",
    "glm-dsa", "glm4", "glm4moe", "gpt2", "granite", "granitemoe", "grok", "grovemoe",
    "hunyuan-dense", "hunyuan-moe", "internlm2", "llama", "minicpm", "minicpm3",
    "minimax-m2", "mistral3", "mpt", "nemotron", "olmo", "olmoe", "openelm", "orion", "phi2",
    "phi3", "phimoe", "plamo", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe",
    "qwen3vl", "qwen3vlmoe", "refact", "seed_oss", "smollm3", "stablelm", "starcoder",
    "starcoder2", "xverse",
})  # fmt: skip
_HYBRID = frozenset({"granitehybrid", "jamba", "kimi-k3", "kimi-linear", "lfm2", "lfm2moe"})


def read_geometry(header: GgufHeader, tensors: TensorTable) -> Geometry:
    """The geometry that a header describes. Missing keys get llama.cpp's defaults."""
    return _GeometryReader(header, tensors).read()


class _GeometryReader:
    """Reads ``<architecture>.*`` keys."""

    def __init__(self, header: GgufHeader, tensors: TensorTable) -> None:
        self._header = header
        self._names = {tensor.name: tensor for tensor in tensors}
        self._arch = header.text("general.architecture") or ""
        # A hostile count must not size the per-layer tuples: no model has a block without tensors.
        self._n_layer = min(self._int("block_count"), len(self._names) + 1)

    def read(self) -> Geometry:
        n_head = self._int("attention.head_count")
        n_embd = self._int("embedding_length")
        per_head = n_embd // n_head if n_head else 0
        key = self._int("attention.key_length", per_head)
        value = self._int("attention.value_length", per_head)
        n_kv = self._per_layer("attention.head_count_kv", n_head)
        nextn = min(self._int("nextn_predict_layers"), self._n_layer)
        conv, ssm = self._state(n_head)
        layers = self._layers(n_kv, has_state=conv + ssm > 0)[: self._n_layer - nextn]
        n_ff = self._int("feed_forward_length")
        n_ff_expert = self._int("expert_feed_forward_length", n_ff)
        n_shared = self._int("expert_shared_count")
        default_shared = n_ff_expert * n_shared
        lora = self._int("attention.kv_lora_rank")
        return Geometry(
            architecture=self._arch,
            n_layer=self._n_layer,
            n_layer_nextn=nextn,
            n_embd=n_embd,
            n_vocab=self._vocabulary(),
            n_head=n_head,
            n_head_kv=n_kv,
            key_length=key,
            value_length=value,
            key_length_window=self._int("attention.key_length_swa", key),
            value_length_window=self._int("attention.value_length_swa", value),
            n_ff=n_ff,
            n_expert=self._int("expert_count"),
            n_expert_used=self._int("expert_used_count"),
            n_expert_shared=n_shared,
            n_ff_expert=n_ff_expert if self._int("expert_count") else 0,
            n_ff_shared=self._int("expert_shared_feed_forward_length", default_shared),
            n_layer_dense_lead=self._int("leading_dense_block_count"),
            layers=layers,
            window=self._window(),
            is_mla=self._is_mla(lora),
            kv_lora_rank=lora,
            n_rot=self._int("rope.dimension_count", key),
            n_indexer_key=self._int("attention.indexer.key_length"),
            n_state_conv=conv,
            n_state_ssm=ssm,
            tied_output="output.weight" not in self._names,
            context_train=self._int("context_length"),
            exact=self._is_exact(),
            key_length_mla=self._int("attention.key_length_mla"),
            value_length_mla=self._int("attention.value_length_mla"),
        )

    def _int(self, key: str, default: int = 0) -> int:
        value = self._header.number(f"{self._arch}.{key}")
        return default if value is None or value < 0 else value

    def _per_layer(self, key: str, default: int) -> tuple[int, ...]:
        """One number per layer; the header has one for all, or a list."""
        value = self._header.metadata.get(f"{self._arch}.{key}", default)
        if isinstance(value, tuple):
            numbers = [max(item, 0) if isinstance(item, int) else 0 for item in value]
            return tuple((numbers + [0] * self._n_layer)[: self._n_layer])
        number = max(value, 0) if isinstance(value, int) else default
        return (number,) * self._n_layer

    def _vocabulary(self) -> int:
        """The output matrix says it best: some headers have no count, or one without padding."""
        for name in ("output.weight", "token_embd.weight"):
            if (tensor := self._names.get(name)) and len(tensor.shape) > 1:
                return tensor.shape[1]
        return self._int("vocab_size") or self._header.count("tokenizer.ggml.tokens")

    def _is_mla(self, lora: int) -> bool:
        """Old files without the split matrices keep full K and V instead of the latent."""
        return lora > 0 and (
            self._header.number(f"{self._arch}.attention.key_length_mla") is not None
            or any(name.endswith(".attn_k_b.weight") for name in self._names)
        )

    # which layer keeps what

    def _layers(self, n_kv: tuple[int, ...], *, has_state: bool) -> tuple[LayerKind, ...]:
        if self._arch in _ALL_RECURRENT:
            return (LayerKind.RECURRENT,) * self._n_layer
        if self._arch in _BOTH:
            return (LayerKind.BOTH,) * self._n_layer
        windowed = self._windowed()
        interval = self._int("full_attention_interval", 4)
        n_ff = self._per_layer("feed_forward_length", 0)
        kinds: list[LayerKind] = []
        for index in range(self._n_layer):
            by_interval = self._arch in _INTERVAL_RECURRENT and (index + 1) % max(interval, 1)
            if by_interval:
                kinds.append(LayerKind.RECURRENT)
            elif n_kv[index] == 0:
                ffn_only = self._arch in _NO_FFN_MEANS_RECURRENT and n_ff[index] > 0
                recurrent = has_state and not ffn_only
                kinds.append(LayerKind.RECURRENT if recurrent else LayerKind.NOTHING)
            else:
                kinds.append(LayerKind.WINDOW if windowed[index] else LayerKind.FULL)
        shared = self._int("attention.shared_kv_layers")
        if self._arch == "gemma3n":
            shared = max(self._n_layer - _GEMMA3N_OWN_KV, 0)
        own = max(self._n_layer - shared, 0)
        return tuple(
            kind if index < own or kind is LayerKind.RECURRENT else LayerKind.NOTHING
            for index, kind in enumerate(kinds)
        )

    def _windowed(self) -> tuple[bool, ...]:
        n = self._n_layer
        if not self._window():
            return (False,) * n
        pattern = self._header.metadata.get(f"{self._arch}.attention.sliding_window_pattern")
        if isinstance(pattern, tuple) and pattern:
            flags = [bool(item) for item in pattern]
            return tuple(flags[index % len(flags)] for index in range(n))
        period, dense_first = _WINDOW_PERIODS.get(self._arch, (1, False))
        if isinstance(pattern, int) and not isinstance(pattern, bool) and pattern >= 0:
            period = pattern
        if period == 0:
            return (True,) * n
        full_at = 0 if dense_first else period - 1
        return tuple(index % period != full_at for index in range(n))

    def _window(self) -> int:
        if self._arch == "llama4":
            return _LLAMA4_CHUNK
        key = f"{self._arch}.attention.sliding_window_pattern"
        if self._arch in _WINDOW_PERIODS or key in self._header.metadata:
            return self._int("attention.sliding_window")
        return 0

    def _state(self, n_head: int) -> tuple[int, int]:
        """F32 elements of convolution and state, per layer and sequence (memory of llama.cpp)."""
        if cache := self._int("shortconv.l_cache"):
            return self._int("embedding_length") * (cache - 1), 0
        kernel = max(self._int("ssm.conv_kernel") - 1, 0)
        if head := self._int("kda.head_dim"):
            return 3 * kernel * head * n_head, head * head * n_head
        if head := self._int("wkv.head_size"):
            shifts = self._int("token_shift_count", 2)
            n_embd = self._int("embedding_length")
            return shifts * n_embd, n_embd * head
        inner, state = self._int("ssm.inner_size"), self._int("ssm.state_size")
        groups = self._int("ssm.group_count")
        return kernel * (inner + 2 * groups * state), state * inner

    def _is_exact(self) -> bool:
        known = (
            self._arch in _PLAIN
            or self._arch in _WINDOW_PERIODS
            or self._arch in _ALL_RECURRENT
            or self._arch in _BOTH
            or self._arch in _INTERVAL_RECURRENT
            or self._arch in _NO_FFN_MEANS_RECURRENT
            or self._arch in _HYBRID
        )
        return known and self._n_layer > 0
