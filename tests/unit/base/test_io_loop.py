from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from kimi_desktop.base import io_loop
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Cancelled


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


def thread_name() -> str:
    return threading.current_thread().name


def test_coroutines_run_on_the_io_thread(io: IoLoop) -> None:
    async def where() -> str:
        await asyncio.sleep(0)
        return thread_name()

    assert io.submit(where).result(30) == "kimi-io"


def test_blocking_work_runs_in_the_pool(io: IoLoop) -> None:
    async def in_pool() -> str:
        return await io.in_pool(thread_name)

    assert io.pool(thread_name).result(30).startswith("kimi-pool")
    assert io.submit(in_pool).result(30).startswith("kimi-pool")
    assert io.pool(divmod, 7, 2).result(30) == (3, 1)
    assert io.pool(int, "ff", base=16).result(30) == 255


def test_failures_reach_who_waits(io: IoLoop) -> None:
    async def fail() -> None:
        raise ValueError("no")

    def fail_to_build() -> None:
        raise TypeError("not even a coroutine")

    with pytest.raises(ValueError, match="no"):
        io.submit(fail).result(30)
    with pytest.raises(ZeroDivisionError):
        io.pool(divmod, 1, 0).result(30)
    with pytest.raises(TypeError):
        io.submit(fail_to_build).result(30)  # type: ignore[arg-type]


def test_cancel_reaches_the_coroutine(io: IoLoop) -> None:
    started, cleaned = threading.Event(), threading.Event()

    async def forever() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    operation = io.submit(forever)
    assert started.wait(30)
    operation.cancel()
    assert cleaned.wait(30)
    with pytest.raises(Cancelled):
        operation.result(30)


def test_background_tasks_are_kept_alive_and_their_failure_is_logged(
    io: IoLoop, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("in the background")

    async def start() -> None:
        task = io.spawn(fail(), name="a task")
        await asyncio.wait({task})

    io.submit(start).result(30)
    assert "a task" in caplog.text
    assert "in the background" in caplog.text


def test_a_cancelled_background_task_is_no_failure(
    io: IoLoop, caplog: pytest.LogCaptureFixture
) -> None:
    async def start() -> None:
        task = io.spawn(asyncio.sleep(3600), name="a task")
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})

    io.submit(start).result(30)
    assert caplog.text == ""


def test_an_exception_in_a_callback_is_logged(io: IoLoop, caplog: pytest.LogCaptureFixture) -> None:
    async def call() -> None:
        asyncio.get_running_loop().call_soon(divmod, 1, 0)
        await asyncio.sleep(0.01)

    io.submit(call).result(30)
    assert "ZeroDivisionError" in caplog.text


def test_close_waits_for_cleanup_and_ends_the_thread() -> None:
    io, steps = IoLoop(), list[str]()
    started = threading.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            steps.append("cleaned")

    operation = io.submit(work)
    assert started.wait(30)
    io.close()
    assert steps == ["cleaned"]
    assert operation.done
    assert "kimi-io" not in [thread.name for thread in threading.enumerate()]
    io.close()  # a second time does nothing


def test_nothing_starts_after_the_close() -> None:
    """The window may still ask while the app goes down: it gets a cancelled operation."""
    io, calls = IoLoop(), list[int]()
    io.close()

    async def work() -> None:
        calls.append(1)

    assert io.submit(work).cancelled
    assert io.pool(calls.append, 2).cancelled
    assert calls == []


def test_nothing_starts_while_it_closes() -> None:
    io = IoLoop()
    started, asked = threading.Event(), list[bool]()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            asked.append(io.submit(work).cancelled)

    io.submit(work)
    assert started.wait(30)
    io.close()
    assert asked == [True]


def test_a_task_that_will_not_end_does_not_hold_up_the_close(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(io_loop, "CLOSE_TIMEOUT_S", 0.05)
    io, started, let_go = IoLoop(), threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        let_go.wait(30)

    async def stubborn() -> None:
        await asyncio.sleep(0)
        block()  # holds the loop itself

    io.submit(stubborn)
    assert started.wait(30)
    io.close()
    assert "still running" in caplog.text
    let_go.set()
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "kimi-io"]
    thread.join(30)
    assert "destroyed" not in caplog.text
