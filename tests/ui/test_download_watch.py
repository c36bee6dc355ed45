"""What the frame shows of downloads: badge, taskbar, status bar, a word at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtWidgets import QSystemTrayIcon, QWidget

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.ui.download_watch import DownloadWatch, TrayAnnouncer
from kimi_desktop.ui.rail import Rail
from kimi_desktop.ui.status_bar import StatusBar
from tests.support.scripted_downloads import busy_queue

READY, FAILED = DownloadState.READY, DownloadState.FAILED


class Bar:
    def __init__(self) -> None:
        self.shown: list[tuple[float | None, int, bool]] = []

    def show(self, share: float | None, count: int, *, failed: bool = False) -> None:
        self.shown.append((share, count, failed))


class Ear:
    def __init__(self) -> None:
        self.heard: list[tuple[str, str, Callable[[], None]]] = []

    def announce(self, title: str, text: str, on_click: Callable[[], None]) -> bool:
        self.heard.append((title, text, on_click))
        return True


class Frame:
    def __init__(self, bridge, qtbot) -> None:
        self.window = QWidget()
        qtbot.addWidget(self.window)
        self.rail = Rail((("chat", "chat"), ("models", "models"), ("settings", "settings")))
        qtbot.addWidget(self.rail)
        titles = {"chat": "Chat", "models": "Models", "settings": "Settings"}
        self.rail.set_titles(titles, dict.fromkeys(titles, "Ctrl"))
        self.bar, self.ear = Bar(), Ear()
        self.watch = DownloadWatch(
            bridge, self.window, self.rail, taskbar=self.bar, announcer=self.ear
        )
        self.offers: list[tuple[str, str, Callable[[], None]]] = []
        bridge.navigation.offer_made.connect(lambda *values: self.offers.append(values))

    @property
    def badge(self) -> str:
        return self.rail.item("models").accessibleName()


@pytest.fixture
def frame(bridge, qtbot) -> Frame:
    return Frame(bridge, qtbot)


@pytest.fixture
def busy(services, frame):
    downloads = busy_queue(Path("/home/ada/models"))
    services.downloads.set_downloads(*downloads)
    return downloads


def test_nothing_is_shown_of_nothing(frame):
    assert frame.badge == "Models"
    assert frame.bar.shown == []


def test_what_comes_is_counted(frame, busy, services):
    assert frame.badge == "Models, downloads: 4"
    share, count, failed = frame.bar.shown[-1]
    assert (count, failed) == (4, False)
    assert 0 < share < 1
    assert not frame.rail.grab().isNull()


def test_the_desktop_hears_whole_percents_only(frame, busy, services):
    before = len(frame.bar.shown)
    for more in range(1, 20):
        services.downloads.progress(busy[0].id, done_bytes=busy[0].done_bytes + more)
    assert len(frame.bar.shown) == before


def test_what_failed_is_shown_when_nothing_else_comes(frame, busy, services):
    services.downloads.set_downloads(busy[3])
    assert frame.badge == "Models, downloads that failed: 1"
    assert frame.bar.shown[-1] == (None, 0, True)
    services.downloads.set_downloads()
    assert frame.badge == "Models"
    assert frame.bar.shown[-1] == (None, 0, False)


@pytest.mark.qt_log_ignore("This plugin does not support raise", extend=True)
def test_one_that_is_ready_is_told_inside_and_outside(frame, busy, services, bridge, qtbot):
    services.downloads.progress(busy[0].id, state=READY)
    text, action, run = frame.offers[-1]
    assert text == "Kimi K2.6 UD-Q4_K_XL is ready: every byte proven."
    assert action == "Show"
    wanted = []
    bridge.navigation.library_wanted.connect(wanted.append)
    run()
    assert wanted == [""]  # the library has not seen it yet
    title, told, on_click = frame.ear.heard[-1]
    assert (title, told) == ("Kimi K2.6 UD-Q4_K_XL", text)
    pages = []
    bridge.navigation.page_wanted.connect(pages.append)
    on_click()
    assert pages == ["models"]
    assert frame.window.isVisible()


def test_one_that_failed_says_why(frame, busy, services):
    error = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})
    services.downloads.progress(busy[0].id, state=FAILED, reason=error)
    text, action, _ = frame.offers[-1]
    assert text == ("Kimi K2.6 UD-Q4_K_XL could not be fetched. huggingface.co cannot be reached.")
    assert action == "Show downloads"


def test_a_system_without_a_tray_is_left_alone(qtbot, monkeypatch):
    window = QWidget()
    qtbot.addWidget(window)
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    assert not TrayAnnouncer(window).announce("a", "b", lambda: None)


def test_a_tray_gets_an_icon_for_as_long_as_its_message(qtbot, monkeypatch):
    window = QWidget()
    qtbot.addWidget(window)
    messages = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _icon, *rest: messages.append(rest))
    monkeypatch.setattr(QSystemTrayIcon, "show", lambda _icon: None)
    announcer = TrayAnnouncer(window)
    for text in ("one", "two"):
        assert announcer.announce("Model", text, lambda: None)
    assert [message[1] for message in messages] == ["one", "two"]
    announcer._timer.stop()
    announcer._drop()
    assert announcer._icon is None


def test_the_status_bar_has_the_speed(bridge, services, qtbot):
    bar = StatusBar(bridge)
    qtbot.addWidget(bar)
    bar.resize(1280, 24)
    assert bar.downloading() is None
    downloads = busy_queue(Path("/home/ada/models"))
    services.downloads.set_downloads(*downloads)
    cell = bar.downloading()
    assert cell is not None
    assert cell.text == "212.6 MB/s"
    assert "downloading 212.6 MB/s" in bar.accessibleDescription()
    assert not bar.grab().isNull()
    services.downloads.progress(downloads[0].id, state=READY)
    assert bar.downloading() is None
