"""Finds model files below the user's folders, whatever state those folders are in. Blocking.

GGUF files, single or as a set, and folders in Hugging Face's layout. Links are followed, because
the Hugging Face cache is made of them; every folder and every file counts once, so loops end and a
file that is linked twice is one model. What cannot be read or is gone by the time it is looked at
is left out.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

SUFFIX = ".gguf"
WEIGHTS_SUFFIX = ".safetensors"
CHECKPOINT_FILES = frozenset({"config.json", "model.safetensors.index.json"})
MAX_DEPTH = 16
MAX_FOLDERS = 50_000

_PART = re.compile(r"^(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.gguf$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file as it was when found; a change of size or time makes it another file."""

    path: Path
    size_bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class FoundSet:
    """The files of one model: a single one, or the parts of a split set by their number."""

    parts: tuple[tuple[int, FoundFile], ...]
    """Ascending numbers from 1."""
    total: int

    @property
    def first(self) -> FoundFile:
        """The file that an engine is given."""
        return self.parts[0][1]

    @property
    def size_bytes(self) -> int:
        """Of the files that are there."""
        return sum(file.size_bytes for _, file in self.parts)

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of the parts that are not there."""
        there = {number for number, _ in self.parts}
        return tuple(number for number in range(1, self.total + 1) if number not in there)


@dataclass(frozen=True, slots=True)
class FoundCheckpoint:
    """A folder with a config and safetensors weights: one model."""

    folder: Path
    files: tuple[FoundFile, ...]
    """Config, index and weights that are there, by name."""

    @property
    def size_bytes(self) -> int:
        """Of the weights that are there."""
        return sum(f.size_bytes for f in self.files if f.path.suffix == WEIGHTS_SUFFIX)


def find_models(
    folders: Iterable[Path], *, depth: int | None = None
) -> tuple[tuple[FoundSet, ...], tuple[FoundCheckpoint, ...]]:
    """All models below the folders (at most ``depth`` further down), split sets put together."""
    max_depth = MAX_DEPTH if depth is None else depth
    seen_folders: set[tuple[int, int]] = set()
    seen_files: set[tuple[int, int]] = set()
    sets: dict[tuple[Path, str, int], dict[int, FoundFile]] = {}
    checkpoints: list[FoundCheckpoint] = []
    for folder in folders:
        for file in _walk(folder, max_depth, seen_folders, seen_files):
            if isinstance(file, FoundCheckpoint):
                checkpoints.append(file)
                continue
            name = file.path.name
            match = _PART.match(name)
            total = int(match["total"]) if match else 1
            number = int(match["number"]) if match else 1
            if match and 1 <= number <= total:
                key = (file.path.parent, match["stem"], total)
            else:
                key, number = (file.path.parent, name, 1), 1
            sets.setdefault(key, {}).setdefault(number, file)
    found = tuple(
        FoundSet(tuple(sorted(parts.items())), total) for (_, _, total), parts in sets.items()
    )
    return found, tuple(checkpoints)


def _walk(
    root: Path,
    max_depth: int,
    seen_folders: set[tuple[int, int]],
    seen_files: set[tuple[int, int]],
) -> Iterator[FoundFile | FoundCheckpoint]:
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        if len(seen_folders) >= MAX_FOLDERS:
            log.warning("stopped looking for models after %s folders", MAX_FOLDERS)
            return
        try:
            status = folder.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in seen_folders:
                continue
            seen_folders.add(identity)
            entries = sorted(folder.iterdir())
        except OSError as error:
            log.info("folder %s left out: %s", folder, error)
            continue
        checkpoint = _checkpoint(folder, entries, seen_files)
        if checkpoint is not None:
            yield checkpoint
        for path in entries:
            try:
                if path.suffix.lower() == SUFFIX and (file := _look_at(path, seen_files)):
                    yield file
                elif depth < max_depth and not path.name.startswith(".") and path.is_dir():
                    waiting.append((path, depth + 1))
            except OSError as error:
                log.info("%s left out: %s", path, error)


def _checkpoint(
    folder: Path, entries: list[Path], seen: set[tuple[int, int]]
) -> FoundCheckpoint | None:
    """The checkpoint that a folder is; None when it is none, or one that was found before."""
    names = {path.name for path in entries}
    weights = [path for path in entries if path.suffix == WEIGHTS_SUFFIX]
    if "config.json" not in names or not weights:
        return None
    files = []
    is_new = False
    for path in entries:
        if path.name not in CHECKPOINT_FILES and path.suffix != WEIGHTS_SUFFIX:
            continue
        try:
            status = path.stat()
        except OSError as error:
            log.info("%s left out: %s", path, error)
            continue
        identity = (status.st_dev, status.st_ino)
        is_new = is_new or (path.suffix == WEIGHTS_SUFFIX and identity not in seen)
        seen.add(identity)
        files.append(FoundFile(path, status.st_size, status.st_mtime_ns))
    return FoundCheckpoint(folder, tuple(files)) if is_new else None


def _look_at(path: Path, seen: set[tuple[int, int]]) -> FoundFile | None:
    """The file behind a name; None for folders and for a file that was found before.

    Raises:
        OSError: it is gone, a broken link, or its folder may not be searched.
    """
    status = path.stat()
    if not os.path.isfile(path):  # noqa: PTH113 - a pipe or device of that name must not be opened
        return None
    identity = (status.st_dev, status.st_ino)
    if identity in seen:
        return None
    seen.add(identity)
    return FoundFile(path, status.st_size, status.st_mtime_ns)
