"""Whether an answer carries the bytes that were asked for, and what cures it when not. Pure.

Everything is decided before a byte of the body is read.
"""

from __future__ import annotations

import http
import http.client
import math
import urllib.parse
from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.errors import DownloadError, ErrorCode, Param
from kimi_desktop.base.tls import certificate_problem
from kimi_desktop.downloads.hubs.addresses import origin_of, page_url
from kimi_desktop.downloads.hubs.limits import wait_s
from kimi_desktop.downloads.line import RangeAnswer
from kimi_desktop.downloads.transport import is_offline
from kimi_desktop.downloads.types import FileJob, Source

_PASSING = frozenset({408, 429, 500, 502, 503, 504, *range(520, 530)})
"""Statuses that another try may change."""
_WAITING = ("RateLimit", "Retry-After", "Date")
COMMIT_HEADER = "X-Repo-Commit"
"""Hugging Face's word on every answer about a file, the redirect to its CDN included."""
_MISSING = {"RevisionNotFound": ErrorCode.HUB_NO_REVISION, "RepoNotFound": ErrorCode.HUB_NO_REPO}


class Cure(StrEnum):
    """What helps."""

    RETRY = "retry"
    """The same again after a pause; bytes so far are kept."""
    RESOLVE = "resolve"
    """A new signed address, at once."""
    WAIT = "wait"
    """The origin wants to be left alone; others may be asked."""
    OFFLINE = "offline"
    """Nobody can be reached: look again now and then."""
    WRONG = "wrong"
    """An answer that cannot be right: once more, then another source."""
    ANOTHER = "another"
    """This source will not have it."""
    WHOLE = "whole"
    """The server knows no ranges: the file in one stream."""


