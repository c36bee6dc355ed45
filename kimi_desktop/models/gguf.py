"""Reads GGUF headers from any source of bytes, and trusts none of them.

Every length and count is compared with a limit and with what is left of the file before anything
is allocated; arrays of strings (the vocabulary) are walked over, never kept. Whatever is wrong
ends in one ``ModelError`` that names the field and its offset. Blocking; runs in the worker pool.

Layout (version 2 and 3, little-endian): magic, version, tensor count, metadata count, metadata
(key, type, value), tensors (name, dimensions, type, offset), padding, tensor data.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Protocol

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.ggml import TYPES_BY_ID, GgmlType

MAGIC = b"GGUF"
VERSIONS = (2, 3)

MAX_METADATA = 4_096
MAX_TENSORS = 65_536
MAX_KEY_BYTES = 256
MAX_NAME_BYTES = 63  # GGML_MAX_NAME with its closing zero
MAX_STRING_BYTES = 16 * 2**20
MAX_ARRAY_ITEMS = 8_000_000
MAX_ARRAY_STRINGS = 4_000_000  # in all arrays together: bounds the time spent walking over them
MAX_HEADER_BYTES = 256 * 2**20
MAX_DIMENSIONS = 4
MAX_TENSOR_BYTES = 2**63 - 1
MIN_ALIGNMENT, MAX_ALIGNMENT, DEFAULT_ALIGNMENT = 8, 65_536, 32

KEPT_STRING_BYTES = 2**20  # longer strings and arrays are left in the file
KEPT_ARRAY_ITEMS = 4_096
KEPT_BYTES = 8 * 2**20  # of all metadata values together
_ITEM_COST = 40  # what one number of a kept array takes in Python

_READ_BYTES = 64 * 1024
_MIN_METADATA_BYTES = 8 + 4 + 1
_MIN_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8

_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_BOOL, _STRING, _ARRAY = 7, 8, 9
_SCALARS = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: struct.Struct("<I"),
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<B"),
    10: struct.Struct("<Q"),
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}


class HeaderSource(Protocol):
    """Where a header comes from: a file, a range of an HTTP resource, a test's bytes."""

    @property
    def size_bytes(self) -> int:
        """Length of the whole file."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at ``offset``; fewer than ``length`` only at the end of the file."""


class FileSource:
    """A local file. Use as a context manager."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._size = os.fstat(self._file.fileno()).st_size

    @property
    def size_bytes(self) -> int:
        """Length of the whole file."""
        return self._size

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at ``offset``."""
        self._file.seek(offset)
        return self._file.read(length) or b""

    def __enter__(self) -> FileSource:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()


@dataclass(frozen=True, slots=True)
class LeftInFile:
    """A metadata value that is too long to keep: a vocabulary, a tokenizer file."""

    count: int
    """Items of an array, bytes of a string."""


