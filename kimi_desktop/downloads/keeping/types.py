"""Removing and moving models, as frozen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.base.events import Event
from kimi_desktop.downloads.kept_hashes import KeptHash

Trash = Callable[[Path], Path]
"""Puts a file or folder into the system's trash; where it is now. Raises OSError."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What removing a model would do. Nothing was done yet."""

    model_id: str
    title: str
    paths: tuple[Path, ...]
    """What goes: files, or a folder that has nothing else."""
    n_files: int
    """Model files among them, companions included."""
    size_bytes: int
    """Of all of them."""
    freed_bytes: int
    """What the drive gets back: nothing for files that have another name, are a link, or share
    their blocks with a copy."""
    kept_folders: tuple[Path, ...] = ()
    """Of the library: never removed, even when empty."""
    companions: tuple[str, ...] = ()
    """Names of companion files that go with it."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed, to be restored."""

    removal: Removal
    moved: tuple[tuple[Path, Path], ...] = ()
    """(where it was, where it is in the trash); empty when it was deleted for good."""
    hashes: Mapping[Path, Mapping[str, KeptHash]] | None = None
    """Records of single files by the folder of the record."""


@dataclass(frozen=True, slots=True)
class MovePlace:
    """A folder of the library that a model could be moved to."""

    folder: Path
    free_bytes: int
    fits: bool
    writable: bool
    same_volume: bool
    """Only names change there."""


@dataclass(frozen=True, slots=True)
class Space:
    """The volume of a folder."""

    total_bytes: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Moved:
    """Where a model went."""

    old_id: str
    new_id: str
    folder: Path
    copied_bytes: int
    """0 when only names changed."""


@dataclass(frozen=True, slots=True)
class MoveProgressed(Event):
    """A model is on its way; four times a second."""

    model_id: str
    copied_bytes: int
    checked_bytes: int
    """Read back from the new drive and compared."""
    total_bytes: int
    file: str
