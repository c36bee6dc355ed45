"""What a person does with models that are here: delete, undo, move. Qt thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from kimi_desktop.base.events import Event
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.keeping.types import Moved, MoveProgressed, Removed
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.model_names import full_name
from kimi_desktop.ui.models.move_sheet import MoveSheet
from kimi_desktop.ui.models.remove_sheet import RemoveSheet
from kimi_desktop.ui.models.tasks import Tasks


class ShelfActions(QObject):
    """``select`` puts the library's cursor on a model, by id."""

    def __init__(
        self, bridge: Bridge, tasks: Tasks, select: Callable[[str], None], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._tasks = tasks
        self._select = select
        bridge.happened.connect(self._on_event)

    def remove(self, model: LocalModel) -> None:
        """Ask, then put it into the trash."""
        self._bridge.navigation.open_overlay(
            lambda window: RemoveSheet(window, self._bridge, model, self._on_removed)
        )

    def move(self, model: LocalModel) -> None:
        """Ask where to, then move it."""
        self._bridge.navigation.open_overlay(
            lambda window: MoveSheet(
                window, self._bridge, model, lambda folder: self.start_move(model, folder)
            )
        )

    def _on_removed(self, removed: Removed) -> None:
        title = removed.removal.title
        if not removed.moved:
            size = format_file_size(removed.removal.freed_bytes)
            text = self.tr("{name} is deleted; {size} are free again.")
            self._bridge.navigation.tell(text.format(name=title, size=size))
            return
        text = self.tr("{name} is in the trash.").format(name=title)
        self._bridge.navigation.offer(text, self.tr("Undo"), lambda: self._restore(removed))

    def _restore(self, removed: Removed) -> None:
        def done(_: None) -> None:
            self._select(removed.removal.model_id)
            text = self.tr("{name} is back.").format(name=removed.removal.title)
            self._bridge.navigation.tell(text)

        restore = self._bridge.services.keeper.restore(removed)
        self._bridge.watch(restore, done, self._bridge.navigation.report)

    def start_move(self, model: LocalModel, folder: Path) -> None:
        """Move it, with its progress above the library."""
        title = self.tr("Moving {name} to {folder}: copied, read back, compared").format(
            name=full_name(model), folder=folder
        )
        operation = self._bridge.services.keeper.move(model, folder)
        self._tasks.run(f"move {model.id}", title, operation, self._on_moved)

    def _on_moved(self, moved: Moved) -> None:
        self._select(moved.new_id)
        text = self.tr("The model is in {folder} now.")
        if moved.copied_bytes:
            text = self.tr("The model is in {folder} now, every byte compared.")
        self._bridge.navigation.tell(text.format(folder=moved.folder))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MoveProgressed):
            card = self._tasks.card(f"move {event.model_id}")
            if card is not None:
                done = (event.copied_bytes + event.checked_bytes) / 2
                card.progress.show_bytes(done, event.total_bytes)
