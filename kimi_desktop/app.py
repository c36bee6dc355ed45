"""The window's composition root: the services, the window's content, and their end. Qt thread.

Loaded by ``first_window.py`` once the empty window stands on the screen. The order matters here,
too: what the first picture of the content does not need (HTTP, NVML, scanning, the socket for a
second start) begins after that picture.
"""

from __future__ import annotations

import signal
import socket
import sys

from PySide6.QtCore import QObject, QSocketNotifier, Qt
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.base.errors import ErrorCode, SettingsError
from kimi_desktop.base.logs import log_to_file
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.core import Core
from kimi_desktop.ui import icons, theme
from kimi_desktop.ui.appearance import Appearance
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.faults import FaultReporter
from kimi_desktop.ui.instance import SingleInstance
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.pages import standard_pages
from kimi_desktop.ui.shell import Shell
from kimi_desktop.ui.trash import move_to_trash


class DesktopApp(QObject):
    """The running window with everything behind it. Build it after QApplication, close it once."""

    def __init__(self, qt: QApplication, core: Core, shell: Shell) -> None:
        super().__init__()
        self._core = core
        self._shell = shell
        self.bridge = Bridge(core, self)
        self._appearance = Appearance(qt, self.bridge)
        self.window = MainWindow(self.bridge, standard_pages(), wizard=_make_wizard)
        self.window.first_painted.connect(core.start)
        shell.setWindowIcon(icons.app_icon())
        shell.set_content(self.window)

    def close(self) -> None:
        """Stop listening, end the engine and the gateway, close the stores."""
        self._shell.remember_look(theme.tokens().window, theme.tokens().panel)
        self.bridge.close()
        self._shell.hide()
        self._core.close()


class RunningApp:
    """One run of the program, from the content of the window to its end."""

    def __init__(
        self, qt: QApplication, paths: AppPaths, shell: Shell, instance: SingleInstance
    ) -> None:
        self._instance = instance
        log_to_file(paths.logs)
        self._faults = FaultReporter(paths.logs)
        self._faults.install()
        self._app = DesktopApp(qt, Core(paths, trash=move_to_trash), shell)
        window = self._app.window
        self._faults.unexpected.connect(window.show_unexpected)
        instance.raise_requested.connect(lambda: _raise(shell))
        window.first_painted.connect(instance.listen)
        self._signals = _quit_on_signals(window)

    def tell_unwritable(self, paths: AppPaths, error: OSError) -> None:
        """The profile's folders cannot be made: chats and settings live in memory."""
        detail = error.strerror or str(error)
        self._app.window.notices.show_error(
            SettingsError(
                ErrorCode.DATA_READ_ONLY, {"path": str(paths.data), "detail": detail}, cause=error
            )
        )

    def close(self) -> None:
        """End everything; the window is gone by then."""
        self._app.close()
        self._faults.uninstall()
        self._instance.release()


def _make_wizard(bridge: Bridge) -> QWidget:
    from kimi_desktop.ui.wizard.page import WizardPage  # noqa: PLC0415 - a first run only

    return WizardPage(bridge)


def _raise(window: QWidget) -> None:
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


def _quit_on_signals(window: MainWindow) -> tuple[socket.socket, ...]:
    """SIGTERM and SIGINT (logout, Ctrl+C) close the window properly.

    Python's handlers wait until the interpreter runs, which an idle Qt loop does not let it: the
    wake-up socket rouses it. Returns what must live as long as the window.
    """
    if sys.platform == "win32":
        return ()
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read, window)
    notifier.activated.connect(lambda: reader.recv(64))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: window.leave())
    return reader, writer
