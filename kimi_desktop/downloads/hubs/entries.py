"""Files and cards as hubs write them into JSON, checked value by value. Pure.

Nothing of a listing is believed before its type and size were looked at; what cannot be right is
named, so that the sentence can say which part of the answer makes no sense.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kimi_desktop.downloads.types import RepoFile

MAX_FILE_BYTES = 2**50
MAX_FILES = 100_000
MAX_PATH = 4096
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

_REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9_.][\w.-]{0,95}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA1 = re.compile(r"[0-9a-f]{40}")


class BadEntryError(ValueError):
    """A part of a listing that makes no sense; its text names the part."""


@dataclass(frozen=True, slots=True)
class FoundRepo:
    """One row of a search."""

    repo: str
    downloads: int
    likes: int
    licence: str
    gated: bool
    tags: tuple[str, ...]
    changed: str
    """Date of the last change, ISO 8601, or empty."""


def is_repo_name(text: object) -> bool:
    """Whether it can be "owner/name"."""
    if not isinstance(text, str) or not _REPO.fullmatch(text):
        return False
    return ".." not in text and not text.endswith((".git", "."))


def path_of(entry: Mapping[str, object], key: str) -> str:
    """A path as the hub spells it. Whether it may be written is ``names``' business."""
    path = entry.get(key)
    if not isinstance(path, str) or not path or len(path) > MAX_PATH:
        raise BadEntryError(key)
    return path


def size_of(value: object) -> int:
    """A length in bytes."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_FILE_BYTES:
        raise BadEntryError("size")
    return value


def sha256_of(value: object, size_bytes: int) -> str:
    """64 lower-case hex digits. The hash of nothing is no hash of something."""
    digest = value.lower() if isinstance(value, str) else ""
    if not _SHA256.fullmatch(digest) or (digest == EMPTY_SHA256 and size_bytes):
        raise BadEntryError("sha256")
    return digest


def sha1_of(value: object, name: str) -> str:
    """40 lower-case hex digits: a commit or a blob of git."""
    if not isinstance(value, str) or not _SHA1.fullmatch(value):
        raise BadEntryError(name)
    return value


def huggingface_file(entry: Mapping[str, object]) -> RepoFile:
    """An entry of a tree. ``xetHash`` is no hash of the bytes and is not looked at."""
    path = path_of(entry, "path")
    lfs = entry.get("lfs")
    if lfs is None:
        return RepoFile(path, size_of(entry.get("size")), None, sha1_of(entry.get("oid"), "oid"))
    if not isinstance(lfs, Mapping):
        raise BadEntryError("lfs")
    # The ``oid`` beside ``lfs`` is the one of git's pointer, not of the content.
    size = size_of(lfs.get("size"))
    return RepoFile(path, size, sha256_of(lfs.get("oid"), size), None)


def modelscope_file(entry: Mapping[str, object]) -> RepoFile:
    """An entry of type "blob". ``IsLFS`` is unreliable; without a hash there is no proof."""
    path, size = path_of(entry, "Path"), size_of(entry.get("Size"))
    digest = entry.get("Sha256")
    return RepoFile(path, size, sha256_of(digest, size) if digest else None, None)


def text_of(value: object) -> str:
    """A short text, or nothing."""
    return " ".join(value.split())[:100] if isinstance(value, str) else ""


def number_of(value: object) -> int:
    """A count, or 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def tags_of(value: object) -> tuple[str, ...]:
    """Short texts of a list."""
    if not isinstance(value, list):
        return ()
    return tuple(text for item in value[:200] if (text := text_of(item)))


def huggingface_licence(info: Mapping[str, object]) -> str:
    """What the card names; "other" is told by its own name. Empty when there is none."""
    card = info.get("cardData")
    named = ""
    if isinstance(card, Mapping):
        named = text_of(card.get("license"))
        if named in ("", "other"):
            named = text_of(card.get("license_name")) or named
    tags = (tag.partition(":")[2] for tag in tags_of(info.get("tags")) if tag[:8] == "license:")
    return named or next(tags, "")
