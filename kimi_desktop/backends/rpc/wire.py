"""What a worker says of itself, over llama.cpp's RPC protocol. IO thread.

From ``ggml/src/ggml-rpc/ggml-rpc.cpp`` of b11434 (protocol 7.0.0). A request is one command byte,
the length of its data (u64) and the data; an answer is a length (u64) and data; all little-endian
and packed. The first request is HELLO, whose number never changes; since protocol 4 it carries 24
bytes of transport abilities (zeros: plain TCP), before that none. A worker serves one connection
after the other: while an engine is connected, others wait in its queue unanswered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
import time
from collections.abc import AsyncIterator
from enum import IntEnum

from kimi_desktop.backends.rpc.addresses import WorkerAddress
from kimi_desktop.backends.rpc.types import WorkerFacts, WorkerMemory
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.units import MIB

CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 5.0
OLDEST_MAJOR = 3
"""Before it a worker had one device and other requests (until autumn 2025)."""
CAPABILITIES_BYTES = 24
ROUNDS = 5
"""The shortest of so many round trips is the link's."""
MEASURED_BYTES = 32 * MIB
"""A quarter of a second on 1 Gbit/s, each time."""
MOST_DEVICES = 64
TENSOR_BYTES = 296


class Command(IntEnum):
    """Requests, by their numbers on the wire."""

    ALLOC_BUFFER = 0
    BUFFER_GET_BASE = 3
    GET_TENSOR = 8
    GET_DEVICE_MEMORY = 11
    HELLO = 14
    DEVICE_COUNT = 15


async def ask_worker(address: WorkerAddress, *, measure: bool = False) -> WorkerFacts:
    """Ask a worker for its version and memory, and how far away it is.

    Args:
        address: where it listens.
        measure: also time 32 MiB over the link.

    Raises:
        BackendError: WORKER_UNREACHABLE, WORKER_BUSY, WORKER_NOT_ONE, WORKER_TOO_OLD.
    """
    try:
        return await _asked(address, bytes(CAPABILITIES_BYTES), measure=measure)
    except _HungUpError:
        pass  # it closed at the greeting: it may be older
    try:
        return await _asked(address, b"", measure=measure)
    except _HungUpError as error:
        raise BackendError(ErrorCode.WORKER_NOT_ONE, {"address": str(address)}) from error


class _HungUpError(Exception):
    """It closed the connection instead of answering."""


async def _asked(address: WorkerAddress, greeting: bytes, *, measure: bool) -> WorkerFacts:
    async with _connected(address) as talk:
        answer = await talk.ask(Command.HELLO, greeting, most=3 + 1 + CAPABILITIES_BYTES)
        if len(answer) not in (3, 4, 4 + CAPABILITIES_BYTES):
            raise talk.not_one()
        version = (answer[0], answer[1], answer[2])
        if version[0] < OLDEST_MAJOR:
            params = {"address": str(address), "version": ".".join(map(str, version))}
            raise BackendError(ErrorCode.WORKER_TOO_OLD, params)
        (count,) = struct.unpack("<I", await talk.ask(Command.DEVICE_COUNT, size=4))
        if not 1 <= count <= MOST_DEVICES:
            raise talk.not_one()
        devices = []
        for number in range(count):
            data = struct.pack("<I", number)
            told = await talk.ask(Command.GET_DEVICE_MEMORY, data, size=16)
            devices.append(WorkerMemory(*struct.unpack("<QQ", told)))
        latency = await _round_trip(talk)
        rate = await _measured(talk, latency) if measure else None
        return WorkerFacts(address, version, tuple(devices), latency, rate)


async def _round_trip(talk: _Talk) -> float:
    found = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        await talk.ask(Command.DEVICE_COUNT, size=4)
        found.append(time.perf_counter() - start)
    return min(found)


async def _measured(talk: _Talk, latency_s: float) -> float | None:
    """Read a buffer of the first device; closing the connection frees it.

    Twice, the faster counts: the first time the memory of both sides is new.
    """
    request = struct.pack("<IQ", 0, MEASURED_BYTES)
    pointer, size = struct.unpack("<QQ", await talk.ask(Command.ALLOC_BUFFER, request, size=16))
    if not pointer or size < MEASURED_BYTES:
        return None
    (base,) = struct.unpack(
        "<Q", await talk.ask(Command.BUFFER_GET_BASE, struct.pack("<Q", pointer), size=8)
    )
    request = _tensor(pointer, base) + struct.pack("<QQ", 0, MEASURED_BYTES)
    found = []
    for _ in range(2):
        start = time.perf_counter()
        await talk.ask(Command.GET_TENSOR, request, size=MEASURED_BYTES, timeout_s=30.0)
        found.append(time.perf_counter() - start)
    return MEASURED_BYTES / max(min(found) - latency_s, 1e-6)


def _tensor(buffer: int, data: int) -> bytes:
    """A row of F32 that fills the buffer, as ``rpc_tensor`` has it.

    Fields: id, type, buffer, ne[4], nb[4], op, op_params[64 bytes], flags, src[10], view_src,
    view_offs, data, name[64], use_count.
    """
    count = MEASURED_BYTES // 4
    strides = (4, MEASURED_BYTES, MEASURED_BYTES, MEASURED_BYTES)
    head = struct.pack("<QIQ4I4I", 1, 0, buffer, count, 1, 1, 1, *strides)
    tail = struct.pack("<QQQ64si", 0, 0, data, b"measure", 0)
    between = TENSOR_BYTES - len(head) - len(tail)
    return head + bytes(between) + tail


class _Talk:
    """One connection."""

    def __init__(
        self,
        address: WorkerAddress,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._address = address
        self._reader = reader
        self._writer = writer

    async def ask(
        self,
        command: Command,
        data: bytes = b"",
        *,
        size: int | None = None,
        most: int = 0,
        timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> bytes:
        """The answer to a request.

        Args:
            command: what.
            data: of the request.
            size: of the answer; anything else is no worker's answer. None = up to ``most``.
            most: the longest answer.
            timeout_s: for it.

        Raises:
            _HungUpError: it closed.
            BackendError: it does not answer, or something else.
        """
        try:
            async with asyncio.timeout(timeout_s):
                self._writer.write(bytes([command]) + struct.pack("<Q", len(data)) + data)
                await self._writer.drain()
                (length,) = struct.unpack("<Q", await self._reader.readexactly(8))
                if length > (most if size is None else size) or size not in (None, length):
                    raise self.not_one()
                return await self._reader.readexactly(length)
        except TimeoutError as error:
            params = {"address": str(self._address)}
            raise BackendError(ErrorCode.WORKER_BUSY, params, cause=error) from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            if isinstance(error, asyncio.IncompleteReadError) and error.partial:
                raise self.not_one() from error
            raise _HungUpError from error

    def not_one(self) -> BackendError:
        """What answers there is no worker."""
        return BackendError(ErrorCode.WORKER_NOT_ONE, {"address": str(self._address)})


@contextlib.asynccontextmanager
async def _connected(address: WorkerAddress) -> AsyncIterator[_Talk]:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(
                address.host, address.port, limit=2 * MEASURED_BYTES
            )
    except (OSError, TimeoutError) as error:
        number = getattr(error, "errno", None)  # asyncio writes its own words around it
        detail = os.strerror(number) if number else f"{CONNECT_TIMEOUT_S:.0f} s"
        params = {"address": str(address), "detail": detail}
        raise BackendError(ErrorCode.WORKER_UNREACHABLE, params, cause=error) from error
    try:
        yield _Talk(address, reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await writer.wait_closed()
