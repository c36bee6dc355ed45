"""Turns a damaged model into an unfinished download, of which only the bad ranges are missing.

Blocking. Parts that stand under each other's names are put right by renaming. A file with bad
ranges becomes a partial one again, so that nobody takes it for a model; its good pieces stay.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads import disk
from kimi_desktop.downloads.digests import identity_of
from kimi_desktop.downloads.folder_lock import FolderLock
from kimi_desktop.downloads.journal import PieceJournal
from kimi_desktop.downloads.kept_hashes import KeptHash, common_commit, find_record, read_hashes
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER, paths_of
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from kimi_desktop.downloads.verify.types import PartState, PartVerdict, VerifyReport

_MOVING = ".kimi-moving"


def mend(report: VerifyReport) -> DownloadSpec | None:
    """Prepare a model for repair.

    Returns:
        The download that fetches what is missing, and nothing of what is right; None when renaming
        was all.

    Raises:
        DownloadError: REPAIR_NO_SOURCE: nobody is known who offers a part that is wrong;
            REPAIR_SEVERAL: the folder holds several models with problems; REPAIR_MIXED: parts
            of several commits, and which one is wanted is for the user to say; FOLDER_BUSY.
        OSError: the disk failed.
    """
    report = _of_one_model(report)
    folder = Path(report.folder)
    known = read_hashes(folder)
    if mixed := [part for part in report.problems if part.state is PartState.MIXED]:
        commits = ", ".join(dict.fromkeys(part.detail for part in mixed))
        repos = (known[part.target].repo for part in mixed if part.target in known)
        named = {"path": report.folder, "commits": commits, "repo": next(repos, "")}
        raise DownloadError(ErrorCode.DOWNLOAD_REPAIR_MIXED, named)
    jobs = {
        target: FileJob(target, kept.size_bytes, kept.sha256 or None, kept.git_sha1, kept.sources)
        for target, kept in known.items()
        if kept.sources and (kept.sha256 or kept.git_sha1)
    }
    homeless = [part.target for part in report.problems if part.target not in jobs]
    swapped = {part.target for part in report.problems if part.state is PartState.SWAPPED}
    homeless = [target for target in homeless if target not in swapped]
    if homeless:
        params = {"file": homeless[0], "path": report.folder}
        raise DownloadError(ErrorCode.DOWNLOAD_NO_REPAIR, params)
    with FolderLock(folder / PARTIAL_FOLDER):
        _put_right(folder, report.parts)
        for part in report.problems:
            if part.state in (PartState.ALTERED, PartState.SHORT) and part.target in jobs:
                _adopt(folder, part, jobs[part.target], known[part.target])
    if not jobs:
        return None
    name = "/".join(folder.parts[-2:])
    commit = common_commit(known[target] for target in jobs)
    return DownloadSpec(name, str(folder), tuple(jobs.values()), "", commit)


def _of_one_model(report: VerifyReport) -> VerifyReport:
    """The report of the model that has the problems, when it is one below the folder."""
    folder = Path(report.folder)
    homes = {find_record(folder / part.target) for part in report.problems}
    places = {home[0] for home in homes if home is not None}
    if len(places) > 1:
        names = ", ".join(sorted(place.name for place in places))
        params = {"path": report.folder, "names": names}
        raise DownloadError(ErrorCode.DOWNLOAD_REPAIR_SEVERAL, params)
    place = next(iter(places), folder)
    if place == folder or not place.is_relative_to(folder):
        return report
    inside = place.relative_to(folder).as_posix() + "/"
    parts = tuple(
        replace(
            part,
            target=part.target.removeprefix(inside),
            other=part.other.removeprefix(inside),
        )
        for part in report.parts
        if part.target.startswith(inside)
    )
    return replace(report, folder=str(place), parts=parts)


def _adopt(folder: Path, part: PartVerdict, job: FileJob, kept: KeptHash) -> None:
    """The file as a partial one, with the pieces that are right."""
    if not kept.pieces:
        return  # nobody knows which bytes are bad: it is replaced when the right one is proven
    bad = {
        piece
        for start, end in part.bad_ranges
        for piece in range(start // kept.piece_bytes, -(-end // kept.piece_bytes))
    }
    good = {
        number: digest
        for number, digest in enumerate(kept.pieces)
        if number not in bad and (number + 1) * kept.piece_bytes <= max(part.size_bytes, 1)
    }
    last = len(kept.pieces) - 1
    if last not in bad and part.size_bytes >= job.size_bytes:
        good[last] = kept.pieces[last]
    adopt(folder, job, good, kept.piece_bytes)


def adopt(folder: Path, job: FileJob, good: Mapping[int, bytes], piece_bytes: int) -> None:
    """Make a finished file that is damaged a partial one again, with its good pieces.

    The journal first: a crash in between leaves the damaged file under its name, to be found again.

    Args:
        folder: the model's folder, locked.
        job: what the file must become.
        good: SHA-256 of the pieces that are right.
        piece_bytes: of the journal.

    Raises:
        OSError: the disk failed.
    """
    data, journal_path = paths_of(folder, job)
    data.parent.mkdir(parents=True, exist_ok=True)
    journal = PieceJournal(journal_path, identity_of(job), job.size_bytes, piece_bytes)
    try:
        journal.restart()
        for piece, digest in sorted(good.items()):
            journal.note_piece(piece, digest)
        journal.mark_synced(journal.n_noted)
    finally:
        journal.close()
    target = folder / job.target
    if target.is_symlink() or target.stat().st_nlink > 1:  # another program has it, too
        shutil.copyfile(target, data)
        target.unlink()
    else:
        disk.replace(target, data)
    disk.sync_folder(target.parent)
    disk.sync_folder(data.parent)


def _put_right(folder: Path, parts: Sequence[PartVerdict]) -> None:
    """Rename parts that have each other's names, in one step each that a crash survives."""
    moves = _moves(parts)
    for source in moves:
        path = folder / source
        disk.replace(path, path.with_name(path.name + _MOVING))
    for source, target in moves.items():
        path = folder / source
        disk.replace(path.with_name(path.name + _MOVING), folder / target)
        disk.sync_folder((folder / target).parent)


def _moves(parts: Sequence[PartVerdict]) -> Mapping[str, str]:
    """Which file goes where: only to a place that is empty or becomes so, and one to each."""
    swapped = {p.target: p.other for p in parts if p.state is PartState.SWAPPED}
    missing = {p.target for p in parts if p.state is PartState.MISSING}
    moves: dict[str, str] = {}
    for source, target in swapped.items():
        if target not in moves.values() and (target in missing or target in swapped):
            moves[source] = target
    # A place that is not left after all stays taken, and so on down the chain.
    while blocked := [s for s, t in moves.items() if t not in missing and t not in moves]:
        for source in blocked:
            del moves[source]
    return moves
