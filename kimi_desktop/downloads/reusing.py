"""What another program has on this computer need not be fetched. Blocking; in the worker.

A candidate is hashed where it lies, while other files are being fetched; only when it is proven it
gets its name in our folder: as a clone, as a hard link, or else copied (and hashed once more on the
way). Others' files are only read.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from pathlib import Path

from kimi_desktop.base.units import MIB
from kimi_desktop.downloads import disk
from kimi_desktop.downloads.imports.layouts import find_in_places
from kimi_desktop.downloads.imports.link import clone, hard_link, link_file
from kimi_desktop.downloads.imports.places import usual_places
from kimi_desktop.downloads.imports.reuse import reusable
from kimi_desktop.downloads.imports.types import LinkKind
from kimi_desktop.downloads.part_file import paths_of
from kimi_desktop.downloads.types import DownloadSpec, FileJob

log = logging.getLogger(__name__)

LEAST_BYTES = MIB
"""A smaller file is fetched sooner than it is looked for."""
_METHODS = {LinkKind.CLONE: clone, LinkKind.HARD_LINK: hard_link}
"""No pointers: a model must outlast the other program."""


def find_candidates(spec: DownloadSpec) -> dict[str, Path]:
    """Files of other programs that may be files of this download, by target. Never raises."""
    if all(job.size_bytes < LEAST_BYTES for job in spec.files):
        return {}
    try:
        found = reusable(spec, find_in_places(usual_places()))
        return {
            file.target: file.path.resolve(strict=True)
            for file in found
            if file.size_bytes >= LEAST_BYTES
        }
    except OSError as error:
        log.info("others' models were not looked at: %s", error)
        return {}


def take(source: Path, folder: Path, job: FileJob) -> bool:
    """Give a proven file of another program its name in our folder; whether that worked.

    Raises:
        OSError: the disk is full or fails.
    """
    target = folder / job.target
    try:
        link_file(source, target, _METHODS)
    except FileExistsError:
        return False
    except OSError:
        return _copy(source, folder, job)
    disk.sync_folder(target.parent)
    return target.stat().st_size == job.size_bytes


def _copy(source: Path, folder: Path, job: FileJob) -> bool:
    """To a partial name first; what was copied must have the hash."""
    target = folder / job.target
    copied = paths_of(folder, job)[0].with_suffix(".copy")
    digest = hashlib.sha256()
    try:
        with source.open("rb") as reader, copied.open("wb") as writer:
            while block := reader.read(MIB):
                digest.update(block)
                writer.write(block)
            writer.flush()
            disk.sync_data(writer.fileno())
        if digest.hexdigest() != job.sha256:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        disk.replace(copied, target)
        disk.sync_folder(target.parent)
        return True
    finally:
        with suppress(OSError):
            copied.unlink(missing_ok=True)
