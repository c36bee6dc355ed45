"""What proves a file, and the hash objects for it. Pure."""

from __future__ import annotations

import hashlib
from typing import Protocol

from kimi_desktop.downloads.journal import IDENTITY_BYTES
from kimi_desktop.downloads.types import FileJob


class Digest(Protocol):
    """A hash object of hashlib."""

    def update(self, data: memoryview, /) -> None:
        """Take in bytes."""

    def digest(self) -> bytes:
        """The hash so far."""

    def hexdigest(self) -> str:
        """The same in hex."""

    def copy(self) -> Digest:
        """One that goes on from here."""


def proof_of(job: FileJob) -> str:
    """What proves the file: its SHA-256, else git's hash of it."""
    return job.sha256 or job.git_sha1 or ""


def whole_digest(job: FileJob) -> Digest:
    """The hash object whose hex digest must become ``proof_of(job)``."""
    if job.sha256 is not None:
        return hashlib.sha256()
    head = b"blob %d\0" % job.size_bytes
    return hashlib.sha1(head, usedforsecurity=False)


def identity_of(job: FileJob) -> bytes:
    """Names the content that a journal belongs to."""
    proof = f"{job.size_bytes}:{proof_of(job)}".encode()
    return hashlib.sha256(proof).digest()[:IDENTITY_BYTES]
