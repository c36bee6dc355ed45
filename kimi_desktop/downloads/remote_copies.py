"""Headers of a repository's files with their bytes, for asking an engine about them. Blocking."""

from __future__ import annotations

from pathlib import PurePosixPath

from kimi_desktop.base.threads import map_at_once
from kimi_desktop.downloads.hubs.addresses import file_url
from kimi_desktop.downloads.remote_header import RemoteSource
from kimi_desktop.downloads.remote_sets import AT_ONCE, RemoteSet
from kimi_desktop.downloads.types import RepoFile, RepoListing, Source
from kimi_desktop.models.header_copy import HeaderCopy, copy_header


def copy_remote_header(listing: RepoListing, part: RepoFile) -> HeaderCopy:
    """The header of one file: two requests.

    Raises:
        DownloadError: it cannot be fetched.
        ModelError: it is damaged.
    """
    source = Source(listing.kind, listing.endpoint, listing.repo, listing.commit, part.path)
    with RemoteSource(file_url(source)) as remote:
        return copy_header(remote, PurePosixPath(part.path).name)


def copy_remote_headers(listing: RepoListing, one: RemoteSet) -> tuple[HeaderCopy, ...]:
    """The headers of all parts of a set, several at once.

    Raises:
        DownloadError: one of them cannot be fetched.
        ModelError: one of them is damaged.
    """
    return tuple(map_at_once(lambda part: copy_remote_header(listing, part), one.parts, AT_ONCE))