class TroubleError(Exception):
    """What went wrong with one request."""

    def __init__(
        self, cure: Cure, error: DownloadError, *, wait_s: float | None = None, origin: str = ""
    ) -> None:
        self.cure = cure
        self.error = error
        self.wait_s = wait_s
        """What the server asked for."""
        self.origin = origin or str(error.params.get("host", ""))
        super().__init__(f"{cure.value}: {error}")


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, and of whom."""

    job: FileJob
    source: Source
    start: int
    has_token: bool = False

    @property
    def host(self) -> str:
        """For people."""
        return urllib.parse.urlsplit(self.source.endpoint).hostname or self.source.endpoint


def check(answer: RangeAnswer, request: Request) -> bool:
    """Accept or refuse an answer.

    Returns:
        True for the range that was asked for; False for the whole file from its first byte.

    Raises:
        TroubleError: it is no good.
    """
    if answer.status == http.HTTPStatus.NETWORK_AUTHENTICATION_REQUIRED:
        raise _portal(request)
    if answer.status not in (200, 206):
        raise _refusal(answer, request)
    _check_identity(answer, request)
    sent = answer.content_range
    if sent is not None:  # some answer 200 with a Content-Range: the header decides
        if sent.total != request.job.size_bytes:
            raise _changed(request, Cure.WRONG)
        if sent.start != request.start or sent.end < sent.start:
            raise _broken(request, Cure.WRONG, f"bytes {sent.start}-{sent.end}/{sent.total}")
        return True
    if answer.status == http.HTTPStatus.PARTIAL_CONTENT:
        raise _broken(request, Cure.WRONG, "no Content-Range")
    if answer.length is not None and answer.length != request.job.size_bytes:
        if _is_page(answer):
            raise _portal(request)
        detail = f"{answer.length} bytes instead of {request.job.size_bytes}"
        raise _broken(request, Cure.WRONG, detail)
    if answer.length is None and _is_page(answer):
        raise _portal(request)
    if request.start:
        raise _broken(request, Cure.WHOLE, "no ranges")
    return False


def of_exception(error: BaseException, request: Request) -> TroubleError:
    """What a broken connection means."""
    if isinstance(error, TroubleError):
        return error
    if isinstance(error, DownloadError):  # a redirect that is not followed
        return TroubleError(Cure.ANOTHER, error)
    if problem := certificate_problem(error):
        code = ErrorCode.DOWNLOAD_REFUSED
        if "not yet valid" in problem:
            code = ErrorCode.DOWNLOAD_CLOCK_WRONG
        params = {"host": request.host, "detail": problem}
        return TroubleError(Cure.ANOTHER, DownloadError(code, params, cause=error))
    if is_offline(error):
        params = {"host": request.host}
        offline = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, params, cause=error)
        return TroubleError(Cure.OFFLINE, offline)
    if "407" in str(error) and "Tunnel" in str(error):
        params = {"host": request.host, "detail": "HTTP 407 (proxy)"}
        return TroubleError(Cure.ANOTHER, DownloadError(ErrorCode.DOWNLOAD_REFUSED, params))
    detail = str(error) or type(error).__name__
    params = {"host": request.host, "detail": detail}
    broken = DownloadError(ErrorCode.DOWNLOAD_BROKEN, params, cause=error)
    return TroubleError(Cure.RETRY, broken)


def short_body(request: Request) -> TroubleError:
    """The connection ended before the range did."""
    return _broken(request, Cure.RETRY, "short body")


def _check_identity(answer: RangeAnswer, request: Request) -> None:
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise _broken(request, Cure.WRONG, "compressed")
    linked, expected = answer.linked_sha256, request.job.sha256
    if linked and expected and linked != expected:
        raise _changed(request, Cure.ANOTHER)


def _refusal(answer: RangeAnswer, request: Request) -> TroubleError:
    status = answer.status
    of_hub = origin_of(answer.url) == origin_of(request.source.endpoint)
    if status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        total = answer.total_of_416
        if total is not None and total != request.job.size_bytes:
            return _changed(request, Cure.ANOTHER)
        return _broken(request, Cure.WRONG, "HTTP 416")
    if status in _PASSING:
        asked = wait_s({name: answer.headers.get(name, "") for name in _WAITING})
        is_busy = status == http.HTTPStatus.TOO_MANY_REQUESTS
        code = ErrorCode.HUB_BUSY if is_busy else ErrorCode.HUB_TROUBLE
        params: dict[str, Param] = {
            "host": request.host,
            "detail": f"HTTP {status}",
            "wait_s": math.ceil(asked or 0),
        }
        cure = Cure.WAIT if is_busy or asked is not None else Cure.RETRY
        error = DownloadError(code, params)
        return TroubleError(cure, error, wait_s=asked, origin=origin_of(answer.url))
    if not of_hub and status in (400, 401, 403, 404, 410):
        return _refused(request, Cure.RESOLVE, f"HTTP {status}")
    if status in (401, 403, 404, 410):
        return _refused_by_hub(answer, request)
    return _refused(request, Cure.ANOTHER, f"HTTP {status}")


def _refused_by_hub(answer: RangeAnswer, request: Request) -> TroubleError:
    code = answer.headers.get("X-Error-Code", "")
    source = request.source
    params: dict[str, Param] = {
        "host": request.host,
        "repo": source.repo,
        "file": source.path,
        "revision": source.revision,
        "page": page_url(source.kind, source.endpoint, source.repo),
        "detail": f"HTTP {answer.status}",
    }
    if code == "GatedRepo":
        known = ErrorCode.HUB_GATED if request.has_token else ErrorCode.HUB_GATED_NO_TOKEN
    elif code in _MISSING:
        known = _MISSING[code]
    elif answer.status == http.HTTPStatus.UNAUTHORIZED and request.has_token:
        known = ErrorCode.HUB_BAD_TOKEN
    elif answer.status in (404, 410) or code == "EntryNotFound":
        known = ErrorCode.DOWNLOAD_NOT_FOUND
    else:
        known = ErrorCode.DOWNLOAD_REFUSED
    return TroubleError(Cure.ANOTHER, DownloadError(known, params))


def _is_page(answer: RangeAnswer) -> bool:
    """By its type, or because it begins as a page does and no hub says what it is."""
    if "html" in answer.headers.get("Content-Type", "").lower():
        return True
    return COMMIT_HEADER not in answer.hub_headers and answer.peek(1) == b"<"


def _portal(request: Request) -> TroubleError:
    # As good as no network: it passes once somebody has signed in.
    portal = DownloadError(ErrorCode.DOWNLOAD_PORTAL, {"host": request.host})
    return TroubleError(Cure.OFFLINE, portal)


def _changed(request: Request, cure: Cure) -> TroubleError:
    params = {"host": request.host, "file": request.job.target}
    return TroubleError(cure, DownloadError(ErrorCode.DOWNLOAD_CHANGED, params))


def _broken(request: Request, cure: Cure, detail: str) -> TroubleError:
    params = {"host": request.host, "detail": detail}
    return TroubleError(cure, DownloadError(ErrorCode.DOWNLOAD_BROKEN, params))


def _refused(request: Request, cure: Cure, detail: str) -> TroubleError:
    params = {"host": request.host, "detail": detail}
    return TroubleError(cure, DownloadError(ErrorCode.DOWNLOAD_REFUSED, params))
