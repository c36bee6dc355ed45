"""The gateway: a process of its own between clients and the engine.

``python -m kimi_desktop.serve.gateway``. It serves GET /v1/models (and one of them by name), POST
/v1/chat/completions, /v1/completions and /v1/embeddings, and GET /health, and nothing else; on
127.0.0.1, and on one address of the local network when the user chose one. What it must know
comes in JSON lines through its stdin, a pipe that only the app holds, so that no key stands in an
argument or in the environment: first ``{"port": n, "address": "" | "192.168.1.5", "clients":
{name: key}, "tls": null | {"certificate": path, "key": path}}``, which encrypts what that address
alone serves; then, in any order, ``{"clients": ...}`` and ``{"target": {...} | null}``. When the
pipe closes, because the app ends it or is gone in whatever way, the gateway ends.

Events go to stdout as JSON lines: ``{"event": "listening", "port": n}``, ``{"event": "failed",
"reason": "port_taken" | "...", "detail": "...", "free_port": n}``, ``{"event": "requests",
"running": n, "served": n, "here": [...], "done": [...], "refused": [...]}``. The access log
(``access_log``) goes to stderr.

One asyncio loop on the main thread; a daemon thread reads stdin, which asyncio cannot on Windows.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any, TextIO
from urllib.parse import unquote

import httpx

from kimi_desktop.serve.access_log import AccessLog
from kimi_desktop.serve.desk import Desk
from kimi_desktop.serve.http_server import Handler, Head, HttpServer, Limits, Response
from kimi_desktop.serve.policy import (
    Call,
    Client,
    Door,
    KeyCheck,
    RefusedError,
    checked_chat,
    checked_completion,
    checked_embeddings,
    error_body,
)
from kimi_desktop.serve.relay import Relay, Target, no_model, shown_error

log = logging.getLogger("gateway")

LOOPBACK = "127.0.0.1"
MAX_ANSWER_BYTES = 64 * 2**20
PORTS_TO_TRY = 20

_ROUTES: Mapping[str, str] = {
    "/health": "GET",
    "/v1/models": "GET",
    "/v1/chat/completions": "POST",
    "/v1/completions": "POST",
    "/v1/embeddings": "POST",
}
_METHODS = frozenset({"GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"})
_MODEL = "/v1/models/"
"""Before the name of one model."""


class Gateway(Handler):
    """The allow-list, and what stands behind its addresses."""

    def __init__(self, door: Door, keys: KeyCheck, relay: Relay, desk: Desk) -> None:
        self._log = AccessLog()
        self._door = door
        self._keys = keys
        self._relay = relay
        self._desk = desk

    def admit(self, head: Head) -> None:
        """Host and origin first, on every method; then the address; then the key."""
        self._door.check(head.header(b"host"), head.header(b"origin"))
        method = "GET" if head.path.startswith(_MODEL) else _ROUTES.get(head.path)
        if method is None:
            raise RefusedError(404, "There is nothing at this address.", code="not_found")
        if head.method != method:
            raise RefusedError(405, "Not by this method.", code="bad_method", allow=method)
        if head.path != "/health":
            self._keys.check(head.header(b"authorization"), head.peer, time.monotonic())

    async def answer(self, head: Head, body: bytes) -> Response:
        """Answer an admitted request."""
        if head.path == "/health":
            response = self._health()
            self._log.stranger(_shown(head), response.status, head.peer)
            return response
        started = time.monotonic()
        status = 499  # the client went away
        try:
            response = await self._route(head, body)
            status = response.status
        except RefusedError:  # ``refused`` will be told
            status = 0
            raise
        finally:
            if status:
                seconds = time.monotonic() - started
                self._log.answered(head.method, _known_path(head.path), status, seconds)
        return response

    def refused(self, head: Head | None, status: int, peer: str) -> None:
        """Into the log and the list."""
        self._log.stranger(f"refused: {_shown(head)}", status, peer)
        self._desk.refuse(status, peer)

    def _health(self) -> Response:
        ready = self._relay.target is not None
        word = b'{"status": "ok"}' if ready else b'{"status": "no model"}'
        return Response(200 if ready else 503, word)

    async def _route(self, head: Head, body: bytes) -> Response:
        if head.path == "/v1/models":
            return Response(200, self._relay.models())
        if head.path.startswith(_MODEL):
            return Response(200, self._relay.model(unquote(head.path.removeprefix(_MODEL))))
        call = self._checked(head.path, body)
        # A key that was revoked between the head and the body is as good as none.
        client = self._keys.client(head.header(b"authorization"))
        if client is None:
            raise RefusedError(401, "The API key is missing or wrong.", code="invalid_api_key")
        return await self._ask(client, head.path, call)

    def _checked(self, path: str, body: bytes) -> Call:
        target = self._relay.target
        if target is None:
            raise no_model()
        if path == "/v1/embeddings":
            return checked_embeddings(body, model=target.model)
        check = checked_chat if path == "/v1/chat/completions" else checked_completion
        # Our engines know no limit of their own; other servers refuse one that does not fit.
        return check(
            body, model=target.model, max_tokens=target.max_tokens, fills_in=target.is_ours
        )

    async def _ask(self, client: str, path: str, call: Call) -> Response:
        """The engine's answer; a stream goes on after the header, and ends with the client's."""
        stack = contextlib.AsyncExitStack()
        try:
            entry = await stack.enter_async_context(self._desk.place(client, path))
            upstream = await stack.enter_async_context(self._relay.post(path, call.body))
            entry.status = upstream.status_code
            if call.stream and upstream.status_code == 200:
                return Response(
                    200,
                    content_type="text/event-stream",
                    pieces=_stream(upstream),
                    release=stack.pop_all(),
                )
            answer = await _whole_body(upstream)
            if upstream.status_code != 200 and self._relay.target is not None:
                answer = shown_error(self._relay.target, upstream.status_code, answer)
            return Response(upstream.status_code, answer)
        except httpx.HTTPError as error:
            log.warning("the engine's answer broke: %s", type(error).__name__)
            raise RefusedError(
                502, "The engine ended before it had answered.", kind="server_error"
            ) from None
        finally:
            await stack.aclose()


def _known_path(path: str) -> str:
    """What a client wrote itself is not ours to keep: it may be a key."""
    if path.startswith(_MODEL):
        return f"{_MODEL}…"
    return path if path in _ROUTES else "another address"


def _shown(head: Head | None) -> str:
    if head is None:
        return "no HTTP"
    method = head.method if head.method in _METHODS else "another method"
    return f"{method} {_known_path(head.path)}"


async def _stream(upstream: httpx.Response) -> AsyncGenerator[bytes, None]:
    """The engine's events as they come; its end in the middle becomes an error event."""
    try:
        async for piece in upstream.aiter_raw():
            yield piece
    except httpx.HTTPError as error:
        log.warning("the engine's stream broke: %s", type(error).__name__)
        event = error_body(502, "The engine ended in the middle of its answer.", "server_error")
        yield b"data: " + event + b"\n\n"


