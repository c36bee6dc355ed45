"""Newer versions of the scripted services: what a test says there is."""

from __future__ import annotations

from collections.abc import Sequence

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.newer_types import NewerVersion, NewerVersionsFound
from kimi_desktop.models.types import LocalModel
from tests.support.scripted_desk import Desk


class ScriptedNewer:
    """Implements the window's NewerService."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.found: tuple[NewerVersion, ...] = ()

    def set_found(self, *versions: NewerVersion) -> None:
        """Another list."""
        self.found = versions
        self._bus.publish(NewerVersionsFound(versions))

    def look(
        self, models: Sequence[LocalModel], *, again: bool = False
    ) -> Operation[tuple[NewerVersion, ...]]:
        return self._desk.operation("newer.look", self.found, tuple(models), again)
