"""Hashes files at the speed of the disk on all cores. Blocking; threads of its own.

A file whose piece hashes are known is read in pieces by all threads at once; of the others each
thread reads one, for a whole-file hash goes in order. hashlib lets go of the interpreter meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kimi_desktop.base.units import MIB
from kimi_desktop.downloads import disk
from kimi_desktop.downloads.verify.expected import Expected

READ_BYTES = MIB
PROGRESS_S = 0.25

Progress = Callable[[int, int, float], None]
"""(bytes read, bytes in all, bytes per second), four times a second, on the calling thread."""


class VerifyCancelledError(Exception):
    """Somebody stopped it."""


@dataclass(slots=True)
class Observed:
    """One file as it is."""

    size_bytes: int
    modified_ns: int
    sha256: str = ""
    """Of the whole file; empty when pieces were hashed."""
    git_sha1: str = ""
    pieces: list[bytes] = field(default_factory=list)
    error: str = ""
    """Why it could not be read."""


def observe(
    files: Sequence[Expected],
    progress: Progress = lambda _done, _total, _rate: None,
    cancelled: threading.Event | None = None,
    *,
    threads: int | None = None,
) -> dict[str, Observed]:
    """Read every file that is there.

    Args:
        files: what to read and how it will be compared.
        progress: see there.
        cancelled: set it to stop.
        threads: one per processor by default.

    Returns:
        By target; a file that is not there is missing.

    Raises:
        VerifyCancelledError: ``cancelled`` was set.
    """
    readers = [one for file in files if (one := _Reader.open(file)) is not None]
    work = _Work(readers, cancelled or threading.Event())
    count = max(threads or os.cpu_count() or 1, 1)
    workers = [threading.Thread(target=work.run, daemon=True) for _ in range(count)]
    began = time.monotonic()
    for worker in workers:
        worker.start()
    try:
        is_over = False
        while not is_over:
            is_over = work.ended.wait(PROGRESS_S) or not any(w.is_alive() for w in workers)
            passed = time.monotonic() - began
            progress(work.done_bytes, work.total_bytes, work.done_bytes / max(passed, 0.001))
    finally:
        work.stop()
        for worker in workers:
            worker.join()
        for reader in readers:
            reader.close()
    if work.cancelled.is_set():
        raise VerifyCancelledError
    return {reader.expected.target: reader.observed for reader in readers}


class _Reader:
    """One open file."""

    def __init__(
        self, expected: Expected, file: disk.PositionedFile | None, found: Observed
    ) -> None:
        self.expected = expected
        self.observed = found
        self.file = file
        self.in_pieces = bool(expected.pieces) and file is not None
        if self.in_pieces:
            n_pieces = -(-found.size_bytes // expected.piece_bytes)
            found.pieces = [b""] * n_pieces

    @classmethod
    def open(cls, expected: Expected) -> _Reader | None:
        try:
            descriptor = disk.open_to_read(expected.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return cls(expected, None, Observed(0, 0, error=error.strerror or str(error)))
        facts = os.fstat(descriptor)
        found = Observed(facts.st_size, facts.st_mtime_ns)
        return cls(expected, disk.PositionedFile(descriptor), found)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


class _Work:
    """What the threads share."""

    def __init__(self, readers: Sequence[_Reader], cancelled: threading.Event) -> None:
        self.cancelled = cancelled
        self.ended = threading.Event()
        self.done_bytes = 0
        readable = [reader for reader in readers if reader.file is not None]
        self.total_bytes = sum(reader.observed.size_bytes for reader in readable)
        # The longest first: they cannot be shared.
        whole = [(reader, None) for reader in readable if not reader.in_pieces]
        whole.sort(key=lambda task: -task[0].observed.size_bytes)
        pieces = [
            (reader, piece)
            for reader in readable
            if reader.in_pieces
            for piece in range(len(reader.observed.pieces))
        ]
        self._tasks: deque[tuple[_Reader, int | None]] = deque([*whole, *pieces])
        self._lock = threading.Lock()
        self._stopped = False
        self._open_tasks = len(self._tasks)
        if not self._open_tasks:
            self.ended.set()

    def stop(self) -> None:
        """No new blocks."""
        self._stopped = True

    def run(self) -> None:
        """One thread."""
        buffer = memoryview(bytearray(READ_BYTES))
        while not self._stopped:
            with self._lock:
                if not self._tasks:
                    return
                reader, piece = self._tasks.popleft()
            try:
                if piece is None:
                    self._hash_whole(reader, buffer)
                else:
                    self._hash_piece(reader, piece, buffer)
            except OSError as error:
                reader.observed.error = error.strerror or str(error)
            with self._lock:
                self._open_tasks -= 1
                if not self._open_tasks:
                    self.ended.set()

    def _hash_whole(self, reader: _Reader, buffer: memoryview) -> None:
        found, expected = reader.observed, reader.expected
        sha256 = hashlib.sha256()
        git = hashlib.sha1(b"blob %d\0" % found.size_bytes, usedforsecurity=False)
        wants_git = expected.git_sha1 is not None and expected.sha256 is None
        for block in self._blocks(reader, 0, found.size_bytes, buffer):
            sha256.update(block)
            if wants_git:
                git.update(block)
        found.sha256 = sha256.hexdigest()
        if wants_git:
            found.git_sha1 = git.hexdigest()

    def _hash_piece(self, reader: _Reader, piece: int, buffer: memoryview) -> None:
        size = reader.expected.piece_bytes
        start = piece * size
        digest = hashlib.sha256()
        for block in self._blocks(
            reader, start, min(size, reader.observed.size_bytes - start), buffer
        ):
            digest.update(block)
        reader.observed.pieces[piece] = digest.digest()

    def _blocks(
        self, reader: _Reader, start: int, length: int, buffer: memoryview
    ) -> Iterator[memoryview]:
        assert reader.file is not None
        at, end = start, start + length
        while at < end and not self._stopped:
            if self.cancelled.is_set():
                self._stopped = True
                self.ended.set()
                return
            count = reader.file.read_into(buffer[: min(len(buffer), end - at)], at)
            if not count:  # it became shorter meanwhile
                return
            with self._lock:
                self.done_bytes += count
            yield buffer[:count]
            at += count
