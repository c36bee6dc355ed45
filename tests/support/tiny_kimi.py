"""Writes a tiny Kimi-shaped GGUF that a real llama.cpp loads and that keeps to a script.

The architecture is what llama.cpp makes of Kimi K2: "deepseek2" with MLA (``attn_k_b`` and
``attn_v_b`` already split), one dense block, then mixture-of-experts blocks (8 experts, 2 per
token, 1 shared, sigmoid router with a selection bias), YaRN, and a byte-level BPE vocabulary with
the pre-tokenizer "kimi-k2" and Kimi's special tokens. The blocks are random and faint; embedding
and output head are built so that every token of a script calls for the next one. The margins are
wide: temperatures up to 1 give the same text as 0. A grammar or a JSON schema leads off the
script.

About 1 MB; loads in some 20 ms; about 2,000 tok/s on two cores. What it says stands in
``tiny_kimi_scripts``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.support.tiny_kimi_scripts import (
    CONTROLS,
    END_THINK,
    EOS,
    EXTRA_LINKS,
    SCRIPTS,
    TEMPLATE,
    THINK,
    Script,
    route_tokens,
)

CORPUS = (
    "A lamp in the window, a boat on the river, and the night train far away.",
    "Please tell me how warm it is today, and write a little program for me.",
    "def area(width, height):\n    return width * height\n\nprint(area(3, 4))\n",
    '{"name": "moon", "size": [1, 2, 3], "unit": "km"}',
    "Count from 1 to 100, then ponder. 0 1 2 3 4 5 6 7 8 9! ? , ; : ( ) [ ] { }",
)
TAGS = (THINK, END_THINK)
TAIL = ("[UNK]", "[PAD]")
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4
"""Token types of GGUF."""

FAINT = 0.02
"""Gain of what a block writes back, so that it cannot outvote the script."""
SCRIPT_GAIN = 5.0
"""Weight of "this token follows that one" in the output head."""

QUANTS = {
    "f32": (gguf.GGMLQuantizationType.F32, 0),
    "f16": (gguf.GGMLQuantizationType.F16, 1),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, 7),
}
"""Storage -> (GGML type, ``general.file_type``)."""

Array = npt.NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the model. Input dimensions are multiples of 32, the block size of Q8_0."""

    n_layer: int = 3
    n_expert: int = 8
    kv_rank: int = 32
    rope: int = 32
    """``kv_rank`` 512 and ``rope`` 64 are the real model's (GPU kernels know no others)."""
    context: int = 2048
    n_embd: int = 128
    n_head: int = 4
    n_dense: int = 1
    n_expert_used: int = 2
    n_expert_shared: int = 1
    q_rank: int = 64
    nope: int = 32
    v_dim: int = 32
    n_ff: int = 256
    n_ff_expert: int = 64


