"""Control calls: what a hub says about a file. Blocking; runs in the worker.

Sizes and SHA-256 come from the listings of a pinned commit (Hugging Face) or branch (ModelScope):
the hash of the whole file is the only proof that hubs publish.
"""

from __future__ import annotations

import json
import re
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any

import httpx

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.transport import (
    USER_AGENT,
    certificate_problem,
    is_private,
    tls_context,
)
from kimi_desktop.downloads.types import HubKind, RemoteFile, Source

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
MAX_BODY_BYTES = 32 * 2**20
MAX_PAGES = 200
MAX_FILE_BYTES = 2**50
RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
ATTEMPTS = 3
MAX_WAIT_S = 30.0

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NEXT = re.compile(r"<([^>]+)>\s*;\s*rel=\"next\"")
_MISSING = ("RepoNotFound", "RevisionNotFound", "EntryNotFound")
_EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def find_file(source: Source) -> RemoteFile:
    """Size, hash and address of a file.

    Raises:
        DownloadError: OFFLINE, NOT_FOUND, REFUSED (private, gated, too many requests), PORTAL
            (a web page instead of an answer), or BAD_LISTING.
    """
    with _HubClient(source) as hub:
        if source.kind is HubKind.MODELSCOPE:
            return hub.find_on_modelscope()
        return hub.find_on_huggingface()


@dataclass(frozen=True, slots=True)
class _Answer:
    """A whole answer of a control call."""

    status: int
    headers: httpx.Headers
    content: bytes

    @property
    def is_page(self) -> bool:
        """HTML where none is due."""
        return "html" in self.headers.get("Content-Type", "") or self.content.lstrip()[:1] == b"<"


