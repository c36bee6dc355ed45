"""The real window with everything real behind it, driven by mouse and keyboard.

Each test has a profile of its own. When one fails, what the window showed lies in ``.run/e2e``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from kimi_desktop.app import DesktopApp
from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.chat.types import Finish, Message
from kimi_desktop.core import Core
from kimi_desktop.ui.chat.page import ChatPage
from kimi_desktop.ui.shell import Shell
from kimi_desktop.ui.wizard.page import WizardPage
from tests.support.leaks import settle

PICTURES = Path(__file__).resolve().parents[2] / ".run" / "e2e"
PATIENCE_MS = 90_000
"""An upper bound for a loaded computer, not a measure."""


@dataclass
class Desk:
    """The window and what a person does with it."""

    app: DesktopApp
    core: Core
    shell: Shell
    qtbot: QtBot

    def wait(self, condition: Callable[[], object]) -> None:
        """Until the window has come so far."""
        self.qtbot.waitUntil(lambda: bool(condition()), timeout=PATIENCE_MS)

    def click(self, widget: QWidget) -> None:
        """Press it with the mouse, as soon as a person could."""
        self.wait(lambda: widget.isVisible() and widget.isEnabled())
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton)

    def press(
        self,
        key: Qt.Key,
        modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
    ) -> None:
        """Press a key where the focus is."""
        QTest.keyClick(self.focus, key, modifier)

    def type(self, text: str) -> None:
        """Type where the focus is."""
        QTest.keyClicks(self.focus, text)

    def close(self) -> None:
        """Leave."""
        self.app.close()
        self.shell.deleteLater()
        self.app.deleteLater()

    @property
    def focus(self) -> QWidget:
        """What takes the keys."""
        return QApplication.focusWidget() or self.app.window

    @property
    def wizard(self) -> WizardPage:
        """The set-up."""
        (wizard,) = self.app.window.findChildren(WizardPage)
        return wizard

    @property
    def chat(self) -> ChatPage:
        """The chat page."""
        page = self.app.window.page("chat")
        assert isinstance(page, ChatPage)
        return page

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the transcript shows."""
        return tuple(entry.message for entry in self.chat.transcript.entries)

    def wait_ready(self) -> None:
        """Until the engine answers."""
        self.wait(lambda: self.core.engine.status.state is EngineState.READY)

    def ask(self, text: str) -> None:
        """Type a question into the composer and send it by Enter."""
        self.click(self.chat.composer.input)
        self.type(text)
        self.press(Qt.Key.Key_Return)

    def wait_answer(self, finish: Finish = Finish.END) -> Message:
        """Until the last answer has ended and the transcript shows it."""
        self.wait(
            lambda: (
                self.core.chats.generating_chat is None
                and self.messages
                and self.messages[-1].finish is finish
            )
        )
        return self.messages[-1]

    def engine_processes(self) -> list[psutil.Process]:
        """Our engine's process tree."""
        pid = self.core.engine.status.pid
        if pid is None:
            return []
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]


OpenDesk = Callable[..., Desk]


@pytest.fixture
def open_desk(tmp_path: Path, qtbot: QtBot) -> Iterator[OpenDesk]:
    """Open the window on this test's profile; call it again for a second start."""
    desks: list[Desk] = []

    def open_(**window_settings: object) -> Desk:
        for desk in desks:
            desk.close()
        desks.clear()
        paths = AppPaths.under(tmp_path / "profile")
        paths.make()
        if window_settings:
            settings = {
                "schema": 1,
                "window": window_settings,
                "chat": {"max_tokens": 1_000_000, "temperature": 0.6},
            }
            paths.settings_file.write_text(json.dumps(settings), encoding="utf-8")
        core = Core(paths)
        qt = QApplication.instance()
        assert isinstance(qt, QApplication)
        shell = Shell(paths.config)
        app = DesktopApp(qt, core, shell)
        shell.show()
        qtbot.waitExposed(shell)
        shell.activateWindow()
        desk = Desk(app, core, shell, qtbot)
        desks.append(desk)
        desk.wait(app.window.stack.count)  # the first page comes after the first painting
        return desk

    yield open_
    for desk in desks:
        desk.close()
    settle()


@pytest.fixture
def models_folder(tmp_path: Path) -> Path:
    """The default models folder of this test's profile."""
    folder = AppPaths.under(tmp_path / "profile").default_models_folder
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def kimi_there(models_folder: Path, endless_kimi: Path) -> Path:
    """The tiny Kimi-shaped model lies in the models folder."""
    place = models_folder / endless_kimi.name
    place.hardlink_to(endless_kimi)
    return place


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keep a picture of every open window when a test fails."""
    report = yield
    if report.when == "call" and report.failed:
        PICTURES.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "-", item.name).strip("-")
        for number, window in enumerate(QApplication.topLevelWidgets()):
            if window.isVisible():
                window.grab().save(str(PICTURES / f"{name}-{number}.png"))
    return report
