"""The Downloads tab: what is under way, the queue, what is done, and the disk. Qt thread.

Rows are made when the list changes and fed four times a second; nothing else is touched then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.units import MB, format_file_size, format_rate
from kimi_desktop.downloads.keeping.types import Space
from kimi_desktop.downloads.queue_types import (
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
    DownloadStatus,
)
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.dates import moment_text
from kimi_desktop.ui.download_words import full_title, state_of, translate
from kimi_desktop.ui.models.disk_bar import DiskBar, DiskUse
from kimi_desktop.ui.models.download_row import DownloadAction, DownloadRow
from kimi_desktop.ui.models.download_sheets import CancelSheet, DetailsSheet
from kimi_desktop.ui.models.queue_row import QueueRow
from kimi_desktop.ui.models.row_frame import DraggedFrame, RowFrame
from kimi_desktop.ui.widgets.card import Heading, ScrollPage
from kimi_desktop.ui.widgets.field import Select
from kimi_desktop.ui.widgets.label import ElidedLabel, TextSize
from kimi_desktop.ui.widgets.message_bar import EmptyState

LIMITS_MB_PER_S = (1, 2, 5, 10, 25, 50, 100)
LOOK_MS = 10_000
"""Between two looks at the disk, while the tab is shown."""


class DownloadsView(QWidget):
    """``folder_wanted``, ``copy_wanted`` and ``model_wanted`` ask the page; ``discover_wanted``."""

    folder_wanted = Signal(object)
    copy_wanted = Signal(str)
    model_wanted = Signal(object)
    discover_wanted = Signal()

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._space: Space | None = None
        self.rows: dict[str, DownloadRow] = {}
        self.queue: dict[str, QueueRow] = {}
        self.finished: dict[str, QueueRow] = {}
        self._active_frame, self._done_frame = RowFrame(), RowFrame()
        self.queue_frame = DraggedFrame()
        self.queue_frame.moved.connect(self._on_dragged)
        self._queue_title, self._done_title = Heading(), Heading()
        self.queue_note = ElidedLabel(size=TextSize.SMALL, tone="muted")
        self.disk = DiskBar()
        self.nothing = EmptyState("download")
        self.nothing.button.clicked.connect(self.discover_wanted)
        self.limit = Select(small=True)
        self.limit.activated.connect(self._on_limit)
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self._look_at_disk)
        self._arrange()
        bridge.happened.connect(self._on_event)
        self.retranslate()
        self._take_list(bridge.services.downloads.downloads)

    # Qt

    def showEvent(self, event: QShowEvent) -> None:
        """The disk is looked at while somebody looks here."""
        super().showEvent(event)
        self._look_at_disk()
        self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        """And not otherwise."""
        super().hideEvent(event)
        self._timer.stop()

    def retranslate(self) -> None:
        """Set the words."""
        self._queue_title.setText(self.tr("Queue"))
        self._done_title.setText(self.tr("Finished"))
        self.nothing.set_texts(
            self.tr("Nothing is being downloaded. Every byte of what comes is proven."),
            self.tr("See what this machine can run"),
        )
        self._show_limits()
        for row in self.rows.values():
            row.retranslate()
        self._take_list(self._bridge.services.downloads.downloads)
        self.disk.retranslate()

    # what the user does

    def act(self, action: DownloadAction, key: str) -> None:
        """Carry out an action of a row."""
        status = self._status(key)
        if status is None:
            return
        downloads = self._bridge.services.downloads
        match action:
            case DownloadAction.CANCEL:
                self._cancel(status)
            case DownloadAction.DETAILS:
                files = downloads.files(key)
                self._bridge.navigation.open_overlay(
                    lambda window: DetailsSheet(window, status, files)
                )
            case DownloadAction.FOLDER:
                self.folder_wanted.emit(Path(status.folder))
            case DownloadAction.COPY:
                self.copy_wanted.emit(status.title)
            case DownloadAction.SHOW:
                self.model_wanted.emit(Path(status.folder))
            case DownloadAction.MEASURE:
                self._measure(key)
            case DownloadAction.UP | DownloadAction.DOWN:
                self._move(key, -1 if action is DownloadAction.UP else 1)
            case _:
                commands: dict[DownloadAction, Callable[[str], Operation[Any]]] = {
                    DownloadAction.PAUSE: downloads.pause,
                    DownloadAction.RESUME: downloads.resume,
                    DownloadAction.TRY_NOW: downloads.resume,
                    DownloadAction.RETRY: downloads.retry,
                    DownloadAction.START_NOW: downloads.start_now,
                    DownloadAction.FORGET: downloads.forget,
                    DownloadAction.KEEP: downloads.cancel,
                }
                self._bridge.watch(commands[action](key), on_error=self._bridge.navigation.report)

    def _cancel(self, status: DownloadStatus) -> None:
        """Nothing came: no question. Else what happens to it is asked."""
        downloads = self._bridge.services.downloads

        def cancel(keep: bool) -> None:
            operation = downloads.cancel(status.id, keep_partial=keep)
            self._bridge.watch(operation, on_error=self._bridge.navigation.report)

        if status.done_bytes == 0:
            cancel(keep=False)
            return
        self._bridge.navigation.open_overlay(lambda window: CancelSheet(window, status, cancel))

    def _move(self, key: str, step: int) -> None:
        """One place up or down among those that wait."""
        order = list(self.queue)
        if key not in order:
            return
        place = order.index(key) + step
        if 0 <= place < len(order):
            self._put(key, order[place])

    def _on_dragged(self, row: int, place: int) -> None:
        order = list(self.queue)
        self._put(order[row], order[place])

    def _put(self, key: str, there: str) -> None:
        """To the place that another one has now."""
        every = [status.id for status in self._bridge.services.downloads.downloads]
        operation = self._bridge.services.downloads.move(key, every.index(there))
        self._bridge.watch(operation, on_error=self._bridge.navigation.report)

    def _prefer(self, key: str, endpoint: str) -> None:
        operation = self._bridge.services.downloads.prefer(key, endpoint)
        self._bridge.watch(operation, on_error=self._bridge.navigation.report)

    def _measure(self, key: str) -> None:
        def ended(*_result: object) -> None:
            row = self.rows.get(key)
            if row is not None:
                row.show_measuring(is_measuring=False)

        def failed(error: BaseException) -> None:
            ended()
            self._bridge.navigation.report(error)

        self.rows[key].show_measuring(is_measuring=True)
        operation = self._bridge.services.downloads.measure(key)
        self._bridge.watch(operation, ended, failed, owner=self)

    def _on_limit(self) -> None:
        limit = self.limit.currentData()
        operation = self._bridge.services.downloads.set_speed_limit(limit or None)
        self._bridge.watch(operation, on_error=self._bridge.navigation.report)

    # what happened

    def _on_event(self, event: Event) -> None:
        if isinstance(event, DownloadProgressed):
            row = self.rows.get(event.status.id)
            if row is not None:
                row.show_status(event.status)
                self._show_disk()
        elif isinstance(event, DownloadsChanged):
            self._take_list(event.downloads)

    def _take_list(self, downloads: Sequence[DownloadStatus]) -> None:
        active = [one for one in downloads if _is_active(one)]
        waiting = [one for one in downloads if one.state is DownloadState.QUEUED]
        done = [one for one in downloads if one.state is DownloadState.READY]
        self._show_active(active)
        self._show_queue(waiting, active)
        self._show_done(done)
        self.nothing.setVisible(not downloads)
        self._show_disk()

    def _show_active(self, active: Sequence[DownloadStatus]) -> None:
        for status in active:
            row = self.rows.get(status.id)
            if row is None:
                row = self.rows[status.id] = DownloadRow(self._bridge, status)
                row.wanted.connect(self.act)
                row.source_chosen.connect(self._prefer)
                row.retranslate()
            else:
                row.show_status(status)
        self.rows = {one.id: self.rows[one.id] for one in active}
        self._active_frame.show_rows(list(self.rows.values()))

    def _show_queue(
        self, waiting: Sequence[DownloadStatus], active: Sequence[DownloadStatus]
    ) -> None:
        rows: dict[str, QueueRow] = {}
        for number, status in enumerate(waiting):
            row = self.queue.get(status.id)
            if row is None:
                row = QueueRow(status)
                row.wanted.connect(self.act)
            word = self.tr("Queued, next") if number == 0 else state_of(status)[2]
            row.show_status(status, word, can_rise=number > 0)
            rows[status.id] = row
        self.queue = rows
        self.queue_frame.show_rows(list(rows.values()))
        self._queue_title.setVisible(bool(rows))
        self.queue_note.setVisible(bool(rows))
        size = format_file_size(sum(status.total_bytes for status in waiting))
        one, several = self.tr("one download"), self.tr("{count} downloads")
        words = [one if len(rows) == 1 else several.format(count=len(rows)), size]
        running = next((status for status in active if status.is_running), None)
        if running is not None:
            text = self.tr("starts when {name} is done")
            words.append(text.format(name=full_title(running.title)))
        self.queue_note.setText(" · ".join(words))

    def _show_done(self, done: Sequence[DownloadStatus]) -> None:
        rows: dict[str, QueueRow] = {}
        for status in sorted(done, key=lambda one: -(one.rested_at or one.added_at)):
            row = self.finished.get(status.id)
            if row is None:
                row = QueueRow(status)
                row.wanted.connect(self.act)
            row.show_status(status, _done_word(status), can_rise=False)
            rows[status.id] = row
        self.finished = rows
        self._done_frame.show_rows(list(rows.values()))
        self._done_title.setVisible(bool(rows))

    # the disk

    def _look_at_disk(self) -> None:
        folder = self._bridge.services.models.folders[0]
        self._bridge.watch(self._bridge.services.keeper.space(folder), self._on_space)

    def _on_space(self, space: Space | None) -> None:
        self._space = space
        self._show_disk()

    def _show_disk(self) -> None:
        """Of the folder that models go to."""
        if self._space is None:
            self.disk.show_use(None, "")
            return
        services = self._bridge.services
        folder = services.models.folders[0]
        here = [m for m in services.models.models if m.path.is_relative_to(folder)]
        to_come = sum(
            max(one.total_bytes - one.done_bytes, 0)
            for one in services.downloads.downloads
            if one.state is not DownloadState.READY and Path(one.folder).is_relative_to(folder)
        )
        used = self._space.total_bytes - self._space.free_bytes
        models = min(sum(model.size_bytes for model in here), used)
        use = DiskUse(used - models, models, to_come, self._space.free_bytes - to_come)
        self.disk.show_use(use, str(folder))

    # inside

    def _arrange(self) -> None:
        page = ScrollPage()
        page.body.setSpacing(8)
        queue_head = QHBoxLayout()
        queue_head.setSpacing(8)
        queue_head.addWidget(self._queue_title)
        queue_head.addWidget(self.queue_note, 1)
        page.body.addWidget(self._active_frame)
        page.body.addLayout(queue_head)
        page.body.addWidget(self.queue_frame)
        page.body.addWidget(self._done_title)
        page.body.addWidget(self._done_frame)
        page.body.addWidget(self.nothing, 1)
        page.body.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(page, 1)
        foot = QVBoxLayout()  # seen whatever the length of the list
        foot.setContentsMargins(24, 0, 24, 12)
        foot.addWidget(self.disk)
        layout.addLayout(foot)

    def _show_limits(self) -> None:
        now = self._bridge.services.downloads.speed_limit or 0
        values = sorted({0, now, *(number * MB for number in LIMITS_MB_PER_S)})
        self.limit.clear()
        for value in values:
            word = format_rate(value) if value else self.tr("none")
            self.limit.addItem(self.tr("Speed limit: {limit}").format(limit=word), value)
        self.limit.choose(now)
        self.limit.set_label(self.tr("Speed limit of all downloads"))

    def _status(self, key: str) -> DownloadStatus | None:
        downloads = self._bridge.services.downloads.downloads
        return next((status for status in downloads if status.id == key), None)


def _done_word(status: DownloadStatus) -> str:
    """``Ready, 14:20``."""
    word = state_of(status)[2]
    if status.rested_at is None:
        return word
    when = moment_text(status.rested_at)
    return translate("Downloads", "{state}, {time}").format(state=word, time=when)


def _is_active(status: DownloadStatus) -> bool:
    return status.is_running or status.state in (DownloadState.PAUSED, DownloadState.FAILED)
