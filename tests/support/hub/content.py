"""Files of the local hub: invented but repeatable bytes of any length, without disk."""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from functools import cached_property

HASHED_BYTES = 2**30
"""A longer file has a declared hash: nobody downloads it whole here."""
PERIOD = 2**16 + 37  # no divisor of any block size, so that a shift of bytes is seen


@dataclass(frozen=True)
class HubFile:
    """One file of a repository."""

    path: str
    size_bytes: int = 0
    content: bytes | None = None
    """Real bytes instead of invented ones."""
    lfs: bool = True
    head: bytes = b""
    """Real bytes before the invented ones."""
    xet: bool = True
    """Also offered over Xet, as nearly everything is by now."""
    seed: str = ""
    """Other bytes under the same path."""
    listed_size: int | None = None
    """What listings say, where that is not the truth."""
    listed_sha256: str | None = None

    @property
    def length(self) -> int:
        return self.size_bytes if self.content is None else len(self.content)

    @cached_property
    def _pattern(self) -> bytes:
        return random.Random(self.seed + self.path).randbytes(PERIOD) * 2

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at an offset; fewer at the end."""
        length = max(min(length, self.length - offset), 0)
        if self.content is not None:
            return self.content[offset : offset + length]
        out = bytearray(self.head[offset : offset + length])
        while len(out) < length:
            at = (offset + len(out)) % PERIOD
            out += self._pattern[at : at + min(PERIOD, length - len(out))]
        return bytes(out)

    @cached_property
    def sha256(self) -> str:
        if self.length > HASHED_BYTES:  # any stable name will do
            return hashlib.sha256(f"{self.seed}{self.path}".encode()).hexdigest()
        digest = hashlib.sha256()
        for offset in range(0, self.length, 2**20):
            digest.update(self.read(offset, 2**20))
        return digest.hexdigest()

    @cached_property
    def pointer(self) -> bytes:
        """What git holds of an LFS file."""
        return (
            b"version https://git-lfs.github.com/spec/v1\n"
            + f"oid sha256:{self.sha256}\nsize {self.length}\n".encode()
        )

    @cached_property
    def git_sha1(self) -> str:
        """Of the content for small files, of the pointer for LFS ones."""
        body = self.pointer if self.lfs else self.read(0, self.length)
        return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()

    @cached_property
    def xet_hash(self) -> str:
        """A name of the object; like the real one it is no hash of the bytes."""
        return hashlib.blake2b(self.sha256.encode(), digest_size=32).hexdigest()