def make_tiny_kimi(
    path: Path,
    *,
    quant: str = "q8_0",
    split: int = 1,
    shape: Shape = Shape(),
    name: str = "Tiny Kimi",
    template: str | None = TEMPLATE,
    seed: int = 7,
) -> Path:
    """Write the model to ``path`` (or to ``split`` parts named after it) and return the first file.

    Args:
        path: ``.../tiny-kimi.gguf``; parts get llama.cpp's own ``-00001-of-00003.gguf`` names.
        quant: storage of the matrices: "f32", "f16" or "q8_0".
        split: number of files, at most one per tensor.
        shape: sizes; more layers and experts make a larger file.
        name: ``general.name``, which groups quantizations of one model.
        template: the chat template, None for a base model without one.
        seed: of the random blocks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    vocab = _Vocab()
    tensors = _Tensors(shape, quant, seed)
    tensors.add_all(len(vocab.tokens), vocab.successors())
    names = list(tensors.data)
    if not 1 <= split <= len(names):
        raise ValueError(f"split must be 1 ... {len(names)}")
    files = []
    for number in range(split):
        part = f"-{number + 1:05}-of-{split:05}" if split > 1 else ""
        file = path.with_name(f"{path.stem}{part}.gguf")
        writer = gguf.GGUFWriter(file, "deepseek2")
        if number == 0:
            _write_metadata(writer, shape, vocab, quant, name, template)
        else:
            writer.kv_data[0].clear()  # like llama.cpp's splitter: only the split keys
        if split > 1:
            writer.add_uint16("split.no", number)
            writer.add_uint16("split.count", split)
            writer.add_int32("split.tensors.count", len(names))
        for tensor in names[number * len(names) // split : (number + 1) * len(names) // split]:
            data, kind = tensors.data[tensor]
            writer.add_tensor(tensor, data, raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        files.append(file)
    return files[0]


class _Vocab:
    """Byte-level BPE in GGUF's terms: token strings, their types, merges."""

    def __init__(self) -> None:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=480, show_progress=False, initial_alphabet=alphabet
        )
        tokenizer.train_from_iterator(CORPUS, trainer)
        merges = json.loads(tokenizer.to_str())["model"]["merges"]
        self.merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in merges]
        self.tokens: list[str] = sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id)
        self.types = [NORMAL] * len(self.tokens)
        self.ids = {token: number for number, token in enumerate(self.tokens)}
        for script in SCRIPTS.values():  # no merge leads to these words: a prompt never holds them
            for item in script:
                if item not in (*CONTROLS, *TAGS):
                    self._add(_symbols(item), NORMAL)
        for script_name in SCRIPTS:
            for route in route_tokens(script_name):
                self._add(route, USER_DEFINED)
        for text, kind in (
            *((text, CONTROL) for text in CONTROLS),
            *((text, USER_DEFINED) for text in TAGS),
            *((text, CONTROL) for text in TAIL),
        ):
            self._add(text, kind)

    def successors(self) -> dict[int, int]:
        """Token id -> id of the token that has to follow it."""
        links = [link for pair in EXTRA_LINKS for link in pairwise(self._script_ids(pair))]
        for script_name, script in SCRIPTS.items():
            ids = self._script_ids(script)
            links += [(self.ids[route], ids[0]) for route in route_tokens(script_name)]
            links += pairwise(ids)
        following: dict[int, int] = {}
        for token, successor in links:
            if following.setdefault(token, successor) != successor:
                raise ValueError(f"{self.tokens[token]!r} has two successors")
        return following

    def _add(self, text: str, kind: int) -> None:
        if text not in self.ids:
            self.ids[text] = len(self.tokens)
            self.tokens.append(text)
            self.types.append(kind)

    def _script_ids(self, script: Script) -> list[int]:
        ids: list[int] = []
        for item in script:
            if isinstance(item, bytes):
                ids += [self.ids[symbol] for symbol in _symbols(item)]
            else:
                ids.append(self.ids[item if item in (*CONTROLS, *TAGS) else _symbols(item)])
        return ids


def _symbols(item: str | bytes) -> str:
    """A text as a byte-level vocabulary writes it: one visible character per byte."""
    shown = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(256, 512))
    table = [chr(byte if byte in shown else next(spare)) for byte in range(256)]
    return "".join(table[byte] for byte in (item.encode() if isinstance(item, str) else item))


