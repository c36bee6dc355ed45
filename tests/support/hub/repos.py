"""Repositories of the local hub: commits, who may read them, what their card says."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from tests.support.hub.content import HubFile


@dataclass
class Commit:
    """The files of one moment. Their list may be changed by a test before it is served."""

    id: str
    files: list[HubFile]


@dataclass
class Repo:
    """One model repository."""

    name: str
    """``namespace/name``."""
    commits: list[Commit] = field(default_factory=list)
    """The last one is the head of the branch."""
    licence: str = "apache-2.0"
    licence_name: str = ""
    """What "other" means, as publishers write it."""
    gated: str = ""
    """"auto" or "manual": terms to accept first."""
    private: bool = False
    hides_listing: bool = False
    """A gated repository that also closes its API."""
    downloads: int = 0
    tags: tuple[str, ...] = ()

    @classmethod
    def of(cls, name: str, files: list[HubFile]) -> Repo:
        """With one commit."""
        repo = cls(name)
        repo.change(files)
        return repo

    def change(self, files: list[HubFile]) -> str:
        """Another commit on the branch; older ones are still served by their id."""
        seed = f"{self.name}{len(self.commits) or ''}"
        commit = Commit(hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest(), files)
        self.commits.append(commit)
        return commit.id

    @property
    def head(self) -> Commit:
        return self.commits[-1]

    def at(self, revision: str) -> Commit | None:
        """The commit that a branch or an id names."""
        if revision in ("main", "master", "refs/heads/main"):
            return self.head
        return next((commit for commit in self.commits if commit.id == revision), None)


@dataclass(frozen=True)
class Account:
    """Somebody with a token."""

    name: str
    may_read: frozenset[str] = frozenset()
    """Private repositories, and gated ones whose terms were accepted."""
