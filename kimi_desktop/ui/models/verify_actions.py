"""Verify a model again: progress above the library, the bad parts named, repair. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QObject

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import message
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.queue_types import DownloadStatus
from kimi_desktop.downloads.verify.types import (
    PartState,
    PartVerdict,
    VerifyProgressed,
    VerifyReport,
)
from kimi_desktop.downloads.verify.words import good_sentence
from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_names import full_name
from kimi_desktop.ui.models.report_card import ReportCard
from kimi_desktop.ui.models.tasks import Tasks


class VerifyActions(QObject):
    """One verification per model at a time."""

    def __init__(self, bridge: Bridge, tasks: Tasks, parent: QObject) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._tasks = tasks
        self._keys: dict[str, str] = {}
        """Of the work by the path that is verified."""
        bridge.happened.connect(self._on_event)

    def verify(self, model: LocalModel) -> None:
        """Read all of it and compare."""
        key = f"verify {model.id}"
        if self._tasks.card(key) is not None:
            return
        self._keys[str(model.path)] = key
        title = self.tr("Verifying {name}: every byte is read and compared")
        operation = self._bridge.services.verify.verify(model.path)
        self._tasks.run(
            key,
            title.format(name=full_name(model)),
            operation,
            lambda report: self._on_report(key, model, report),
        )

    def _on_report(self, key: str, model: LocalModel, report: VerifyReport) -> None:
        self._bridge.services.models.scan()  # when it was verified has changed
        if report.is_good:
            self._tell_good(model, report)
            return
        bad = len(report.problems)
        heading = self.tr("{name}: {bad} of {count} files are not as they should be").format(
            name=full_name(model), bad=bad, count=len(report.parts)
        )
        card = ReportCard(heading, [sentence(part) for part in report.problems], tone="bad")
        size = sum(_to_fetch(part) for part in report.problems)
        words = self.tr("Repair, fetch {size}").format(size=format_file_size(size))
        if size == 0:
            words = self.tr("Repair")
        button = card.add_action(words, "refresh", lambda: self._repair(key, report, card))
        button.setAccessibleDescription(heading)
        self._tasks.show_report(key, card)

    def _tell_good(self, model: LocalModel, report: VerifyReport) -> None:
        text = good_sentence(report, language())
        self._bridge.navigation.tell(f"{full_name(model)}: {text}")

    def _repair(self, key: str, report: VerifyReport, card: ReportCard) -> None:
        def done(status: DownloadStatus | None) -> None:
            card.closed.emit()
            go = self._bridge.navigation
            if status is None:
                go.tell(self.tr("The files have their right names again."))
                self._bridge.services.models.scan()
                return
            text = self.tr("What is bad is being fetched again, and nothing else.")
            go.offer(text, self.tr("Show downloads"), go.open_downloads)

        def failed(error: BaseException) -> None:
            if self._tasks.report(key) is card:
                card.show_failure(error)

        self._bridge.watch(self._bridge.services.verify.repair(report), done, failed)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, VerifyProgressed):
            card = self._tasks.card(self._keys.get(event.path, ""))
            if card is not None:
                card.progress.show_bytes(event.done_bytes, event.total_bytes)


def sentence(part: PartVerdict) -> str:
    """What is wrong with a file."""
    wanted = part.expected_bytes
    return message(
        f"verify.part.{part.state.value}",
        language(),
        file=part.target,
        size=format_file_size(part.size_bytes),
        wanted="?" if wanted is None else format_file_size(wanted),
        bad=format_file_size(_to_fetch(part) or part.size_bytes),
        other=part.other,
        found=part.sha256,
        detail=part.detail,
    )


def _to_fetch(part: PartVerdict) -> int:
    """Bytes that a repair would fetch: the bad ranges, or the whole file."""
    if part.state in (PartState.SWAPPED, PartState.MIXED):
        return 0
    return part.bad_bytes or part.expected_bytes or 0
