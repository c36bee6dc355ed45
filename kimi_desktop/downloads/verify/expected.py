"""What the files of a model should be: from its record, from checksum files, from their names.

Blocking: looks at names and reads the record; no file of the model is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.imports.checksums import checksums_in
from kimi_desktop.downloads.kept_hashes import KeptHash, read_hashes
from kimi_desktop.models.hash_record import HASHES_FILE, LEVELS, Witness

_PART = re.compile(
    r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.(?:gguf|safetensors)", re.I
)
_WEIGHTS = (".gguf", ".safetensors")
MOST_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Expected:
    """One file, and what it should be as far as that is known."""

    target: str
    path: Path
    size_bytes: int | None = None
    sha256: str | None = None
    git_sha1: str | None = None
    piece_bytes: int = 0
    pieces: tuple[bytes, ...] = ()
    witness: Witness = Witness.NOBODY
    kept: KeptHash | None = None
    """Its entry in the record."""


def expected_files(path: Path) -> tuple[Path, tuple[Expected, ...]]:
    """The model's folder and its files, those that are missing included.

    Args:
        path: the folder, or a file of it; of a file in parts all parts are meant.

    Raises:
        DownloadError: IMPORT_NOT_THERE, or IMPORT_NOTHING: no model is there.
    """
    path = path.expanduser().absolute()
    if not path.exists():
        raise DownloadError(ErrorCode.IMPORT_NOT_THERE, {"path": str(path)})
    folder = path if path.is_dir() else _folder_of(path)
    known = read_hashes(folder)
    sums = checksums_in(folder)
    if path.is_dir():
        found = {_target(file, folder) for file in _weights(folder)}
        found |= {_target(file, folder) for file in sums if file.is_relative_to(folder)}
        targets = found | set(known)
        targets |= {name for target in targets for name in _set_of(target)}
    else:
        sums = {**checksums_in(path.parent), **sums}
        own = _target(path, folder)
        targets = {own, *_set_of(own)}
    if not targets:
        raise DownloadError(ErrorCode.IMPORT_NOTHING, {"path": str(path)})
    return folder, tuple(
        _expected(target, folder, known.get(target), sums) for target in sorted(targets)
    )


def _expected(target: str, folder: Path, kept: KeptHash | None, sums: dict[Path, str]) -> Expected:
    path = folder.joinpath(*target.split("/"))
    if kept is not None:
        return Expected(
            target,
            path,
            kept.size_bytes,
            kept.sha256 or None,
            kept.git_sha1,
            kept.piece_bytes,
            kept.pieces,
            kept.witness,
            kept,
        )
    if path in sums:
        return Expected(target, path, sha256=sums[path], witness=Witness.SUMS)
    return Expected(target, path)


def _folder_of(file: Path) -> Path:
    """The folder whose record has the file; else the one that it lies in."""
    for folder in list(file.parents)[: LEVELS + 1]:
        if (folder / HASHES_FILE).is_file() and _target(file, folder) in read_hashes(folder):
            return folder
    return file.parent


def _target(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _set_of(target: str) -> Iterator[str]:
    """The names of all parts of the set that a file belongs to."""
    folder, slash, name = target.rpartition("/")
    match = _PART.fullmatch(name)
    if match is None or int(match["total"]) > MOST_PARTS:
        return
    suffix = name.rpartition(".")[2]
    for number in range(1, int(match["total"]) + 1):
        yield f"{folder}{slash}{match['stem']}-{number:05}-of-{match['total']}.{suffix}"


def _weights(folder: Path) -> Iterable[Path]:
    """Weight files in the folder and one or two levels below, as models lie there."""
    pending = [(folder, 0)]
    while pending:
        here, depth = pending.pop()
        try:
            entries = sorted(here.iterdir())
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir() and not entry.is_symlink() and depth < LEVELS:
                pending.append((entry, depth + 1))
            elif entry.suffix.lower() in _WEIGHTS and entry.is_file():
                yield entry
