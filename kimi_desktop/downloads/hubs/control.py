"""Control calls: one short visit to one hub, and what its refusals mean. Blocking (pool, worker).

The token goes to the hub's own origin and nowhere else: redirects are followed only within it (a
renamed repository); one that leads away is a captive portal, for a hub answers its API itself.
"""

from __future__ import annotations

import http
import json
import math
import random
import socket
import threading
import time
import unicodedata
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.hosts import is_private
from kimi_desktop.base.tls import certificate_problem, tls_context
from kimi_desktop.downloads.hubs.addresses import origin_of, page_url, token_headers
from kimi_desktop.downloads.hubs.limits import wait_s
from kimi_desktop.downloads.transport import USER_AGENT
from kimi_desktop.downloads.types import HubKind

TIMEOUT = httpx.Timeout(20.0, connect=5.0)
MAX_BODY_BYTES = 32 * 2**20
MAX_REDIRECTS = 5
RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504, *range(520, 530)})
ATTEMPTS = 3
OFFICIAL = "https://huggingface.co"
MAX_WAIT_S = 30.0
"""A person waits; beyond this the wait is told instead."""
FIRST_WAIT_S = 0.5
MAX_TEXT = 200

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_BAD_TOKEN = "Invalid credentials in Authorization header"


class Pauses:
    """Until when an origin wants to be left alone. Thread-safe; share one among all clients."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}
        self._lock = threading.Lock()

    def note(self, origin: str, seconds: float) -> None:
        """Nobody asks ``origin`` for so long."""
        with self._lock:
            self._until[origin] = max(self._until.get(origin, 0.0), self._clock() + seconds)

    def left_s(self, origin: str) -> float:
        """Seconds still to wait."""
        with self._lock:
            return max(self._until.get(origin, 0.0) - self._clock(), 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer with status 200."""

    url: str
    headers: Mapping[str, str]
    content: bytes
    status: int = 200

    @property
    def is_page(self) -> bool:
        """HTML where none is due."""
        return "html" in self.headers.get("Content-Type", "") or self.content.lstrip()[:1] == b"<"


