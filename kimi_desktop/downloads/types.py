"""What to fetch and from where, as frozen data that also crosses to the worker as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class HubKind(StrEnum):
    """Which protocol a hub speaks."""

    HUGGINGFACE = "huggingface"
    MODELSCOPE = "modelscope"


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


@dataclass(frozen=True, slots=True)
class Job:
    """One file to have, and who offers it, the preferred hub first."""

    folder: str
    """The models folder."""
    target: str
    """Where the file goes inside it, with forward slashes."""
    sources: tuple[Source, ...]

    def to_json(self) -> dict[str, Any]:
        """For the worker."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Job:
        """The reverse of ``to_json``."""
        sources = tuple(
            Source(**{**source, "kind": HubKind(source["kind"])}) for source in data["sources"]
        )
        return cls(data["folder"], data["target"], sources)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """What a hub says about a file, before a byte of it is fetched."""

    url: str
    """Never expires; leads to the bytes by redirects."""
    size_bytes: int
    sha256: str
    """Of the whole file, 64 lower-case hex digits."""
