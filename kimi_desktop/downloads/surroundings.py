"""What a download meets on the disk and in the queue before its first byte. Blocking.

Credited are only bytes that are known to be its own: files whose proof it shares, partial files
whose journal is of the same content. A file of the same name and length may be anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.downloads.digests import identity_of
from kimi_desktop.downloads.disk import BLOCK_BYTES
from kimi_desktop.downloads.jobs import Job
from kimi_desktop.downloads.journal import is_journal_of
from kimi_desktop.downloads.kept_hashes import read_hashes
from kimi_desktop.downloads.part_file import paths_of
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from kimi_desktop.downloads.versions import contested, differs, is_same, others_of
from kimi_desktop.machine.disks import nearest_existing

_WAITING = (DownloadState.QUEUED, DownloadState.DOWNLOADING, DownloadState.VERIFYING)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The folder of a download, and the other downloads."""

    there_bytes: int = 0
    """Of its files that are complete and proven."""
    partial_bytes: int = 0
    """That its partial files take already; they need no more space."""
    queued_bytes: int = 0
    """Of space that other downloads to the same volume will still need."""
    replaced: tuple[str, ...] = ()
    """Targets that were proven in another version."""
    version_there: str = ""
    """Of them, for people."""
    taken_over: str = ""
    """The version of an unfinished download that this one ends, for people; empty without one."""
    lost_bytes: int = 0
    """Of its partial files, that are removed then."""


def look_around(spec: DownloadSpec, jobs: Sequence[Job] = ()) -> Surroundings:
    """See ``Surroundings``; ``jobs``: all downloads that are kept."""
    folder = Path(spec.folder)
    known = read_hashes(folder)
    there, partial = on_disk(spec)
    replaced = [
        job.target
        for job in others_of(spec, known)
        if known[job.target].is_unchanged(folder / job.target)
    ]
    others = [job.spec for job in jobs if job.state is not DownloadState.READY]
    older = [other for other in others if differs(other, spec)]
    return Surroundings(
        there_bytes=there,
        partial_bytes=partial,
        queued_bytes=_queued_bytes(spec, jobs),
        replaced=tuple(replaced),
        version_there=known[replaced[0]].version if replaced else "",
        taken_over=older[0].commit[:12] if older else "",
        lost_bytes=sum(on_disk(contested(one, spec))[1] for one in older),
    )


def on_disk(spec: DownloadSpec) -> tuple[int, int]:
    """Bytes of files that are proven in the folder, and bytes that partial ones take."""
    folder = Path(spec.folder)
    known = read_hashes(folder)
    there = partial = 0
    for job in spec.files:
        kept, target = known.get(job.target), folder / job.target
        if kept is not None and is_same(kept, job) and kept.is_unchanged(target):
            there += job.size_bytes
        else:
            partial += _taken_bytes(folder, job)
    return there, partial


def missing_bytes(spec: DownloadSpec) -> int:
    """Of space that it still needs."""
    return max(spec.total_bytes - sum(on_disk(spec)), 0)


def _queued_bytes(spec: DownloadSpec, jobs: Sequence[Job]) -> int:
    own = {(spec.folder, job.target) for job in spec.files}
    others = []
    for job in jobs:
        files = tuple(f for f in job.spec.files if (job.spec.folder, f.target) not in own)
        if job.state in _WAITING and _is_same_volume(job.spec.folder, spec.folder):
            others.append(DownloadSpec("", job.spec.folder, files, "", ""))
    return sum(map(missing_bytes, others))


def _is_same_volume(one: str, other: str) -> bool:
    try:
        devices = {nearest_existing(Path(place)).stat().st_dev for place in (one, other)}
    except OSError:
        return False
    return len(devices) == 1


def _taken_bytes(folder: Path, job: FileJob) -> int:
    """By a partial file whose journal is of this content."""
    data, journal = paths_of(folder, job)
    with suppress(OSError):
        if is_journal_of(journal, identity_of(job), job.size_bytes):
            status = data.lstat()
            blocks = getattr(status, "st_blocks", None)
            taken = status.st_size if blocks is None else blocks * BLOCK_BYTES
            return min(taken, job.size_bytes)
    return 0
