"""A function over several items at once, for waits that Ctrl+C must be able to leave."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_at_once(function: Callable[[T], R], items: Iterable[T], at_most: int) -> list[R]:
    """Results in the order of the items.

    On daemon threads: an executor's are waited for by an interrupt and by the end of the program,
    and a server that says nothing can hold one for a minute.

    Args:
        function: called once for each item, on another thread.
        items: what it is called with.
        at_most: so many threads.

    Raises:
        BaseException: what ``function`` raised for the first item that failed in time; calls that
            run go on, others are not begun.
    """
    waiting: queue.SimpleQueue[tuple[int, T]] = queue.SimpleQueue()
    count = 0
    for number, item in enumerate(items):
        waiting.put((number, item))
        count += 1
    done: queue.SimpleQueue[tuple[int, R | None, BaseException | None]] = queue.SimpleQueue()
    given_up = threading.Event()

    def work() -> None:
        while not given_up.is_set():
            try:
                number, item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, function(item), None))
            except BaseException as error:  # noqa: BLE001 - it is raised where the results are wanted
                done.put((number, None, error))

    for _ in range(min(at_most, count)):
        threading.Thread(target=work, name="kimi-at-once", daemon=True).start()
    results: dict[int, R] = {}
    try:
        for _ in range(count):
            number, result, error = done.get()
            if error is not None:
                raise error
            results[number] = result  # type: ignore[assignment]
    finally:
        given_up.set()
    return [results[number] for number in range(count)]
