"""Asks the release API which versions there are and what is in them. Blocking (pool).

The API is GitHub's: ``/repos/OWNER/NAME/releases`` with ``assets[].digest`` ("sha256:...").
"""

from __future__ import annotations

import http
import math
import re
import time
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode, Param
from kimi_desktop.downloads.engine_builds.types import Archive, Release
from kimi_desktop.downloads.hubs.control import Answer, ControlClient
from kimi_desktop.downloads.hubs.limits import MOST_WAIT_S, wait_s
from kimi_desktop.downloads.names import name_problem
from kimi_desktop.downloads.types import HubKind

NEWEST = 10
"""Releases looked at: the very newest may still lack archives that take long to build."""

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class ReleasePlace:
    """Where the releases of a program are."""

    api: str
    site: str
    """Where the archives are fetched from."""
    repo: str

    @property
    def host(self) -> str:
        """For people."""
        return urllib.parse.urlsplit(self.site).hostname or self.site


class _ReleaseClient(ControlClient):
    """The same manners as with hubs; GitHub says "too many requests" with a 403."""

    def _refusal(self, answer: Answer) -> DownloadError:
        if answer.status == http.HTTPStatus.FORBIDDEN:
            left = answer.headers.get("X-RateLimit-Remaining", "")
            asked = wait_s(answer.headers)
            if left == "0" or asked is not None:
                wait = _until(answer.headers) if asked is None else asked
                params: dict[str, Param] = {"host": self.host, "wait_s": math.ceil(wait)}
                return DownloadError(ErrorCode.HUB_BUSY, params)
        return super()._refusal(answer)


def list_releases(place: ReleasePlace) -> tuple[Release, ...]:
    """The newest published versions, the newest first.

    Raises:
        DownloadError: DOWNLOAD_OFFLINE, HUB_BUSY, DOWNLOAD_BAD_LISTING and others of hubs.
    """
    with _ReleaseClient(HubKind.GITHUB, place.api, place.repo) as client:
        raw = client.json(f"{place.api}/repos/{place.repo}/releases?per_page={NEWEST}")
        if not isinstance(raw, list):
            raise client.nonsense("releases")
        found = [_release(entry) for entry in raw if isinstance(entry, dict)]
    return tuple(release for release in found if release is not None)


def release_named(place: ReleasePlace, tag: str) -> Release:
    """One version.

    Raises:
        DownloadError: BUILD_NO_RELEASE, and as ``list_releases``.
    """
    unknown = DownloadError(ErrorCode.BUILD_NO_RELEASE, {"tag": tag[:80], "host": place.host})
    if not _TAG.fullmatch(tag):
        raise unknown
    with _ReleaseClient(HubKind.GITHUB, place.api, place.repo) as client:
        try:
            raw = client.json(f"{place.api}/repos/{place.repo}/releases/tags/{tag}")
        except DownloadError as error:
            if error.code is ErrorCode.HUB_NO_REPO:  # what a 404 means to a hub
                raise unknown from error
            raise
        release = _release(raw) if isinstance(raw, dict) else None
        if release is None:
            raise client.nonsense("release")
    return release


def _release(raw: Mapping[str, Any]) -> Release | None:
    """None for a draft, a preview, or what cannot be understood."""
    tag, assets = raw.get("tag_name"), raw.get("assets")
    if raw.get("draft") or raw.get("prerelease") or not isinstance(assets, list):
        return None
    if not isinstance(tag, str) or not _TAG.fullmatch(tag):
        return None
    found = [_archive(entry) for entry in assets if isinstance(entry, dict)]
    return Release(tag, tuple(archive for archive in found if archive is not None))


def _archive(raw: Mapping[str, Any]) -> Archive | None:
    name, size = raw.get("name"), raw.get("size")
    if not isinstance(name, str) or name_problem(name) is not None or "/" in name:
        return None
    if type(size) is not int or size <= 0 or raw.get("state", "uploaded") != "uploaded":
        return None
    digest = _DIGEST.fullmatch(str(raw.get("digest", "")))
    return Archive(name, size, digest[1] if digest else "")


def _until(headers: Mapping[str, str]) -> float:
    """Seconds to the end of the quota's window."""
    reset = headers.get("X-RateLimit-Reset", "")
    if not (reset.isascii() and reset.isdigit()):
        return MOST_WAIT_S
    return min(max(float(reset) - time.time(), 1.0), MOST_WAIT_S)
