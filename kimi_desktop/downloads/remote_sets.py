"""The models of a repository: its GGUF files put together to sets, and their headers. Blocking.

Only headers are fetched, the parts of a set side by side: two requests at most for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from kimi_desktop.base.errors import DownloadError, ErrorCode, ModelError, Param
from kimi_desktop.base.threads import map_at_once
from kimi_desktop.downloads.hubs.addresses import file_url
from kimi_desktop.downloads.remote_header import read_remote_header
from kimi_desktop.downloads.types import RepoFile, RepoListing, Source
from kimi_desktop.models.blocks import block_problem
from kimi_desktop.models.facts import KvRule, companion_kind, facts_of, quantization_label
from kimi_desktop.models.gguf import GgufHeader
from kimi_desktop.models.types import ModelFacts

AT_ONCE = 6
"""Headers that are fetched side by side."""
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.gguf", re.IGNORECASE)
_COMPANIONS = ("mmproj", "imatrix")


@dataclass(frozen=True, slots=True)
class RemoteSet:
    """One model of a repository: a file, or the parts of a set by their number."""

    quantization: str
    """"UD-Q4_K_XL"; the file's name when it has no label."""
    parts: tuple[RepoFile, ...]
    total: int
    """As the names say."""
    missing: tuple[int, ...] = ()
    """Numbers of the parts that the repository lacks."""

    @property
    def size_bytes(self) -> int:
        """Of all parts that are there."""
        return sum(part.size_bytes for part in self.parts)

    @property
    def path(self) -> str:
        """Of the first part."""
        return self.parts[0].path


def gguf_sets(files: Iterable[RepoFile]) -> tuple[RemoteSet, ...]:
    """The models among the files of a repository, the largest first; projectors are left out."""
    found: dict[tuple[str, int], dict[int, RepoFile]] = {}
    for file in files:
        path = PurePosixPath(file.path)
        name = path.name.casefold()
        if not name.endswith(".gguf") or any(mark in name for mark in _COMPANIONS):
            continue
        match = _PART.fullmatch(path.name)
        number, total = (int(match["number"]), int(match["total"])) if match else (1, 1)
        if match and 1 <= number <= total:
            key = (str(path.parent / match["stem"]), total)
        else:
            key, number = (str(path.parent / path.stem), 1), 1
        found.setdefault(key, {}).setdefault(number, file)
    sets = [_set(stem, total, parts) for (stem, total), parts in found.items()]
    return tuple(sorted(sets, key=lambda one: (-one.size_bytes, one.path)))


def _set(stem: str, total: int, parts: dict[int, RepoFile]) -> RemoteSet:
    path = PurePosixPath(stem)
    label = quantization_label(path.name) or quantization_label(path.parent.name) or path.name
    return RemoteSet(
        quantization=label,
        parts=tuple(parts[number] for number in sorted(parts)),
        total=total,
        missing=tuple(number for number in range(1, total + 1) if number not in parts),
    )


def read_remote_facts(
    listing: RepoListing, one: RemoteSet, kv_rule: KvRule, *, token: str | None = None
) -> ModelFacts:
    """What the headers of a set say, the same facts as of a file on this computer.

    Args:
        listing: of the repository.
        one: the set.
        kv_rule: as for local files.
        token: of the listing's hub, for what not everybody may read.

    Raises:
        DownloadError: a header cannot be fetched.
        ModelError: a part is missing, a header is damaged, or this is no model of its own.
    """
    if one.missing:
        numbers = ", ".join(map(str, one.missing))
        params: dict[str, Param] = {
            "path": f"{listing.repo}/{one.path}",
            "missing": len(one.missing),
            "total": one.total,
            "which": numbers,
        }
        raise ModelError(ErrorCode.MODEL_PART_MISSING, params)

    def header_of(part: RepoFile) -> GgufHeader:
        source = Source(listing.kind, listing.endpoint, listing.repo, listing.commit, part.path)
        try:
            label = f"{listing.repo}/{part.path}"
            return read_remote_header(file_url(source), label=label, token=token)
        except DownloadError as error:
            raise _named(error, listing, part) from error

    headers = map_at_once(header_of, one.parts, AT_ONCE)
    name = PurePosixPath(one.path).name
    if companion_kind(headers[0], name) is not None:
        raise ModelError(ErrorCode.MODEL_COMPANION, {"path": f"{listing.repo}/{one.path}"})
    tensors = (tensor for header in headers for tensor in header.tensors)
    if problem := block_problem(headers[0], tensors, f"{listing.repo}/{one.path}"):
        raise problem
    return facts_of(headers, name, kv_rule)


def _named(error: DownloadError, listing: RepoListing, part: RepoFile) -> DownloadError:
    """A 404 names the repository and the file instead of a signed address."""
    if error.code is not ErrorCode.DOWNLOAD_NOT_FOUND:
        return error
    params = {**error.params, "repo": listing.repo, "file": part.path}
    return DownloadError(error.code, params, cause=error)
