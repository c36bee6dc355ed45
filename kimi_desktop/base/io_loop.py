"""The IO thread: one asyncio loop that lives as long as the app.

All sockets, child processes and timers live here; a small pool takes hashing and probing. Children
must be spawned from this thread: on Linux the parent-death signal fires when the *thread* that
created the child ends, and this one ends last.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from kimi_desktop.base.operation import Operation

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

CLOSE_TIMEOUT_S = 20.0


class IoLoop:
    """Owns the thread, its loop, its tasks and the worker pool. Start once, close once."""

    def __init__(self, *, workers: int = 3) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_unhandled)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="kimi-pool")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._lock = threading.Lock()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="kimi-io", daemon=True)
        self._thread.start()

    def submit(self, make: Callable[[], Coroutine[Any, Any, T]]) -> Operation[T]:
        """Run the coroutine that ``make`` builds, on the IO thread. Callable from any thread.

        Once the loop is closing nothing starts any more: the Operation is a cancelled one.
        """

        async def run() -> T:
            return await make()

        with self._lock:
            if self._is_closing:
                return Operation.never()
            future: Future[T] = asyncio.run_coroutine_threadsafe(run(), self._loop)
        return Operation(future)

    def spawn(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> asyncio.Task[T]:
        """Start a background task, on the IO thread only. Keeps it alive and logs its failure."""
        task = self._loop.create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return task

    def pool(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Operation[T]:
        """Run blocking work (hashing, probing, reading headers) in the small pool.

        Once the loop is closing nothing starts any more: the Operation is a cancelled one.
        """
        with self._lock:
            if self._is_closing:
                return Operation.never()
            return Operation(self._pool.submit(function, *args, **kwargs))

    async def in_pool(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same from a coroutine on the IO thread."""
        return await asyncio.wrap_future(self._pool.submit(function, *args, **kwargs))

    def close(self) -> None:
        """Cancel every task, wait for their cleanup, stop the loop, join the thread.

        From any thread but the IO thread; a second call does nothing.
        """
        with self._lock:
            if self._is_closing:
                return
            self._is_closing = True
        finished = asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop)
        try:
            finished.result(CLOSE_TIMEOUT_S)
        except TimeoutError:
            log.exception("tasks still running after %s s: %s", CLOSE_TIMEOUT_S, self._tasks)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT_S)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        # Nothing is left here but what outlasted the patience of close().
        while tasks := asyncio.all_tasks(self._loop):
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

    async def _cancel_all(self) -> None:
        current = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks(self._loop) if task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s failed", task.get_name(), exc_info=error)

    def _on_unhandled(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # anyio's Unix sockets: data came in the same turn of the loop as the cancellation.
        if isinstance(context.get("exception"), asyncio.InvalidStateError):
            return
        log.error("%s", context.get("message"), exc_info=context.get("exception"))
