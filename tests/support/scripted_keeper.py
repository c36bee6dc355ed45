"""Removing and moving models of the scripted services: nothing is touched."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.keeping.types import (
    Moved,
    MovePlace,
    MoveProgressed,
    Removal,
    Removed,
    Space,
)
from kimi_desktop.models.types import LocalModel
from tests.support.scripted_desk import Desk
from tests.support.scripted_machine import ScriptedModels

GB = 10**9


class ScriptedKeeper:
    """``freed_share`` of a model's size is what the drive gets back; ``error`` fails everything."""

    def __init__(self, desk: Desk, bus: EventBus, models: ScriptedModels) -> None:
        self._desk = desk
        self._bus = bus
        self._models = models
        self.freed_share = 1.0
        self.error: KimiError | None = None
        self.other_places: tuple[MovePlace, ...] = (
            MovePlace(Path("/mnt/archive/models"), 7_410 * GB, True, True, False),
            MovePlace(Path("/home/ada/old models"), 640 * GB, True, True, True),
            MovePlace(Path("/media/ada/stick"), 58 * GB, False, True, False),
        )

    def look_at_removal(self, model: LocalModel) -> Operation[Removal]:
        removal = Removal(
            model.id,
            model.title,
            (model.path.parent,),
            model.parts_total,
            model.size_bytes,
            int(model.size_bytes * self.freed_share),
        )
        return self._desk.operation("keeper.look_at_removal", removal, model.id)

    def remove(self, removal: Removal) -> Operation[Removed]:
        if self.error is not None:
            return self._desk.failed("keeper.remove", self.error, removal)
        self._drop(removal)
        moved = tuple((path, Path("/trash") / path.name) for path in removal.paths)
        return self._desk.operation("keeper.remove", Removed(removal, moved), removal)

    def remove_for_good(self, removal: Removal) -> Operation[Removed]:
        self._drop(removal)
        return self._desk.operation("keeper.remove_for_good", Removed(removal), removal)

    def restore(self, removed: Removed) -> Operation[None]:
        return self._desk.operation("keeper.restore", None, removed)

    def places(self, model: LocalModel) -> Operation[tuple[MovePlace, ...]]:
        return self._desk.operation("keeper.places", self.other_places, model.id)

    def look_at_place(self, model: LocalModel, folder: Path) -> Operation[MovePlace]:
        if self.error is not None:
            return self._desk.failed("keeper.look_at_place", self.error, folder)
        place = MovePlace(folder, 900 * GB, True, True, False)
        return self._desk.operation("keeper.look_at_place", place, model.id, folder)

    def move(self, model: LocalModel, folder: Path) -> Operation[Moved]:
        path = folder / model.path.name
        moved = Moved(model.id, str(path), folder, model.size_bytes)
        operation = self._desk.operation("keeper.move", moved, model.id, folder)
        if operation.done:
            new = dataclasses.replace(model, id=str(path), path=path)
            models = (new if one.id == model.id else one for one in self._models.models)
            self._models.set_models(*models)
        return operation

    def space(self, folder: Path) -> Operation[Space | None]:
        return self._desk.operation("keeper.space", Space(4_000 * GB, 2_020 * GB), folder)

    def progress(self, model: LocalModel, copied_bytes: int, checked_bytes: int) -> None:
        """A move is under way."""
        self._bus.publish(
            MoveProgressed(model.id, copied_bytes, checked_bytes, model.size_bytes, "part 1")
        )

    def _drop(self, removal: Removal) -> None:
        rest = (model for model in self._models.models if model.id != removal.model_id)
        self._models.set_models(*rest)
