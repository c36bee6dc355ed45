"""What the frame shows of downloads: badge, taskbar, and a word when one ends. Qt thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.downloads.queue_types import (
    DownloadFinished,
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
    DownloadStatus,
)
from kimi_desktop.ui import icons
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.download_words import full_title
from kimi_desktop.ui.language import language
from kimi_desktop.ui.rail import Rail
from kimi_desktop.ui.taskbar import Taskbar, taskbar_for

SHOWN_MS = 15_000
"""So long the tray icon stays for its message."""


class Announcer(Protocol):
    """Tells the person who looks elsewhere."""

    def announce(self, title: str, text: str, on_click: Callable[[], None]) -> bool:
        """Whether somebody could be told."""


class TrayAnnouncer(QObject):
    """A message of the system's tray, where it has one; its icon goes with the message."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._icon: QSystemTrayIcon | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._drop)

    def announce(self, title: str, text: str, on_click: Callable[[], None]) -> bool:
        """See ``Announcer``."""
        if not QSystemTrayIcon.isSystemTrayAvailable() or not QSystemTrayIcon.supportsMessages():
            return False
        self._drop()
        icon = self._icon = QSystemTrayIcon(icons.app_icon(), self)
        icon.messageClicked.connect(on_click)
        icon.activated.connect(on_click)
        icon.show()
        icon.showMessage(title, text, icons.app_icon(), SHOWN_MS)
        self._timer.start(SHOWN_MS)
        return True

    def _drop(self) -> None:
        if self._icon is not None:
            self._icon.hide()
            self._icon.deleteLater()
            self._icon = None


class DownloadWatch(QObject):
    """Follows the queue for the frame."""

    def __init__(
        self,
        bridge: Bridge,
        window: QWidget,
        rail: Rail,
        *,
        taskbar: Taskbar | None = None,
        announcer: Announcer | None = None,
    ) -> None:
        super().__init__(window)
        self._bridge = bridge
        self._window = window
        self._rail = rail
        self._taskbar = taskbar
        self._announcer = announcer or TrayAnnouncer(self)
        self._shown: tuple[float | None, int, bool] = (None, 0, False)
        bridge.happened.connect(self._on_event)
        self._show(bridge.services.downloads.downloads)

    def retranslate(self) -> None:
        """Set the words."""
        self._show(self._bridge.services.downloads.downloads)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, DownloadProgressed | DownloadsChanged):
            self._show(self._bridge.services.downloads.downloads)
        elif isinstance(event, DownloadFinished):
            self._tell(event.status)

    def _show(self, downloads: tuple[DownloadStatus, ...]) -> None:
        """The badge counts what is under way or waits; a failed one changes its tone."""
        coming = [one for one in downloads if one.is_running or one.state is DownloadState.QUEUED]
        failed = [one for one in downloads if one.state is DownloadState.FAILED]
        words = ""
        if coming:
            words = self.tr("downloads: {count}").format(count=len(coming))
        elif failed:
            words = self.tr("downloads that failed: {count}").format(count=len(failed))
        count = len(coming) or len(failed)
        self._rail.set_badge("models", count, words, tone="accent" if coming else "bad")
        total = sum(one.total_bytes for one in coming)
        done = sum(one.done_bytes for one in coming)
        share = done / total if total and any(one.is_running for one in coming) else None
        self._show_taskbar(share, len(coming), failed=bool(failed) and not coming)

    def _show_taskbar(self, share: float | None, count: int, *, failed: bool) -> None:
        """Whole percents: the desktop need not hear more."""
        shown = (None if share is None else int(share * 100) / 100, count, failed)
        if shown == self._shown:
            return
        self._shown = shown
        if self._taskbar is None:
            self._taskbar = taskbar_for(self._window)
        self._taskbar.show(shown[0], count, failed=failed)

    def _tell(self, status: DownloadStatus) -> None:
        name = full_title(status.title)
        go = self._bridge.navigation
        if status.state is DownloadState.READY:
            text = self.tr("{name} is ready: every byte proven.").format(name=name)
            go.offer(text, self.tr("Show"), lambda: self._show_model(status))
        else:
            reason = describe_error(status.reason, language())[0] if status.reason else ""
            text = self.tr("{name} could not be fetched. {reason}").format(name=name, reason=reason)
            go.offer(text, self.tr("Show downloads"), go.open_downloads)
        if not self._window.window().isActiveWindow():
            self._announcer.announce(name, text, self._on_clicked)

    def _show_model(self, status: DownloadStatus) -> None:
        """In the library, with the cursor on it."""
        folder = Path(status.folder)
        models = self._bridge.services.models.models
        model = next((one for one in models if one.path.is_relative_to(folder)), None)
        self._bridge.navigation.open_library(model.id if model is not None else "")

    def _on_clicked(self) -> None:
        window = self._window.window()
        window.show()
        window.raise_()
        window.activateWindow()
        self._bridge.navigation.open_downloads()
