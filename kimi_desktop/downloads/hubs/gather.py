"""The same repository on several hubs: asked side by side, joined only by equal hashes. Blocking.

Names and sizes join nothing: a file of two hubs is one file when both publish the same SHA-256 (or,
for small files of two Hugging Face hubs, the same git blob). The first hub in the given order that
answers leads: its hashes are what the download is held to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.threads import map_at_once
from kimi_desktop.downloads.hubs.hub import Hub, HubClient
from kimi_desktop.downloads.types import HubKind, RepoFile, RepoListing, Source

_NOT_TELLING = (ErrorCode.DOWNLOAD_OFFLINE, ErrorCode.DOWNLOAD_PORTAL)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A hub that does not offer the repository, and why."""

    hub: Hub
    error: DownloadError


@dataclass(frozen=True, slots=True)
class Gathered:
    """Who offers a repository."""

    leading: RepoListing
    others: tuple[RepoListing, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def sources_of(self, file: RepoFile) -> tuple[Source, ...]:
        """Everybody who offers exactly this file, the leading hub first."""
        leading = self.leading
        found = [_source(leading, file.path)]
        for listing in self.others:
            # Other paths are fine, but the same one is the likeliest.
            for other in sorted(listing.files, key=lambda one: one.path != file.path):
                if is_same(file, other):
                    found.append(_source(listing, other.path))
                    break
        return tuple(found)

    @property
    def disagreements(self) -> tuple[str, ...]:
        """Paths of which another hub publishes another hash: an older upload, or worse."""
        known = {file.path: file for file in self.leading.files}
        return tuple(
            dict.fromkeys(
                other.path
                for listing in self.others
                for other in listing.files
                if (mine := known.get(other.path)) is not None
                and mine.sha256 is not None
                and other.sha256 is not None
                and not is_same(mine, other)
            )
        )


def is_same(one: RepoFile, other: RepoFile) -> bool:
    """Whether a hash says so. Without one nothing does."""
    if one.size_bytes != other.size_bytes:
        return False
    if one.sha256 is not None and other.sha256 is not None:
        return one.sha256 == other.sha256
    return one.git_sha1 is not None and one.git_sha1 == other.git_sha1


def gather(
    client: HubClient,
    hubs: Sequence[Hub],
    repo: str,
    revision: str | None = None,
    *,
    names: Mapping[str, str] | None = None,
) -> Gathered:
    """Ask every hub for a repository.

    Args:
        client: asks.
        hubs: the most trusted first.
        repo: "owner/name".
        revision: of Git hubs; the others are asked for their default branch.
        names: by the id of a hub, what the repository is called there instead.

    Raises:
        DownloadError: no hub offers it; what the most telling one said.
    """

    def ask(hub: Hub) -> RepoListing | Refusal:
        name = (names or {}).get(hub.id, repo)
        wanted = None if hub.kind is HubKind.MODELSCOPE and len(hubs) > 1 else revision
        try:
            return client.list_repo(hub, name, wanted)
        except DownloadError as error:
            return Refusal(hub, error)

    answers = map_at_once(ask, hubs, len(hubs))
    listings = [answer for answer in answers if isinstance(answer, RepoListing)]
    refusals = tuple(answer for answer in answers if isinstance(answer, Refusal))
    if not listings:
        raise _telling(refusals)
    return Gathered(listings[0], tuple(listings[1:]), refusals)


def _telling(refusals: Iterable[Refusal]) -> DownloadError:
    """What a person can do something about, rather than "offline"."""
    errors = [refusal.error for refusal in refusals]
    for last_resort in (_NOT_TELLING, ()):
        for error in errors:
            if error.code not in last_resort:
                return error
    raise ValueError("no hub was asked")


def _source(listing: RepoListing, path: str) -> Source:
    return Source(listing.kind, listing.endpoint, listing.repo, listing.commit, path)
