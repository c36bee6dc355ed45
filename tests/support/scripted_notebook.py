"""The run notebook behind the scripted services: rows in a list."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_settings import settings_from
from kimi_desktop.monitor.run_types import RunRecord, RunsChanged
from tests.support.scripted_desk import Desk


class ScriptedNotebook:
    """``ui.bridge.RunService``."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.rows: tuple[RunRecord, ...] = ()
        self.kept: dict[int, tuple[Row, ...]] = {}

    def set_rows(self, *rows: RunRecord) -> None:
        """The newest first."""
        self.rows = rows
        self._bus.publish(RunsChanged())

    def samples(self, run_id: int) -> Operation[tuple[Row, ...]]:
        return self._desk.operation("notebook.samples", self.kept.get(run_id, ()), run_id)

    def export_csv(self, run_id: int, file: Path) -> Operation[Path]:
        return self._desk.operation("notebook.export_csv", file, run_id)

    def runs(self, limit: int = 200) -> Operation[tuple[RunRecord, ...]]:
        return self._desk.operation("notebook.runs", self.rows[:limit])

    def annotate(
        self, run_id: int, *, note: str | None = None, starred: bool | None = None
    ) -> Operation[None]:
        changes: dict[str, object] = {}
        if note is not None:
            changes["note"] = note
        if starred is not None:
            changes["starred"] = starred
        self.set_rows(
            *(
                dataclasses.replace(row, **changes) if row.id == run_id else row  # type: ignore[arg-type]
                for row in self.rows
            )
        )
        return self._desk.operation("notebook.annotate", None, run_id)

    def delete(self, run_id: int) -> Operation[None]:
        self.set_rows(*(row for row in self.rows if row.id != run_id))
        return self._desk.operation("notebook.delete", None, run_id)

    def settings_of(self, run: RunRecord) -> LoadSettings | None:
        return settings_from(Path(run.model_path), run.settings)
