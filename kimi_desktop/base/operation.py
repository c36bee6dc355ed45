"""A running command that can be watched and cancelled from any thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Generic, TypeVar

T = TypeVar("T")

Cancelled = CancelledError
"""What a cancelled command reports, for those who may not know ``concurrent``."""


class Operation(Generic[T]):
    """What every long command returns: ``cancel``, ``done``, and a callback at the end.

    A wrapper, so that callers depend on three verbs and not on which kind of future is behind it.
    """

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    @classmethod
    def never(cls) -> Operation[T]:
        """One that was cancelled before it began: the app is closing."""
        future: Future[T] = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return cls(future)

    def cancel(self) -> None:
        """Ask the command to stop. It ends as cancelled unless it was already done."""
        self._future.cancel()

    @property
    def done(self) -> bool:
        """True once it has a result, an error, or was cancelled."""
        return self._future.done()

    @property
    def cancelled(self) -> bool:
        """True once it ended because of ``cancel``."""
        return self._future.cancelled()

    def result(self, timeout_s: float | None = None) -> T:
        """Wait for the result. For the terminal and tests; never on the Qt thread.

        Raises:
            TimeoutError: not done in time.
            concurrent.futures.CancelledError: it was cancelled.
            Exception: whatever the command raised.
        """
        return self._future.result(timeout_s)

    def on_done(self, callback: Callable[[T | None, BaseException | None], None]) -> None:
        """Call ``callback(result, error)`` at the end, on the thread that ended it.

        A cancelled command reports ``(None, CancelledError())``.
        """

        def finish(future: Future[T]) -> None:
            if future.cancelled():
                callback(None, CancelledError())
                return
            error = future.exception()
            if error is not None:
                callback(None, error)
            else:
                callback(future.result(), None)

        self._future.add_done_callback(finish)
