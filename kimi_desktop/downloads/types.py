"""What to fetch and from where, as frozen data that also crosses to the worker as JSON."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_PROJECTOR = re.compile(r"(?<![a-z])mmproj(?![a-z])[^/]*\.gguf$", re.IGNORECASE)


class HubKind(StrEnum):
    """Which protocol a hub speaks."""

    HUGGINGFACE = "huggingface"
    MODELSCOPE = "modelscope"
    GITHUB = "github"
    """Archives of a release: the revision is its tag. No hub of models."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of one repository on one hub."""

    kind: HubKind
    endpoint: str
    """Scheme and host, without a slash at the end."""
    repo: str
    """``namespace/name``."""
    revision: str
    path: str
    """Inside the repository."""


def source_from(raw: Mapping[str, Any]) -> Source:
    """The reverse of ``dataclasses.asdict``.

    Raises:
        KeyError, TypeError, ValueError: it is no source.
    """
    return Source(**{**raw, "kind": HubKind(raw["kind"])})


@dataclass(frozen=True, slots=True)
class RepoFile:
    """One file of a repository, as the listing of a pinned commit describes it."""

    path: str
    """Inside the repository, with forward slashes, as the hub spells it."""
    size_bytes: int
    sha256: str | None
    """Of the whole file, 64 lower-case hex digits; None where only git knows the file."""
    git_sha1: str | None
    """Of ``b"blob <length>\\0" + content``, for small files without a SHA-256."""


@dataclass(frozen=True, slots=True)
class RepoListing:
    """Everything in a repository at one commit."""

    kind: HubKind
    endpoint: str
    """Scheme and host, without a slash at the end."""
    repo: str
    """``namespace/name``."""
    commit: str
    """40 hex digits; on ModelScope the name of the branch, which cannot be pinned."""
    files: tuple[RepoFile, ...]
    licence: str
    """As the hub names it; empty when it names none."""
    gated: bool
    """The publisher wants its terms accepted first."""
    private: bool


@dataclass(frozen=True, slots=True)
class FileJob:
    """One file of a download, who offers it, and what proves it."""

    target: str
    """Where it goes inside the model folder: relative, forward slashes."""
    size_bytes: int
    sha256: str | None
    git_sha1: str | None
    """The proof of a file that has no SHA-256."""
    sources: tuple[Source, ...]
    """Preferred first; their revision is the commit. All of them name the same hash."""


@dataclass(frozen=True, slots=True)
class DownloadSpec:
    """What the transfer engine is given: every file, its proof, its place and its sources."""

    title: str
    """For people: the repository and the chosen files."""
    folder: str
    """The model's folder, absolute."""
    files: tuple[FileJob, ...]
    licence: str
    commit: str

    @property
    def repo(self) -> str:
        """``namespace/name``, as the preferred source calls it; empty when nobody offers it."""
        return next((source.repo for job in self.files for source in job.sources), "")

    @property
    def total_bytes(self) -> int:
        """Of all files."""
        return sum(job.size_bytes for job in self.files)

    @property
    def projectors(self) -> tuple[FileJob, ...]:
        """Parts that see images, which the model also runs without; none when there is no other."""
        found = tuple(job for job in self.files if _PROJECTOR.search(job.target))
        return found if len(found) < len(self.files) else ()

    def without_projectors(self) -> DownloadSpec:
        """The same without them."""
        left_out = self.projectors
        files = tuple(job for job in self.files if job not in left_out)
        return dataclasses.replace(self, files=files)

    def to_json(self) -> dict[str, Any]:
        """For the worker and the job database. No signed address and no token is in it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> DownloadSpec:
        """The reverse of ``to_json``.

        Raises:
            KeyError, TypeError, ValueError: it is no spec.
        """
        files = tuple(
            FileJob(
                str(job["target"]),
                int(job["size_bytes"]),
                job["sha256"],
                job["git_sha1"],
                tuple(source_from(source) for source in job["sources"]),
            )
            for job in raw["files"]
        )
        return cls(raw["title"], raw["folder"], files, raw["licence"], raw["commit"])
