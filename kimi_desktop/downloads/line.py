"""The data plane: one ranged GET with our own redirect policy. Blocking; runs in the worker.

``http.client`` moves verified bytes with half the CPU of httpx (measured), so bytes come this way
and only control calls use httpx. Everything that moves model data goes through ``open_range``.
"""

from __future__ import annotations

import email.utils
import http.client
import re
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hubs.addresses import origin_of, token_headers
from kimi_desktop.downloads.transport import USER_AGENT, Link, connect, may_follow

STALL_TIMEOUT_S = 20.0
"""A connection that brings no byte for this long is given up."""
MAX_REDIRECTS = 5
MAX_REDIRECT_BYTES = 16 * 1024
SIGNATURE_MARGIN_S = 300.0
"""A signed address is not used for a new request so shortly before it expires."""
UNDATED_SIGNATURE_S = 600.0

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_UNSATISFIED = re.compile(r"bytes \*/(\d+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class AbortedError(OSError):
    """Another thread gave this line up."""


@dataclass(frozen=True, slots=True)
class ContentRange:
    """Which bytes an answer carries."""

    start: int
    end: int
    """The last byte."""
    total: int


class RangeAnswer:
    """An open answer. Use as a context manager."""

    def __init__(
        self,
        line: Line,
        url: str,
        link: Link,
        answer: http.client.HTTPResponse,
    ) -> None:
        self.url = url
        self.status = answer.status
        self.headers = answer.headers
        self.hub_headers = answer.headers
        """Those of the first answer: a hub describes the file where it redirects."""
        self._line = line
        self._link = link
        self._answer = answer
        self._left = None if answer.chunked else answer.length
        self._buffered = True

    @property
    def content_range(self) -> ContentRange | None:
        """The parsed Content-Range, or None (absent or not understood)."""
        match = _CONTENT_RANGE.fullmatch(self.headers.get("Content-Range", "").strip())
        return ContentRange(*map(int, match.groups())) if match else None

    @property
    def total_of_416(self) -> int | None:
        """The length that a server names when it has no such range."""
        match = _UNSATISFIED.fullmatch(self.headers.get("Content-Range", "").strip())
        return int(match[1]) if match else None

    @property
    def length(self) -> int | None:
        """Bytes of the body that are still to come; None when the server does not say."""
        return self._left

    @property
    def linked_sha256(self) -> str | None:
        """The hash that the hub gives with the redirect."""
        tag = self.hub_headers.get("X-Linked-ETag", "").removeprefix("W/").strip('"')
        return tag if _SHA256.fullmatch(tag) else None

    def peek(self, count: int) -> bytes:
        """The first bytes of the body, without taking them; b"" when it has none.

        Raises:
            OSError, http.client.HTTPException: the connection broke or stalled.
        """
        return self._answer.peek(count)[:count]

    def readinto(self, buffer: memoryview) -> int:
        """Put what has come into ``buffer``; 0 at the end of the body.

        One read of the socket at most: ``HTTPResponse.readinto`` waits for a full buffer, and
        loses what it has when the connection breaks meanwhile.

        Raises:
            OSError, http.client.HTTPException: the connection broke or stalled.
        """
        self._line.stop_if_aborted()
        if self._left is None:  # chunked, or up to the end of the connection
            piece = self._answer.read1(len(buffer))
            buffer[: len(piece)] = piece
            return len(piece)
        if not self._left:
            return 0
        count = self._read(buffer[: self._left])
        self._line.stop_if_aborted()  # what came with the shutdown is no data
        self._left -= count
        return count

    def _read(self, buffer: memoryview) -> int:
        """From the socket itself once the bytes that came with the headers are used up."""
        if self._buffered:
            early = self._answer.fp.peek()[: len(buffer)]
            if early:
                # Not more than what was there, so that this does not read the socket again.
                return self._answer.fp.readinto1(buffer[: len(early)])
            self._buffered = False
        if self._answer.will_close or self._link.socket is None:
            return self._answer.fp.readinto1(buffer)
        return self._link.socket.recv_into(buffer)

    def close(self) -> None:
        """End it; the connection is kept when the whole body was read."""
        read_up = self._left == 0 and not self._answer.will_close and not self._line.aborted
        self._answer.close()
        if not read_up or not self._line.keeps:
            self._line.drop(self._link)

    def __enter__(self) -> RangeAnswer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class _Signed:
    """Where an address led to, and until when (time.monotonic) that may be asked again."""

    url: str
    good_until: float
    hub_headers: Any


class Line:
    """What one thread keeps between its requests: connections, and signed addresses over them.

    A signed address lasts as long as the connection that it was first used on, so that every new
    connection asks the hub again. Only ``abort`` may come from another thread.
    """

    def __init__(self, *, keeps: bool = True) -> None:
        self.keeps = keeps
        """Whether connections outlast an answer."""
        self.aborted = False
        self._links: dict[str, Link] = {}
        self._signed: dict[str, _Signed] = {}
        self._lock = threading.Lock()

    def ask(self, url: str, start: int, end: int | None, token: str | None = None) -> RangeAnswer:
        """GET the bytes from ``start`` to ``end`` (included; None = to the last).

        Args:
            url: followed through redirects.
            start: the first byte.
            end: the last byte.
            token: sent to the origin of ``url`` and nowhere else.

        Raises:
            DownloadError: DOWNLOAD_REDIRECT for a redirect that must not be followed (loop, a
                downgrade to http, another scheme, into a private network).
            OSError, http.client.HTTPException: no connection.
        """
        self.aborted = False
        signed = self._signed.get(url)
        if signed and signed.good_until > time.monotonic():
            answer = self._ask_again(signed, start, end)
            if answer is not None:
                return answer
        self.forget(url)
        return self._follow(url, start, end, token)

    def leads_to(self, url: str) -> str | None:
        """The origin that would be asked now, over a connection that is kept; None = by the hub."""
        signed = self._signed.get(url)
        if signed is None or signed.good_until <= time.monotonic():
            return None
        origin = origin_of(signed.url)
        return origin if origin in self._links else None

    def forget(self, url: str) -> None:
        """Ask the hub again for where this address leads."""
        self._signed.pop(url, None)

    def abort(self) -> None:
        """Break whatever the line is reading. From any thread."""
        self.aborted = True
        with self._lock:
            links = tuple(self._links.values())
        for link in links:
            link.break_off()

    def stop_if_aborted(self) -> None:
        """Raise AbortedError after ``abort``."""
        if self.aborted:
            raise AbortedError

    def drop(self, link: Link) -> None:
        """Close a connection and forget the addresses that were used on it."""
        link.connection.close()
        with self._lock:
            gone = [origin for origin, kept in self._links.items() if kept is link]
            for origin in gone:
                del self._links[origin]
        for url, signed in list(self._signed.items()):
            if origin_of(signed.url) in gone:
                del self._signed[url]

    def close(self) -> None:
        """Close every connection."""
        for link in tuple(self._links.values()):
            self.drop(link)

    def _ask_again(self, signed: _Signed, start: int, end: int | None) -> RangeAnswer | None:
        """Over the kept connection; None when that does not work any more."""
        link = self._links.get(origin_of(signed.url))
        if link is None:
            return None
        try:
            answer = self._send(link, signed.url, start, end, None)
        except (OSError, http.client.HTTPException):
            if self.aborted:
                raise
            return None
        answer.hub_headers = signed.hub_headers
        return answer

    def _follow(self, url: str, start: int, end: int | None, token: str | None) -> RangeAnswer:
        first = urllib.parse.urlsplit(url)
        here = url
        hub_headers = None
        for _ in range(MAX_REDIRECTS + 1):
            own = origin_of(here) == origin_of(url)
            answer = self._get(here, start, end, token if own else None)
            hub_headers = hub_headers or answer.headers
            answer.hub_headers = hub_headers
            if answer.status not in _REDIRECTS:
                if not own and answer.status < 400:
                    until = time.monotonic() + lifetime_s(here, hub_headers.get("Date"))
                    self._signed[url] = _Signed(here, until, hub_headers)
                return answer
            location = answer.headers.get("Location")
            _drain(answer)
            if not location:
                break
            here = urllib.parse.urljoin(here, location)
            if not may_follow(first, urllib.parse.urlsplit(here)):
                break
        place = urllib.parse.urlsplit(here)
        name = place.netloc.rpartition("@")[2]  # no password, and no signature
        address = urllib.parse.urlunsplit((place.scheme, name, place.path, "", ""))
        params = {"host": first.hostname or "", "address": address}
        raise DownloadError(ErrorCode.DOWNLOAD_REDIRECT, params)

    def _get(self, url: str, start: int, end: int | None, token: str | None) -> RangeAnswer:
        kept = self._links.get(origin_of(url))
        if kept is not None:
            try:
                return self._send(kept, url, start, end, token)
            except (OSError, http.client.HTTPException):  # the server may have closed it
                if self.aborted:
                    raise
        link = connect(url)
        with self._lock:
            self._links[origin_of(url)] = link
        return self._send(link, url, start, end, token)

    def _send(
        self, link: Link, url: str, start: int, end: int | None, token: str | None
    ) -> RangeAnswer:
        headers = {
            "User-Agent": USER_AGENT,
            "Accept-Encoding": "identity",
            "Range": f"bytes={start}-{'' if end is None else end}",
        }
        headers |= token_headers(url, token)
        connection = link.connection
        try:
            connection.request("GET", link.target(url), headers=headers)
            link.socket = connection.sock
            connection.sock.settimeout(STALL_TIMEOUT_S)
            self.stop_if_aborted()
            return RangeAnswer(self, url, link, connection.getresponse())
        except BaseException:
            self.drop(link)
            raise


def _drain(answer: RangeAnswer) -> None:
    """Read the text of a redirect, so that its connection can be kept; then close."""
    buffer = memoryview(bytearray(MAX_REDIRECT_BYTES))
    try:
        if answer.length is not None and answer.length <= MAX_REDIRECT_BYTES:
            while answer.readinto(buffer):
                pass
    finally:
        answer.close()


def open_range(
    url: str, start: int, end: int | None = None, *, token: str | None = None
) -> RangeAnswer:
    """One request over a line of its own; see ``Line.ask``. Closing the answer ends it."""
    return Line(keeps=False).ask(url, start, end, token)


def lifetime_s(url: str, server_date: str | None) -> float:
    """How long a signed address may still be used for new requests.

    By the server's clock: this computer's may be wrong.
    """
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    expires = query.get("Expires", "")
    if not expires.isdigit():
        return UNDATED_SIGNATURE_S
    now = time.time()
    if server_date and (parsed := email.utils.parsedate_tz(server_date)):
        now = email.utils.mktime_tz(parsed)
    return int(expires) - now - SIGNATURE_MARGIN_S
