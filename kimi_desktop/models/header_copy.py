"""Headers as bytes: kept while they are read, and small files made of them.

A file that has a model's header and a hole for its data is the model to everything that only looks
at it: an engine's dry run gives the same buffers. One that has the metadata and a tensor of each
number format is enough to ask an engine whether it would load the model. Blocking (pool).
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.models.ggml import GgmlType
from kimi_desktop.models.gguf import (
    MAX_HEADER_BYTES,
    FileSource,
    GgufHeader,
    HeaderSource,
    read_header,
)

_COUNTS = struct.Struct("<QQ")
_COUNTS_AT = 8
_PROBE_ALIGNMENT = 32


@dataclass(frozen=True, slots=True, eq=False)
class HeaderCopy:
    """The header of one file. Compared by identity: it can be 10 MB."""

    name: str
    """Of the file, without folders."""
    header: GgufHeader
    raw: bytes
    """From the first byte to where the tensor data begins."""


class KeptSource:
    """A HeaderSource that keeps what is read, without holes."""

    def __init__(self, source: HeaderSource) -> None:
        self._source = source
        self._kept = bytearray()

    @property
    def size_bytes(self) -> int:
        """Length of the whole file."""
        return self._source.size_bytes

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at ``offset``; what a reader stepped over is read as well."""
        end = min(offset + length, self.size_bytes, MAX_HEADER_BYTES)
        if end > len(self._kept):
            self._kept += self._source.read(len(self._kept), end - len(self._kept))
        return bytes(self._kept[offset:end])

    def upto(self, end: int) -> bytes:
        """Everything before ``end``."""
        self.read(0, end)
        return bytes(self._kept[:end])


def copy_header(source: HeaderSource, name: str) -> HeaderCopy:
    """Read a header and keep its bytes.

    Raises:
        ModelError: see ``gguf.read_header``.
        OSError: the source cannot be read.
    """
    kept = KeptSource(source)
    header = read_header(kept, label=name)
    return HeaderCopy(name, header, kept.upto(min(header.data_offset, source.size_bytes)))


def copy_file_header(path: Path) -> HeaderCopy:
    """The same of a local file.

    Raises:
        ModelError: the header is damaged.
        OSError: the file cannot be read.
    """
    with FileSource(path) as source:
        return copy_header(source, path.name)


def write_sparse(folder: Path, copy: HeaderCopy) -> Path:
    """A file with this header and a hole as long as its data.

    Raises:
        OSError: it cannot be written, or the file system has no holes.
    """
    if sys.platform == "win32":  # NTFS would set 600 GB aside
        raise OSError("files without holes")
    path = folder / copy.name
    with path.open("wb") as file:
        file.write(copy.raw)
        file.truncate(copy.header.expected_bytes)
    return path


def probe_bytes(copy: HeaderCopy, types: Iterable[GgmlType]) -> bytes:
    """A tiny GGUF file that an engine refuses only after it has looked at everything.

    It has the model's metadata with its vocabulary, and one tensor of each number format with a
    name of no model. What is said of parts of a set is renamed, since this is no part.

    Args:
        copy: of the model's first part.
        types: the formats of all its tensors.
    """
    kinds = sorted(set(types), key=lambda kind: kind.id)
    metadata = copy.raw[_COUNTS_AT + _COUNTS.size : copy.header.metadata_end]
    for key in ("split.no", "split.count", "split.tensors.count"):
        name = struct.pack("<Q", len(key)) + key.encode()
        metadata = metadata.replace(name, name.replace(b"split", b"spl1t"))
    _, n_metadata = _COUNTS.unpack_from(copy.raw, _COUNTS_AT)
    out = copy.raw[:_COUNTS_AT] + _COUNTS.pack(len(kinds), n_metadata) + metadata
    alignment = copy.header.number("general.alignment") or _PROBE_ALIGNMENT
    offset = 0
    for kind in kinds:
        name = f"probe.{kind.id}".encode()
        out += struct.pack("<Q", len(name)) + name
        out += struct.pack("<IQIQ", 1, kind.block, kind.id, offset)
        offset += -(-kind.block_bytes // alignment) * alignment
    start = -(-len(out) // alignment) * alignment
    return out + bytes(start - len(out) + offset)
