"""One question at a time, and of those that wait only the newest. Qt thread.

A slider asks faster than a search answers: while one runs, a newer question replaces the one that
waits, so that the answer to the last move is never more than two searches away.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from kimi_desktop.base.operation import Operation
from kimi_desktop.ui.bridge import Bridge

Ask = Callable[[], Operation[Any]]


class LatestOnly(QObject):
    """Runs what ``ask`` is given."""

    def __init__(self, bridge: Bridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._running: Operation[Any] | None = None
        self._waiting: tuple[Ask, Callable[[Any], None], Callable[[BaseException], None]] | None
        self._waiting = None

    @property
    def is_busy(self) -> bool:
        """An answer is outstanding."""
        return self._running is not None

    def ask(
        self,
        make: Ask,
        on_done: Callable[[Any], None],
        on_error: Callable[[BaseException], None],
    ) -> None:
        """Start the operation that ``make`` gives, now or after the one that runs.

        Both callbacks come on the Qt thread; those of a question that was replaced never do.
        """
        if self._running is not None:
            self._waiting = (make, on_done, on_error)
            return
        self._running = make()
        self._bridge.watch(
            self._running,
            lambda result: self._ended(lambda: on_done(result)),
            lambda error: self._ended(lambda: on_error(error)),
            owner=self,
        )

    def drop(self) -> None:
        """Nobody wants what waits any more; ask the running one to stop."""
        self._waiting = None
        if self._running is not None:
            self._running.cancel()

    def _ended(self, tell: Callable[[], None]) -> None:
        self._running = None
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.ask(*waiting)
        tell()
