"""Fetches one file and proves it: resume, SHA-256 while it streams, the final name last.

Blocking; runs in the worker process. The partial file lies under ``.kimi-partial`` of the models
folder, named by the hash of what it will be, so that another hub can finish what one began. Its
bytes count again after a restart (they are hashed anew); what the hash does not prove never gets
the final name.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import random
import shutil
import threading
import time
import urllib.parse
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.units import GIB, format_file_size
from kimi_desktop.downloads.hub_api import find_file
from kimi_desktop.downloads.line import RangeAnswer, open_range
from kimi_desktop.downloads.transport import (
    certificate_problem,
    is_offline,
)
from kimi_desktop.downloads.types import Job, RemoteFile, Source

PARTIAL_FOLDER = ".kimi-partial"
BLOCK_BYTES = 2**20
PROGRESS_S = 0.25
SPARE_BYTES = GIB
MAX_FAILURES = 5
"""In a row, without a mebibyte of progress in between."""
FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, phase: "downloading" or "checking")"""

# Another hub cannot help against these.
_OURS = frozenset({ErrorCode.DOWNLOAD_NO_SPACE, ErrorCode.DOWNLOAD_NOT_WRITTEN})


class FetchCancelledError(Exception):
    """The user, or the end of the app, stopped it. The partial file stays."""


class _TryAgainError(Exception):
    """This answer is no good; the next one may be."""

    def __init__(self, error: DownloadError) -> None:
        self.error = error


def fetch(job: Job, progress: Progress, cancelled: threading.Event) -> Path:
    """Have the file of ``job`` in its folder, from the first source that can prove it.

    Raises:
        DownloadError: what the most telling source said; nothing has the final name.
        FetchCancelledError: ``cancelled`` was set.
    """
    problems: list[DownloadError] = []
    for source in job.sources:
        try:
            return _Fetch(job, source, progress, cancelled).run()
        except DownloadError as error:
            if error.code in _OURS:
                raise
            problems.append(error)
    telling = (error for error in problems if error.code is not ErrorCode.DOWNLOAD_OFFLINE)
    raise next(telling, problems[0])


