"""One file that is not proven yet: its bytes, its journal and its accounts. Blocking, thread-safe.

It lies in ``.kimi-partial`` of the model's folder, so on the same volume, and takes its final name
only by ``finish``. Called from the connections' and the hashers' threads of the worker.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.units import MIB
from kimi_desktop.downloads import disk
from kimi_desktop.downloads.coverage import PIECE_BYTES, Coverage, Lease
from kimi_desktop.downloads.digests import Digest, identity_of, proof_of
from kimi_desktop.downloads.journal import PieceJournal
from kimi_desktop.downloads.types import FileJob

PARTIAL_FOLDER = ".kimi-partial"
READ_BYTES = MIB
_NAME_DIGITS = 16


class PartGoneError(OSError):
    """Somebody removed, replaced or cut the partial file meanwhile."""


@dataclass(slots=True)
class _PieceDigest:
    """The SHA-256 of a piece whose bytes came in order so far."""

    offset: int
    """Of the next byte, from the start of the file."""
    digest: Digest
    busy: bool = False


class PartFile:
    """Opens or makes the partial file, and counts what an earlier run left.

    Args:
        folder: the model's folder.
        job: what the file must become.
        piece_bytes: smaller in tests.
        on_piece: called when a piece was finished, on the thread that wrote its last byte.

    Raises:
        OSError: the folder cannot be written, or there is no space.
    """

    def __init__(
        self,
        folder: Path,
        job: FileJob,
        *,
        piece_bytes: int = PIECE_BYTES,
        on_piece: Callable[[], None] = lambda: None,
    ) -> None:
        self.job = job
        self.closed = False
        self._on_piece = on_piece
        self.piece_bytes = piece_bytes
        partial = folder / PARTIAL_FOLDER
        partial.mkdir(parents=True, exist_ok=True)
        self._target = folder / job.target
        self.path, self._journal_path = paths_of(folder, job)
        self._journal = PieceJournal(
            self._journal_path, identity_of(job), job.size_bytes, piece_bytes
        )
        try:
            self._data = disk.PositionedFile(disk.open_file(self.path))
        except BaseException:
            self._journal.close()
            raise
        try:
            self._take_up()
        except BaseException:
            self._close()
            raise

    def _take_up(self) -> None:
        self._lock = threading.Lock()
        self._lasting = threading.Lock()
        self._synced_records = 0
        self._noted: dict[int, int] = {}
        """Piece -> how many of its first bytes the journal has ..."""
        self._durable: dict[int, int] = {}
        """... and had when the data was last brought to the disk."""
        self.unsynced_bytes = 0
        """Written since the last ``sync``."""
        self._digests: dict[int, _PieceDigest] = {}
        self.hashes: dict[int, bytes] = {}
        """Piece -> SHA-256 of what was written there."""
        self.resumed: set[int] = set()
        """Pieces of an earlier run, whose bytes nobody has read again yet."""
        known = self._known_pieces()
        self.coverage = Coverage(self.job.size_bytes, piece_bytes=self.piece_bytes, have=known)
        self.hashes.update(known)
        self.resumed.update(known)
        for piece, (length, digest) in self._journal.account.parts.items():
            self._take_up_part(piece, length, digest)
        self._noted |= {piece: self.coverage.piece_length(piece) for piece in known}
        self._durable = dict(self._noted)
        disk.reserve(self._data.descriptor, self.job.size_bytes)
        self._inode = os.fstat(self._data.descriptor).st_ino

    def _known_pieces(self) -> dict[int, bytes]:
        """What the journal says and the file can have; claims are read and compared first."""
        account = self._journal.account
        length = os.fstat(self._data.descriptor).st_size
        if account.pieces and length == 0:  # the file was removed, its journal was not
            self._journal.restart()
            return {}
        known = {}
        for piece, digest in account.pieces.items():
            end = min((piece + 1) * self.piece_bytes, self.job.size_bytes)
            if end > length:
                continue
            if piece in account.durable or self.read_hash(piece) == digest:
                known[piece] = digest
        return known

    def _take_up_part(self, piece: int, length: int, digest: bytes) -> None:
        start = piece * self.piece_bytes
        if self.coverage.is_done(piece) or not 0 < length < self.coverage.piece_length(piece):
            return
        state = hashlib.sha256()
        for block in self._blocks(start, length):
            state.update(block)
        if state.digest() == digest:
            self.coverage.keep_part(piece, length)
            self._digests[piece] = _PieceDigest(start + length, state)
            self._noted[piece] = length

    @property
    def prefix_pieces(self) -> int:
        """See ``Coverage.prefix_pieces``."""
        with self._lock:
            return self.coverage.prefix_pieces

    @property
    def free_bytes(self) -> int:
        """See ``Coverage.free_bytes``."""
        with self._lock:
            return self.coverage.free_bytes

    @property
    def complete(self) -> bool:
        """See ``Coverage.complete``."""
        with self._lock:
            return self.coverage.complete

    @property
    def durable_bytes(self) -> int:
        """What another run would find, also after a power loss."""
        with self._lock:
            return sum(self._durable.values())

    @property
    def unreserved_bytes(self) -> int:
        """Of space that it still needs, where it could not be reserved."""
        if self.closed:
            return 0
        return max(self.job.size_bytes - disk.taken_bytes(self._data.descriptor), 0)

    # leases, for the connections

    def take(self, want_bytes: int) -> Lease | None:
        """See ``Coverage.take``."""
        with self._lock:
            return self.coverage.take(want_bytes)

    def take_all(self) -> list[Lease]:
        """See ``Coverage.take_all``."""
        with self._lock:
            return self.coverage.take_all()

    def split(self, lease: Lease, *, at_least: int) -> Lease | None:
        """See ``Coverage.split``."""
        with self._lock:
            return self.coverage.split(lease, at_least=at_least)

    def give_back(self, lease: Lease) -> None:
        """See ``Coverage.give_back``."""
        with self._lock:
            self.coverage.give_back(lease)

    def write(self, lease: Lease, data: memoryview) -> int:
        """Write what came for a lease, as far as it is still the lease's.

        Returns:
            How many bytes of ``data`` were taken.

        Raises:
            OSError: the disk failed. The bytes do not count.
        """
        with self._lock:
            offset = lease.position
            count = self.coverage.claim(lease, len(data))
        data = data[:count]
        self._data.write(data, offset)
        for piece, start, part in self._by_piece(offset, data):
            self._hash(piece, start, part)
            with self._lock:
                self.unsynced_bytes += len(part)
                finished = self.coverage.wrote(piece, len(part))
            if finished:
                self._note(piece)
        return count

    def lose(self, piece: int) -> None:
        """A finished piece is wrong: it will be fetched again."""
        with self._lock:
            self.coverage.lose(piece)
            self.hashes.pop(piece, None)
            self.resumed.discard(piece)
            self._digests.pop(piece, None)
            self._noted.pop(piece, None)
            self._durable.pop(piece, None)
        self._journal.void(piece)

    # reading

    def read_hash(self, piece: int) -> bytes:
        """SHA-256 of what the file has there now."""
        state = hashlib.sha256()
        for block in self.read_piece(piece):
            state.update(block)
        return state.digest()

    def read_piece(self, piece: int) -> Iterator[memoryview]:
        """The bytes of a piece, in blocks that are valid until the next one."""
        start = piece * self.piece_bytes
        yield from self._blocks(start, min(self.piece_bytes, self.job.size_bytes - start))

    def _blocks(self, start: int, length: int) -> Iterator[memoryview]:
        buffer = memoryview(bytearray(min(READ_BYTES, length)))
        done = 0
        while done < length:
            part = buffer[: min(len(buffer), length - done)]
            count = self._data.read_into(part, start + done)
            if not count:
                return
            yield part[:count]
            done += count

    # lasting

    def sync(self) -> None:
        """Bring the data to the disk, then the journal's word that it is there.

        Raises:
            PartGoneError: the file is not the one that was opened.
            OSError: the disk failed.
        """
        with self._lasting:
            if not self.closed:
                self._sync()

    def check(self) -> None:
        """See that the file still has its name and its length.

        Raises:
            PartGoneError: it was removed, replaced or cut.
        """
        mine = os.fstat(self._data.descriptor)
        try:
            named = self.path.stat(follow_symlinks=False)
        except FileNotFoundError:
            named = None
        same = named is not None and stat.S_ISREG(named.st_mode) and named.st_ino == self._inode
        if not same or mine.st_size < self.job.size_bytes:
            raise PartGoneError(errno.ENOENT, os.strerror(errno.ENOENT), str(self.path))

    def close(self) -> None:
        """Bring all to the disk, the unfinished pieces, too, and leave it for the next run.

        A file of which nothing came is removed, with the space that was reserved for it.

        Raises:
            OSError: the disk failed; what was journaled before still counts.
        """
        with self._lasting:
            try:
                self._sync()
            finally:
                self._close()
        if not self.coverage.written_bytes:
            self.path.unlink(missing_ok=True)
            self.forget_journal()

    def finish(self) -> Path:
        """Give the proven file its final name. The journal stays until ``forget_journal``.

        Raises:
            OSError: the disk failed, or another program holds the file.
        """
        with self._lasting:
            self.check()
            disk.sync_data(self._data.descriptor)
            self._close()
        self._target.parent.mkdir(parents=True, exist_ok=True)
        disk.replace(self.path, self._target)
        disk.sync_folder(self._target.parent)
        return self._target

    def quarantine(self) -> Path:
        """Set the file aside under a name that nobody takes for a model.

        Raises:
            OSError: the disk failed.
        """
        with self._lasting:
            self._close()
        bad = self.path.with_suffix(".bad")
        disk.replace(self.path, bad)
        self.forget_journal()
        return bad

    def forget_journal(self) -> None:
        """Remove the journal, and the folder when nothing else is in it."""
        self._journal_path.unlink(missing_ok=True)
        with suppress(OSError):
            self._journal_path.parent.rmdir()

    def _sync(self) -> None:
        self.check()
        with self._lock:
            self._note_beginnings()
            records = self._journal.n_noted
            noted = dict(self._noted)
            self.unsynced_bytes = 0
        disk.sync_data(self._data.descriptor)
        if records > self._synced_records:
            self._journal.mark_synced(records)
            self._synced_records = records
        with self._lock:  # without what was lost meanwhile
            self._durable = {p: n for p, n in noted.items() if p in self._noted}

    def _note_beginnings(self) -> None:
        """Write down how far the unfinished pieces are. Under the lock: their end comes after."""
        for piece, state in self._digests.items():
            length = state.offset - piece * self.piece_bytes
            # A piece that has all its bytes is about to be noted as a whole.
            is_open = not state.busy and length < self.coverage.piece_length(piece)
            if is_open and length > self._noted.get(piece, 0):
                self._journal.note_part(piece, length, state.digest.digest())
                self._noted[piece] = length

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            self._data.close()
            self._journal.close()

    # hashing what comes

    def _by_piece(self, offset: int, data: memoryview) -> Iterator[tuple[int, int, memoryview]]:
        while data:
            piece = offset // self.piece_bytes
            count = min(len(data), (piece + 1) * self.piece_bytes - offset)
            yield piece, offset, data[:count]
            data, offset = data[count:], offset + count

    def _hash(self, piece: int, offset: int, data: memoryview) -> None:
        """Take the bytes into the piece's hash when they follow what it has."""
        with self._lock:
            state = self._digests.get(piece)
            if state is None and offset == piece * self.piece_bytes:
                state = self._digests[piece] = _PieceDigest(offset, hashlib.sha256())
            if state is None or state.busy or state.offset != offset:
                return
            state.busy = True
        state.digest.update(data)
        with self._lock:
            state.offset += len(data)
            state.busy = False

    def _note(self, piece: int) -> None:
        end = min((piece + 1) * self.piece_bytes, self.job.size_bytes)
        with self._lock:
            state = self._digests.pop(piece, None)
        # Two connections shared the piece: its bytes did not come in order.
        in_order = state is not None and state.offset == end
        digest = state.digest.digest() if state and in_order else self.read_hash(piece)
        self._journal.note_piece(piece, digest)
        # Only now may others see it: with the last piece the file is named, and all is closed.
        with self._lock:
            self.hashes[piece] = digest
            self._noted[piece] = self.coverage.piece_length(piece)
            self.coverage.finish(piece)
        self._on_piece()


def forget_part(folder: Path, job: FileJob) -> None:
    """Remove what is left of a partial file whose target is proven. Never raises."""
    for path in paths_of(folder, job):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def paths_of(folder: Path, job: FileJob) -> tuple[Path, Path]:
    """Where the partial file and its journal lie."""
    name = hashlib.sha256(f"{job.target}\0{proof_of(job)}".encode()).hexdigest()[:_NAME_DIGITS]
    partial = folder / PARTIAL_FOLDER
    return partial / f"{name}.part", partial / f"{name}.pieces"
