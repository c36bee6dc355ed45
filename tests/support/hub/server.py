"""A Hugging Face hub with a mirror, its CDN and a ModelScope hub on loopback.

Hub and CDN have different names and ports (``127.0.0.1`` and ``localhost``): the hub redirects
large files to signed addresses of the CDN, as the real one does. Every request is logged, and a
script of faults decides what goes wrong. No disk is used, whatever the size of the files.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
import ssl
import threading
import time
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.support.hub.answers import Request
from tests.support.hub.cdn import CdnHandler
from tests.support.hub.content import HubFile
from tests.support.hub.faults import FaultScript
from tests.support.hub.huggingface import WINDOW_S, HubHandler
from tests.support.hub.repos import Account, Repo

PAGE_ENTRIES = 1000
MODELSCOPE_ENTRIES = 3000
QUOTAS = {"api": 500, "resolvers": 3000}
"""Of an anonymous address, per five minutes."""
TLS_CERTIFICATE = Path(__file__).parents[2] / "data" / "tls" / "local-hub.pem"
"""Trusted by nobody until ``SSL_CERT_FILE`` names it."""
_SECRET = b"the local hub signs with this"


class _MirrorHandler(HubHandler):
    origin = "mirror"


class _ModelScopeHandler(HubHandler):
    origin = "modelscope"


_ORIGINS = (
    ("127.0.0.1", HubHandler),
    ("127.0.0.1", _MirrorHandler),
    ("127.0.0.1", _ModelScopeHandler),
    ("localhost", CdnHandler),
)


@dataclass
class LocalHub:
    """Serves repositories, the first one given as its name and files. Use as a context manager."""

    repo: str
    first_files: list[HubFile]
    page_entries: int = PAGE_ENTRIES
    modelscope_entries: int = MODELSCOPE_ENTRIES
    upper_case_hashes: bool = False
    """On ModelScope; some listings have them so."""
    signature_s: float = 3600.0
    clock_offset_s: float = 0.0
    """How far the hub's clock is ahead of this computer's."""
    tls: bool = False
    faults: FaultScript = field(default_factory=FaultScript)
    log: list[Request] = field(default_factory=list)
    repos: list[Repo] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    """By token."""
    quotas: dict[str, int] = field(default_factory=lambda: dict(QUOTAS))
    speeds: dict[str, float] = field(default_factory=dict)
    """Bytes per second of a connection, by origin."""

    def __post_init__(self) -> None:
        self.repos.insert(0, Repo.of(self.repo, self.first_files))
        self.closing = threading.Event()
        self.endpoints: dict[str, str] = {}
        self._servers: list[OriginServer] = []
        self._used: dict[tuple[str, str], int] = {}
        self._window_began = time.monotonic()
        self._lock = threading.Lock()

    def __enter__(self) -> LocalHub:
        for name, handler in _ORIGINS:
            server = OriginServer(name, handler, self)
            self._servers.append(server)
            self.endpoints[handler.origin] = server.endpoint
        return self

    def __exit__(self, *_error: object) -> None:
        self.closing.set()
        for server in self._servers:
            server.stop()

    @contextmanager
    def offline(self, *origins: str) -> Iterator[None]:
        """Nobody listens, and open connections break; afterwards the same ports answer again."""
        gone = [server for server in self._servers if not origins or server.origin in origins]
        for server in gone:
            server.stop()
        try:
            yield
        finally:
            for server in gone:
                server.start()

    @property
    def endpoint(self) -> str:
        return self.endpoints["hub"]

    @property
    def mirror(self) -> str:
        return self.endpoints["mirror"]

    @property
    def modelscope(self) -> str:
        return self.endpoints["modelscope"]

    @property
    def cdn(self) -> str:
        return self.endpoints["cdn"]

    # what there is

    @property
    def commit(self) -> str:
        """Of the first repository's branch."""
        return self.repos[0].head.id

    @property
    def files(self) -> list[HubFile]:
        """Of the first repository's branch."""
        return self.repos[0].head.files

    @files.setter
    def files(self, files: list[HubFile]) -> None:
        self.repos[0].head.files = files

    def file(self, path: str) -> HubFile | None:
        return next((file for file in self.files if file.path == path), None)

    def repo_named(self, name: str) -> Repo | None:
        return next((repo for repo in self.repos if repo.name == name), None)

    def object_named(self, name: str) -> HubFile | None:
        """A stored object, whichever commit it belongs to."""
        commits = (commit for repo in self.repos for commit in repo.commits)
        return next((f for commit in commits for f in commit.files if f.xet_hash == name), None)

    def requests(self, origin: str, pattern: str = "") -> list[Request]:
        """Those of the log that match."""
        return [r for r in self.log if r.origin == origin and re.search(pattern, r.target)]

    # signatures and quotas

    def now(self) -> float:
        """The hub's own clock, seconds since 1970."""
        return time.time() + self.clock_offset_s

    def signed(self, file: HubFile, *, store: str = "xet-bridge-us") -> str:
        """An address of the CDN that expires."""
        path = f"/{store}/64f0c1/{file.xet_hash}"
        expires = str(int(self.now() + self.signature_s))
        query = {
            "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
            "X-Amz-Expires": str(int(self.signature_s)),
            "X-Amz-Signature": hashlib.sha256(path.encode()).hexdigest(),
            "Expires": expires,
            "Policy": "eyJTdGF0ZW1lbnQiOltdfQ__",
            "Signature": _sign(path, expires),
            "Key-Pair-Id": "K2LOCALHUB",
        }
        return f"{self.cdn}{path}?{urllib.parse.urlencode(query)}"

    def is_signature(self, path: str, query: dict[str, str]) -> bool:
        """Ours, and not expired."""
        expires = query.get("Expires", "0")
        return (
            hmac.compare_digest(query.get("Signature", ""), _sign(path, expires))
            and float(expires) >= self.now()
        )

    def count(self, origin: str, bucket: str) -> bool:
        """Count a request against a quota; False once it is used up."""
        with self._lock:
            if time.monotonic() - self._window_began >= WINDOW_S:
                self._window_began = time.monotonic()
                self._used.clear()
            used = self._used.get((origin, bucket), 0) + 1
            self._used[origin, bucket] = used
            return used <= self.quotas[bucket]

    def quota(self, origin: str, bucket: str) -> tuple[int, int, int]:
        """(requests a window, requests left, seconds until the next window)"""
        with self._lock:
            left = max(self.quotas[bucket] - self._used.get((origin, bucket), 0), 0)
            passed = time.monotonic() - self._window_began
            return self.quotas[bucket], left, max(int(WINDOW_S - passed), 0)


