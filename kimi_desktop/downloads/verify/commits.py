"""Whether the parts of a set were proven as files of one commit. Pure.

Each part may be exactly what its own commit has, and the set be none all the same: of a download
that another one replaced in part, or of one that ended halfway through a newer commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kimi_desktop.downloads.kept_hashes import SHORT_DIGITS
from kimi_desktop.downloads.verify.expected import Expected, set_name
from kimi_desktop.downloads.verify.types import PartState, PartVerdict
from kimi_desktop.models.hash_record import have_common


def judge_commits(
    parts: Sequence[PartVerdict], files: Sequence[Expected]
) -> tuple[PartVerdict, ...]:
    """The verdicts; parts that are right, but not of one commit, are MIXED, and say of which."""
    mixed: dict[int, str] = {}
    for members in _sets(parts, files):
        commits = {number: _commits(files[number]) for number in members}
        known = {number: of for number, of in commits.items() if of}
        if not have_common(known.values()):
            mixed |= {number: of[-1][:SHORT_DIGITS] for number, of in known.items()}
    return tuple(
        replace(part, state=PartState.MIXED, detail=mixed[number]) if number in mixed else part
        for number, part in enumerate(parts)
    )


def _sets(parts: Sequence[PartVerdict], files: Sequence[Expected]) -> Iterator[list[int]]:
    """Numbers of the good files of each set."""
    checkpoints = {f.path.parent for f in files if f.path.suffix.lower() == ".safetensors"}
    found: dict[tuple[Path, str], list[int]] = {}
    for number, (part, file) in enumerate(zip(parts, files, strict=True)):
        if part.state is not PartState.OK:
            continue
        folder = file.path.parent
        name = "" if folder in checkpoints else set_name(file.path.name)
        if name is not None:
            found.setdefault((folder, name), []).append(number)
    yield from found.values()


def _commits(file: Expected) -> tuple[str, ...]:
    return () if file.kept is None else file.kept.commits
