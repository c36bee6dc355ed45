"""What all threads of one transfer share: the files, the sources, the end. In the worker.

Everything is guarded by ``changed``; a ``PartFile`` has its own lock, which is always taken after
it. Whoever changes something that another thread may wait for notifies it.
"""

from __future__ import annotations

import errno
import logging
import os
import shutil
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode, Param
from kimi_desktop.downloads.coverage import PIECE_BYTES
from kimi_desktop.downloads.disk_errors import disk_error
from kimi_desktop.downloads.file_work import FileState, FileWork
from kimi_desktop.downloads.inside import check_inside
from kimi_desktop.downloads.kept_hashes import (
    SHORT_DIGITS,
    KeptHash,
    clear_torn,
    keep_hashes,
    read_hashes,
)
from kimi_desktop.downloads.pace import MOST_CONNECTIONS
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER, PartFile, forget_part, paths_of
from kimi_desktop.downloads.proving import FileProof, PartProof
from kimi_desktop.downloads.reusing import find_candidates
from kimi_desktop.downloads.source_choice import SourceChoice
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from kimi_desktop.downloads.versions import is_same, others_of
from kimi_desktop.models.hash_record import Witness

log = logging.getLogger(__name__)

DAY_S = 86_400.0

Tell = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How a transfer behaves; what may change meanwhile has a method of ``Transfer``."""

    bytes_per_s: float | None = None
    """The user's limit; None = none."""
    most_connections: int = MOST_CONNECTIONS
    preferred: str | None = None
    """The endpoint to ask first."""
    patience_s: float = DAY_S
    """How long nothing may come before it is given up."""
    piece_bytes: int = PIECE_BYTES
    tokens: Mapping[str, str] = field(default_factory=dict)
    """By origin."""
    asked_at: float | None = None
    """time.time() when somebody asked for it: what was proven later as another version stays.
    None = it replaces everything."""
    reuse: bool = False
    """Look whether other programs have files of it."""


