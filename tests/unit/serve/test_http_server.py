"""The protocol and its bounds, over real sockets, with a scripted handler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import pytest

from kimi_desktop.serve import http_server
from kimi_desktop.serve.http_server import Head, HttpServer, Limits, Response
from kimi_desktop.serve.policy import MAX_BODY_BYTES, RefusedError

WAIT_S = 20.0


class Echo:
    """Answers with what came; paths choose how."""

    def __init__(self) -> None:
        self.heads: list[Head] = []
        self.bodies: list[bytes] = []
        self.refusals: list[tuple[str | None, int]] = []
        self.cancelled = asyncio.Event()
        self.released = asyncio.Event()
        self.answer_with: Callable[[bytes], Awaitable[Response]] | None = None

    def admit(self, head: Head) -> None:
        self.heads.append(head)
        head.header(b"authorization")
        if head.path == "/closed":
            raise RefusedError(403, "no", code="no")

    def refused(self, head: Head | None, status: int, peer: str) -> None:
        assert peer == "127.0.0.1"
        self.refusals.append((head.path if head is not None else None, status))

    async def answer(self, head: Head, body: bytes) -> Response:
        self.bodies.append(body)
        if head.path == "/refused":
            raise RefusedError(429, "later")
        if head.path == "/bug":
            raise RuntimeError("a bug")
        if head.path == "/silent":
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if head.path == "/stream":
            release = contextlib.AsyncExitStack()
            release.callback(self.released.set)
            return Response(200, content_type="text/plain", pieces=numbers(), release=release)
        if head.path == "/flood":
            release = contextlib.AsyncExitStack()
            release.callback(self.released.set)
            return Response(200, pieces=flood(), release=release)
        return Response(200, body or b"empty")


async def numbers() -> AsyncGenerator[bytes, None]:
    for n in range(3):
        yield str(n).encode()


async def flood() -> AsyncGenerator[bytes, None]:
    while True:
        yield b"x" * 100_000
        await asyncio.sleep(0)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(WAIT_S):
            first, *lines = (
                (await self.reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            )
        headers = (line.partition(": ") for line in lines)
        return int(first.split(" ")[1]), {name.lower(): value for name, _, value in headers}

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        status, headers = await self.head()
        length = int(headers["content-length"])
        async with asyncio.timeout(WAIT_S):
            return status, headers, await self.reader.readexactly(length)

    async def rest(self) -> bytes:
        async with asyncio.timeout(WAIT_S):
            return await self.reader.read()


@contextlib.asynccontextmanager
async def served(
    echo: Echo, limits: Limits | None = None
) -> AsyncIterator[Callable[[], Awaitable[Client]]]:
    http = HttpServer(echo, limits or Limits())
    server = await asyncio.start_server(http.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    clients: list[Client] = []

    async def connect() -> Client:
        clients.append(Client(*await asyncio.open_connection("127.0.0.1", port)))
        return clients[-1]

    async with server:
        yield connect
        for client in clients:
            client.writer.close()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_requests_one_after_another_on_one_connection() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo) as connect:
            client = await connect()
            for _ in range(2):
                await client.send(b"POST /a?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi")
                status, headers, body = await client.answer()
                assert (status, body) == (200, b"hi")
                assert headers["content-type"] == "application/json"
                assert headers["x-content-type-options"] == "nosniff"
            assert echo.heads[0].path == "/a"
            assert echo.heads[0].header(b"host") == b"h"

    run(go())


def test_two_requests_sent_together() -> None:
    async def go() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            await client.send(
                b"GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n"
            )
            assert (await client.answer())[0] == 200
            assert (await client.answer())[0] == 200

    run(go())


def test_a_stream_comes_in_pieces() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo) as connect:
            client = await connect()
            await client.send(b"GET /stream HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            status, headers = await client.head()
            assert (status, headers["transfer-encoding"]) == (200, "chunked")
            assert await client.rest() == b"1\r\n0\r\n1\r\n1\r\n1\r\n2\r\n0\r\n\r\n"
            assert echo.released.is_set()

    run(go())


def test_an_old_client_gets_a_stream_without_chunks() -> None:
    async def go() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            await client.send(b"GET /stream HTTP/1.0\r\nHost: h\r\n\r\n")
            await client.head()
            assert await client.rest() == b"012"

    run(go())


def test_a_large_body_is_asked_for_first() -> None:
    async def go() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            await client.send(
                b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
            )
            assert (await client.head())[0] == 100
            await client.send(b"abc")
            assert (await client.answer())[2] == b"abc"

    run(go())


def test_a_refused_head_is_answered_before_the_body_is_read() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo) as connect:
            client = await connect()
            await client.send(b"POST /closed HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n")
            status, headers, _ = await client.answer()
            assert (status, headers["connection"]) == (403, "close")
            assert await client.rest() == b""
            assert echo.bodies == []

    run(go())


def test_a_body_on_its_way_does_not_cost_the_refusal() -> None:
    """It meets a socket that still listens: no reset that takes the answer with it."""

    async def test() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            await client.send(b"POST /closed HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")
            status, _, _ = await client.answer()
            assert status == 403
            for part in (b"some ", b"body"):  # a reset would meet the second
                await client.send(part)
                await asyncio.sleep(0.1)
            assert client.reader.exception() is None

    run(test())


@pytest.mark.parametrize(("path", "expected"), [("/refused", 429), ("/bug", 500)])
def test_errors_keep_the_connection(
    path: str, expected: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def go() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            await client.send(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
            status, headers, body = await client.answer()
            assert status == expected
            assert ("retry-after" in headers) is (expected == 429)
            assert b'"error"' in body
            await client.send(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await client.answer())[0] == 200

    with caplog.at_level(logging.CRITICAL, "kimi_desktop.serve.http_server"):
        run(go())


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # no host
        (b"GET / HTTP/1.1\r\nHost: h\r\nBad header\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 20_000, 431),
        (b"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n", 400),
    ],
)
def test_what_is_not_http_is_refused(sent: bytes, expected: int) -> None:
    async def go() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            await client.send(sent)
            assert (await client.answer())[0] == expected
            assert await client.rest() == b""

    run(go())


def test_a_body_beyond_the_limit_is_refused() -> None:
    async def go() -> None:
        async with served(Echo()) as connect:
            client = await connect()
            with contextlib.suppress(ConnectionError):
                size = MAX_BODY_BYTES + 100_000
                await client.send(
                    f"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {size}\r\n\r\n".encode()
                )
                await client.send(b"x" * size)
            assert (await client.answer())[0] == 413

    run(go())


def test_a_header_that_does_not_come_is_not_waited_for() -> None:
    async def go() -> None:
        async with served(Echo(), Limits(header_s=0.05)) as connect:
            slow = await connect()
            await slow.send(b"GET / HTT")
            assert (await slow.answer())[0] == 408
            idle = await connect()
            assert await idle.rest() == b""

    run(go())


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    async def go() -> None:
        async with served(Echo(), Limits(body_s=0.05)) as connect:
            client = await connect()
            await client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")
            assert (await client.answer())[0] == 408
            assert await client.rest() == b""

    run(go())


def test_a_client_that_goes_away_in_a_silence_ends_the_work() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo) as connect:
            client = await connect()
            await client.send(b"GET /silent HTTP/1.1\r\nHost: h\r\n\r\n")
            await asyncio.sleep(0.05)
            client.writer.close()
            async with asyncio.timeout(WAIT_S):
                await echo.cancelled.wait()

    run(go())


def test_a_client_that_goes_away_while_it_sends_is_nobody() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo) as connect:
            client = await connect()
            await client.send(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc")
            client.writer.close()
            other = await connect()
            await other.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await other.answer())[0] == 200
            assert echo.bodies == [b""]

    run(go())


def test_a_client_that_reads_nothing_is_dropped() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo, Limits(write_s=0.05)) as connect:
            client = await connect()
            await client.send(b"GET /flood HTTP/1.1\r\nHost: h\r\n\r\n")
            async with asyncio.timeout(WAIT_S):
                await echo.released.wait()

    run(go())


def test_a_client_that_sends_on_and_on_ahead_is_dropped() -> None:
    async def go() -> None:
        echo = Echo()
        async with served(echo) as connect:
            client = await connect()
            await client.send(b"GET /silent HTTP/1.1\r\nHost: h\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                for _ in range(100):
                    await client.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 200)
            async with asyncio.timeout(WAIT_S):
                await echo.cancelled.wait()

    run(go())


def test_too_many_connections_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "MAX_CONNECTIONS", 2)

    async def go() -> None:
        async with served(Echo()) as connect:
            first, second = await connect(), await connect()
            await first.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await first.answer())[0] == 200
            third = await connect()
            assert (await third.answer())[0] == 503
            second.writer.close()
            await second.writer.wait_closed()
            await asyncio.sleep(0.05)
            fourth = await connect()
            await fourth.send(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await fourth.answer())[0] == 200

    run(go())
