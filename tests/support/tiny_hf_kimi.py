"""A tiny Kimi-shaped checkpoint in Hugging Face's layout, for a real vLLM.

MLA, one dense layer, experts, K2's template with thoughts. As with the tiny GGUF (``tiny_kimi``)
the layers are noise and the answers fixed: embedding and output head make every token of a script
call for the next one (``tiny_kimi_scripts``). kv_lora_rank and qk_rope_head_dim are the real
model's: vLLM's MLA for CPUs is compiled for no other size.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.support.tiny_kimi_scripts import (
    CONTROLS,
    END_THINK,
    EOS,
    EXTRA_LINKS,
    SCRIPTS,
    TEMPLATE,
    THINK,
    Script,
)

Array = npt.NDArray[np.float32]

HIDDEN, HEADS, LAYERS, EXPERTS = 128, 4, 3, 8
Q_RANK, KV_RANK, ROPE, NOPE, VALUE = 64, 512, 64, 32, 32
DENSE_INNER, EXPERT_INNER = 256, 64
FAINT = 0.02
"""Gain of what a layer writes back, so that it cannot outvote a script."""
ROUTES = {name: f"<|route_{name}|>" for name in SCRIPTS}
_ROUTE = "<|route_{{ route }}|>\n"
HF_TEMPLATE = TEMPLATE.replace(_ROUTE, "", 1).replace(
    "{%- endif -%}\n{%- endif -%}\n", "{%- endif -%}\n" + _ROUTE + "{%- endif -%}\n"
)
"""The route stands last here: vLLM reads thoughts from what is generated alone."""
TEXT = (
    "The tide comes in over the flat sand while the boats wait at the pier.",
    "def twice(number):\n    return 2 * number\n",
    '{"city": "Paris", "unit": "celsius"}',
    "Numbers: 0 1 2 3 4 5 6 7 8 9. Signs: ! ? , ; : ( ) [ ] { }",
)


def make_tiny_hf_kimi(folder: Path, *, shards: int = 3, context: int = 2048) -> Path:
    """Write it (3 MB); returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer()
    vocab = -(-tokenizer.get_vocab_size() // 64) * 64
    weights = _Weights(vocab, _successors(tokenizer))
    weights.save(folder, shards)
    tokenizer.save(str(folder / "tokenizer.json"))
    ids = {name: tokenizer.token_to_id(name) for name in CONTROLS}
    ends = {
        "bos_token_id": ids["[BOS]"],
        "eos_token_id": ids[EOS],
        "pad_token_id": ids["[EOT]"],
    }
    _write(folder / "config.json", _config(vocab, context) | ends)
    _write(folder / "generation_config.json", ends | {"eos_token_id": [ids[EOS], ids["[EOS]"]]})
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": "[BOS]",
            "eos_token": EOS,
            "pad_token": "[EOT]",
            "add_bos_token": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": context,
        },
    )
    (folder / "chat_template.jinja").write_text(HF_TEMPLATE, encoding="utf-8")
    return folder


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        TEXT,
        trainers.BpeTrainer(
            vocab_size=480,
            special_tokens=list(CONTROLS),
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer.add_special_tokens(
        [AddedToken(route, special=True, normalized=False) for route in ROUTES.values()]
    )
    words = [THINK, END_THINK]
    words += [item for script in SCRIPTS.values() for item in script if isinstance(item, str)]
    new = [word for word in dict.fromkeys(words) if tokenizer.token_to_id(word) is None]
    # Not special: as in the real tokenizer, decoding keeps the think tags.
    tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in new])
    return tokenizer


def _symbols(script: Script) -> list[str]:
    """The tokens of a script; bytes by the characters that a byte-level vocabulary has for them."""
    plain = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    shown = [chr(byte if byte in plain else next(spare)) for byte in range(256)]
    tokens: list[str] = []
    for item in script:
        tokens += [item] if isinstance(item, str) else [shown[byte] for byte in item]
    return tokens


def _successors(tokenizer: Tokenizer) -> dict[int, int]:
    """Token -> the token that has to follow it."""
    links = list(EXTRA_LINKS)
    for name, script in SCRIPTS.items():
        links += pairwise([ROUTES[name], *_symbols(script)])
    following: dict[int, int] = {}
    for before, after in links:
        first, second = tokenizer.token_to_id(before), tokenizer.token_to_id(after)
        assert first is not None, before
        assert second is not None, after
        assert following.setdefault(first, second) == second, (before, after)
    return following


