"""Hashes files as they come, names those that are proven and repairs those that are not.

Its threads run in the worker beside the connections: the hashers, and one that brings data to the
disk. A file is hashed by one thread at a time, in order, so the proof is there with the last byte.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.board import Board, Tell
from kimi_desktop.downloads.digests import proof_of
from kimi_desktop.downloads.file_work import FileState, FileWork
from kimi_desktop.downloads.imports.types import Witness
from kimi_desktop.downloads.kept_hashes import KeptHash, keep_hashes, read_hashes
from kimi_desktop.downloads.part_file import PartFile, forget_part
from kimi_desktop.downloads.proving import FileProof, PartProof, Proof
from kimi_desktop.downloads.reusing import take

log = logging.getLogger(__name__)

SPARED = ".other"
"""At the end of the name of a file that was in the way of a proven one."""
WAIT_S = 0.25
SYNC_S = 2.0
"""What counts as progress is on the disk; a bar that moves in longer steps looks stuck."""
SYNC_BYTES = 64 * MIB
"""Per connection: what a power loss may cost."""
MAX_HASHERS = 4


class Finisher:
    """Start its threads with the connections; they end when nothing is left or at a stop."""

    def __init__(self, board: Board, tell: Tell) -> None:
        self._board = board
        self._tell = tell
        self._keeping = threading.Lock()
        self.hashed_bytes = 0
        """A sign of life while nothing comes."""

    def threads(self) -> list[threading.Thread]:
        """One per core up to four that hash, one that syncs. Not started."""
        hashers = min(os.cpu_count() or 1, MAX_HASHERS)
        functions = [self._hash_files] * hashers + [self._sync_files]
        return [
            threading.Thread(target=self._guarded, args=(function,), daemon=True)
            for function in functions
        ]

    def _guarded(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody must wait for it
            self._board.broke(error)

    # hashing

    def _hash_files(self) -> None:
        board = self._board
        while True:
            with board.changed:
                file = self._next_to_hash()
                while file is None:
                    if board.stopped.is_set() or board.all_over:
                        return
                    board.changed.wait(WAIT_S)
                    file = self._next_to_hash()
                file.hashing = True
            try:
                self._hash(file)
            except OSError as error:
                if file.reuse_from is not None:  # another program's file: ours to fetch, then
                    self._was_another_file(file)
                elif not file.is_over:  # else it was given up meanwhile
                    board.disk_failed(error)
            finally:
                with board.changed:
                    file.hashing = False
                    board.changed.notify_all()

    def _next_to_hash(self) -> FileWork | None:
        if self._board.stopped.is_set():
            return None
        for file in self._board.files:
            if file.proof is None or file.is_over or file.hashing:
                continue
            if file.proof.ready:
                return file
        return None

    def _hash(self, file: FileWork) -> None:
        proof = file.proof
        assert proof is not None
        before = proof.done_bytes
        is_whole = proof.step()
        self.hashed_bytes += max(proof.done_bytes - before, 0)
        if not is_whole:
            return
        if proof.proven and self._is_taken(file):
            self._name(file, proof)
        elif isinstance(proof, FileProof):
            self._was_another_file(file)
        elif file.part is not None:
            self._repair(file, file.part, proof.found)

    def _is_taken(self, file: FileWork) -> bool:
        """Another program's file has its name in our folder, too. True for all others."""
        source = file.reuse_from
        return source is None or take(source, self._board.folder, file.job)

    def _name(self, file: FileWork, proof: Proof) -> None:
        """Proven: the final name, then the news of it."""
        hashes = proof.hashes
        if isinstance(proof, PartProof) and file.part is not None:
            self._spare(file)
            file.part.finish()
            file.repair.settle(hashes)
        self._keep(file, hashes)
        self._tell({"event": "file", "index": file.index})
        forget_part(self._board.folder, file.job)
        with self._board.changed:
            file.state = FileState.DONE

    def _spare(self, file: FileWork) -> None:
        """A file of this name that no download put there is somebody's: it gets another name."""
        there = self._board.folder / file.job.target
        if not there.is_file() or file.job.target in read_hashes(self._board.folder):
            return
        spared = there.with_name(f"{there.name}{SPARED}")
        number = 1
        while spared.exists():
            number += 1
            spared = there.with_name(f"{there.name}{SPARED}-{number}")
        there.replace(spared)
        log.warning("%s was not of this download; it is kept as %s", there, spared.name)

    def _keep(self, file: FileWork, hashes: tuple[bytes, ...]) -> None:
        """The record that later checks and repairs go by."""
        board, job = self._board, file.job
        facts = (board.folder / job.target).stat()
        one = hashes[0].hex() if len(hashes) == 1 else ""
        before = read_hashes(board.folder).get(job.target)
        kept = KeptHash(
            sha256=job.sha256 or one,
            size_bytes=facts.st_size,
            modified_ns=facts.st_mtime_ns,
            witness=Witness.LISTING,
            git_sha1=job.git_sha1,
            proven_at=time.time(),
            piece_bytes=board.options.piece_bytes,
            pieces=hashes,
            sources=job.sources,
        )
        if before is not None and before.sha256 == kept.sha256:
            kept = replace(kept, repo=before.repo, commits=before.commits)
        kept = kept.seen_in(board.spec.repo, board.spec.commit)
        with self._keeping:
            keep_hashes(board.folder, {job.target: kept})

    def _was_another_file(self, file: FileWork) -> None:
        """What bears the name is not what the hub has. It stays until the right one is proven."""
        with self._board.changed:
            file.state, file.proof, file.reuse_from = FileState.PENDING, None, None

    def _repair(self, file: FileWork, part: PartFile, found: str) -> None:
        again = file.repair.plan(part, self._board.stopped)
        if self._board.stopped.is_set():
            return
        if not again:
            bad = part.quarantine()
            params = {
                "file": file.job.target,
                "host": ", ".join(sorted({source.endpoint for source in file.used})),
                "found": found,
                "expected": proof_of(file.job),
                "path": str(bad),
            }
            error = DownloadError(ErrorCode.DOWNLOAD_HASH_MISMATCH, params)
            with self._board.changed:
                file.error, file.state = error, FileState.FAILED
            return
        for piece in again:
            part.lose(piece)
        with self._board.changed:
            file.avoid, file.used = frozenset(file.used), set()
            file.proof = PartProof(part)

    # lasting

    def _sync_files(self) -> None:
        board = self._board
        last = time.monotonic()
        while not board.stopped.wait(WAIT_S):
            with board.changed:
                if board.all_over:
                    return
                active = [(f.part, f.connections) for f in board.files if f.part and not f.is_over]
            due = time.monotonic() - last >= SYNC_S
            if due:
                last = time.monotonic()
            for part, connections in active:
                if due or part.unsynced_bytes >= SYNC_BYTES * max(connections, 1):
                    self._sync(part)

    def _sync(self, part: PartFile) -> None:
        try:
            part.sync()
        except OSError as error:
            self._board.disk_failed(error)
