"""What an error of the disk means for a download. Looks up the free space, else pure."""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.disk import HELD_BY_ANOTHER
from kimi_desktop.downloads.part_file import PartGoneError

_FULL = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})
_WINDOWS_FULL = frozenset({39, 112})
"""ERROR_HANDLE_DISK_FULL and ERROR_DISK_FULL."""


def disk_error(error: OSError, folder: Path, missing_bytes: int) -> DownloadError:
    """The reason to show for an OSError of a write, a sync or a rename.

    Args:
        error: what the system said.
        folder: the model's folder.
        missing_bytes: how much is still to be written.
    """
    path = str(folder)
    winerror = getattr(error, "winerror", None)
    if error.errno in _FULL or winerror in _WINDOWS_FULL:
        free = 0
        with suppress(OSError):
            free = shutil.disk_usage(folder).free
        params = {
            "path": path,
            "needed": format_file_size(missing_bytes),
            "free": format_file_size(free),
        }
        return DownloadError(ErrorCode.DOWNLOAD_NO_SPACE, params, cause=error)
    if isinstance(error, PartGoneError):
        params = {"path": error.filename or path}
        return DownloadError(ErrorCode.DOWNLOAD_PART_GONE, params, cause=error)
    if error.errno == errno.EFBIG:
        return DownloadError(ErrorCode.DOWNLOAD_FILE_TOO_LARGE, {"path": path}, cause=error)
    if winerror in HELD_BY_ANOTHER:
        return DownloadError(ErrorCode.DOWNLOAD_HELD, {"path": error.filename or path}, cause=error)
    detail = error.strerror or str(error) or type(error).__name__
    params = {"path": path, "detail": detail}
    return DownloadError(ErrorCode.DOWNLOAD_NOT_WRITTEN, params, cause=error)
