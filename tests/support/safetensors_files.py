"""Makes safetensors headers and sparse files."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

from kimi_desktop.models.safetensors import DTYPE_BITS


def table(
    tensors: Mapping[str, tuple[str, Sequence[int]]], metadata: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The JSON object of a header, data without holes."""
    entries: dict[str, object] = {}
    if metadata is not None:
        entries["__metadata__"] = dict(metadata)
    at = 0
    for name, (dtype, shape) in tensors.items():
        size = prod(shape) * DTYPE_BITS[dtype] // 8
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    return entries


def wrapped(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def write_file(path: Path, tensors: Mapping[str, tuple[str, Sequence[int]]]) -> Path:
    """A sparse file with a right header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    size = sum(prod(shape) * DTYPE_BITS[dtype] // 8 for dtype, shape in tensors.values())
    header = wrapped(json.dumps(table(tensors, {"format": "pt"})))
    with path.open("wb") as file:
        file.write(header)
        file.truncate(len(header) + size)
    return path