class ControlClient:
    """Asks one hub about one repository. Use as a context manager."""

    def __init__(
        self,
        kind: HubKind,
        endpoint: str,
        repo: str = "",
        *,
        token: str | None = None,
        pauses: Pauses | None = None,
    ) -> None:
        self.kind = kind
        self.endpoint = endpoint.rstrip("/")
        self.repo = repo
        self.host = urllib.parse.urlsplit(endpoint).hostname or endpoint
        self._origin = origin_of(endpoint)
        self._token = token
        self._pauses = pauses or Pauses()
        self._http = httpx.Client(
            headers={"User-Agent": USER_AGENT, "Accept": "application/json"},
            timeout=TIMEOUT,
            verify=tls_context(),
            trust_env=not is_private(self.host),
            follow_redirects=False,
        )

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(self, *_error: object) -> None:
        self._http.close()

    def json(self, url: str) -> Any:  # noqa: ANN401
        """The parsed body of ``url``."""
        return self.parse(self.get(url))

    def parse(self, answer: Answer) -> Any:  # noqa: ANN401
        """The body of an answer as JSON.

        Raises:
            DownloadError: PORTAL or BAD_LISTING.
        """
        if answer.is_page:
            raise self.portal()
        try:
            return json.loads(answer.content)
        except (ValueError, RecursionError) as error:
            raise self.nonsense("JSON") from error

    def get(self, url: str) -> Answer:
        """The answer with status 200; waits and asks again where that may help.

        Raises:
            DownloadError: what the refusal means.
        """
        for attempt in range(1, ATTEMPTS + 1):
            self._wait_for_pause()
            last = attempt == ATTEMPTS
            try:
                answer = self._follow(url)
            except httpx.TransportError as error:
                if last or _is_hopeless(error):
                    raise self._no_connection(error) from error
                time.sleep(_backoff_s(attempt))
                continue
            if answer.status == http.HTTPStatus.OK:
                return answer
            if answer.status not in RETRY_STATUSES:
                raise self._refusal(answer)
            asked = wait_s(answer.headers)
            wait = _backoff_s(attempt) if asked is None else asked + random.random() / 2
            if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS:
                self._pauses.note(self._origin, wait)
            if last or wait > MAX_WAIT_S:
                raise self._too_much(answer, wait)
            time.sleep(wait)
        raise AssertionError  # the last attempt returned or raised

    def _wait_for_pause(self) -> None:
        left = self._pauses.left_s(self._origin)
        if left > MAX_WAIT_S:
            raise self._busy(left)
        time.sleep(left)

    def _follow(self, url: str) -> Answer:
        """Through redirects within the origin."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._ask(url)
            location = answer.headers.get("Location")
            if answer.status not in _REDIRECTS or not location:
                return answer
            url = self.here(urllib.parse.urljoin(url, location))
            if origin_of(url) != self._origin:
                break
        raise self.portal()

    def here(self, url: str) -> str:
        """An address of Hugging Face itself, as mirrors pass it on, becomes one of the mirror."""
        if self.kind is HubKind.HUGGINGFACE and origin_of(url) == OFFICIAL:
            return self.endpoint + url[len(OFFICIAL) :]
        return url

    def _ask(self, url: str) -> Answer:
        token = self._token if origin_of(url) == self._origin else None
        with self._http.stream("GET", url, headers=token_headers(url, token)) as answer:
            body = bytearray()
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise self.nonsense("length")
            return Answer(url, answer.headers, bytes(body), answer.status_code)

    # what goes wrong

    def _refusal(self, answer: Answer) -> DownloadError:
        """What a status that another try does not change means."""
        code = answer.headers.get("X-Error-Code", "")
        text = readable(answer.headers.get("X-Error-Message", ""))
        named: Mapping[str, Callable[[], DownloadError]] = {
            "GatedRepo": self._gated,
            "RepoNotFound": self.no_repo,
            "RevisionNotFound": lambda: self.no_revision(""),
            "EntryNotFound": lambda: self.no_file(""),
        }
        if code in named:
            return named[code]()
        is_unknown = answer.status == http.HTTPStatus.UNAUTHORIZED
        if text == _BAD_TOKEN or (is_unknown and self._token):
            return DownloadError(ErrorCode.HUB_BAD_TOKEN, {"host": self.host})
        if is_unknown or (answer.status == http.HTTPStatus.NOT_FOUND and not answer.is_page):
            return self.no_repo()
        if answer.status == http.HTTPStatus.NOT_FOUND:
            return self.portal()
        return self.refused(text or f"HTTP {answer.status}")

    def _gated(self) -> DownloadError:
        code = ErrorCode.HUB_GATED if self._token else ErrorCode.HUB_GATED_NO_TOKEN
        page = page_url(self.kind, self.endpoint, self.repo)
        return DownloadError(code, {"repo": self.repo, "host": self.host, "page": page})

    def _too_much(self, answer: Answer, wait: float) -> DownloadError:
        if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS:
            return self._busy(wait)
        params = {"host": self.host, "detail": f"HTTP {answer.status}"}
        return DownloadError(ErrorCode.HUB_TROUBLE, params)

    def _busy(self, wait: float) -> DownloadError:
        return DownloadError(ErrorCode.HUB_BUSY, {"host": self.host, "wait_s": math.ceil(wait)})

    def _no_connection(self, error: httpx.TransportError) -> DownloadError:
        if problem := certificate_problem(error):
            return self.refused(problem)
        return DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": self.host}, cause=error)

    def no_repo(self) -> DownloadError:
        """The repository is not there, or not for us."""
        return DownloadError(ErrorCode.HUB_NO_REPO, {"host": self.host, "repo": self.repo})

    def no_revision(self, revision: str) -> DownloadError:
        """The repository is there, this revision is not."""
        params = {"host": self.host, "repo": self.repo, "revision": revision}
        return DownloadError(ErrorCode.HUB_NO_REVISION, params)

    def no_file(self, path: str) -> DownloadError:
        """The repository is there, this file is not."""
        params = {"host": self.host, "repo": self.repo, "file": path}
        return DownloadError(ErrorCode.DOWNLOAD_NOT_FOUND, params)

    def nonsense(self, what: str) -> DownloadError:
        """An answer that cannot be right; ``what`` names the part of it."""
        return DownloadError(ErrorCode.DOWNLOAD_BAD_LISTING, {"host": self.host, "detail": what})

    def refused(self, why: str) -> DownloadError:
        """A no with the server's own reason."""
        return DownloadError(ErrorCode.DOWNLOAD_REFUSED, {"host": self.host, "detail": why})

    def portal(self) -> DownloadError:
        """Somebody else answers."""
        return DownloadError(ErrorCode.DOWNLOAD_PORTAL, {"host": self.host})


def readable(text: str) -> str:
    """A server's text as one short line that may be shown."""
    kept = (c if unicodedata.category(c)[0] != "C" else " " for c in text)
    return " ".join("".join(kept).split())[:MAX_TEXT]


def _backoff_s(attempt: int) -> float:
    return FIRST_WAIT_S * float(2 ** (attempt - 1)) * random.uniform(0.8, 1.2)


def _is_hopeless(error: httpx.TransportError) -> bool:
    """Nobody there, or nobody to be trusted: another try right now changes nothing."""
    if certificate_problem(error) or isinstance(error, httpx.ConnectTimeout):
        return True
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (ConnectionRefusedError, socket.gaierror)):
            return True
        cause = cause.__cause__ or cause.__context__
    return isinstance(error, httpx.ConnectError)
