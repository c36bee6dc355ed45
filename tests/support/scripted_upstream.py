"""An HTTP server in the engine's place that answers, and misbehaves, as the test says.

A behaviour is a coroutine that gets the open connection after the request was read. Runs on the
asyncio loop of the test (``running``) or on a thread of its own (``in_thread``).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Call:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Upstream:
    """What was asked, and whether the asker went away."""

    behave: Callable[[Connection], Awaitable[None]]
    socket_path: Path | None = None
    port: int | None = None
    calls: list[Call] = field(default_factory=list)
    open_connections: int = 0
    dropped: threading.Event = field(default_factory=threading.Event)
    """The asker closed the connection while ``stream_forever`` or ``silence`` went on."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_connections += 1
        try:
            while (call := await _read_call(reader)) is not None:
                self.calls.append(call)
                await self.behave(Connection(self, call, reader, writer))
                if writer.is_closing():
                    return
        except ConnectionError:
            self.dropped.set()
        except asyncio.CancelledError:
            pass  # the test is over; asyncio's streams would log it as an error
        finally:
            self.open_connections -= 1
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()


@dataclass
class Connection:
    """An open request, for a behaviour to answer."""

    upstream: Upstream
    call: Call
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def answer(
        self, status: int, body: bytes, content_type: str = "application/json"
    ) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: {content_type}\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await self.writer.drain()

    async def start_stream(self) -> None:
        self.writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Server: secret\r\nAccess-Control-Allow-Origin: *\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        await self.writer.drain()

    async def piece(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()

    async def delta(self, text: str) -> None:
        chunk = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
        await self.piece(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    async def end_stream(self) -> None:
        await self.piece(b"data: [DONE]\n\n")
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    async def wait_until_dropped(self) -> None:
        if not await self.reader.read(1):
            self.upstream.dropped.set()
        self.writer.close()


async def well_behaved(connection: Connection) -> None:
    """Says "Hello there", streamed if asked to."""
    if connection.call.json.get("stream"):
        await connection.start_stream()
        await connection.delta("Hello ")
        await connection.delta("there")
        await connection.end_stream()
        return
    message = {"role": "assistant", "content": "Hello there"}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    await connection.answer(200, json.dumps(answer).encode())


async def silence(connection: Connection) -> None:
    """Works on the prompt and says nothing, until the asker goes away."""
    await connection.wait_until_dropped()


async def stream_forever(connection: Connection) -> None:
    """One word every 5 ms."""
    await connection.start_stream()
    while True:
        await connection.delta("word ")
        await asyncio.sleep(0.005)


async def break_in_the_middle(connection: Connection) -> None:
    """Half a stream, then the connection is gone."""
    if connection.call.json.get("stream"):
        await connection.start_stream()
        await connection.delta("half ")
    else:
        connection.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
        await connection.writer.drain()
    connection.writer.transport.abort()


async def hang_up(connection: Connection) -> None:
    """Not a byte."""
    connection.writer.transport.abort()


async def garbage(connection: Connection) -> None:
    """Not HTTP."""
    connection.writer.write(b"\x00\xffwhat?\r\n\r\n")
    await connection.writer.drain()
    connection.writer.close()


async def refuse(connection: Connection) -> None:
    """As llama.cpp refuses a prompt beyond its context."""
    error = {"code": 400, "message": "request (9000 tokens) exceeds", "n_ctx": 4096}
    await connection.answer(400, json.dumps({"error": error}).encode())


@contextlib.asynccontextmanager
async def running(
    behave: Callable[[Connection], Awaitable[None]], socket_path: Path | None = None
) -> AsyncIterator[Upstream]:
    """Serve on a Unix socket, else on a port of 127.0.0.1."""
    upstream = Upstream(behave, socket_path)
    if socket_path is not None:
        server = await asyncio.start_unix_server(upstream.serve, socket_path)
    else:
        server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
        upstream.port = server.sockets[0].getsockname()[1]
    async with server:
        yield upstream


@contextlib.contextmanager
def in_thread(
    behave: Callable[[Connection], Awaitable[None]], socket_path: Path | None = None
) -> Iterator[Upstream]:
    """The same, beside a test that is not a coroutine."""
    started: threading.Event = threading.Event()
    made: list[Any] = []

    async def main() -> None:
        stop = asyncio.Event()
        async with running(behave, socket_path) as upstream:
            made.extend((upstream, asyncio.get_running_loop(), stop))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),), daemon=True)
    thread.start()
    assert started.wait(10)
    upstream, loop, stop = made
    try:
        yield upstream
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


async def _read_call(reader: asyncio.StreamReader) -> Call | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Call(method, path, headers, body)
