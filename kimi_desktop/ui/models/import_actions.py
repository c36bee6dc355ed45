"""Imports: the sheet, progress above the library, what was linked and how. Qt thread."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import message
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.imports.types import (
    FoundModel,
    ImportedFile,
    ImportedModel,
    ImportProgressed,
    LinkKind,
)
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.models.import_sheet import ImportSheet
from kimi_desktop.ui.models.report_card import ReportCard
from kimi_desktop.ui.models.tasks import Tasks

KEY = "import"
SHORT_HASH = 16


class ImportActions(QObject):
    """One import at a time."""

    def __init__(self, bridge: Bridge, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._tasks = tasks
        bridge.happened.connect(self._on_event)

    def ask(self, folder: Path | None = None) -> None:
        """Show what is here, or what is in a folder."""
        self._bridge.navigation.open_overlay(
            lambda window: ImportSheet(window, self._bridge, self.start, folder)
        )

    def start(self, models: tuple[FoundModel, ...]) -> None:
        """Prove and link them."""
        size = format_file_size(sum(model.size_bytes for model in models))
        one = self.tr("Importing {name}: {size} are read and proven, nothing is copied")
        several = self.tr("Importing {count} models: {size} are read and proven, nothing is copied")
        name = models[0].name if len(models) == 1 else ""
        title = (one if name else several).format(name=name, count=len(models), size=size)
        self._tasks.run(KEY, title, self._bridge.services.imports.run(models), self._on_done)

    def _on_done(self, models: tuple[ImportedModel, ...]) -> None:
        bad = sum(not model.is_whole for model in models)
        heading = self.tr("Imported, nothing copied")
        if bad:
            heading = self.tr("Imported, but {bad} of {count} models have a problem")
            heading = heading.format(bad=bad, count=len(models))
        lines = [line for model in models for line in self._lines(model)]
        report = ReportCard(heading, lines, tone="bad" if bad else "")
        self._tasks.show_report(KEY, report)

    def _lines(self, model: ImportedModel) -> list[str]:
        """How a model came out, how it is linked, and each file with a problem."""
        spoken = language()
        size = format_file_size(model.model.size_bytes)
        proven = all(file.is_proven for file in model.files)
        key = "partial" if not model.is_whole else "whole" if proven else "unproven"
        name, count = model.model.name, len(model.files)
        text = message(f"imports.{key}", spoken, name=name, size=size, count=count)
        links = dict.fromkeys(file.link for file in model.files if file.link is not None)
        how = [self._link(link) for link in links]
        lines = [" ".join([text, *how])]
        lines += [message("imports.missing", spoken, file=file) for file in model.model.missing]
        lines += [_problem(file) for file in model.files if not file.outcome.is_good]
        return lines

    def _link(self, kind: LinkKind) -> str:
        return {
            LinkKind.CLONE: self.tr("Its files share their blocks with the originals."),
            LinkKind.HARD_LINK: self.tr("Its files are second names of the originals."),
            LinkKind.SYMBOLIC_LINK: self.tr(
                "Its files point to the originals: gone when the other program removes them."
            ),
        }[kind]

    def _on_event(self, event: Event) -> None:
        if isinstance(event, ImportProgressed):
            card = self._tasks.card(KEY)
            if card is not None:
                card.progress.show_bytes(event.done_bytes, event.total_bytes)


def _problem(file: ImportedFile) -> str:
    expected = file.file.sha256 or file.file.git_sha1 or ""
    return message(
        f"imports.{file.outcome.value}",
        language(),
        file=file.file.target,
        found=f"{file.sha256[:SHORT_HASH]}…",
        expected=f"{expected[:SHORT_HASH]}…",
        detail=file.detail,
    )
