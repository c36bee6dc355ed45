"""Downloads of one folder that want the same file in different versions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kimi_desktop.downloads.digests import proof_of
from kimi_desktop.downloads.kept_hashes import KeptHash
from kimi_desktop.downloads.types import DownloadSpec, FileJob


def differs(one: DownloadSpec, other: DownloadSpec) -> bool:
    """Both go to the same folder and want a file of it to be something else."""
    return one.folder == other.folder and bool(_contested(one.files, other.files))


def contested(older: DownloadSpec, newer: DownloadSpec) -> DownloadSpec:
    """The files of ``older`` that ``newer`` has, too, but in another version."""
    return replace(older, files=_contested(older.files, newer.files))


def rest_of(older: DownloadSpec, newer: DownloadSpec) -> DownloadSpec:
    """What is left of ``older`` when ``newer`` has taken over every file that both name."""
    taken = {job.target for job in newer.files}
    return replace(older, files=tuple(job for job in older.files if job.target not in taken))


def is_same(kept: KeptHash, job: FileJob) -> bool:
    """A file was proven to be what the job wants."""
    return kept.sha256 == job.sha256 if job.sha256 else kept.git_sha1 == job.git_sha1


def is_other(kept: KeptHash, job: FileJob) -> bool:
    """A file was proven to be something else than the job wants under its name."""
    if job.sha256 and kept.sha256:
        return job.sha256 != kept.sha256
    return bool(job.git_sha1 and kept.git_sha1 and job.git_sha1 != kept.git_sha1)


def others_of(spec: DownloadSpec, known: Mapping[str, KeptHash]) -> tuple[FileJob, ...]:
    """The files of a download of which the folder's record has another version."""
    return tuple(
        job for job in spec.files if job.target in known and is_other(known[job.target], job)
    )


def _contested(older: Iterable[FileJob], newer: Iterable[FileJob]) -> tuple[FileJob, ...]:
    wanted = {job.target: proof_of(job) for job in newer}
    return tuple(job for job in older if wanted.get(job.target, proof_of(job)) != proof_of(job))
