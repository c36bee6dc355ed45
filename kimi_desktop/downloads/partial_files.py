"""The partial files of a download that is no longer wanted. Blocking."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from kimi_desktop.downloads.part_file import PARTIAL_FOLDER, paths_of
from kimi_desktop.downloads.types import DownloadSpec


def remove_partial(spec: DownloadSpec) -> None:
    """Remove what is not proven, and the folders that are empty then. Never raises."""
    folder = Path(spec.folder)
    for job in spec.files:
        data, journal = paths_of(folder, job)
        for path in (data, journal, data.with_suffix(".bad")):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    # The model's own folder, and its owner's, if nothing was proven.
    for empty in (folder / PARTIAL_FOLDER, folder, folder.parent):
        with suppress(OSError):
            empty.rmdir()
