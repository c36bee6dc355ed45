r"""The piece journal: which pieces of an unfinished file are there, and their SHA-256. Blocking.

An append-only file beside the partial one. A record is written when the last byte of its piece was
written; so a killed process loses only unfinished pieces. After a power loss the disk may have the
record without the bytes: records count as durable only once a later mark says that the data was
brought to the disk before (``mark_synced``). The others are claims, which whoever opens the journal
checks against the bytes. A torn or foreign record ends the journal.

Records have 48 bytes; numbers are little-endian::

    header  "KIMIPJ1\0"  size u64  piece u32  0 u32  identity 16 bytes  0 u32  crc u32
    record  kind u8  0 x3  number u32  length u32  sha256 32 bytes  crc u32
"""

from __future__ import annotations

import os
import struct
import threading
import zlib
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from kimi_desktop.downloads import disk

MAGIC = b"KIMIPJ1\0"
_HEADER = struct.Struct("<8sQII16sII")
_RECORD = struct.Struct("<B3xII32sI")
RECORD_BYTES = _RECORD.size
IDENTITY_BYTES = 16
_NO_HASH = bytes(32)


class _Kind(IntEnum):
    PIECE = 1
    PART = 2
    """The first ``length`` bytes of a piece, as far as they were at some moment."""
    VOID = 3
    """The piece turned out wrong."""
    SYNCED = 4
    """The data of the first ``number`` records is on the disk."""


@dataclass(slots=True)
class Account:
    """What a journal says."""

    pieces: dict[int, bytes] = field(default_factory=dict)
    """Number -> SHA-256 of the finished pieces."""
    durable: set[int] = field(default_factory=set)
    """Those of them whose bytes were on the disk before the journal said so."""
    parts: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    """Number -> (length, SHA-256) of the beginnings of unfinished pieces."""
    n_records: int = 0


def replay(content: bytes, identity: bytes, size_bytes: int, piece_bytes: int) -> Account | None:
    """Read a journal up to its last good record.

    Returns:
        None when it is not the journal of this file.
    """
    if content[: _HEADER.size] != _header(identity, size_bytes, piece_bytes):
        return None
    account = Account()
    n_pieces = -(-size_bytes // piece_bytes)
    last_record: dict[int, int] = {}
    whole = (len(content) - _HEADER.size) // RECORD_BYTES
    for index in range(whole):
        start = _HEADER.size + index * RECORD_BYTES
        raw = content[start : start + RECORD_BYTES]
        kind, number, length, digest, crc = _RECORD.unpack(raw)
        if crc != _crc(raw, index, identity):
            break
        if kind == _Kind.SYNCED:
            account.durable.update(p for p, record in last_record.items() if record < number)
        elif number >= n_pieces:
            break
        else:
            account.pieces.pop(number, None)
            account.parts.pop(number, None)
            account.durable.discard(number)
            last_record.pop(number, None)
            if kind == _Kind.PIECE:
                account.pieces[number] = digest
                last_record[number] = index
            elif kind == _Kind.PART:
                account.parts[number] = (length, digest)
        account.n_records = index + 1
    return account


def is_journal_of(path: Path, identity: bytes, size_bytes: int) -> bool:
    """Whether a file is the journal of this content, whatever the size of its pieces.

    Raises:
        OSError: there is none, or it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return False
    piece_bytes = _HEADER.unpack(head)[2]
    return head == _header(identity, size_bytes, piece_bytes)


class PieceJournal:
    """The open journal. Thread-safe.

    Args:
        path: the file; made when it is not there, begun anew when it is another file's.
        identity: 16 bytes that name the content.

    Raises:
        OSError: it cannot be read or written.
    """

    def __init__(self, path: Path, identity: bytes, size_bytes: int, piece_bytes: int) -> None:
        self.path = path
        self._identity = identity
        self._header = _header(identity, size_bytes, piece_bytes)
        self._lock = threading.Lock()
        self._fd = disk.open_file(path)
        try:
            with os.fdopen(os.dup(self._fd), "rb") as file:
                content = file.read()
            found = replay(content, identity, size_bytes, piece_bytes)
            self.account = found or Account()
            if found is None:
                self.restart()
            else:
                self._n_records = self._n_noted = found.n_records
                disk.cut_file(self._fd, _HEADER.size + found.n_records * RECORD_BYTES)
        except BaseException:
            os.close(self._fd)
            raise

    @property
    def n_noted(self) -> int:
        """How many records there are up to the last one about a piece; for ``mark_synced``."""
        return self._n_noted

    def restart(self) -> None:
        """Forget everything."""
        with self._lock:
            disk.cut_file(self._fd, 0)
            disk.append(self._fd, self._header)
            self._n_records = self._n_noted = 0
            self.account = Account()

    def note_piece(self, piece: int, sha256: bytes) -> None:
        """A piece was written to its last byte."""
        self._append(_Kind.PIECE, piece, 0, sha256)

    def note_part(self, piece: int, length: int, sha256: bytes) -> None:
        """The beginning of a piece was written."""
        self._append(_Kind.PART, piece, length, sha256)

    def void(self, piece: int) -> None:
        """A piece turned out wrong."""
        self._append(_Kind.VOID, piece, 0, _NO_HASH)

    def mark_synced(self, n_records: int) -> None:
        """The data behind the first ``n_records`` records is on the disk; bring that there, too.

        The caller has read ``n_records`` *before* it synced the data.
        """
        self._append(_Kind.SYNCED, n_records, 0, _NO_HASH)
        disk.sync_data(self._fd)

    def close(self) -> None:
        """Close the file; it stays for the next run."""
        with self._lock:
            # Not the old number: it may soon be another file's.
            descriptor, self._fd = self._fd, -1
        os.close(descriptor)

    def _append(self, kind: _Kind, number: int, length: int, digest: bytes) -> None:
        with self._lock:
            raw = _RECORD.pack(kind, number, length, digest, 0)
            crc = _crc(raw, self._n_records, self._identity)
            disk.append(self._fd, raw[:-4] + struct.pack("<I", crc))
            self._n_records += 1
            if kind != _Kind.SYNCED:
                self._n_noted = self._n_records


def _header(identity: bytes, size_bytes: int, piece_bytes: int) -> bytes:
    raw = _HEADER.pack(MAGIC, size_bytes, piece_bytes, 0, identity, 0, 0)
    return raw[:-4] + struct.pack("<I", zlib.crc32(raw[:-4]))


def _crc(raw: bytes, index: int, identity: bytes) -> int:
    """Binds a record to its place, so that an old block of a reused disk sector is not taken."""
    return zlib.crc32(raw[:-4], zlib.crc32(identity, index))
