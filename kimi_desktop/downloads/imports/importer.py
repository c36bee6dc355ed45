"""Proves what other programs left and links it into the library. Blocking; threads of its own.

Every file is read once, whole: its hash is compared with what its store, its hub's listing or
a checksum file says, and kept beside the model for the next check. Others' files are only read. A
file that is not what it should be gets no name here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.downloads.imports.link import METHODS, Method, link_file
from kimi_desktop.downloads.imports.types import (
    FoundFile,
    FoundModel,
    ImportedFile,
    ImportedModel,
    LinkKind,
    Outcome,
    Witness,
)
from kimi_desktop.downloads.kept_hashes import KeptHash, keep_hashes, read_hashes

BLOCK_BYTES = 4 * 2**20
WEIGHTS = (".gguf", ".safetensors")
GGUF_MAGIC = b"GGUF"
THREADS = 4
PROGRESS_S = 0.25

Progress = Callable[[int, int, str], None]
"""(bytes read, bytes in all, name of a file), four times a second, from several threads."""


class ImportCancelledError(Exception):
    """Somebody stopped it. What was linked stays."""


@dataclass(frozen=True, slots=True)
class _Read:
    """One file as it was while it was read."""

    sha256: str
    git_sha1: str
    status: os.stat_result


class Importer:
    """Imports into one models folder."""

    def __init__(
        self,
        models_folder: Path,
        progress: Progress = lambda _done, _total, _name: None,
        cancelled: threading.Event | None = None,
        methods: Mapping[LinkKind, Method] = METHODS,
    ) -> None:
        self._models_folder = models_folder.expanduser().absolute()
        self._progress = progress
        self._cancelled = cancelled or threading.Event()
        self._methods = methods
        self._lock = threading.Lock()
        self._done = self._total = 0
        self._told_at = 0.0

    def run(self, models: Iterable[FoundModel]) -> tuple[ImportedModel, ...]:
        """Import models, several files at once.

        Raises:
            ImportCancelledError: ``cancelled`` was set.
        """
        wanted = tuple(models)
        self._total = sum(model.size_bytes for model in wanted)
        threads = min(THREADS, os.cpu_count() or 1)
        with ThreadPoolExecutor(threads, thread_name_prefix="kimi-import") as pool:
            running = [
                [
                    pool.submit(self._import, file, self._folder_of(model), model.place)
                    for file in model.files
                ]
                for model in wanted
            ]
            try:
                results = [tuple(one.result() for one in files) for files in running]
            except BaseException:
                self._cancelled.set()
                raise
        found = [
            ImportedModel(model, self._folder_of(model), files)
            for model, files in zip(wanted, results, strict=True)
        ]
        for one in found:
            _keep_hashes(one)
        self._tell("", last=True)
        return tuple(found)

    def _folder_of(self, model: FoundModel) -> Path:
        return self._models_folder.joinpath(*model.name.split("/"))

    def _import(self, file: FoundFile, folder: Path, place: Path) -> ImportedFile:
        target = folder.joinpath(*file.target.split("/"))
        try:
            source = file.path.resolve(strict=True)
            if (refused := _refused(source, file, place)) is not None:
                return ImportedFile(file, refused)
            read = self._read(source, file)
        except OSError as error:
            return ImportedFile(file, Outcome.UNREADABLE, detail=_reason(error))
        if not _is_right(file, read):
            return ImportedFile(file, Outcome.DAMAGED, read.sha256)
        return self._link(file, read, source, target)

    def _link(self, file: FoundFile, read: _Read, source: Path, target: Path) -> ImportedFile:
        """What was read and is right gets its name in the library."""
        try:
            kind = link_file(source, target, self._methods)
        except FileExistsError:
            return self._compare(file, read, source, target)
        except OSError as error:
            return ImportedFile(file, Outcome.NOT_LINKED, read.sha256, detail=_reason(error))
        if _has_changed(source, read.status):  # while it was read or linked
            with suppress(OSError):
                target.unlink()
            return ImportedFile(file, Outcome.UNREADABLE, detail="changed")
        return ImportedFile(file, Outcome.LINKED, read.sha256, kind)

    def _compare(self, file: FoundFile, read: _Read, source: Path, target: Path) -> ImportedFile:
        """Something has the name: the same file, the same bytes, or another one."""
        try:
            same = target.samefile(source) or (
                target.stat().st_size == file.size_bytes
                and self._read(target, file, counts=False).sha256 == read.sha256
            )
        except OSError as error:
            return ImportedFile(file, Outcome.NAME_TAKEN, read.sha256, detail=_reason(error))
        return ImportedFile(
            file, Outcome.ALREADY_THERE if same else Outcome.NAME_TAKEN, read.sha256
        )

    def _read(self, path: Path, file: FoundFile, *, counts: bool = True) -> _Read:
        buffer = memoryview(bytearray(BLOCK_BYTES))
        with path.open("rb", buffering=0) as stream:
            status = os.fstat(stream.fileno())
            sha256 = hashlib.sha256()
            # Of git, for the small files that have no other hash.
            sha1 = hashlib.sha1(b"blob %d\0" % status.st_size, usedforsecurity=False)
            while count := stream.readinto(buffer):
                if self._cancelled.is_set():
                    raise ImportCancelledError
                sha256.update(buffer[:count])
                if file.git_sha1 is not None:
                    sha1.update(buffer[:count])
                if counts:
                    with self._lock:
                        self._done += count
                    self._tell(file.target)
        return _Read(sha256.hexdigest(), sha1.hexdigest(), status)

    def _tell(self, name: str, *, last: bool = False) -> None:
        now = time.monotonic()
        with self._lock:
            if not last and now - self._told_at < PROGRESS_S:
                return
            self._told_at = now
            done = self._done
        self._progress(done, self._total, name)


def _refused(source: Path, file: FoundFile, place: Path) -> Outcome | None:
    """What must not be taken in, whatever a folder of others holds: it is looked at, not believed.

    Stores link from their names to their blobs; weights may be linked from anywhere, when they are
    weights.

    Raises:
        OSError: it cannot be read.
    """
    if file.target.lower().endswith(WEIGHTS):
        with source.open("rb") as stream:
            head = stream.read(9)
        is_tensors = len(head) == 9 and head[8:] == b"{" and head[:8] != b"\0" * 8
        return None if head[:4] == GGUF_MAGIC or is_tensors else Outcome.NO_WEIGHTS
    store = place.resolve() if place.is_dir() else place.parent.resolve()
    inside = source.is_relative_to(store) or source.is_relative_to(store.parent)
    return None if inside or not file.path.is_symlink() else Outcome.LEADS_OUT


def _is_right(file: FoundFile, read: _Read) -> bool:
    if file.sha256 is not None:
        return file.sha256 == read.sha256
    return file.git_sha1 is None or file.git_sha1 == read.git_sha1


def _has_changed(path: Path, before: os.stat_result) -> bool:
    try:
        now = path.stat()
    except OSError:
        return True
    return (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _keep_hashes(one: ImportedModel) -> None:
    """Beside the model, for the next check."""
    now = time.time()
    known = read_hashes(one.folder)
    new: dict[str, KeptHash] = {}
    for file in one.files:
        if not file.outcome.is_good:
            continue
        target = file.file.target
        with suppress(OSError):
            status = one.folder.joinpath(*target.split("/")).stat()
            kept = KeptHash(
                file.sha256, status.st_size, status.st_mtime_ns, file.file.witness, proven_at=now
            )
            new[target] = _with_known(kept, known.get(target))
    keep_hashes(one.folder, new)


def _with_known(new: KeptHash, known: KeptHash | None) -> KeptHash:
    """What was known of the same bytes (their pieces, who vouches for them) still counts."""
    if known is None or known.sha256 != new.sha256:
        return new
    witness = known.witness if new.witness is Witness.NOBODY else new.witness
    return dataclasses.replace(
        known,
        size_bytes=new.size_bytes,
        modified_ns=new.modified_ns,
        witness=witness,
        proven_at=new.proven_at,
    )
