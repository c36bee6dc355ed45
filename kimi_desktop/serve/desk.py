"""Who is being served, who waits, and who was served last. The gateway's loop.

The engine gets as many requests at once as it has slots; the others wait here in the order in which
they came, where they can be seen and go away for nothing when their client does.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from kimi_desktop.serve.policy import RefusedError

MAX_WAITING = 32
DONE_KEPT = 50
REFUSED_FOR_S = 600
MINUTE_S = 60
TELL_EVERY_S = 0.25


@dataclass(slots=True)
class Entry:
    """One request."""

    number: int
    client: str
    path: str
    began_s: float
    """time.time() of its arrival."""
    waits: bool = True
    status: int = 499
    """499: the client went away."""
    first_byte_s: float | None = None


class Desk:
    """Hands out the engine's slots and tells what happens, at most four times a second."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell
        self._slots = 1
        self._numbers = itertools.count(1)
        self._here: dict[int, Entry] = {}
        self._queue: deque[tuple[Entry, asyncio.Future[None]]] = deque()
        self._done: deque[dict[str, Any]] = deque(maxlen=DONE_KEPT)
        self._refused: dict[tuple[int, int], tuple[int, str]] = {}
        """By minute and status: how many, and where the last one came from."""
        self._timer: asyncio.TimerHandle | None = None
        self._told_at = 0.0
        self.served = 0

    @property
    def running(self) -> int:
        """Requests that the engine has."""
        return sum(not entry.waits for entry in self._here.values())

    def set_slots(self, count: int) -> None:
        """What the engine can do at once; more let the first ones in the queue go on."""
        self._slots = max(count, 1)
        self._admit()

    @asynccontextmanager
    async def place(self, client: str, path: str) -> AsyncIterator[Entry]:
        """A slot for one request, waited for in turn; noted as done at the end.

        Raises:
            RefusedError: 429, too many wait already.
        """
        if len(self._queue) >= MAX_WAITING:
            raise RefusedError(429, "Too many requests wait already.", code="rate_limited")
        entry = Entry(next(self._numbers), client, path, time.time())
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._here[entry.number] = entry
        self._queue.append((entry, turn))
        self._admit()
        self._changed()
        try:
            await turn
            yield entry
        except RefusedError as error:
            entry.status = error.status
            raise
        finally:
            if entry.waits:
                self._queue = deque(pair for pair in self._queue if pair[0] is not entry)
            del self._here[entry.number]
            self.served += not entry.waits
            self._note(entry)
            self._admit()
            self._changed()

    def refuse(self, status: int, peer: str) -> None:
        """A request was refused; counted by the minute, so that a flood takes no room."""
        now = int(time.time())
        kept = {key: told for key, told in self._refused.items() if key[0] > now - REFUSED_FOR_S}
        key = (now - now % MINUTE_S, status)
        kept[key] = (kept.get(key, (0, ""))[0] + 1, peer)
        self._refused = kept
        self._changed()

    def _admit(self) -> None:
        while self._queue and self.running < self._slots:
            entry, turn = self._queue.popleft()
            if not turn.done():
                entry.waits = False
                turn.set_result(None)

    def _note(self, entry: Entry) -> None:
        self._done.appendleft(
            {
                "at": entry.began_s,
                "client": entry.client,
                "path": entry.path,
                "status": entry.status,
                "seconds": round(time.time() - entry.began_s, 3),
            }
        )

    def _changed(self) -> None:
        if self._timer is None:
            wait_s = max(0.0, self._told_at + TELL_EVERY_S - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._tell_now)

    def _tell_now(self) -> None:
        self._timer = None
        self._told_at = time.monotonic()
        here = [
            {
                "number": entry.number,
                "client": entry.client,
                "path": entry.path,
                "began": entry.began_s,
                "waits": entry.waits,
            }
            for entry in self._here.values()
        ]
        self._tell(
            event="requests",
            running=self.running,
            served=self.served,
            here=here,
            done=list(self._done),
            refused=[
                {"at": at, "status": status, "count": count, "peer": peer}
                for (at, status), (count, peer) in sorted(self._refused.items())
            ],
        )
