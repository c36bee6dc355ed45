"""Reads safetensors headers from any source of bytes, entry by entry, and trusts none of them.

Layout: a u64 length, that many bytes of JSON, tensor data. The JSON is walked one entry at a time,
so that a hostile one cannot make Python build more than a bounded piece of it. Blocking (pool).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NoReturn, TypeGuard

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.gguf import HeaderSource

MAX_HEADER_BYTES = 16 * 2**20
MAX_TENSORS = 65_536
MAX_NAME_LENGTH = 512
MAX_ENTRY_LENGTH = 1_024
MAX_METADATA_LENGTH = 256 * 1024
MAX_DIMENSIONS = 8
MAX_TENSOR_BYTES = 2**63 - 1

DTYPE_BITS: Mapping[str, int] = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "U16": 16, "I16": 16,
    "F16": 16, "BF16": 16, "U32": 32, "I32": 32, "F32": 32, "U64": 64, "I64": 64, "F64": 64,
    "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip

_LENGTH = struct.Struct("<Q")
_READ_BYTES = 2**20
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class SafeTensor:
    """One entry of the table. The last dimension is the contiguous one."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    """From the start of the data."""
    size_bytes: int

    @property
    def n_elements(self) -> int:
        """Stored numbers; packed formats hold several weights in one."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class SafetensorsHeader:
    """What stands before the data."""

    tensors: tuple[SafeTensor, ...]
    """In the order of their data."""
    metadata: Mapping[str, str]
    data_offset: int
    expected_bytes: int
    """How long the file must be."""
    size_bytes: int
    """How long it is."""


def read_header(source: HeaderSource, *, label: str) -> SafetensorsHeader:
    """Read and check a header.

    Args:
        source: the file.
        label: its path or address, for the error.

    Raises:
        ModelError: MODEL_CUT (it ends too early), MODEL_UNSUPPORTED (a number format that is not
            known) or MODEL_BAD_HEADER. A file that is shorter than its data is no error here.
        OSError: the source cannot be read.
    """
    size = source.size_bytes
    first = source.read(0, _LENGTH.size)
    if len(first) < _LENGTH.size:
        _fail(ErrorCode.MODEL_CUT, label, "length", 0, size)
    (length,) = _LENGTH.unpack(first)
    if not 2 <= length <= MAX_HEADER_BYTES:
        _fail(ErrorCode.MODEL_BAD_HEADER, label, "length", 0, length)
    if length > size - _LENGTH.size:
        _fail(ErrorCode.MODEL_CUT, label, "length", 0, length)
    return _Table(_text(source, length, label), label).read(_LENGTH.size + length, size)


def _text(source: HeaderSource, length: int, label: str) -> str:
    raw = bytearray()
    while len(raw) < length:
        piece = source.read(_LENGTH.size + len(raw), min(_READ_BYTES, length - len(raw)))
        if not piece:
            _fail(ErrorCode.MODEL_CUT, label, "header", _LENGTH.size + len(raw), length)
        raw += piece
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        _fail(ErrorCode.MODEL_BAD_HEADER, label, "header", _LENGTH.size + error.start, "not UTF-8")


class _Table:
    """One pass over the JSON object."""

    def __init__(self, text: str, label: str) -> None:
        self._text = text
        self._label = label
        self._at = 0
        self._decoder = json.JSONDecoder(object_pairs_hook=self._no_doubles)

    def read(self, data_offset: int, size: int) -> SafetensorsHeader:
        tensors: list[SafeTensor] = []
        names: set[str] = set()
        metadata: Mapping[str, str] = {}
        self._expect("{")
        more = not self._next_is("}")
        while more:
            name = self._value("name", MAX_NAME_LENGTH + 2)
            if not isinstance(name, str) or name in names:
                self._bad("name", str(name)[:80])
            names.add(name)
            self._expect(":")
            if name == "__metadata__":
                metadata = self._metadata()
            else:
                tensors.append(self._tensor(name))
                if len(tensors) > MAX_TENSORS:
                    self._bad("tensors", len(tensors))
            more = not self._next_is("}")
            if more:
                self._expect(",")
        if self._text[self._at :].strip(_SPACE + "\0"):
            self._bad("header", "text after the end")
        tensors.sort(key=lambda tensor: (tensor.offset, tensor.size_bytes))
        return SafetensorsHeader(
            tensors=tuple(tensors),
            metadata=metadata,
            data_offset=data_offset,
            expected_bytes=data_offset + self._data_bytes(tensors),
            size_bytes=size,
        )

    def _data_bytes(self, tensors: list[SafeTensor]) -> int:
        """The data must lie without holes and overlaps."""
        end = 0
        for tensor in tensors:
            if tensor.offset != end:
                self._bad(f"{tensor.name}.data_offsets", tensor.offset)
            end += tensor.size_bytes
        return end

    def _tensor(self, name: str) -> SafeTensor:
        entry = self._value(name, MAX_ENTRY_LENGTH)
        if not isinstance(entry, dict):
            self._bad(name, str(entry)[:80])
        dtype, shape, offsets = (entry.get(key) for key in ("dtype", "shape", "data_offsets"))
        if not isinstance(dtype, str) or dtype not in DTYPE_BITS:
            _fail(ErrorCode.MODEL_UNSUPPORTED, self._label, f"{name}.dtype", self._byte, str(dtype))
        if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
            self._bad(f"{name}.shape", str(shape)[:80])
        if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
            self._bad(f"{name}.data_offsets", str(offsets)[:80])
        bits = prod(shape) * DTYPE_BITS[dtype]
        first, last = offsets
        if bits % 8 or bits // 8 != last - first or last > MAX_TENSOR_BYTES:
            self._bad(f"{name}.data_offsets", f"{last - first} bytes")
        return SafeTensor(name, dtype, tuple(shape), first, last - first)

    def _metadata(self) -> Mapping[str, str]:
        found = self._value("__metadata__", MAX_METADATA_LENGTH)
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            self._bad("__metadata__", "no texts")
        return found

    # JSON, piece by piece

    @property
    def _byte(self) -> int:
        return _LENGTH.size + self._at

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in _SPACE:
            self._at += 1

    def _next_is(self, mark: str) -> bool:
        self._skip_space()
        if self._text.startswith(mark, self._at):
            self._at += 1
            return True
        return False

    def _expect(self, mark: str) -> None:
        if not self._next_is(mark):
            self._bad("header", f"no {mark}")

    def _value(self, field: str, most: int) -> Any:  # noqa: ANN401
        """One JSON value of at most ``most`` characters."""
        self._skip_space()
        try:
            value, used = self._decoder.raw_decode(self._text[self._at : self._at + most])
        except (ValueError, RecursionError) as error:
            self._bad(field, str(error)[:80])
        self._at += used
        return value

    def _no_doubles(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands twice")
        return found

    def _bad(self, field: str, value: str | int) -> NoReturn:
        _fail(ErrorCode.MODEL_BAD_HEADER, self._label, field, self._byte, value)


def _are_counts(values: object) -> TypeGuard[list[int]]:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value <= MAX_TENSOR_BYTES for value in values
    )


def _fail(code: ErrorCode, label: str, field: str, offset: int, value: str | int) -> NoReturn:
    shown = "".join(letter if letter.isprintable() else "�" for letter in field[:80])
    text = value
    if isinstance(value, str):
        text = "".join(letter if letter.isprintable() else "�" for letter in value)
    raise ModelError(code, {"path": label, "field": shown, "offset": offset, "value": text})
