"""The partial files of a download that is no longer wanted. Blocking."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.downloads.folder_lock import FolderLock
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER, paths_of
from kimi_desktop.downloads.types import DownloadSpec


def remove_partial(spec: DownloadSpec) -> None:
    """Remove what is not proven, and the folders that are empty then. Never raises."""
    _remove_files(spec)
    folder = Path(spec.folder)
    # The model's own folder, and its owner's, if nothing was proven.
    for empty in (folder / PARTIAL_FOLDER, folder, folder.parent):
        with suppress(OSError):
            empty.rmdir()


def drop_partial(spec: DownloadSpec) -> bool:
    """The same, unless another process is downloading into the folder; whether it was not."""
    place = Path(spec.folder) / PARTIAL_FOLDER
    if not place.is_dir():
        return True
    try:
        with FolderLock(place):
            _remove_files(spec)
    except DownloadError:
        return False
    except OSError:  # a drive that is not there, or cannot be written
        return True
    return True


def _remove_files(spec: DownloadSpec) -> None:
    folder = Path(spec.folder)
    for job in spec.files:
        data, journal = paths_of(folder, job)
        for path in (data, journal, data.with_suffix(".bad")):
            with suppress(OSError):
                path.unlink(missing_ok=True)
