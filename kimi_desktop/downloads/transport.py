"""The data plane: one ranged GET with our own redirect policy. Blocking; runs in the worker.

``http.client`` moves verified bytes with half the CPU of httpx (measured), so bytes come this way
and only control calls use httpx. Everything that moves model data goes through ``open_range``.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import urllib.parse
import urllib.request
from base64 import b64encode
from dataclasses import dataclass
from functools import cache

import certifi

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hubs.addresses import origin_of, token_headers

CONNECT_TIMEOUT_S = 10.0
STALL_TIMEOUT_S = 20.0
"""A connection that brings no byte for this long is given up."""
MAX_REDIRECTS = 5
USER_AGENT = "kimi-desktop"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_UNSATISFIED = re.compile(r"bytes \*/(\d+)")


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
        self, url: str, connection: http.client.HTTPConnection, answer: http.client.HTTPResponse
    ) -> None:
        self.url = url
        self.status = answer.status
        self.headers = answer.headers
        self._connection = connection
        self._answer = answer
        self._left = None if answer.chunked else answer.length

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

    def readinto(self, buffer: memoryview) -> int:
        """Put what has come into ``buffer``; 0 at the end of the body.

        One read of the socket at most: ``HTTPResponse.readinto`` waits for a full buffer, and
        loses what it has when the connection breaks meanwhile.

        Raises:
            OSError, http.client.HTTPException: the connection broke or stalled.
        """
        if self._left is None:  # chunked, or up to the end of the connection
            piece = self._answer.read1(len(buffer))
            buffer[: len(piece)] = piece
            return len(piece)
        count = self._answer.fp.readinto1(buffer[: self._left]) if self._left else 0
        self._left -= count
        return count

    def close(self) -> None:
        """Drop the connection; the rest of the body is not read."""
        self._connection.close()

    def __enter__(self) -> RangeAnswer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@cache
def tls_context() -> ssl.SSLContext:
    """The system's trust store; certifi's where the system has none. Always verifies."""
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:
        context.load_verify_locations(certifi.where())
    return context


def open_range(
    url: str, start: int, end: int | None = None, *, token: str | None = None
) -> RangeAnswer:
    """GET the bytes from ``start`` to ``end`` (included; None = to the last), through redirects.

    The caller checks the status, the Content-Range and the length: servers differ.

    Args:
        url: where to begin.
        start: first byte.
        end: last byte.
        token: of a hub; it goes to the origin of ``url`` and to no other.

    Raises:
        DownloadError: DOWNLOAD_REFUSED for a redirect that must not be followed (loop, a
            downgrade to http, another scheme, into a private network).
        OSError, http.client.HTTPException: no connection.
    """
    origin = urllib.parse.urlsplit(url)
    home = origin_of(url)
    for _ in range(MAX_REDIRECTS + 1):
        answer = _get(url, start, end, token if origin_of(url) == home else None)
        if answer.status not in _REDIRECTS:
            return answer
        location = answer.headers.get("Location")
        answer.close()
        if not location:
            break
        url = urllib.parse.urljoin(url, location)
        if not _may_follow(origin, urllib.parse.urlsplit(url)):
            break
    raise DownloadError(
        ErrorCode.DOWNLOAD_REFUSED, {"host": origin.hostname or "", "detail": "redirect"}
    )


def _get(url: str, start: int, end: int | None, token: str | None) -> RangeAnswer:
    parts = urllib.parse.urlsplit(url)
    connection, target = _connect(parts)
    headers = {
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        "Range": f"bytes={start}-{'' if end is None else end}",
    }
    headers |= token_headers(url, token)
    try:
        connection.request("GET", target, headers=headers)
        if connection.sock is not None:
            connection.sock.settimeout(STALL_TIMEOUT_S)
        return RangeAnswer(url, connection, connection.getresponse())
    except BaseException:
        connection.close()
        raise


def _connect(parts: urllib.parse.SplitResult) -> tuple[http.client.HTTPConnection, str]:
    """A connection for a URL, through the user's proxy if there is one, and the request target."""
    host, port = parts.hostname or "", parts.port
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    proxy = _proxy(parts)
    if proxy is None:
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=CONNECT_TIMEOUT_S, context=tls_context()
            ), path
        return http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S), path
    login = _proxy_login(proxy)
    if parts.scheme == "https":
        tunnel = http.client.HTTPSConnection(
            proxy.hostname or "", proxy.port, timeout=CONNECT_TIMEOUT_S, context=tls_context()
        )
        tunnel.set_tunnel(host, port or 443, login)
        return tunnel, path
    plain = http.client.HTTPConnection(proxy.hostname or "", proxy.port, timeout=CONNECT_TIMEOUT_S)
    return plain, parts.geturl()


def _proxy(parts: urllib.parse.SplitResult) -> urllib.parse.SplitResult | None:
    """The system's or the environment's proxy; never for this computer itself."""
    if is_private(parts.hostname) or urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    address = urllib.request.getproxies().get(parts.scheme)
    if not address:
        return None
    return urllib.parse.urlsplit(address if "//" in address else f"http://{address}")


def _proxy_login(proxy: urllib.parse.SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    pair = f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}


def _may_follow(origin: urllib.parse.SplitResult, target: urllib.parse.SplitResult) -> bool:
    if not target.hostname or target.username:
        return False
    local = is_private(origin.hostname)  # an endpoint that the user runs, as tests do
    if target.scheme == "http" and not (local and origin.scheme == "http"):
        return False
    return target.scheme in ("http", "https") and (local or not is_private(target.hostname))


def is_private(host: str | None) -> bool:
    """A name or address of this computer or of a private network."""
    if not host or host == "localhost" or host.endswith((".localhost", ".local", ".internal")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not address.is_global


def is_offline(error: BaseException) -> bool:
    """No route, no name, nobody there: the network is at fault, not the transfer."""
    return isinstance(error, (socket.gaierror, ConnectionRefusedError)) or (
        isinstance(error, OSError) and error.errno in _NO_NETWORK
    )


def certificate_problem(error: BaseException | None) -> str | None:
    """What is wrong with a certificate, when that is why there is no connection."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return getattr(error, "verify_message", "") or str(error)
        error = error.__cause__ or error.__context__
    return None


_NO_NETWORK = frozenset({101, 113, 10051, 10065, 51, 65})
"""ENETUNREACH and EHOSTUNREACH of Linux, Windows and macOS."""