Scalar = int | float | bool | str
Value = Scalar | tuple[Scalar, ...] | LeftInFile


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One entry of the tensor table. The first dimension is the contiguous one."""

    name: str
    shape: tuple[int, ...]
    type: GgmlType
    offset: int
    """From the start of the data area."""

    @property
    def size_bytes(self) -> int:
        """Bytes in the file, without padding."""
        return self.type.tensor_bytes(self.shape)

    @property
    def n_elements(self) -> int:
        """Parameters in it."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What stands before the tensor data."""

    version: int
    metadata: Mapping[str, Value]
    tensors: tuple[GgufTensor, ...]
    data_offset: int
    """Where the tensor data begins."""
    expected_bytes: int
    """How long the file must be to hold all tensors."""
    size_bytes: int
    """How long it is."""
    metadata_end: int = 0
    """Where the metadata ends and the tensor table begins."""

    def text(self, key: str) -> str | None:
        """A string value, or None."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        """A whole number, or None. The greatest one of a per-layer array."""
        value = self.metadata.get(key)
        if isinstance(value, tuple):
            whole = [item for item in value if isinstance(item, int)]
            return max(whole) if whole else None
        return value if isinstance(value, int) else None

    def count(self, key: str) -> int:
        """The items of an array, kept or not; 0 when there is none."""
        value = self.metadata.get(key)
        if isinstance(value, LeftInFile):
            return value.count
        return len(value) if isinstance(value, tuple) else 0


def read_file(path: Path) -> GgufHeader:
    """The header of a local file.

    Raises:
        ModelError: it cannot be read, is no GGUF file, or its header is damaged.
    """
    try:
        with FileSource(path) as source:
            return read_header(source, label=str(path))
    except FileNotFoundError as error:
        raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": str(path)}, cause=error) from error
    except OSError as error:
        raise ModelError(
            ErrorCode.MODEL_UNREADABLE,
            {"path": str(path), "detail": error.strerror or str(error)},
            cause=error,
        ) from error


def read_header(source: HeaderSource, *, label: str) -> GgufHeader:
    """Read and check a header.

    Args:
        source: the file.
        label: its path or address, for the error.

    Raises:
        ModelError: MODEL_NOT_GGUF, MODEL_BIG_ENDIAN, MODEL_UNSUPPORTED (a version or tensor type
            that is not known), MODEL_CUT (it ends too early) or MODEL_BAD_HEADER. A file that is
            shorter than its tensors need is no error here: compare ``expected_bytes``.
        OSError: the source cannot be read.
    """
    return _Reader(source, label).read()


class _Reader:
    """One pass over one header."""

    def __init__(self, source: HeaderSource, label: str) -> None:
        self._source = source
        self._label = label
        self._size = source.size_bytes
        self._limit = min(self._size, MAX_HEADER_BYTES)
        self._at = 0
        self._window = b""
        self._window_at = 0
        self._kept = 0
        self._strings_walked = 0

    def read(self) -> GgufHeader:
        if self._size < len(MAGIC) or self._take(len(MAGIC), "magic") != MAGIC:
            raise ModelError(ErrorCode.MODEL_NOT_GGUF, {"path": self._label})
        version = self._u32("version")
        if version and not version & 0xFFFF:
            raise ModelError(ErrorCode.MODEL_BIG_ENDIAN, {"path": self._label})
        if version not in VERSIONS:
            self._fail(ErrorCode.MODEL_UNSUPPORTED, "version", version, back=4)
        n_tensors = self._count("tensor_count", MAX_TENSORS, _MIN_TENSOR_BYTES)
        n_metadata = self._count("metadata_count", MAX_METADATA, _MIN_METADATA_BYTES)
        metadata: dict[str, Value] = {}
        for _ in range(n_metadata):
            key = self._key()
            if key in metadata:
                self._fail(ErrorCode.MODEL_BAD_HEADER, key, "twice")
            metadata[key] = self._value(key)
        alignment = self._alignment(metadata)
        metadata_end = self._at
        tensors, data_bytes = self._tensors(n_tensors, alignment)
        data_offset = _padded(self._at, alignment)
        return GgufHeader(
            version=version,
            metadata=metadata,
            tensors=tensors,
            data_offset=data_offset,
            expected_bytes=data_offset + data_bytes if tensors else self._at,
            size_bytes=self._size,
            metadata_end=metadata_end,
        )

    # metadata

    def _key(self) -> str:
        raw = self._bytes("key", MAX_KEY_BYTES)
        if not raw or not all(0x21 <= byte <= 0x7E for byte in raw):
            self._fail(ErrorCode.MODEL_BAD_HEADER, "key", _shown(raw), back=len(raw))
        return raw.decode("ascii")

    def _value(self, key: str) -> Value:
        kind = self._u32(key)
        if kind == _STRING:
            return self._string(key)
        if kind == _ARRAY:
            return self._array(key)
        if kind not in _SCALARS:
            self._fail(ErrorCode.MODEL_BAD_HEADER, key, f"type {kind}", back=4)
        self._keep(_ITEM_COST, key)
        scalar = _SCALARS[kind]
        (value,) = scalar.unpack(self._take(scalar.size, key))
        return bool(value) if kind == _BOOL else value

    def _string(self, key: str) -> str | LeftInFile:
        length = self._length(key, MAX_STRING_BYTES)
        if length > KEPT_STRING_BYTES:
            self._at += length
            return LeftInFile(length)
        self._keep(length, key)
        return self._take(length, key).decode("utf-8", errors="replace")

    def _array(self, key: str) -> tuple[Scalar, ...] | LeftInFile:
        kind = self._u32(key)
        if kind != _STRING and kind not in _SCALARS:  # arrays of arrays too: llama.cpp has none
            self._fail(ErrorCode.MODEL_BAD_HEADER, key, f"array of type {kind}", back=4)
        item_bytes = 8 if kind == _STRING else _SCALARS[kind].size
        count = self._count(key, MAX_ARRAY_ITEMS, item_bytes)
        if kind == _STRING:
            self._walk_strings(key, count)
            return LeftInFile(count)
        if count > KEPT_ARRAY_ITEMS:
            self._at += count * item_bytes
            return LeftInFile(count)
        self._keep(count * _ITEM_COST, key)
        code = _SCALARS[kind].format[-1]
        items = struct.unpack(f"<{count}{code}", self._take(count * item_bytes, key))
        return tuple(bool(item) for item in items) if kind == _BOOL else items

    def _walk_strings(self, key: str, count: int) -> None:
        """Step over ``count`` strings; keeps nothing of them."""
        self._strings_walked += count
        if self._strings_walked > MAX_ARRAY_STRINGS:
            self._fail(ErrorCode.MODEL_BAD_HEADER, key, count, back=8)
        unpack = _U64.unpack_from
        at, window, start = self._at, self._window, self._window_at
        end = start + len(window)
        for _ in range(count):
            if at + 8 > end or at < start:
                self._at = at
                self._need(8, key)
                window, start = self._window, self._window_at
                end = start + len(window)
            (length,) = unpack(window, at - start)
            if length > MAX_STRING_BYTES:
                self._at = at
                self._fail(ErrorCode.MODEL_BAD_HEADER, key, length)
            at += 8 + length
        self._at = at
        if at > self._limit:
            self._cut(key)

    def _alignment(self, metadata: Mapping[str, Value]) -> int:
        key = "general.alignment"
        value = metadata.get(key, DEFAULT_ALIGNMENT)
        if (
            not isinstance(value, int)
            or not MIN_ALIGNMENT <= value <= MAX_ALIGNMENT
            or value & (value - 1)
        ):
            self._fail(ErrorCode.MODEL_BAD_HEADER, key, _shown(value))
        return value

    # tensors

    def _tensors(self, count: int, alignment: int) -> tuple[tuple[GgufTensor, ...], int]:
        tensors: list[GgufTensor] = []
        names: set[str] = set()
        shapes: dict[tuple[int, ...], tuple[int, ...]] = {}  # most tensors share a few shapes
        expected = 0
        for _ in range(count):
            tensor = self._tensor(shapes)
            if tensor.name in names:
                self._fail(ErrorCode.MODEL_BAD_HEADER, tensor.name, "twice")
            if tensor.offset != expected:
                self._fail(
                    ErrorCode.MODEL_BAD_HEADER, f"{tensor.name}.offset", tensor.offset, back=8
                )
            names.add(tensor.name)
            tensors.append(tensor)
            expected += _padded(tensor.size_bytes, alignment)
            if expected > MAX_TENSOR_BYTES:
                self._fail(ErrorCode.MODEL_BAD_HEADER, tensor.name, expected)
        # Some writers leave the padding after the last tensor out.
        last = tensors[-1] if tensors else None
        return tuple(tensors), last.offset + last.size_bytes if last else 0

    def _tensor(self, shapes: dict[tuple[int, ...], tuple[int, ...]]) -> GgufTensor:
        raw = self._bytes("tensor_name", MAX_NAME_BYTES)
        if not raw or not all(0x20 <= byte != 0x7F for byte in raw):
            self._fail(ErrorCode.MODEL_BAD_HEADER, "tensor_name", _shown(raw), back=len(raw))
        name = raw.decode("utf-8", errors="replace")
        n_dimensions = self._u32(f"{name}.dimensions")
        if not 1 <= n_dimensions <= MAX_DIMENSIONS:
            self._fail(ErrorCode.MODEL_BAD_HEADER, f"{name}.dimensions", n_dimensions, back=4)
        shape = struct.unpack(
            f"<{n_dimensions}Q", self._take(8 * n_dimensions, f"{name}.dimensions")
        )
        type_id = self._u32(f"{name}.type")
        kind = TYPES_BY_ID.get(type_id)
        if kind is None:
            self._fail(ErrorCode.MODEL_UNSUPPORTED, f"{name}.type", type_id, back=4)
        # Zero-sized tensors are refused by every engine; so are rows that end inside a block.
        if 0 in shape or shape[0] % kind.block or kind.tensor_bytes(shape) > MAX_TENSOR_BYTES:
            self._fail(
                ErrorCode.MODEL_BAD_HEADER,
                f"{name}.shape",
                " x ".join(map(str, shape)),
                back=4 + 8 * n_dimensions,
            )
        offset = self._u64(f"{name}.offset")
        return GgufTensor(name, shapes.setdefault(shape, shape), kind, offset)

    # numbers and bytes

    def _u32(self, field: str) -> int:
        value: int = _U32.unpack(self._take(4, field))[0]
        return value

    def _u64(self, field: str) -> int:
        value: int = _U64.unpack(self._take(8, field))[0]
        return value

    def _count(self, field: str, most: int, item_bytes: int) -> int:
        """A count of things that take at least ``item_bytes`` each in the rest of the file."""
        count = self._u64(field)
        if count > most:
            self._fail(ErrorCode.MODEL_BAD_HEADER, field, count, back=8)
        if count * item_bytes > self._limit - self._at:
            self._cut(field, back=8)
        return count

    def _length(self, field: str, most: int) -> int:
        length = self._u64(field)
        if length > most:
            self._fail(ErrorCode.MODEL_BAD_HEADER, field, length, back=8)
        if length > self._limit - self._at:
            self._cut(field, back=8)
        return length

    def _bytes(self, field: str, most: int) -> bytes:
        return self._take(self._length(field, most), field)

    def _keep(self, cost_bytes: int, field: str) -> None:
        self._kept += cost_bytes
        if self._kept > KEPT_BYTES:
            self._fail(ErrorCode.MODEL_BAD_HEADER, field, f"> {KEPT_BYTES} bytes of metadata")

    def _take(self, length: int, field: str) -> bytes:
        self._need(length, field)
        begin = self._at - self._window_at
        self._at += length
        return self._window[begin : begin + length]

    def _need(self, length: int, field: str) -> None:
        """Have the next ``length`` bytes in the window."""
        if self._at + length > self._limit:
            self._cut(field)
        begin = self._at - self._window_at
        if begin >= 0 and begin + length <= len(self._window):
            return
        wanted = min(max(length, _READ_BYTES), self._size - self._at)
        self._window = self._source.read(self._at, wanted)
        self._window_at = self._at
        if len(self._window) < length:  # the file shrank while it was read
            self._cut(field)

    def _cut(self, field: str, *, back: int = 0) -> NoReturn:
        code = ErrorCode.MODEL_CUT if self._size <= MAX_HEADER_BYTES else ErrorCode.MODEL_BAD_HEADER
        self._fail(code, field, f"> {self._limit - self._at} bytes", back=back)

    def _fail(self, code: ErrorCode, field: str, value: str | int, *, back: int = 0) -> NoReturn:
        raise ModelError(
            code,
            {
                "path": self._label,
                "field": _shown(field),
                "offset": self._at - back,
                "value": value,
            },
        )


def _padded(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _shown(value: object) -> str:
    """A hostile value, short and without control characters."""
    text = value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
    return "".join(letter if letter.isprintable() else "�" for letter in text[:80])
