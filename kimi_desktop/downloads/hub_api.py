"""What a hub says about one file. Blocking; runs in the worker."""

from __future__ import annotations

import dataclasses
import urllib.parse

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hubs.addresses import file_url
from kimi_desktop.downloads.hubs.hub import HubClient, custom_hub
from kimi_desktop.downloads.types import RemoteFile, Source


def find_file(source: Source) -> RemoteFile:
    """Size, hash and address of a file, pinned to the commit where the hub has commits.

    Raises:
        DownloadError: see ``HubClient.list_repo``; NOT_FOUND when the repository lacks the file;
            BAD_LISTING when nothing proves it.
    """
    hub = custom_hub(source.endpoint, source.kind)
    listing = HubClient().list_repo(hub, source.repo, source.revision)
    host = urllib.parse.urlsplit(source.endpoint).hostname or source.endpoint
    found = next((file for file in listing.files if file.path == source.path), None)
    if found is None:
        params = {"host": host, "repo": source.repo, "file": source.path}
        raise DownloadError(ErrorCode.DOWNLOAD_NOT_FOUND, params)
    if found.sha256 is None or not found.size_bytes:
        params = {"host": host, "detail": "sha256"}
        raise DownloadError(ErrorCode.DOWNLOAD_BAD_LISTING, params)
    pinned = dataclasses.replace(source, revision=listing.commit)
    return RemoteFile(file_url(pinned), found.size_bytes, found.sha256)
