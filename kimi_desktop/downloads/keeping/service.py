"""Models that are here: removed, restored, moved. Implements the window's KeepService.

Called from the Qt thread; the work runs in the pool, a move in a thread of its own (it can take
hours). One move at a time, the others wait.
"""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import os
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.downloads.keeping import removal as removing
from kimi_desktop.downloads.keeping.moving import SPARE_BYTES, Mover, items_for
from kimi_desktop.downloads.keeping.types import (
    Moved,
    MovePlace,
    MoveProgressed,
    Removal,
    Removed,
    Space,
    Trash,
)
from kimi_desktop.downloads.volume import look_at_volume
from kimi_desktop.models.companions import own_companions
from kimi_desktop.models.types import LocalModel, ModelFormat


class Library(Protocol):
    """What is needed of the local library."""

    @property
    def models(self) -> tuple[LocalModel, ...]:
        """The last scan."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where it looks."""

    @property
    def missing_folders(self) -> tuple[Path, ...]:
        """Those that are not there."""

    async def look_again(self) -> tuple[LocalModel, ...]:
        """Scan and tell."""

    def look_into(self, folder: Path) -> None:
        """One more folder from now on. Blocking (pool)."""


class Keeper:
    """See the module. ``close`` before the IO loop."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        library: Library,
        *,
        in_use: Callable[[LocalModel], bool],
        renamed: Callable[[str, str], None],
        trash: Trash | None,
    ) -> None:
        """Build it.

        Args:
            io: for the work.
            bus: gets MoveProgressed.
            store: whose choices follow a model that moved.
            library: where models are.
            in_use: the engine has it.
            renamed: told (old id, new id) of a model that moved, in the pool.
            trash: None = there is none here (the terminal).
        """
        self._io = io
        self._bus = bus
        self._store = store
        self._library = library
        self._in_use = in_use
        self._renamed = renamed
        self._trash = trash
        self._movers = ThreadPoolExecutor(1, "kimi-move")
        self._running: set[Mover] = set()

    def look_at_removal(self, model: LocalModel) -> Operation[Removal]:
        """What removing a model would do, and what the drive would get back."""
        companions = own_companions(model, self._library.models)
        return self._io.pool(removing.look_at_removal, model, companions, self._library.folders)

    def remove(self, removal: Removal) -> Operation[Removed]:
        """Put it into the trash.

        The operation fails with MODEL_NO_TRASH where there is none, or with MODEL_IN_USE.
        """

        def run() -> Removed:
            if self._trash is None:
                params = {"path": str(removal.paths[0]), "detail": os.strerror(errno.ENOTSUP)}
                raise ModelError(ErrorCode.MODEL_NO_TRASH, params)
            return removing.remove(removal, self._trash)

        return self._io.submit(lambda: self._then_look(removal, run))

    def remove_for_good(self, removal: Removal) -> Operation[Removed]:
        """Delete it."""
        return self._io.submit(
            lambda: self._then_look(removal, lambda: removing.remove_for_good(removal))
        )

    def restore(self, removed: Removed) -> Operation[None]:
        """Bring it back from the trash."""

        async def run() -> None:
            try:
                await self._io.in_pool(removing.restore, removed)
            finally:
                await self._library.look_again()

        return self._io.submit(run)

    def places(self, model: LocalModel) -> Operation[tuple[MovePlace, ...]]:
        """The other folders of the library, and whether the model fits there."""
        missing = self._library.missing_folders
        root = self._root_of(model)
        others = [f for f in self._library.folders if f != root and f not in missing]
        return self._io.pool(self._look_at_places, model, others)

    def look_at_place(self, model: LocalModel, folder: Path) -> Operation[MovePlace]:
        """The same of any folder.

        The operation fails with MODEL_NOT_MOVED when it cannot be looked at.
        """

        def run() -> MovePlace:
            found = self._look_at_places(model, [folder])
            if not found:
                params = {"path": str(folder), "detail": os.strerror(2)}
                raise ModelError(ErrorCode.MODEL_NOT_MOVED, params)
            return found[0]

        return self._io.pool(run)

    def move(self, model: LocalModel, folder: Path) -> Operation[Moved]:
        """Move a model to another folder, with what belongs to it alone.

        Publishes MoveProgressed. A folder that the library does not look into yet joins it.
        """
        return self._io.submit(lambda: self._move(model, folder.expanduser().absolute()))

    def space(self, folder: Path) -> Operation[Space | None]:
        """The volume that a folder is on, or would be; None when it cannot be looked at."""
        return self._io.pool(_space, folder)

    def close(self) -> None:
        """End what is under way; what was copied counts at the next try."""
        for mover in list(self._running):
            mover.stop(keep=True)
        self._movers.shutdown(wait=True, cancel_futures=True)

    async def _then_look(self, removal: Removal, run: Callable[[], Removed]) -> Removed:
        for model in self._library.models:
            if model.id == removal.model_id and self._in_use(model):
                raise ModelError(ErrorCode.MODEL_IN_USE, {"name": model.title})
        try:
            return await self._io.in_pool(run)
        finally:
            await self._library.look_again()

    async def _move(self, model: LocalModel, folder: Path) -> Moved:
        if self._in_use(model):
            raise ModelError(ErrorCode.MODEL_IN_USE, {"name": model.title})
        root = self._root_of(model)
        files = await self._io.in_pool(_all_files, model, self._library.models)
        items = items_for(files, root, folder)

        def tell(copied: int, checked: int, total: int, file: str) -> None:
            self._bus.publish(MoveProgressed(model.id, copied, checked, total, file))

        kept = (*self._library.folders, folder)
        mover = Mover(items, folder, kept_folders=kept, progress=tell)
        self._running.add(mover)
        try:
            copied = await asyncio.wrap_future(self._movers.submit(mover.run))
        except asyncio.CancelledError:
            mover.stop(keep=False)
            raise
        finally:
            self._running.discard(mover)
        new_id = str(folder / model.path.relative_to(root))
        await self._io.in_pool(self._follow, model.id, new_id, folder)
        await self._library.look_again()
        return Moved(model.id, new_id, folder, copied)

    def _follow(self, old_id: str, new_id: str, folder: Path) -> None:
        """Choices and chats stay with the model."""

        def change(settings: Settings) -> Settings:
            models = settings.models
            if models.selected == old_id:
                models = dataclasses.replace(models, selected=new_id)
            loads = {
                new_id if key == old_id else key: v for key, v in settings.engine.loads.items()
            }
            engine = dataclasses.replace(settings.engine, loads=loads)
            return dataclasses.replace(settings, models=models, engine=engine)

        if not any(folder.is_relative_to(known) for known in self._library.folders):
            self._library.look_into(folder)
        self._store.update(change)
        self._renamed(old_id, new_id)

    def _root_of(self, model: LocalModel) -> Path:
        """The folder of the library that a model is in: the nearest one."""
        inside = [f for f in self._library.folders if model.path.is_relative_to(f)]
        return max(inside, key=lambda f: len(f.parts), default=model.path.parent)

    def _look_at_places(self, model: LocalModel, folders: Sequence[Path]) -> tuple[MovePlace, ...]:
        found = []
        for folder in folders:
            with suppress(OSError):
                volume = look_at_volume(folder)
                device = next(p for p in (folder, *folder.parents) if p.exists()).stat().st_dev
                same = model.path.lstat().st_dev == device
                room = volume.free_bytes >= model.size_bytes + SPARE_BYTES
                found.append(
                    MovePlace(folder, volume.free_bytes, same or room, volume.writable, same)
                )
        return tuple(found)


def _space(folder: Path) -> Space | None:
    try:
        place = next(path for path in (folder, *folder.parents) if path.exists())
        usage = shutil.disk_usage(place)
    except (OSError, StopIteration):
        return None
    return Space(usage.total, usage.free)


def _all_files(model: LocalModel, models: Sequence[LocalModel]) -> list[Path]:
    """Every file that goes with a model; of a checkpoint also tokenizer, code and the rest."""
    files = list(model.files or (model.path,))
    if model.format is ModelFormat.SAFETENSORS:
        known = set(files)
        for place, folders, names in os.walk(model.path):
            folders[:] = [name for name in folders if not name.startswith(".")]
            more = (Path(place) / name for name in sorted(names) if not name.startswith("."))
            files += [path for path in more if path not in known]
    for companion in own_companions(model, models):
        files += companion.files or (companion.path,)
    return files
