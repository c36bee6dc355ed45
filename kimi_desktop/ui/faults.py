"""Nothing fails silently: every unexpected exception and Qt warning reaches the log and the window.

Installed once by ``app.py``. The hooks may fire on any thread; the signal brings them to Qt's.
"""

from __future__ import annotations

import faulthandler
import logging
import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType
from typing import TextIO

from PySide6.QtCore import QMessageLogContext, QObject, QtMsgType, Signal, qInstallMessageHandler

log = logging.getLogger(__name__)

LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class FaultReporter(QObject):
    """``unexpected`` carries the traceback as text; the app goes on."""

    unexpected = Signal(str)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._file_path = folder / "crash.log"
        self._file: TextIO | None = None
        self.last_crash = self._read_last_crash()

    def install(self) -> None:
        """Take over the hooks of Python, its threads and Qt, and write hard crashes to a file."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        qInstallMessageHandler(self._on_qt_message)
        try:
            self._file = self._file_path.open("w", encoding="utf-8")
        except OSError:
            log.warning("crashes cannot be written to %s", self._file_path)
            return
        faulthandler.enable(self._file)

    def uninstall(self) -> None:
        """Give the hooks back; for tests and the end."""
        sys.excepthook = sys.__excepthook__
        threading.excepthook = threading.__excepthook__
        qInstallMessageHandler(None)
        if self._file is not None:
            faulthandler.disable()
            self._file.close()
            self._file = None

    def _read_last_crash(self) -> str:
        """What faulthandler wrote when an earlier run died; "" when it ended well."""
        try:
            return self._file_path.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        log.error("unexpected:\n%s", text)
        self.unexpected.emit(text)

    def _on_thread_exception(self, arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            self._on_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    def _on_qt_message(self, kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        logging.getLogger("qt").log(LEVELS.get(kind, logging.WARNING), "%s", message)
