"""From the double-click to the first window, loading nothing that this does not need. Qt thread.

Measured by ``benchmarks/start.py``: the window stands there for little more CPU than a bare Qt
window takes, and ``app.py`` with everything behind it is loaded when it has painted itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6 import __version__ as qt_version
from PySide6.QtWidgets import QApplication

from kimi_desktop import __version__
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.ui.instance import SingleInstance
from kimi_desktop.ui.shell import Shell

if TYPE_CHECKING:
    from kimi_desktop.app import RunningApp


def main(arguments: Sequence[str]) -> int:
    """Open the window and run until it closes. Returns the exit code."""
    if bad_qt(sys.version_info[:3], qt_version):
        sys.stderr.write(
            "PySide6 6.12.0 crashes on Python 3.11. Install 6.11.3: "
            "python -m pip install 'PySide6-Essentials==6.11.3'\n"
        )
        return 1
    if arguments:
        sys.stderr.write(f"kimi-desktop: unknown argument {arguments[0]}; see --help\n")
        return 2
    if not has_display():
        return _refuse("cli.no_display")
    paths = AppPaths.default()
    unwritable: OSError | None = None
    try:
        paths.make()
    except OSError as error:
        unwritable = error
    QApplication.setApplicationName("kimi-desktop")
    QApplication.setApplicationDisplayName("Kimi Desktop")
    QApplication.setApplicationVersion(__version__)
    QApplication.setDesktopFileName("kimi-desktop")
    qt = QApplication(sys.argv[:1])
    instance = SingleInstance(paths.runtime)
    if not instance.acquire():
        if instance.ask_to_raise():
            return 0
        return _refuse("settings.already_running")
    start = Start(qt, paths, instance, unwritable)
    try:
        return qt.exec()
    finally:
        start.close()


class Start:
    """The window now, and what fills it once it has painted itself."""

    def __init__(
        self,
        qt: QApplication,
        paths: AppPaths,
        instance: SingleInstance,
        unwritable: OSError | None = None,
    ) -> None:
        self._qt = qt
        self._paths = paths
        self._instance = instance
        self._unwritable = unwritable
        self.running: RunningApp | None = None
        self.shell = Shell(paths.config)
        self.shell.first_painted.connect(self._fill)
        self.shell.show()

    def close(self) -> None:
        """End everything."""
        if self.running is not None:
            self.running.close()

    def _fill(self) -> None:
        from kimi_desktop.app import RunningApp  # noqa: PLC0415 - after the first picture

        self.running = RunningApp(self._qt, self._paths, self.shell, self._instance)
        if self._unwritable is not None:
            self.running.tell_unwritable(self._paths, self._unwritable)


def bad_qt(python: tuple[int, ...], qt: str) -> bool:
    """PySide6 6.12.0 loses references to None and aborts where None is not immortal."""
    return python[:2] < (3, 12) and qt == "6.12.0"


def has_display() -> bool:
    """Qt aborts without a display; only X11 and Wayland sessions can lack one."""
    if not sys.platform.startswith("linux") or os.environ.get("QT_QPA_PLATFORM"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _refuse(key: str) -> int:
    """Say on stderr what happened and what to do."""
    from kimi_desktop.base.messages import message, system_language  # noqa: PLC0415

    language = system_language()
    sys.stderr.write(f"{message(key, language)} {message(f'{key}.next', language)}\n")
    return 1
