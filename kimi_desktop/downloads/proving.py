"""Hashing files in order, a piece at a time, while the rest of them is still coming. Blocking.

A hash state cannot be kept on disk, so pieces of an earlier run are read again; each of them is
compared with the journal on the way, so that a fault of the disk is found where it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from kimi_desktop.downloads import disk
from kimi_desktop.downloads.coverage import PIECE_BYTES
from kimi_desktop.downloads.digests import proof_of, whole_digest
from kimi_desktop.downloads.part_file import READ_BYTES, PartFile
from kimi_desktop.downloads.types import FileJob


class Proof(Protocol):
    """A file whose hash is being taken."""

    @property
    def ready(self) -> bool:
        """There is something to hash."""

    def step(self) -> bool:
        """Hash the next piece. Returns whether the whole file has been hashed.

        Raises:
            OSError: it cannot be read.
        """

    @property
    def proven(self) -> bool:
        """The hash is the expected one; to be asked when ``step`` has returned True."""

    @property
    def found(self) -> str:
        """The hash, in hex."""

    @property
    def done_bytes(self) -> int:
        """How much has been hashed."""

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """The SHA-256 of every piece, once the whole has been hashed."""


class PartProof:
    """The hash of a partial file, as far as it is there without a gap."""

    def __init__(self, part: PartFile) -> None:
        self._part = part
        self._digest = whole_digest(part.job)
        self._next = 0

    @property
    def ready(self) -> bool:
        """See ``Proof``."""
        return self._next < self._part.prefix_pieces

    @property
    def done_bytes(self) -> int:
        """See ``Proof``."""
        return min(self._next * self._part.piece_bytes, self._part.job.size_bytes)

    @property
    def proven(self) -> bool:
        """See ``Proof``."""
        return self.found == proof_of(self._part.job)

    @property
    def found(self) -> str:
        """See ``Proof``."""
        return self._digest.hexdigest()

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """See ``Proof``."""
        return tuple(self._part.hashes[n] for n in range(self._part.coverage.n_pieces))

    def step(self) -> bool:
        """See ``Proof``. A piece that is not what the journal says is given up and fetched."""
        piece = self._next
        unread = piece in self._part.resumed
        before = self._digest.copy() if unread else None
        own = hashlib.sha256()
        for block in self._part.read_piece(piece):
            self._digest.update(block)
            if unread:
                own.update(block)
        if before is not None and own.digest() != self._part.hashes.get(piece):
            self._digest = before
            self._part.lose(piece)
            return False
        self._part.resumed.discard(piece)
        self._next += 1
        return self._next == self._part.coverage.n_pieces


class FileProof:
    """The hash of a file that has its final name already."""

    def __init__(self, path: Path, job: FileJob, piece_bytes: int = PIECE_BYTES) -> None:
        self._job = job
        self._piece_bytes = piece_bytes
        self._file = disk.PositionedFile(disk.open_to_read(path))
        self._digest = whole_digest(job)
        self._hashes: list[bytes] = []

    @property
    def ready(self) -> bool:
        """See ``Proof``."""
        return True

    @property
    def done_bytes(self) -> int:
        """See ``Proof``."""
        return min(len(self._hashes) * self._piece_bytes, self._job.size_bytes)

    @property
    def proven(self) -> bool:
        """See ``Proof``."""
        return self.found == proof_of(self._job)

    @property
    def found(self) -> str:
        """See ``Proof``."""
        return self._digest.hexdigest()

    @property
    def hashes(self) -> tuple[bytes, ...]:
        """See ``Proof``."""
        return tuple(self._hashes)

    def step(self) -> bool:
        """See ``Proof``."""
        own = hashlib.sha256()
        for block in self._piece(len(self._hashes) * self._piece_bytes):
            self._digest.update(block)
            own.update(block)
        self._hashes.append(own.digest())
        if self.done_bytes < self._job.size_bytes:
            return False
        self._file.close()
        return True

    def close(self) -> None:
        """Give up before the end."""
        self._file.close()

    def _piece(self, start: int) -> Iterator[memoryview]:
        buffer = memoryview(bytearray(READ_BYTES))
        at, end = start, min(start + self._piece_bytes, self._job.size_bytes)
        while at < end:
            count = self._file.read_into(buffer[: min(READ_BYTES, end - at)], at)
            if not count:
                return
            yield buffer[:count]
            at += count