class _Fetch:
    """One file from one hub."""

    def __init__(
        self, job: Job, source: Source, progress: Progress, cancelled: threading.Event
    ) -> None:
        self._folder = Path(job.folder)
        self._target = self._folder / job.target
        self._source = source
        self._host = urllib.parse.urlsplit(source.endpoint).hostname or source.endpoint
        self._report = progress
        self._cancelled = cancelled
        self._last_report = 0.0
        self._done = 0
        self._digest = hashlib.sha256()

    def run(self) -> Path:
        self._stop_if_cancelled()
        remote = find_file(self._source)
        try:
            return self._fetch(remote)
        except OSError as error:
            raise _not_written(self._folder, error, remote.size_bytes) from error

    def _fetch(self, remote: RemoteFile) -> Path:
        if self._is_there(remote):
            return self._target
        partial = self._folder / PARTIAL_FOLDER / f"{remote.sha256[:12]}.part"
        partial.parent.mkdir(parents=True, exist_ok=True)
        with _open_partial(partial) as file:
            self._take_up(file, remote)
            began_at = self._done
            self._check_space(remote)
            self._transfer(file, remote)
            if began_at and self._digest.hexdigest() != remote.sha256:
                self._start_over(file)  # the part from an earlier run may be what is wrong
                self._transfer(file, remote)
            file.flush()
            os.fsync(file.fileno())
        if (found := self._digest.hexdigest()) != remote.sha256:
            partial.replace(partial.with_suffix(".bad"))
            raise DownloadError(
                ErrorCode.DOWNLOAD_HASH_MISMATCH,
                {
                    "file": self._target.name,
                    "host": self._host,
                    "found": found,
                    "expected": remote.sha256,
                },
            )
        self._target.parent.mkdir(parents=True, exist_ok=True)
        partial.replace(self._target)
        _sync_folder(self._target.parent)
        with suppress(OSError):  # others may have partial files in it
            partial.parent.rmdir()
        self._report(remote.size_bytes, remote.size_bytes, "checking")
        return self._target

    def _is_there(self, remote: RemoteFile) -> bool:
        """The final file exists and is the one that the hub describes."""
        try:
            if self._target.stat().st_size != remote.size_bytes:
                return False
        except FileNotFoundError:
            return False
        digest = hashlib.sha256()
        with self._target.open("rb") as file:
            done = 0
            while block := file.read(BLOCK_BYTES):
                digest.update(block)
                done += len(block)
                self._step(done, remote.size_bytes, "checking")
        return digest.hexdigest() == remote.sha256

    def _take_up(self, file: BinaryIO, remote: RemoteFile) -> None:
        """Hash what an earlier run left; hash states cannot be kept on disk."""
        file.truncate(min(os.fstat(file.fileno()).st_size, remote.size_bytes))
        file.seek(0)
        while block := file.read(BLOCK_BYTES):
            self._digest.update(block)
            self._done += len(block)
            self._step(self._done, remote.size_bytes, "checking")

    def _start_over(self, file: BinaryIO) -> None:
        file.seek(0)
        file.truncate(0)
        self._done = 0
        self._digest = hashlib.sha256()

    def _check_space(self, remote: RemoteFile) -> None:
        missing = remote.size_bytes - self._done
        needed = missing + missing // 50 + SPARE_BYTES
        free = shutil.disk_usage(self._folder).free
        if missing and free < needed:
            raise _no_space(self._folder, needed, free)

    # the transfer

    def _transfer(self, file: BinaryIO, remote: RemoteFile) -> None:
        """Ask for the rest until it is all there, with patience for cut lines."""
        failures = 0
        while self._done < remote.size_bytes:
            mark = self._done
            problem = self._try_once(file, remote)
            if self._done >= remote.size_bytes:
                return
            failures = 1 if self._done - mark >= BLOCK_BYTES else failures + 1
            if failures >= MAX_FAILURES:
                raise problem
            wait = min(FIRST_WAIT_S * 2 ** (failures - 1), MAX_WAIT_S)
            self._cancelled.wait(wait * random.uniform(0.8, 1.2))

    def _try_once(self, file: BinaryIO, remote: RemoteFile) -> DownloadError:
        """Receive what comes; what is to be said when it was not all."""
        self._stop_if_cancelled()
        try:
            with self._open(remote) as answer:
                self._receive(answer, file, remote)
        except _TryAgainError as error:
            return error.error
        except (_NetworkError, http.client.HTTPException) as error:
            cause = error.__cause__ or error
            if problem := certificate_problem(cause):
                raise self._refused(problem) from cause
            if is_offline(cause):
                params = {"host": self._host}
                return DownloadError(ErrorCode.DOWNLOAD_OFFLINE, params, cause=cause)
            return self._broken(str(cause) or type(cause).__name__, cause)
        return self._broken("short body")

    def _open(self, remote: RemoteFile) -> RangeAnswer:
        try:
            answer = open_range(remote.url, self._done, remote.size_bytes - 1)
        except OSError as error:
            raise _NetworkError from error
        try:
            self._check(answer, remote)
        except BaseException:
            answer.close()
            raise
        return answer

    def _check(self, answer: RangeAnswer, remote: RemoteFile) -> None:
        """Refuse an answer before a byte of it is written."""
        status = answer.status
        if status == 404:
            raise DownloadError(
                ErrorCode.DOWNLOAD_NOT_FOUND,
                {"host": self._host, "repo": self._source.repo, "file": self._source.path},
            )
        if status == 416 and answer.total_of_416 not in (None, remote.size_bytes):
            raise self._broken(f"{answer.total_of_416} bytes instead of {remote.size_bytes}")
        if status not in (200, 206):
            # An expired signature is a 403 of the CDN: the next try asks the hub for a new one.
            refused = status in (401, 403)
            make = self._refused if refused else self._broken
            raise _TryAgainError(make(f"HTTP {status}"))
        if "html" in answer.headers.get("Content-Type", ""):
            raise DownloadError(ErrorCode.DOWNLOAD_PORTAL, {"host": self._host})
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise _TryAgainError(self._broken("compressed"))
        sent = answer.content_range
        # Some answer 200 with a Content-Range: the header decides, not the status.
        if sent is not None and (sent.start, sent.total) != (self._done, remote.size_bytes):
            raise _TryAgainError(self._broken(f"bytes {sent.start}-{sent.end}/{sent.total}"))
        if sent is None and status == 206:
            raise _TryAgainError(self._broken("no Content-Range"))

    def _receive(self, answer: RangeAnswer, file: BinaryIO, remote: RemoteFile) -> None:
        """Write and hash what comes, never past the end of the file."""
        if answer.content_range is None and self._done:
            self._start_over(file)  # this server sends the whole file whatever is asked
        file.seek(self._done)
        buffer = memoryview(bytearray(BLOCK_BYTES))
        while (left := remote.size_bytes - self._done) > 0:
            self._stop_if_cancelled()
            try:
                count = answer.readinto(buffer[: min(left, BLOCK_BYTES)])
            except OSError as error:
                raise _NetworkError from error
            if not count:
                return
            file.write(buffer[:count])
            self._digest.update(buffer[:count])
            self._done += count
            self._step(self._done, remote.size_bytes, "downloading")

    def _step(self, done: int, total: int, phase: str) -> None:
        self._stop_if_cancelled()
        now = time.monotonic()
        if now - self._last_report >= PROGRESS_S:
            self._last_report = now
            self._report(done, total, phase)

    def _stop_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise FetchCancelledError

    def _broken(self, detail: str, cause: BaseException | None = None) -> DownloadError:
        params = {"host": self._host, "detail": detail}
        return DownloadError(ErrorCode.DOWNLOAD_BROKEN, params, cause=cause)

    def _refused(self, detail: str) -> DownloadError:
        return DownloadError(ErrorCode.DOWNLOAD_REFUSED, {"host": self._host, "detail": detail})


class _NetworkError(Exception):
    """An OSError of a socket, kept apart from those of the disk."""


def _open_partial(path: Path) -> BinaryIO:
    """Open for reading and writing, made if need be, never through a link."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o644), "r+b")


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power loss (Windows does so by itself)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _not_written(folder: Path, error: OSError, size_bytes: int) -> KimiError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        free = 0
        with suppress(OSError):
            free = shutil.disk_usage(folder).free
        return _no_space(folder, size_bytes, free)
    return DownloadError(
        ErrorCode.DOWNLOAD_NOT_WRITTEN,
        {"path": str(folder), "detail": error.strerror or str(error)},
        cause=error,
    )


def _no_space(folder: Path, needed: int, free: int) -> DownloadError:
    return DownloadError(
        ErrorCode.DOWNLOAD_NO_SPACE,
        {
            "path": str(folder),
            "needed": format_file_size(needed),
            "free": format_file_size(free),
        },
    )