class Board:
    """The shared state."""

    def __init__(self, spec: DownloadSpec, options: Options) -> None:
        self.options = options
        self.spec = spec
        self.folder = Path(spec.folder)
        self.files = [FileWork(index, job) for index, job in enumerate(spec.files)]
        self.total_bytes = sum(job.size_bytes for job in spec.files)
        self.sources = SourceChoice(preferred=options.preferred)
        self.changed = threading.Condition()
        self.stopped = threading.Event()
        self.failure: DownloadError | None = None
        """What ended everything."""

    @property
    def all_over(self) -> bool:
        """Nothing is left to do."""
        return all(file.is_over for file in self.files)

    def notify(self) -> None:
        """Something changed."""
        with self.changed:
            self.changed.notify_all()

    def check_names(self) -> None:
        """Which names are good is decided before there is a spec; this is the fence.

        Raises:
            DownloadError: BAD_LISTING for a name that leads out of the folder, LEADS_OUT for a
                link in it that does.
        """
        for file in self.files:
            if not _stays_inside(file.job.target):
                params = {"host": _host_of(file.job), "detail": repr(file.job.target)}
                raise DownloadError(ErrorCode.DOWNLOAD_BAD_LISTING, params)
        targets = [file.job.target for file in self.files]
        check_inside(self.folder, [*targets, PARTIAL_FOLDER])

    def take_stock(self) -> None:
        """See which files are there already, and what earlier runs left of the others.

        Raises:
            DownloadError: OTHER_VERSION: a file was proven as another version meanwhile.
            OSError: the folder cannot be written, or there is no space.
        """
        clear_torn(self.folder)
        known = read_hashes(self.folder)
        self._respect(known)
        new: dict[str, KeptHash] = {}
        for file in self.files:
            target = self.folder / file.job.target
            length = target.stat().st_size if target.is_file() else None
            if file.job.size_bytes == 0:
                self._settle_empty(file, target)
            elif length == file.job.size_bytes:
                kept = known.get(file.job.target)
                if kept is not None and is_same(kept, file.job) and kept.is_unchanged(target):
                    file.state = FileState.DONE
                    # Linked from elsewhere, and who offers it was not known.
                    kept = kept if kept.sources else replace(kept, sources=file.job.sources)
                    new[file.job.target] = kept.seen_in(self.spec.repo, self.spec.commit)
                    forget_part(self.folder, file.job)  # a kill right after the name left it
                else:
                    file.state, file.proof = FileState.CHECKING, self._check_of(file, target)
            elif paths_of(self.folder, file.job)[1].exists():
                self.open(file)
        keep_hashes(self.folder, new)

    def _respect(self, known: Mapping[str, KeptHash]) -> None:
        """Replace nothing that was proven as another version after this one was asked for."""
        asked_at = self.options.asked_at
        if asked_at is None:
            return
        for job in others_of(self.spec, known):
            kept = known[job.target]
            is_later = kept.witness is not Witness.NOBODY and kept.proven_at > asked_at
            if is_later and kept.is_unchanged(self.folder / job.target):
                params: dict[str, Param] = {
                    "file": job.target,
                    "there": kept.version,
                    "commit": self.spec.commit[:SHORT_DIGITS],
                    "proven_at": kept.proven_at,
                }
                raise DownloadError(ErrorCode.DOWNLOAD_OTHER_VERSION, params)

    def look_at_others(self) -> None:
        """Begin to hash what other programs have of the files that were not begun."""
        found = find_candidates(self.spec) if self.options.reuse else {}
        for file in self.files:
            path = found.get(file.job.target)
            if path is None or file.state is not FileState.PENDING:
                continue
            with suppress(OSError):
                file.proof = self._check_of(file, path)
                file.reuse_from, file.state = path, FileState.CHECKING

    def open(self, file: FileWork) -> PartFile:
        """Open or make the partial file.

        Raises:
            OSError: it cannot be made, or there is no space.
        """
        if file.part is None:
            file.part = PartFile(
                self.folder,
                file.job,
                piece_bytes=self.options.piece_bytes,
                on_piece=self.notify,
            )
            file.proof = PartProof(file.part)
            file.state = FileState.ACTIVE
        return file.part

    def give_up(self, file: FileWork, error: DownloadError | None) -> None:
        """A file cannot be had; the others go on."""
        with self.changed:
            file.error = error
            file.state = FileState.FAILED
            if file.part is not None:
                with suppress(OSError):  # what was journaled before counts all the same
                    file.part.close()
            self.changed.notify_all()

    def disk_failed(self, error: OSError) -> None:
        """Nothing can be written: everything ends."""
        with self.changed:
            if self.failure is None and not self.stopped.is_set():
                written = sum(file.written_bytes for file in self.files)
                self.failure = disk_error(error, self.folder, self.total_bytes - written)
            self.stopped.set()
            self.changed.notify_all()

    def look_at_space(self) -> None:
        """End in order when the rest cannot fit, before a write fails."""
        with self.changed:
            needed = sum(file.unreserved_bytes for file in self.files)
            if self.stopped.is_set() or free_bytes(self.folder) >= needed:
                return
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.failure = disk_error(full, self.folder, needed)
            self.stopped.set()
            self.changed.notify_all()

    def _check_of(self, file: FileWork, target: Path) -> FileProof:
        return FileProof(target, file.job, self.options.piece_bytes)

    def broke(self, error: BaseException) -> None:
        """A thread met what nobody foresaw: everything ends, rather than waiting for it."""
        log.error("a thread of the transfer broke", exc_info=error)
        with self.changed:
            if self.failure is None:
                detail = f"{type(error).__name__}: {error}"[:200]
                params = {"detail": detail}
                self.failure = DownloadError(ErrorCode.DOWNLOAD_WORKER_DIED, params, cause=error)
            self.stopped.set()
            self.changed.notify_all()

    def close(self) -> None:
        """Leave every unfinished file for the next run."""
        for file in self.files:
            if isinstance(file.proof, FileProof):
                file.proof.close()
            if file.part is not None and not file.is_over:
                with suppress(OSError):
                    file.part.close()

    def _settle_empty(self, file: FileWork, target: Path) -> None:
        """Git may have empty files; an empty one that has a SHA-256 is a slip of the listing."""
        if file.job.sha256 is not None:
            params = {"host": _host_of(file.job), "detail": f"{file.job.target}: 0 B"}
            self.give_up(file, DownloadError(ErrorCode.DOWNLOAD_BAD_LISTING, params))
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"")
        file.state = FileState.DONE


def _host_of(job: FileJob) -> str:
    """Who described a file."""
    return urllib.parse.urlsplit(job.sources[0].endpoint).netloc if job.sources else ""


def free_bytes(folder: Path) -> int:
    """Of the folder's volume."""
    return shutil.disk_usage(folder).free


def _stays_inside(target: str) -> bool:
    """A relative path without tricks."""
    parts = target.split("/")
    return all(part not in ("", ".", "..") for part in parts) and not set(target) & set("\\:\0")
