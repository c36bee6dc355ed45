"""From what files should be and what they are to one verdict per part. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kimi_desktop.downloads.verify.expected import Expected
from kimi_desktop.downloads.verify.reading import Observed
from kimi_desktop.downloads.verify.types import PartState, PartVerdict

FOREIGN_SHARE = 0.5
"""A file of which more than this differs is not an altered one but another."""


def judge(files: Sequence[Expected], found: Mapping[str, Observed]) -> tuple[PartVerdict, ...]:
    """One verdict per expected file, in their order."""
    return tuple(_verdict(file, found.get(file.target), files) for file in files)


def _verdict(file: Expected, seen: Observed | None, files: Sequence[Expected]) -> PartVerdict:
    base = PartVerdict(
        file.target,
        PartState.OK,
        size_bytes=seen.size_bytes if seen else 0,
        expected_bytes=file.size_bytes,
        sha256=seen.sha256 if seen else "",
        expected_sha256=file.sha256 or "",
        witness=file.witness,
    )
    if seen is None:
        return _as(base, PartState.MISSING)
    if seen.error:
        return _as(base, PartState.UNREADABLE, detail=seen.error)
    if file.sha256 is None and file.git_sha1 is None and not file.pieces:
        return _as(base, PartState.UNPROVEN)
    if _is_same(file, seen):
        return base
    other = next((o for o in files if o.target != file.target and _is_same(o, seen)), None)
    if other is not None:
        return _as(base, PartState.SWAPPED, other=other.target)
    return _wrong(base, file, seen)


def _wrong(base: PartVerdict, file: Expected, seen: Observed) -> PartVerdict:
    """Not the right file, and no other part: how far off it is."""
    if file.pieces:
        bad = _bad_pieces(file, seen)
        share = len(bad) / len(file.pieces)
        ranges = _ranges(bad, file)
        if seen.size_bytes < (file.size_bytes or 0):
            # What is cut off is bad, too; only what is left says whose beginning it is.
            whole = seen.size_bytes // file.piece_bytes
            there = sum(piece < whole for piece in bad)
            is_foreign = whole > 0 and there / whole > FOREIGN_SHARE
        else:
            is_foreign = share > FOREIGN_SHARE and len(file.pieces) > 1
        if is_foreign:
            return _as(base, PartState.FOREIGN)
        return _as(base, _by_size(file, seen), bad_ranges=ranges)
    return _as(base, _by_size(file, seen))


def _by_size(file: Expected, seen: Observed) -> PartState:
    if file.size_bytes is None or seen.size_bytes == file.size_bytes:
        return PartState.ALTERED
    return PartState.SHORT if seen.size_bytes < file.size_bytes else PartState.LONG


def _is_same(file: Expected, seen: Observed) -> bool:
    """The content is what ``file`` should be."""
    if file.size_bytes is not None and file.size_bytes != seen.size_bytes:
        return False
    if file.pieces and seen.pieces:
        return file.pieces == tuple(seen.pieces)
    if file.sha256 is not None and seen.sha256:
        return file.sha256 == seen.sha256
    return file.git_sha1 is not None and bool(seen.git_sha1) and file.git_sha1 == seen.git_sha1


def _bad_pieces(file: Expected, seen: Observed) -> list[int]:
    there = seen.pieces
    return [
        number
        for number, digest in enumerate(file.pieces)
        if number >= len(there) or there[number] != digest
    ]


def _ranges(pieces: Iterable[int], file: Expected) -> tuple[tuple[int, int], ...]:
    """Bytes of these pieces; neighbours joined."""
    size = file.size_bytes or 0
    ranges: list[tuple[int, int]] = []
    for piece in pieces:
        start, end = piece * file.piece_bytes, min((piece + 1) * file.piece_bytes, size)
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], end)
        else:
            ranges.append((start, end))
    return tuple(ranges)


def _as(
    base: PartVerdict,
    state: PartState,
    *,
    bad_ranges: tuple[tuple[int, int], ...] = (),
    other: str = "",
    detail: str = "",
) -> PartVerdict:
    return PartVerdict(
        base.target,
        state,
        base.size_bytes,
        base.expected_bytes,
        base.sha256,
        base.expected_sha256,
        bad_ranges,
        other,
        base.witness,
        detail,
    )
