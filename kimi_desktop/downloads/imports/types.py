"""What is on this computer already, and what became of it, as frozen data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kimi_desktop.base.events import Event
from kimi_desktop.models.hash_record import Witness as Witness  # noqa: PLC0414 - theirs, too


class Origin(StrEnum):
    """Whose folder it is."""

    HUGGINGFACE = "huggingface"
    """The cache of Hugging Face's programs and of ``llama-server -hf``."""
    MODELSCOPE = "modelscope"
    LM_STUDIO = "lm_studio"
    JAN = "jan"
    OLLAMA = "ollama"
    FOLDER = "folder"
    """Any folder with model files."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that another program owns."""

    path: Path
    """Where it was found; may be a link."""
    target: str
    """Its name in our folder of the model: relative, forward slashes."""
    size_bytes: int
    sha256: str | None = None
    """What it should be."""
    git_sha1: str | None = None
    """The same of a small file that only git knows."""
    witness: Witness = Witness.NOBODY


@dataclass(frozen=True, slots=True)
class FoundModel:
    """The files of one model."""

    origin: Origin
    name: str
    """"owner/name": its folder in the library."""
    place: Path
    """What to show as its place."""
    files: tuple[FoundFile, ...]
    missing: tuple[str, ...] = ()
    """Files that its own list names and that are not there."""

    @property
    def size_bytes(self) -> int:
        """Of the files that are there."""
        return sum(file.size_bytes for file in self.files)


class LinkKind(StrEnum):
    """How a file came into the library without being copied."""

    CLONE = "clone"
    """Its own file on the same blocks (reflink): neither touches the other."""
    HARD_LINK = "hard_link"
    """A second name of the same file."""
    SYMBOLIC_LINK = "symbolic_link"
    """A pointer: gone when the other program removes the file."""


@dataclass(frozen=True, slots=True)
class ImportProgressed(Event):
    """An import has read so much; four times a second."""

    done_bytes: int
    total_bytes: int
    file: str


class Outcome(StrEnum):
    """What became of one file."""

    LINKED = "linked"
    ALREADY_THERE = "already_there"
    """The library has the same bytes under that name."""
    DAMAGED = "damaged"
    """Its hash is not what it should be."""
    NAME_TAKEN = "name_taken"
    """The library has other bytes under that name."""
    UNREADABLE = "unreadable"
    NO_WEIGHTS = "no_weights"
    """Its name says weights, and it begins like no such file."""
    LEADS_OUT = "leads_out"
    """A link to something outside the store, and no weights."""
    NOT_LINKED = "not_linked"
    """No kind of link works between the two places."""

    @property
    def is_good(self) -> bool:
        """The file can be used."""
        return self in (Outcome.LINKED, Outcome.ALREADY_THERE)


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """One file and what became of it."""

    file: FoundFile
    outcome: Outcome
    sha256: str = ""
    """As read from the disk; empty when it could not be read."""
    link: LinkKind | None = None
    detail: str = ""
    """The system's reason, where there is one."""

    @property
    def is_proven(self) -> bool:
        """Somebody said what it should be, and it is that."""
        return self.outcome.is_good and self.file.witness is not Witness.NOBODY


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """One model and what became of its files."""

    model: FoundModel
    folder: Path
    """Ours."""
    files: tuple[ImportedFile, ...]

    @property
    def is_whole(self) -> bool:
        """All of it can be used."""
        return not self.model.missing and all(file.outcome.is_good for file in self.files)
