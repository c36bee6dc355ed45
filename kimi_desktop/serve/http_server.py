"""HTTP/1.1 for the gateway: h11 reads and writes the protocol, asyncio streams carry it.

Runs in the gateway's process. Everything a client may do is bounded: header and body size, the
time for each, the number of connections, and how long it may leave an answer unread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import Any, Protocol

import h11

from kimi_desktop.serve.policy import MAX_BODY_BYTES, RefusedError, error_body

log = logging.getLogger(__name__)

MAX_HEADER_BYTES = 16 * 2**10
MAX_CONNECTIONS = 64
MAX_PIPELINED_BYTES = 64 * 2**10
READ_BYTES = 64 * 2**10
LINGER_S, LINGER_BYTES = 2.0, 2**20


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds; tests make them short."""

    header_s: float = 30.0
    """For a whole header, and how long a connection may be idle before it."""
    body_s: float = 60.0
    write_s: float = 60.0
    """A client that reads nothing for so long is dropped."""


@dataclass(frozen=True, slots=True)
class Head:
    """Request line and headers."""

    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    peer: str = ""
    """The address that it comes from."""

    def header(self, name: bytes) -> bytes | None:
        """The value of a header (lower-case name); None when it is missing.

        Raises:
            RefusedError: 400, it is given twice.
        """
        values = [value for key, value in self.headers if key == name]
        if len(values) > 1:
            raise RefusedError(400, f"{name.decode()}: given twice.")
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class Response:
    """What to answer: a whole body, or one that comes in pieces."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    pieces: AsyncGenerator[bytes, None] | None = None
    release: AsyncExitStack | None = None
    """Closed once the response is sent or given up; a generator that never began closes nothing."""
    retry_after_s: int | None = None
    allow: str | None = None


class Handler(Protocol):
    """What stands behind the protocol."""

    def admit(self, head: Head) -> None:
        """Look at the head before a byte of the body is read.

        Raises:
            RefusedError: the answer, after which the connection is closed.
        """

    async def answer(self, head: Head, body: bytes) -> Response:
        """Answer; cancelled when the client goes away.

        Raises:
            RefusedError: the answer.
        """

    def refused(self, head: Head | None, status: int, peer: str) -> None:
        """A request was refused; without a head it was none."""


class _ClientGoneError(Exception):
    """The client closed the connection."""


class HttpServer:
    """Serves connections; ``accept`` is the callback of ``asyncio.start_server``."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        self._handler = handler
        self._limits = limits
        self._connections = 0

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        self._connections += 1
        connection = _Connection(reader, writer, self._handler, self._limits)
        try:
            if self._connections > MAX_CONNECTIONS:
                await connection.refuse(503, "Too many connections.")
            else:
                await connection.serve()
        except (_ClientGoneError, OSError):
            pass  # nobody is there to be told; a TimeoutError of writing is an OSError
        except asyncio.CancelledError:
            pass  # the gateway ends; asyncio's streams would log the cancellation as an error
        except Exception:
            log.exception("a connection failed")
        finally:
            self._connections -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


