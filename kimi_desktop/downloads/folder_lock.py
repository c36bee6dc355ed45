"""One downloader at a time in a model's folder, also of another instance of the app. Blocking.

The system's own lock ends with its process, however that ends. On file systems that only pretend
to lock (some network ones) a lease takes its place: a file whose time its owner renews.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode

LOCK_FILE = "lock"
LEASE_FILE = "lease"
RENEW_S = 10.0
STALE_S = 60.0


class FolderLock:
    """Use as a context manager.

    Args:
        folder: where the lock lies; made if need be, removed at the end when it is empty.

    Raises:
        DownloadError: FOLDER_BUSY: another process downloads into it.
        OSError: the folder cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / LOCK_FILE
        self._lease = folder / LEASE_FILE
        self._descriptor = -1
        self._released = threading.Event()
        self._renewing: threading.Thread | None = None

    def __enter__(self) -> FolderLock:
        while True:
            self._folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            self._descriptor = os.open(self._file, flags, 0o600)
            if not try_lock(self._descriptor):
                os.close(self._descriptor)
                raise self._busy()
            if self._is_still_the_file():
                break
            os.close(self._descriptor)  # the last owner removed it meanwhile
        try:
            if not self._is_honoured():
                self._take_lease()
        except BaseException:
            os.close(self._descriptor)
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._released.set()
        if self._renewing is not None:
            self._renewing.join()
            self._lease.unlink(missing_ok=True)
        with suppress(OSError):  # Windows removes no open file
            self._file.unlink()
        os.close(self._descriptor)
        with suppress(OSError):
            self._file.unlink(missing_ok=True)
        with suppress(OSError):  # partial files may be left in it
            self._folder.rmdir()

    def _is_still_the_file(self) -> bool:
        try:
            named = self._file.stat()
        except FileNotFoundError:
            return False
        return os.path.samestat(named, os.fstat(self._descriptor))

    def _is_honoured(self) -> bool:
        """A second look at the same file must not get the lock."""
        second = os.open(self._file, os.O_RDWR)
        try:
            return not try_lock(second)
        finally:
            os.close(second)

    def _take_lease(self) -> None:
        with suppress(FileNotFoundError):
            if time.time() - self._lease.stat().st_mtime > STALE_S:
                self._lease.unlink()
        try:
            os.close(os.open(self._lease, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise self._busy() from None
        self._renewing = threading.Thread(target=self._renew, daemon=True)
        self._renewing.start()

    def _renew(self) -> None:
        while not self._released.wait(RENEW_S):
            with suppress(OSError):
                os.utime(self._lease)

    def _busy(self) -> DownloadError:
        params = {"path": str(self._folder.parent)}
        return DownloadError(ErrorCode.DOWNLOAD_FOLDER_BUSY, params)


def try_lock(descriptor: int) -> bool:
    """Lock a file without waiting; False when another process (or handle) has it."""
    if os.name == "nt":
        return _try_lock_windows(descriptor)
    import fcntl  # noqa: PLC0415 - not there on Windows

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _try_lock_windows(descriptor: int, msvcrt: Any = None) -> bool:  # noqa: ANN401
    if msvcrt is None:
        import msvcrt as system  # noqa: PLC0415

        msvcrt = system
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
