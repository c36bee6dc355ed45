"""Records what the window asked for and decides when it ends."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, TypeVar

from kimi_desktop.base.operation import Operation

T = TypeVar("T")


class Desk:
    """Records the commands and hands out their Operations."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.hold: set[str] = set()
        self._held: dict[str, tuple[Future[Any], Any]] = {}

    def note(self, name: str, *arguments: object) -> None:
        """Remember that ``name`` was called."""
        self.calls.append((name, arguments))

    def called(self, name: str) -> int:
        """How often ``name`` was called."""
        return sum(call == name for call, _ in self.calls)

    def operation(self, name: str, result: T, *arguments: object) -> Operation[T]:
        """An Operation that is done, or one that waits when ``name`` is held."""
        self.note(name, *arguments)
        future: Future[T] = Future()
        if name in self.hold:
            self._held[name] = (future, result)
        else:
            future.set_result(result)
        return Operation(future)

    def failed(self, name: str, error: BaseException, *arguments: object) -> Operation[Any]:
        """An Operation that failed."""
        self.note(name, *arguments)
        future: Future[Any] = Future()
        future.set_exception(error)
        return Operation(future)

    def release(self, name: str) -> None:
        """End the held Operation well."""
        future, result = self._held.pop(name)
        future.set_result(result)

    def fail(self, name: str, error: BaseException) -> None:
        """End the held Operation with an error."""
        future, _ = self._held.pop(name)
        future.set_exception(error)
