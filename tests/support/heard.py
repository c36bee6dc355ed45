"""Listens to an event bus, and waits for what must come."""

from __future__ import annotations

import threading
from typing import TypeVar

from kimi_desktop.base.events import Event, EventBus

T = TypeVar("T", bound=Event)
WAIT_S = 60.0


class Heard:
    """Everything that was published, and a way to wait for it."""

    def __init__(self, bus: EventBus) -> None:
        self._arrived = threading.Condition()
        self.events: list[Event] = []
        bus.subscribe(self._add)

    def _add(self, event: Event) -> None:
        with self._arrived:
            self.events.append(event)
            self._arrived.notify_all()

    def all(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def wait(self, kind: type[T], count: int = 1) -> T:
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.all(kind)) >= count, WAIT_S), kind
            return self.all(kind)[count - 1]