class _Tensors:
    """Named tensors in llama.cpp's order. numpy shapes are ggml's reversed: input size last."""

    def __init__(self, shape: Shape, quant: str, seed: int) -> None:
        self._shape = shape
        self._quant = quant
        self._random = np.random.default_rng(seed)
        self.data: dict[str, tuple[Array, gguf.GGMLQuantizationType]] = {}

    def add_all(self, n_vocab: int, following: dict[int, int]) -> None:
        """Embedding, head and every block."""
        self._ends(n_vocab, following)
        for block in range(self._shape.n_layer):
            self._block(block)

    def _put(self, name: str, value: Array, quant: str = "f32") -> None:
        kind = QUANTS[quant][0]
        plain = np.ascontiguousarray(value, dtype=np.float32)
        self.data[name] = (gguf.quantize(plain, kind), kind)

    def _matrix(self, name: str, *size: int, gain: float = 1.0) -> None:
        value = self._random.normal(0, gain / np.sqrt(size[-1]), size)
        self._put(f"{name}.weight", value, self._quant)

    def _norm(self, name: str, size: int) -> None:
        self._put(f"{name}.weight", np.ones(size))

    def _ends(self, n_vocab: int, following: dict[int, int]) -> None:
        embedding = self._random.normal(0, 1, (n_vocab, self._shape.n_embd))
        embedding /= np.linalg.norm(embedding, axis=1, keepdims=True)
        head = np.zeros_like(embedding)
        for token, successor in following.items():
            head[successor] += SCRIPT_GAIN * embedding[token]
        self._put("token_embd.weight", embedding, self._quant)
        self._norm("output_norm", self._shape.n_embd)
        self._put("output.weight", head, self._quant)

    def _block(self, number: int) -> None:
        shape, prefix = self._shape, f"blk.{number}"
        self._norm(f"{prefix}.attn_norm", shape.n_embd)
        self._norm(f"{prefix}.attn_q_a_norm", shape.q_rank)
        self._matrix(f"{prefix}.attn_q_a", shape.q_rank, shape.n_embd)
        self._matrix(f"{prefix}.attn_q_b", shape.n_head * (shape.nope + shape.rope), shape.q_rank)
        self._norm(f"{prefix}.attn_kv_a_norm", shape.kv_rank)
        self._matrix(f"{prefix}.attn_kv_a_mqa", shape.kv_rank + shape.rope, shape.n_embd)
        self._matrix(f"{prefix}.attn_k_b", shape.n_head, shape.kv_rank, shape.nope)
        self._matrix(f"{prefix}.attn_v_b", shape.n_head, shape.v_dim, shape.kv_rank)
        self._matrix(f"{prefix}.attn_output", shape.n_embd, shape.n_head * shape.v_dim, gain=FAINT)
        self._norm(f"{prefix}.ffn_norm", shape.n_embd)
        if number < shape.n_dense:
            self._feed_forward(prefix, "", shape.n_ff)
            return
        router = self._random.normal(0, 1 / np.sqrt(shape.n_embd), (shape.n_expert, shape.n_embd))
        self._put(f"{prefix}.ffn_gate_inp.weight", router)
        self._put(f"{prefix}.exp_probs_b.bias", self._random.normal(0, 0.05, shape.n_expert))
        self._feed_forward(prefix, "_exps", shape.n_ff_expert, shape.n_expert)
        self._feed_forward(prefix, "_shexp", shape.n_ff_expert * shape.n_expert_shared)

    def _feed_forward(self, prefix: str, suffix: str, inner: int, *outer: int) -> None:
        self._matrix(f"{prefix}.ffn_gate{suffix}", *outer, inner, self._shape.n_embd)
        self._matrix(f"{prefix}.ffn_up{suffix}", *outer, inner, self._shape.n_embd)
        self._matrix(f"{prefix}.ffn_down{suffix}", *outer, self._shape.n_embd, inner, gain=FAINT)


def _write_metadata(
    writer: gguf.GGUFWriter,
    shape: Shape,
    vocab: _Vocab,
    quant: str,
    name: str,
    template: str | None,
) -> None:
    writer.add_type("model")
    writer.add_name(name)
    writer.add_size_label("tiny")
    writer.add_file_type(QUANTS[quant][1])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(shape.n_layer)
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.n_embd)
    writer.add_feed_forward_length(shape.n_ff)
    writer.add_vocab_size(len(vocab.tokens))
    writer.add_head_count(shape.n_head)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_q_lora_rank(shape.q_rank)
    writer.add_kv_lora_rank(shape.kv_rank)
    writer.add_key_length(shape.kv_rank + shape.rope)
    writer.add_value_length(shape.kv_rank)
    writer.add_key_length_mla(shape.nope + shape.rope)
    writer.add_value_length_mla(shape.v_dim)
    writer.add_rope_dimension_count(shape.rope)
    writer.add_rope_freq_base(50_000.0)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(64.0)
    writer.add_rope_scaling_orig_ctx_len(max(1, shape.context // 64))
    writer.add_rope_scaling_yarn_log_mul(0.1)
    writer.add_leading_dense_block_count(shape.n_dense)
    writer.add_expert_count(shape.n_expert)
    writer.add_expert_used_count(shape.n_expert_used)
    writer.add_expert_shared_count(shape.n_expert_shared)
    writer.add_expert_feed_forward_length(shape.n_ff_expert)
    writer.add_expert_group_count(1)
    writer.add_expert_group_used_count(1)
    writer.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    writer.add_expert_weights_norm(True)
    writer.add_expert_weights_scale(2.827)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("kimi-k2")
    writer.add_token_list(vocab.tokens)
    writer.add_token_types(vocab.types)
    writer.add_token_merges(vocab.merges)
    writer.add_bos_token_id(vocab.ids["[BOS]"])
    writer.add_eos_token_id(vocab.ids[EOS])
    writer.add_pad_token_id(vocab.ids["[PAD]"])
    writer.add_add_bos_token(False)
    if template is not None:
        writer.add_chat_template(template)
