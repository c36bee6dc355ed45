"""Makes GGUF headers, right or wrong, and sparse files that have a header and a hole for data."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.models.ggml import TYPES_BY_NAME

Tensor = tuple[str, Sequence[int], str]
"""(name, shape with the contiguous dimension first, type name)"""

ALIGNMENT = 32


@dataclass(frozen=True)
class Typed:
    """A metadata value of a chosen GGUF type: a struct code, or "a<code>" for an array of it."""

    code: str
    value: object


_TYPE_IDS = {
    "B": 0,
    "b": 1,
    "H": 2,
    "h": 3,
    "I": 4,
    "i": 5,
    "f": 6,
    "?": 7,
    "Q": 10,
    "q": 11,
    "d": 12,
}


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def value_bytes(value: object) -> bytes:
    """A metadata value with its type: ints as u32, floats as f32, lists by their first item."""
    match value:
        case Typed(code=code, value=items) if code.startswith("a"):
            kind = code[1:]
            assert isinstance(items, Sequence)
            return struct.pack("<IIQ", 9, _TYPE_IDS[kind], len(items)) + struct.pack(
                f"<{len(items)}{kind}", *items
            )
        case Typed(code=code, value=single):
            return struct.pack(f"<I{code}", _TYPE_IDS[code], single)
        case bool():
            return value_bytes(Typed("?", value))
        case int():
            return value_bytes(Typed("I", value))
        case float():
            return value_bytes(Typed("f", value))
        case str():
            return struct.pack("<I", 8) + text(value)
        case list() | tuple() if value and isinstance(value[0], str):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(text, value))
        case list() | tuple():
            code = "?" if value and isinstance(value[0], bool) else "I"
            if value and isinstance(value[0], float):
                code = "f"
            return value_bytes(Typed(f"a{code}", value))
    raise TypeError(value)


def padded(size: int, alignment: int = ALIGNMENT) -> int:
    return -(-size // alignment) * alignment


def header_bytes(
    metadata: Mapping[str, object], tensors: Iterable[Tensor] = (), *, version: int = 3
) -> bytes:
    """A whole header, padded to where the data begins."""
    tensors = list(tensors)
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        out += text(key) + value_bytes(value)
    alignment = metadata.get("general.alignment", ALIGNMENT)
    assert isinstance(alignment, int)
    offset = 0
    infos = []
    for name, shape, type_name in tensors:
        kind = TYPES_BY_NAME[type_name]
        infos.append(
            text(name)
            + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
            + struct.pack("<IQ", kind.id, offset)
        )
        offset += padded(kind.tensor_bytes(tuple(shape)), alignment)
    out += b"".join(infos)
    return out + bytes(padded(len(out), alignment) - len(out))


def data_bytes(tensors: Iterable[Tensor]) -> int:
    return sum(padded(TYPES_BY_NAME[kind].tensor_bytes(tuple(shape))) for _, shape, kind in tensors)


def write_model(
    path: Path,
    metadata: Mapping[str, object] | None = None,
    tensors: Sequence[Tensor] | None = None,
) -> Path:
    """A sparse file: header and a hole as long as the tensors are."""
    metadata = llama_metadata() if metadata is None else metadata
    tensors = LLAMA_TENSORS if tensors is None else tensors
    header = header_bytes(metadata, tensors)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + data_bytes(tensors))
    return path


def write_set(folder: Path, stem: str, parts: int) -> list[Path]:
    """A split set as llama-gguf-split writes it: all metadata in the first part."""
    tensors = [(f"blk.{i}.ffn_up.weight", (256, 32), "Q4_K") for i in range(parts * 2)]
    paths = []
    for number in range(parts):
        metadata: dict[str, object] = {}
        if number == 0:
            metadata = llama_metadata(stem) | {"llama.block_count": len(tensors)}
        metadata |= {
            "split.no": Typed("H", number),
            "split.count": Typed("H", parts),
            "split.tensors.count": Typed("i", len(tensors)),
        }
        path = folder / f"{stem}-{number + 1:05}-of-{parts:05}.gguf"
        paths.append(write_model(path, metadata, tensors[number * 2 : number * 2 + 2]))
    return paths


def llama_metadata(name: str = "Tiny Llama") -> dict[str, object]:
    return {
        "general.architecture": "llama",
        "general.name": name,
        "general.type": "model",
        "general.file_type": 15,
        "llama.block_count": 2,
        "llama.context_length": 8192,
        "llama.embedding_length": 256,
        "llama.feed_forward_length": 512,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": ["a", "b", "<|end|>"],
        "tokenizer.chat_template": "{% if thinking %}<think>{% endif %}",
    }


LLAMA_TENSORS: list[Tensor] = [
    ("token_embd.weight", (256, 64), "Q4_K"),
    ("output_norm.weight", (256,), "F32"),
    ("output.weight", (256, 64), "Q6_K"),
    *(
        tensor
        for block in range(2)
        for tensor in (
            (f"blk.{block}.attn_q.weight", (256, 256), "Q4_K"),
            (f"blk.{block}.attn_k.weight", (256, 128), "Q4_K"),
            (f"blk.{block}.attn_v.weight", (256, 128), "Q6_K"),
            (f"blk.{block}.ffn_down.weight", (512, 256), "Q6_K"),
        )
    ),
]


class BytesSource:
    """A header in memory that counts what is read of it."""

    def __init__(self, content: bytes, size_bytes: int | None = None) -> None:
        self.content = content
        self.size_bytes = len(content) if size_bytes is None else size_bytes
        self.bytes_read = 0
        self.reads = 0

    def read(self, offset: int, length: int) -> bytes:
        piece = self.content[offset : offset + length]
        self.bytes_read += len(piece)
        self.reads += 1
        return piece