def _sign(path: str, expires: str) -> str:
    return hmac.new(_SECRET, f"{path}|{expires}".encode(), hashlib.sha256).hexdigest()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    tls: ssl.SSLContext | None = None

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.open: set[socket.socket] = set()
        super().__init__(address, handler)

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        if self.tls is not None:  # the handshake waits for the connection's own thread
            connection = self.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        self.open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, _request: object, _address: object) -> None:
        """Clients hang up; that is part of the game."""


class OriginServer:
    """One origin: starts, stops and starts again on the same port."""

    def __init__(self, name: str, handler: Any, hub: LocalHub) -> None:
        self.origin: str = handler.origin
        self._name = name
        self._handler = type(handler.__name__, (handler,), {"hub": hub})
        self._tls = _tls() if hub.tls else None
        self._port = 0
        self.start()
        self.endpoint = f"http{'s' if hub.tls else ''}://{name}:{self._port}"

    def start(self) -> None:
        self._listener = _Listener((self._name, self._port), self._handler)
        self._listener.tls = self._tls
        self._port = self._listener.server_address[1]
        threading.Thread(target=self._listener.serve_forever, args=(0.005,), daemon=True).start()

    def stop(self) -> None:
        self._listener.shutdown()
        self._listener.server_close()
        for connection in tuple(self._listener.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS_CERTIFICATE, TLS_CERTIFICATE.with_suffix(".key"))
    return context
