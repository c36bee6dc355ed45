"""Asking a worker, against a scripted one and against what is none."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import pytest

from kimi_desktop.backends.rpc import wire
from kimi_desktop.backends.rpc.addresses import WorkerAddress
from kimi_desktop.backends.rpc.types import WorkerFacts, WorkerMemory
from kimi_desktop.backends.rpc.wire import MEASURED_BYTES, ask_worker
from kimi_desktop.base.errors import BackendError, ErrorCode
from tests.support.rpc_worker import GIB, ScriptedWorker, serving


def ask(port: int, *, measure: bool = False) -> WorkerFacts:
    return asyncio.run(ask_worker(WorkerAddress("127.0.0.1", port), measure=measure))


def refused(port: int) -> ErrorCode:
    with pytest.raises(BackendError) as caught:
        ask(port)
    return caught.value.code


@pytest.mark.parametrize("version", [(3, 6, 1), (4, 0, 2), (7, 0, 0), (8, 1, 0)])
def test_version_and_memory(version: tuple[int, int, int]) -> None:
    devices = ((20 * GIB, 24 * GIB), (1 * GIB, 80 * GIB))
    with serving(ScriptedWorker(version, devices)) as port:
        facts = ask(port)
    assert facts.version == version
    assert facts.version_text == ".".join(map(str, version))
    assert facts.devices == tuple(WorkerMemory(free, total) for free, total in devices)
    assert facts.latency_s > 0
    assert facts.bytes_per_s is None


def test_the_link_is_measured_by_reading_a_buffer() -> None:
    worker = ScriptedWorker()
    with serving(worker) as port:
        facts = ask(port, measure=True)
    assert worker.measured == [MEASURED_BYTES] * 2
    assert facts.bytes_per_s is not None
    assert facts.bytes_per_s > 0


def test_a_worker_without_room_is_not_measured() -> None:
    with serving(ScriptedWorker(has_room=False)) as port:
        assert ask(port, measure=True).bytes_per_s is None


def test_a_worker_before_devices_is_too_old() -> None:
    with serving(ScriptedWorker((2, 0, 0))) as port:
        assert refused(port) is ErrorCode.WORKER_TOO_OLD


def test_nothing_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    assert refused(port) is ErrorCode.WORKER_UNREACHABLE


def test_one_that_serves_somebody_else_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "ANSWER_TIMEOUT_S", 0.2)
    with serving(ScriptedWorker()) as port, socket.create_connection(("127.0.0.1", port)):
        code = asyncio.run(_refusal(port))
    assert code is ErrorCode.WORKER_BUSY


async def _refusal(port: int) -> ErrorCode:
    with pytest.raises(BackendError) as caught:
        await ask_worker(WorkerAddress("127.0.0.1", port))
    return caught.value.code


@pytest.mark.parametrize(
    "answer",
    [
        lambda guest: None,
        lambda guest: guest.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        lambda guest: guest.sendall(b"SSH-2"),
        lambda guest: guest.sendall((5).to_bytes(8, "little") + b"abcde"),
    ],
    ids=["closes", "http", "cut", "other length"],
)
def test_what_is_no_worker(answer: Callable[[socket.socket], None]) -> None:
    def serve(listener: socket.socket) -> None:
        for _ in range(2):
            try:
                guest, _ = listener.accept()
            except OSError:
                return
            with guest:
                guest.recv(64)
                answer(guest)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        assert refused(listener.getsockname()[1]) is ErrorCode.WORKER_NOT_ONE
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
