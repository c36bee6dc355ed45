"""The window's composition root: Qt, the services, the window, and their end. Qt thread.

The order matters for the start: what the first picture of the window does not need (HTTP, NVML,
scanning, the socket for a second start) begins after that picture.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence

from PySide6.QtCore import QObject, QSocketNotifier, Qt
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop import __version__
from kimi_desktop.base.errors import ErrorCode, SettingsError
from kimi_desktop.base.logs import log_to_file
from kimi_desktop.base.messages import describe_error, message, system_language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.core import Core
from kimi_desktop.ui.appearance import Appearance
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.faults import FaultReporter
from kimi_desktop.ui.instance import SingleInstance
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.pages import standard_pages


class DesktopApp(QObject):
    """The running window with everything behind it. Build it after QApplication, close it once."""

    def __init__(self, qt: QApplication, paths: AppPaths, core: Core) -> None:
        super().__init__()
        self._core = core
        self.bridge = Bridge(core, self)
        self._appearance = Appearance(qt, self.bridge)
        self.window = MainWindow(
            self.bridge, standard_pages(), wizard=_make_wizard, config_folder=paths.config
        )

    def show(self) -> None:
        """Show the window; looking at the machine and the models begins when it is painted."""
        self.window.first_painted.connect(self._core.start)
        self.window.show()

    def close(self) -> None:
        """Stop listening, end the engine and the gateway, close the stores."""
        self.bridge.close()
        self.window.hide()
        self._core.close()


def main(arguments: Sequence[str]) -> int:
    """Open the window and run until it closes. Returns the exit code."""
    _refuse(arguments)
    if not _has_display():
        sentence = message("cli.no_display", system_language())
        sys.stderr.write(f"{sentence} {message('cli.no_display.next', system_language())}\n")
        return 1
    paths = AppPaths.default()
    unwritable = _make(paths)
    log_to_file(paths.logs)
    QApplication.setApplicationName("kimi-desktop")
    QApplication.setApplicationDisplayName("Kimi Desktop")
    QApplication.setApplicationVersion(__version__)
    QApplication.setDesktopFileName("kimi-desktop")
    qt = QApplication([sys.argv[0]])
    instance = SingleInstance(paths.runtime)
    if not instance.acquire():
        error = SettingsError(ErrorCode.ALREADY_RUNNING)
        reached = instance.ask_to_raise()
        what, then = describe_error(error, system_language())
        sys.stderr.write(f"{what} {then if reached else ''}\n")
        return 0 if reached else 1
    faults = FaultReporter(paths.logs)
    faults.install()
    core = Core(paths)
    app = DesktopApp(qt, paths, core)
    faults.unexpected.connect(app.window.show_unexpected)
    if unwritable is not None:
        app.window.notices.show_error(unwritable)
    instance.raise_requested.connect(lambda: _raise(app.window))
    _quit_on_signals(app.window)
    app.window.first_painted.connect(instance.listen)
    app.show()
    try:
        return qt.exec()
    finally:
        app.close()
        faults.uninstall()
        instance.release()


def _refuse(arguments: Sequence[str]) -> None:
    """The window has no options; exits with 2 and a sentence when there are some."""
    argparse.ArgumentParser(prog="kimi-desktop").parse_args(list(arguments))


def _has_display() -> bool:
    """Qt aborts without a display; only X11 and Wayland sessions can lack one."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _make(paths: AppPaths) -> SettingsError | None:
    """Make the folders; the error to show when they cannot be made."""
    try:
        paths.make()
    except OSError as error:
        detail = error.strerror or str(error)
        return SettingsError(
            ErrorCode.DATA_READ_ONLY, {"path": str(paths.data), "detail": detail}, cause=error
        )
    return None


def _make_wizard(bridge: Bridge) -> QWidget:
    from kimi_desktop.ui.wizard.page import WizardPage  # noqa: PLC0415 - a first run only

    return WizardPage(bridge)


def _raise(window: QWidget) -> None:
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


def _quit_on_signals(window: MainWindow) -> None:
    """SIGTERM and SIGINT (logout, Ctrl+C) close the window properly.

    Python's handlers wait until the interpreter runs, which an idle Qt loop does not let it: the
    wake-up socket rouses it.
    """
    if sys.platform == "win32":
        return
    reader, writer = socket.socketpair()
    for end in (reader, writer):
        end.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    notifier = QSocketNotifier(reader.fileno(), QSocketNotifier.Type.Read, window)
    notifier.activated.connect(lambda: reader.recv(64))
    # The sockets live as long as the window.
    window.signal_sockets = (reader, writer)  # type: ignore[attr-defined]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: window.leave())