class _Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handler: Handler,
        limits: Limits,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._handler = handler
        self._limits = limits
        self._peer = str((writer.get_extra_info("peername") or ("",))[0])
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEADER_BYTES)
        self._heard = False
        """Something of the next request has arrived."""

    async def serve(self) -> None:
        """Requests one after another, until one side wants no more."""
        try:
            while (head := await self._read_head()) is not None:
                await self._serve_one(head)
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except h11.RemoteProtocolError as error:
            await self.refuse(error.error_status_hint, "This is not HTTP as it is served here.")

    async def refuse(self, status: int, message: str, head: Head | None = None) -> None:
        """Answer with an error if that is still possible."""
        self._handler.refused(head, status, self._peer)
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await self._send(Response(status, error_body(status, message, "invalid_request_error")))

    async def _serve_one(self, head: Head) -> None:
        try:
            self._handler.admit(head)
            body = await self._read_body()
        except RefusedError as error:  # the rest of the body is not worth reading
            self._handler.refused(head, error.status, head.peer)
            await self._send(_refusal(error), close=True)
            await self._linger()
            return
        except TimeoutError:
            await self.refuse(408, "The body took too long to arrive.", head)
            return
        await self._while_connected(self._answer(head, body))

    async def _linger(self) -> None:
        """Let the client read a refusal (RFC 9112, 9.6).

        Bytes of its body that meet a closed socket reset the connection, and the answer is lost.
        """
        left = LINGER_BYTES
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(LINGER_S):
                while left > 0 and (data := await self._reader.read(READ_BYTES)):
                    left -= len(data)

    async def _answer(self, head: Head, body: bytes) -> None:
        try:
            response = await self._handler.answer(head, body)
        except RefusedError as error:
            self._handler.refused(head, error.status, head.peer)
            response = _refusal(error)
        except Exception:
            log.exception("%s %s failed", head.method, head.path)
            response = Response(500, error_body(500, "The gateway failed.", "server_error"))
        await self._send(response)

    async def _while_connected(self, answering: Coroutine[Any, Any, None]) -> None:
        """Answer, but give up as soon as the client goes away, even in a long silence."""
        loop = asyncio.get_running_loop()
        work, watch = loop.create_task(answering), loop.create_task(self._client_gone())
        try:
            await asyncio.wait((work, watch), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise _ClientGoneError
            work.result()
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)

    async def _client_gone(self) -> None:
        ahead = 0
        while ahead <= MAX_PIPELINED_BYTES and (data := await self._reader.read(READ_BYTES)):
            ahead += len(data)
            self._heard = True
            self._http.receive_data(data)

    async def _read_head(self) -> Head | None:
        """The next request, or None when the client is done or silent for too long."""
        try:
            async with asyncio.timeout(self._limits.header_s):
                event = await self._next_event()
        except TimeoutError:
            if self._heard:
                await self.refuse(408, "The header took too long to arrive.")
            return None
        self._heard = False
        if not isinstance(event, h11.Request):
            return None
        path = event.target.decode("ascii").partition("?")[0]
        return Head(event.method.decode("ascii"), path, tuple(event.headers), self._peer)

    async def _read_body(self) -> bytes:
        body = bytearray()
        async with asyncio.timeout(self._limits.body_s):
            if self._http.they_are_waiting_for_100_continue:
                await self._write(h11.InformationalResponse(status_code=100, headers=[]))
            while isinstance(event := await self._next_event(), h11.Data):
                body += event.data
                if len(body) > MAX_BODY_BYTES:
                    raise RefusedError(413, "The body is larger than 20 MiB.", code="too_large")
        if not isinstance(event, h11.EndOfMessage):
            raise _ClientGoneError
        return bytes(body)

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(READ_BYTES)
            self._heard = self._heard or bool(data)
            self._http.receive_data(data)
        return event

    async def _send(self, response: Response, *, close: bool = False) -> None:
        try:
            await self._send_all(response, close=close)
        finally:
            if response.release is not None:
                await response.release.aclose()

    async def _send_all(self, response: Response, *, close: bool) -> None:
        headers = [
            ("Content-Type", response.content_type),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        if response.pieces is None:
            headers.append(("Content-Length", str(len(response.body))))
        if response.retry_after_s is not None:
            headers.append(("Retry-After", str(response.retry_after_s)))
        if response.allow is not None:
            headers.append(("Allow", response.allow))
        if close:
            headers.append(("Connection", "close"))
        await self._write(h11.Response(status_code=response.status, headers=headers))
        if response.pieces is None:
            await self._write(h11.Data(data=response.body))
        else:
            async with aclosing(response.pieces) as pieces:
                async for piece in pieces:
                    await self._write(h11.Data(data=piece))
        await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            self._writer.write(data)
            async with asyncio.timeout(self._limits.write_s):
                await self._writer.drain()


def _refusal(error: RefusedError) -> Response:
    again_s = 5 if error.status in (429, 503) else None
    return Response(error.status, error.body(), retry_after_s=again_s, allow=error.allow)
