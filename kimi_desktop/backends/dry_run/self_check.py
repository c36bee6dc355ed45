"""Does this build answer as it should? A tiny model of which every byte is known.

Its weights and its cache follow the planner's rules, which are byte-exact for any model of this
shape. A library whose memory is laid out otherwise would answer something else, or end the process.
"""

from __future__ import annotations

import struct
from pathlib import Path

from kimi_desktop.backends.dry_run.library import UnknownBuildError
from kimi_desktop.backends.dry_run.measure import DeviceBytes, DryRun, RefusedError
from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.planner.types import ALL_LAYERS, HOST, Placement

CONTEXT = 1024
WIDTH, VOCABULARY, FFN, HEADS, KV_HEADS, BLOCKS = 512, 256, 1024, 8, 2, 4
_HEAD = WIDTH // HEADS
_F32 = TYPES_BY_NAME["F32"]
_Q8_0 = TYPES_BY_NAME["Q8_0"]
_U32, _F32_VALUE, _STRING = 4, 6, 8


def check(run: DryRun, folder: Path, n_gpu: int) -> None:
    """Refuse a build that answers wrongly.

    Raises:
        UnknownBuildError: it does.
    """
    path = folder / "self-check.gguf"
    path.write_bytes(_file())
    placement = Placement(context=CONTEXT, n_gpu_layers=ALL_LAYERS, tensor_split=(1.0,))
    try:
        found = run.measure(path, placement)
    except RefusedError as error:
        raise UnknownBuildError(f"self-check: {error}") from error
    finally:
        path.unlink(missing_ok=True)
    weights = sum(_bytes(name, shape) for name, shape in _tensors())
    embedding = _bytes(*_tensors()[0])
    cache = 2 * BLOCKS * KV_HEADS * _HEAD * CONTEXT * 2
    main = 0 if n_gpu else HOST
    wanted = {HOST: embedding, main: weights - embedding} if n_gpu else {HOST: weights}
    for device, size in wanted.items():
        if found.get(device, DeviceBytes()).weights != size:
            raise UnknownBuildError("self-check: weights")
    if found[main].cache != cache or found[main].compute <= 0:
        raise UnknownBuildError("self-check: cache")


def _tensors() -> list[tuple[str, tuple[int, ...]]]:
    kv = KV_HEADS * _HEAD
    found: list[tuple[str, tuple[int, ...]]] = [
        ("token_embd.weight", (WIDTH, VOCABULARY)),
        ("output_norm.weight", (WIDTH,)),
        ("output.weight", (WIDTH, VOCABULARY)),
    ]
    for block in range(BLOCKS):
        found += [
            (f"blk.{block}.{name}.weight", shape)
            for name, shape in (
                ("attn_norm", (WIDTH,)),
                ("attn_q", (WIDTH, WIDTH)),
                ("attn_k", (WIDTH, kv)),
                ("attn_v", (WIDTH, kv)),
                ("attn_output", (WIDTH, WIDTH)),
                ("ffn_norm", (WIDTH,)),
                ("ffn_gate", (WIDTH, FFN)),
                ("ffn_up", (WIDTH, FFN)),
                ("ffn_down", (FFN, WIDTH)),
            )
        ]
    return found


def _bytes(_name: str, shape: tuple[int, ...]) -> int:
    """Widths are multiples of 512, so that nothing is padded anywhere."""
    return (_F32 if len(shape) == 1 else _Q8_0).tensor_bytes(shape)


def _file() -> bytes:
    """A GGUF file of zeros."""
    values: dict[str, str | float] = {
        "general.architecture": "llama",
        "llama.block_count": BLOCKS,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": FFN,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": _HEAD,
        "llama.vocab_size": VOCABULARY,
        "tokenizer.ggml.model": "no_vocab",
    }
    tensors = _tensors()
    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values))
    for key, value in values.items():
        out += _text(key) + _value(value)
    offset = 0
    for name, shape in tensors:
        kind = _F32 if len(shape) == 1 else _Q8_0
        out += _text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        out += struct.pack("<IQ", kind.id, offset)
        offset += -(-kind.tensor_bytes(shape) // 32) * 32
    return out + bytes(-len(out) % 32 + offset)


def _value(value: str | float) -> bytes:
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _text(value)
    if isinstance(value, int):
        return struct.pack("<II", _U32, value)
    return struct.pack("<If", _F32_VALUE, value)


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()