class _HubClient:
    """One short visit to one hub."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._host = urllib.parse.urlsplit(source.endpoint).hostname or source.endpoint
        self._http = httpx.Client(
            headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
            timeout=TIMEOUT,
            verify=tls_context(),
            trust_env=not is_private(self._host),
            follow_redirects=False,
        )

    def __enter__(self) -> _HubClient:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def find_on_huggingface(self) -> RemoteFile:
        source = self._source
        revision = urllib.parse.quote(source.revision, safe="")
        base = f"{source.endpoint}/api/models/{source.repo}"
        info = self._json(f"{base}/revision/{revision}")
        commit = info.get("sha") if isinstance(info, dict) else None
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise self._bad_listing("sha")
        url: str | None = f"{base}/tree/{commit}?recursive=true&expand=false"
        for _ in range(MAX_PAGES):
            answer = self._get(url or "")
            entries = self._parse(answer)
            if not isinstance(entries, list):
                raise self._bad_listing("tree")
            for entry in entries:
                if isinstance(entry, dict) and entry.get("path") == source.path:
                    lfs = entry.get("lfs")
                    if not isinstance(lfs, dict):
                        raise self._bad_listing("lfs")
                    path = urllib.parse.quote(source.path)
                    return self._remote(
                        f"{source.endpoint}/{source.repo}/resolve/{commit}/{path}",
                        lfs.get("size"),
                        lfs.get("oid"),
                    )
            url = self._next_page(answer)
            if url is None:
                raise self._not_found()
        raise self._bad_listing("pages")

    def find_on_modelscope(self) -> RemoteFile:
        source = self._source
        revision = urllib.parse.quote(source.revision, safe="")
        base = f"{source.endpoint}/api/v1/models/{source.repo}"
        folder = source.path.rpartition("/")[0]
        root = f"&Root={urllib.parse.quote(folder, safe='')}" if folder else ""
        listing = self._json(f"{base}/repo/files?Revision={revision}&Recursive=False{root}")
        if not isinstance(listing, dict) or not listing.get("Success"):
            raise self._not_found()
        data = listing.get("Data")
        files = data.get("Files") if isinstance(data, dict) else None
        if not isinstance(files, list):
            raise self._bad_listing("Files")
        for entry in files:
            if isinstance(entry, dict) and entry.get("Path") == source.path:
                path = urllib.parse.quote(source.path, safe="")
                digest = entry.get("Sha256")
                return self._remote(
                    f"{base}/repo?Revision={revision}&FilePath={path}",
                    entry.get("Size"),
                    digest.lower() if isinstance(digest, str) else digest,
                )
        raise self._not_found()

    # answers

    def _remote(self, url: str, size: object, digest: object) -> RemoteFile:
        if not isinstance(size, int) or isinstance(size, bool) or not 0 < size <= MAX_FILE_BYTES:
            raise self._bad_listing("size")
        if not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise self._bad_listing("sha256")
        if digest == _EMPTY_SHA256:  # some listings carry the hash of nothing
            raise self._bad_listing("sha256")
        return RemoteFile(url, size, digest)

    def _json(self, url: str) -> Any:  # noqa: ANN401
        return self._parse(self._get(url))

    def _parse(self, answer: _Answer) -> Any:  # noqa: ANN401
        if answer.is_page:
            raise self._portal()
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError) as error:
            raise self._bad_listing("JSON") from error

    def _get(self, url: str) -> _Answer:
        """The answer with status 200; waits and asks again where that may help."""
        answer = self._ask(url)
        for attempt in range(1, ATTEMPTS):
            if answer.status not in RETRY_STATUSES:
                break
            time.sleep(min(_wait_s(answer, attempt), MAX_WAIT_S))
            answer = self._ask(url)
        if answer.status == 200:
            return answer
        # A hub answers its API itself: a redirect or a page means a sign-in first.
        if 300 <= answer.status < 400 or (answer.status == 404 and answer.is_page):
            raise self._portal()
        hidden = answer.status == 401 and answer.headers.get("X-Error-Code") in _MISSING
        if answer.status == 404 or hidden:
            raise self._not_found()
        raise self._refused(f"HTTP {answer.status}")

    def _ask(self, url: str) -> _Answer:
        try:
            with self._http.stream("GET", url) as answer:
                body = bytearray()
                for piece in answer.iter_bytes():
                    body += piece
                    if len(body) > MAX_BODY_BYTES:
                        raise self._bad_listing("length")
                return _Answer(answer.status_code, answer.headers, bytes(body))
        except httpx.HTTPError as error:
            if problem := certificate_problem(error):
                raise self._refused(problem) from error
            raise DownloadError(
                ErrorCode.DOWNLOAD_OFFLINE, {"host": self._host}, cause=error
            ) from error

    def _next_page(self, answer: _Answer) -> str | None:
        match = _NEXT.search(answer.headers.get("Link", ""))
        if match is None:
            return None
        url: str = urllib.parse.urljoin(f"{self._source.endpoint}/", match[1])
        here, there = urllib.parse.urlsplit(self._source.endpoint), urllib.parse.urlsplit(url)
        if (here.scheme, here.netloc) != (there.scheme, there.netloc):
            raise self._bad_listing("Link")
        return url

    def _not_found(self) -> DownloadError:
        params = {"host": self._host, "repo": self._source.repo, "file": self._source.path}
        return DownloadError(ErrorCode.DOWNLOAD_NOT_FOUND, params)

    def _bad_listing(self, what: str) -> DownloadError:
        return DownloadError(ErrorCode.DOWNLOAD_BAD_LISTING, {"host": self._host, "detail": what})

    def _refused(self, why: str) -> DownloadError:
        return DownloadError(ErrorCode.DOWNLOAD_REFUSED, {"host": self._host, "detail": why})

    def _portal(self) -> DownloadError:
        return DownloadError(ErrorCode.DOWNLOAD_PORTAL, {"host": self._host})


def _wait_s(answer: _Answer, attempt: int) -> float:
    """What the server asks for, else a growing pause."""
    limit = re.search(r"r=0;\s*t=(\d+)", answer.headers.get("RateLimit", ""))
    asked = limit[1] if limit else answer.headers.get("Retry-After", "")
    return float(asked) + 1.0 if asked.isdigit() else 0.25 * 2**attempt
