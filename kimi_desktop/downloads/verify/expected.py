"""What the files of a model should be: from its record, from checksum files, from their names.

Blocking: looks at names and reads the record; no file of the model is opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
DEPTH = 4
"""Below a models folder: publisher, model, quantization, and one more."""


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
    record: Path = Path()
    """The folder whose record has it, or will have it."""

    @property
    def name_there(self) -> str:
        """Its target in that record."""
        return self.path.relative_to(self.record).as_posix()


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
    records = _Records()
    sums = checksums_in(folder)
    if path.is_dir():
        found = set(_weights(folder))
        for place in {folder, *(file.parent for file in found)}:
            sums |= checksums_in(place)
        found |= {file for file in sums if file.is_relative_to(folder)}
        found |= records.files_below(folder)
        targets = {_target(file, folder) for file in found}
        targets |= {name for target in targets for name in _set_of(target)}
    else:
        sums = {**checksums_in(path.parent), **sums}
        own = _target(path, folder)
        targets = {own, *_set_of(own)}
    if not targets:
        raise DownloadError(ErrorCode.IMPORT_NOTHING, {"path": str(path)})
    return folder, tuple(_expected(target, folder, records, sums) for target in sorted(targets))


class _Records:
    """The records that may know files of a folder: each model has its own, in its own folder."""

    def __init__(self) -> None:
        self._read: dict[Path, Mapping[str, KeptHash]] = {}

    def find(self, path: Path) -> tuple[Path, KeptHash] | None:
        """The nearest record upwards that knows a file, and what it says."""
        for folder in list(path.parents)[: LEVELS + 1]:
            if kept := self._of(folder).get(_target(path, folder)):
                return folder, kept
        return None

    def files_below(self, folder: Path) -> set[Path]:
        """What the records in a folder and below it name, missing files included."""
        places = [folder, *(place for place in _folders(folder))]
        return {place / target for place in places for target in self._of(place)}

    def _of(self, folder: Path) -> Mapping[str, KeptHash]:
        if folder not in self._read:
            self._read[folder] = read_hashes(folder)
        return self._read[folder]


def _expected(target: str, folder: Path, records: _Records, sums: dict[Path, str]) -> Expected:
    path = folder.joinpath(*target.split("/"))
    if (known := records.find(path)) is not None:
        record, kept = known
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
            record,
        )
    if path in sums:
        return Expected(target, path, sha256=sums[path], witness=Witness.SUMS, record=folder)
    return Expected(target, path, record=folder)


def _folder_of(file: Path) -> Path:
    """The folder whose record has the file; else the one that it lies in."""
    for folder in list(file.parents)[: LEVELS + 1]:
        if (folder / HASHES_FILE).is_file() and _target(file, folder) in read_hashes(folder):
            return folder
    return file.parent


def _target(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def set_name(name: str) -> str | None:
    """What the names of all parts of a set have in common; None for a file of its own."""
    match = _PART.fullmatch(name)
    return None if match is None else f"{match['stem']}-of-{match['total']}"


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
    """Weight files in the folder and below, as models lie there."""
    for place in (folder, *_folders(folder)):
        for entry in _entries(place):
            if entry.suffix.lower() in _WEIGHTS and entry.is_file():
                yield entry


def _folders(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Those below a folder, hidden ones and links left out."""
    for entry in _entries(folder) if depth else ():
        if entry.is_dir() and not entry.is_symlink():
            yield entry
            yield from _folders(entry, depth - 1)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return []
