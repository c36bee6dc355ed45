"""Imports for the window: what is here already, found, proven, linked. Implements ImportService.

Called from the Qt thread. Looking is done in the pool; an import hashes with threads of its own,
one import at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.imports.importer import ImportCancelledError, Importer
from kimi_desktop.downloads.imports.layouts import find_in_places, find_models, find_of_ollama
from kimi_desktop.downloads.imports.places import Place, usual_places
from kimi_desktop.downloads.imports.types import FoundModel, ImportedModel, ImportProgressed


class Imports:
    """See the module. ``close`` before the IO loop."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        folder: Callable[[], Path],
        look_again: Callable[[], Awaitable[object]],
        *,
        places: Callable[[], Sequence[Place]] = usual_places,
    ) -> None:
        """Build it.

        Args:
            io: whose thread this is.
            bus: gets ImportProgressed.
            folder: the models folder.
            look_again: has the library scanned.
            places: where other programs keep their models.
        """
        self._io = io
        self._bus = bus
        self._folder = folder
        self._look_again = look_again
        self._places = places
        self._pool = ThreadPoolExecutor(1, "kimi-imports")
        self._running: set[threading.Event] = set()

    def find(self, path: Path | None = None) -> Operation[tuple[FoundModel, ...]]:
        """Models of the usual places, or behind a path. Nothing is read but names and sizes.

        With a path the operation fails with IMPORT_NOT_THERE or IMPORT_NOTHING.
        """
        if path is None:
            return self._io.pool(lambda: find_in_places(self._places()))
        return self._io.pool(find_models, path)

    def find_of_ollama(self, name: str) -> Operation[FoundModel]:
        """The file behind a model of Ollama's list, in its usual places on this computer.

        The operation fails with SERVER_NOT_IN_STORE.
        """
        return self._io.pool(lambda: find_of_ollama(name, self._places()))

    def run(self, models: Sequence[FoundModel]) -> Operation[tuple[ImportedModel, ...]]:
        """Prove models and link them into the library. Publishes ImportProgressed."""
        return self._io.submit(lambda: self._run(tuple(models)))

    def close(self) -> None:
        """End what is under way; what was linked stays."""
        for cancelled in list(self._running):
            cancelled.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def _run(self, models: tuple[FoundModel, ...]) -> tuple[ImportedModel, ...]:
        cancelled = threading.Event()
        importer = Importer(self._folder(), self._tell, cancelled)
        self._running.add(cancelled)
        try:
            return await asyncio.wrap_future(self._pool.submit(importer.run, models))
        except ImportCancelledError:
            raise asyncio.CancelledError from None
        finally:
            cancelled.set()
            self._running.discard(cancelled)
            await self._look_again()

    def _tell(self, done: int, total: int, name: str) -> None:
        self._bus.publish(ImportProgressed(done, total, name))
