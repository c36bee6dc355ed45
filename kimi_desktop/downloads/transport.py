"""How this program reaches the network: trust store, proxy, which hosts it follows where.

No thread of its own; the worker's connections and the control calls use it.
"""

from __future__ import annotations

import http.client
import random
import socket
import urllib.parse
import urllib.request
from base64 import b64encode
from contextlib import suppress
from dataclasses import dataclass

from kimi_desktop.base.hosts import is_private
from kimi_desktop.base.tls import tls_context

CONNECT_TIMEOUT_S = 10.0
USER_AGENT = "kimi-desktop"

_RawSocket = socket.socket


@dataclass(slots=True)
class Link:
    """A connection to an origin, perhaps through a proxy."""

    connection: http.client.HTTPConnection
    is_forwarded: bool = False
    """A proxy reads our requests: they name the whole address."""
    socket: socket.socket | None = None
    """The connected one; the connection itself forgets it when the server is to close."""

    def target(self, url: str) -> str:
        """What stands in the first line of a request."""
        parts = urllib.parse.urlsplit(url)
        if self.is_forwarded:
            return parts.geturl()
        return parts._replace(scheme="", netloc="", fragment="").geturl() or "/"

    def break_off(self) -> None:
        """End whatever another thread is reading from it."""
        if self.socket is not None:
            with suppress(OSError):
                # Not by SSLSocket.shutdown: a reader would go on without decryption.
                _RawSocket.shutdown(self.socket, socket.SHUT_RDWR)


def connect(url: str) -> Link:
    """Prepare a connection for a URL, through the user's proxy if there is one.

    It is made by the first request.
    """
    parts = urllib.parse.urlsplit(url)
    host, port = parts.hostname or "", parts.port
    proxy = _proxy(parts)
    if proxy is None:
        return Link(_connection(parts.scheme, host, port))
    login = _proxy_login(proxy)
    if parts.scheme == "https":
        tunnel = _connection("https", proxy.hostname or "", proxy.port)
        tunnel.set_tunnel(host, port or 443, login)
        return Link(tunnel)
    return Link(_connection("http", proxy.hostname or "", proxy.port), is_forwarded=True)


def _connection(scheme: str, host: str, port: int | None) -> http.client.HTTPConnection:
    connection: http.client.HTTPConnection
    if scheme == "https":
        connection = http.client.HTTPSConnection(
            host, port, timeout=CONNECT_TIMEOUT_S, context=tls_context()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S)
    # The library always begins with the first address, also when that edge has just failed.
    connection._create_connection = _connect_to_any  # type: ignore[attr-defined]
    return connection


def _connect_to_any(
    address: tuple[str, int], timeout: float, source_address: tuple[str, int] | None = None
) -> socket.socket:
    """To one of the host's addresses, by chance within the system's preferred family first."""
    host, port = address
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    order = {family: rank for rank, family in reversed(list(enumerate(one[0] for one in found)))}
    found.sort(key=lambda one: (order[one[0]], random.random()))
    problem = OSError(f"no address for {host}")
    for family, kind, protocol, _, place in found:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(timeout)
            if source_address:
                sock.bind(source_address)
            sock.connect(place)
        except OSError as error:
            problem = error
            sock.close()
        else:
            return sock
    raise problem


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


def may_follow(origin: urllib.parse.SplitResult, target: urllib.parse.SplitResult) -> bool:
    """Whether a redirect from ``origin`` may lead to ``target``: never to a worse place."""
    if not target.hostname or target.username:
        return False
    local = is_private(origin.hostname)  # an endpoint that the user runs, as tests do
    if target.scheme == "http" and not (local and origin.scheme == "http"):
        return False
    return target.scheme in ("http", "https") and (local or not is_private(target.hostname))


def is_offline(error: BaseException) -> bool:
    """No route, no name, nobody there: the network is at fault, not the transfer."""
    return isinstance(error, (socket.gaierror, ConnectionRefusedError)) or (
        isinstance(error, OSError) and error.errno in _NO_NETWORK
    )


_NO_NETWORK = frozenset({101, 113, 10051, 10065, 51, 65})
"""ENETUNREACH and EHOSTUNREACH of Linux, Windows and macOS."""