async def _whole_body(upstream: httpx.Response) -> bytes:
    body = bytearray()
    async for piece in upstream.aiter_raw():
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise RefusedError(502, "The engine's answer is too large.", kind="server_error")
    return bytes(body)


class Tell:
    """Writes events to the app, one JSON line each."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, **event: object) -> None:
        """Write one event."""
        with contextlib.suppress(OSError, ValueError):  # the app is gone; the pipe tells, too
            self._out.write(json.dumps(event) + "\n")
            self._out.flush()


class _Orders:
    """What the app sends, read on a thread of its own."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="orders", daemon=True).start()

    async def take(self) -> dict[str, Any] | None:
        """The next order; None when the pipe has closed."""
        return await self._queue.get()

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            with contextlib.suppress(ValueError):
                order = json.loads(line)
                if isinstance(order, dict):
                    self._put(order)
        self._put(None)

    def _put(self, order: dict[str, Any] | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._queue.put_nowait, order)


def listening_socket(port: int, address: str = LOOPBACK) -> socket.socket:
    """A socket on one address that nobody else can share.

    Raises:
        OSError: EADDRINUSE, the port is taken; or another reason.
    """
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:  # only past connections; a listener still makes it fail
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address, port))
        bound.listen(64)
    except BaseException:
        bound.close()
        raise
    return bound


def free_port_after(port: int) -> int:
    """The next port that nobody listens on; any free one when many are taken."""
    for candidate in (*range(port + 1, min(port + PORTS_TO_TRY, 65_535) + 1), 0):
        with contextlib.suppress(OSError), listening_socket(candidate) as probe:
            return int(probe.getsockname()[1])
    return 0


async def serve(tell: Tell, limits: Limits) -> int:
    """Serve until the app's pipe closes. Returns the exit status."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_on_unhandled)
    orders = _Orders(loop)
    first = await orders.take()
    if first is None:
        return 0
    wanted, address = int(first["port"]), str(first.get("address") or "")
    sockets: list[socket.socket] = []
    try:
        sockets.append(listening_socket(wanted))
        port = int(sockets[0].getsockname()[1])
        if address:
            sockets.append(listening_socket(port, address))
    except OSError as error:
        for bound in sockets:
            bound.close()
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        tell(
            event="failed",
            reason="port_taken" if taken else "not_bound",
            detail=f"{address or LOOPBACK}: {os.strerror(error.errno or 0)}",
            free_port=free_port_after(wanted),
        )
        return 1
    keys, relay, desk = KeyCheck(_clients(first)), Relay(), Desk(tell)
    tls = _tls_of(first)
    door = Door(port, (address,) if address else (), encrypted=tls is not None)
    http = HttpServer(Gateway(door, keys, relay, desk), limits)
    servers = [
        await asyncio.start_server(
            http.accept, sock=bound, limit=2**16, ssl=tls if bound is not sockets[0] else None
        )
        for bound in sockets
    ]
    tell(event="listening", port=port)
    while (order := await orders.take()) is not None:
        if "clients" in order:
            keys.replace(_clients(order))
        if "target" in order:
            target = Target.from_json(order["target"]) if order["target"] else None
            desk.set_slots(target.slots if target is not None else 1)
            await relay.set_target(target)
    for server in servers:
        server.close()
    await relay.set_target(None)
    return 0


def _tls_of(order: Mapping[str, Any]) -> ssl.SSLContext | None:
    """How the address in the local network is encrypted."""
    files = order.get("tls")
    if not files:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files["certificate"], files["key"])
    return context


def _clients(order: Mapping[str, Any]) -> list[Client]:
    return [Client(str(name), str(key)) for name, key in order["clients"].items()]


def _on_unhandled(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # anyio's Unix sockets: data came in the same turn of the loop as the cancellation; and the
    # streams of Python 3.11: a connection was open at the end.
    known = asyncio.InvalidStateError | asyncio.CancelledError
    if not isinstance(context.get("exception"), known):
        log.error("%s", context.get("message"), exc_info=context.get("exception"))


def main() -> int:
    """Run the gateway as a process."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    return asyncio.run(serve(Tell(sys.stdout), Limits()))


if __name__ == "__main__":
    code = main()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
    os._exit(code)  # the thread that reads stdin may still be blocked in it