class _Weights:
    """Tensors by their names in DeepSeek's layout, as bfloat16."""

    def __init__(self, vocab: int, following: dict[int, int]) -> None:
        self._random = np.random.default_rng(11)
        self._tensors: dict[str, tuple[str, list[int], bytes]] = {}
        self._ends(vocab, following)
        for number in range(LAYERS):
            self._layer(f"model.layers.{number}", dense=number == 0)

    def save(self, folder: Path, shards: int) -> None:
        """Part files and their index."""
        names = sorted(self._tensors)
        where: dict[str, str] = {}
        for number in range(shards):
            part = names[number::shards]
            file = f"model-{number + 1:05}-of-{shards:05}.safetensors"
            where |= dict.fromkeys(part, file)
            header: dict[str, object] = {"__metadata__": {"format": "pt"}}
            end = 0
            for name in part:
                kind, shape, raw = self._tensors[name]
                place = [end, end + len(raw)]
                header[name] = {"dtype": kind, "shape": shape, "data_offsets": place}
                end += len(raw)
            text = json.dumps(header, separators=(",", ":")).encode()
            text += b" " * (-len(text) % 8)
            with (folder / file).open("wb") as out:
                out.write(len(text).to_bytes(8, "little") + text)
                out.writelines(self._tensors[name][2] for name in part)
        total = sum(len(raw) for _, _, raw in self._tensors.values())
        index = {"metadata": {"total_size": total}, "weight_map": where}
        _write(folder / "model.safetensors.index.json", index)

    def _put(self, name: str, values: npt.ArrayLike, *, full: bool = False) -> None:
        array: Array = np.ascontiguousarray(values, dtype=np.float32)
        if full:
            self._tensors[name] = ("F32", list(array.shape), array.tobytes())
            return
        bits = array.view(np.uint32)  # the upper half, rounded to nearest even
        half = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        self._tensors[name] = ("BF16", list(array.shape), half.tobytes())

    def _matrix(self, name: str, rows: int, columns: int, gain: float = 1.0) -> None:
        scale = gain / np.sqrt(columns)
        self._put(f"{name}.weight", self._random.normal(0, scale, (rows, columns)))

    def _norm(self, name: str, size: int) -> None:
        self._put(f"{name}.weight", np.ones(size))

    def _ends(self, vocab: int, following: dict[int, int]) -> None:
        embedding = self._random.normal(0, 1, (vocab, HIDDEN))
        embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
        head = np.zeros((vocab, HIDDEN))
        for token, after in following.items():
            head[after] += 5 * embedding[token]
        self._put("model.embed_tokens.weight", embedding)
        self._norm("model.norm", HIDDEN)
        self._put("lm_head.weight", head)

    def _feed_forward(self, name: str, inner: int) -> None:
        self._matrix(f"{name}.gate_proj", inner, HIDDEN)
        self._matrix(f"{name}.up_proj", inner, HIDDEN)
        self._matrix(f"{name}.down_proj", HIDDEN, inner, FAINT)

    def _layer(self, name: str, *, dense: bool) -> None:
        attention = f"{name}.self_attn"
        self._norm(f"{name}.input_layernorm", HIDDEN)
        self._matrix(f"{attention}.q_a_proj", Q_RANK, HIDDEN)
        self._norm(f"{attention}.q_a_layernorm", Q_RANK)
        self._matrix(f"{attention}.q_b_proj", HEADS * (NOPE + ROPE), Q_RANK)
        self._matrix(f"{attention}.kv_a_proj_with_mqa", KV_RANK + ROPE, HIDDEN)
        self._norm(f"{attention}.kv_a_layernorm", KV_RANK)
        self._matrix(f"{attention}.kv_b_proj", HEADS * (NOPE + VALUE), KV_RANK)
        self._matrix(f"{attention}.o_proj", HIDDEN, HEADS * VALUE, FAINT)
        self._norm(f"{name}.post_attention_layernorm", HIDDEN)
        if dense:
            self._feed_forward(f"{name}.mlp", DENSE_INNER)
            return
        self._matrix(f"{name}.mlp.gate", EXPERTS, HIDDEN)
        self._put(f"{name}.mlp.gate.e_score_correction_bias", np.zeros(EXPERTS), full=True)
        self._feed_forward(f"{name}.mlp.shared_experts", EXPERT_INNER)
        for expert in range(EXPERTS):
            self._feed_forward(f"{name}.mlp.experts.{expert}", EXPERT_INNER)


def _config(vocab: int, context: int) -> dict[str, object]:
    return {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2",
        "attention_bias": False, "attention_dropout": 0.0, "first_k_dense_replace": 1,
        "hidden_act": "silu", "hidden_size": HIDDEN, "intermediate_size": DENSE_INNER,
        "initializer_range": 0.02, "kv_lora_rank": KV_RANK, "max_position_embeddings": context,
        "moe_intermediate_size": EXPERT_INNER, "moe_layer_freq": 1, "n_group": 1,
        "n_routed_experts": EXPERTS, "n_shared_experts": 1, "norm_topk_prob": True,
        "num_attention_heads": HEADS, "num_experts_per_tok": 2, "num_hidden_layers": LAYERS,
        "num_key_value_heads": HEADS, "num_nextn_predict_layers": 0, "q_lora_rank": Q_RANK,
        "qk_nope_head_dim": NOPE, "qk_rope_head_dim": ROPE, "rms_norm_eps": 1e-6,
        "rope_theta": 50000.0, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
        "tie_word_embeddings": False, "topk_group": 1, "topk_method": "noaux_tc",
        "torch_dtype": "bfloat16", "use_cache": True, "v_head_dim": VALUE, "vocab_size": vocab,
    }  # fmt: skip


def _write(file: Path, value: object) -> None:
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
