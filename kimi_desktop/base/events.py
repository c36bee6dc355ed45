"""How the services tell the window, the terminal and each other what happened.

Owns no thread: ``publish`` calls the subscribers on the caller's thread (as a rule the IO thread).
The window's subscriber only re-emits through one Qt signal, see ``ui/bridge.py``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events: frozen, named in the past tense, coalesced at the source."""


Subscriber = Callable[[Event], None]


class EventBus:
    """Hands every published event to every subscriber, in order of subscription."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: tuple[list[Subscriber], ...] = ()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Add a subscriber; the returned function removes it again."""
        entry = [subscriber]  # a list, so that each subscription is one of its own
        with self._lock:
            self._entries = (*self._entries, entry)

        def unsubscribe() -> None:
            with self._lock:
                self._entries = tuple(other for other in self._entries if other is not entry)

        return unsubscribe

    def publish(self, event: Event) -> None:
        """Call every subscriber; one that raises is logged and does not stop the others."""
        for (subscriber,) in self._entries:
            try:
                subscriber(event)
            except Exception:
                log.exception("a subscriber failed on %s", type(event).__name__)
