"""Unexpected failures reach the window's thread as text, and a hard crash is found next time."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

from PySide6.QtCore import QThread
from pytestqt.qtbot import QtBot

from kimi_desktop.ui.faults import FaultReporter


def test_an_exception_in_any_thread_arrives_on_the_qt_thread(qtbot: QtBot, tmp_path: Path) -> None:
    reporter = FaultReporter(tmp_path)
    reporter.install()
    seen: list[tuple[str, bool]] = []
    reporter.unexpected.connect(lambda text: seen.append((text, QThread.isMainThread())))
    try:
        with qtbot.waitSignal(reporter.unexpected):
            thread = threading.Thread(target=lambda: 1 / 0)
            thread.start()
            thread.join()
    finally:
        reporter.uninstall()
    text, on_qt_thread = seen[0]
    assert on_qt_thread
    assert "ZeroDivisionError" in text


def test_a_clean_end_leaves_no_crash(tmp_path: Path) -> None:
    reporter = FaultReporter(tmp_path)
    reporter.install()
    reporter.uninstall()
    assert FaultReporter(tmp_path).last_crash == ""


def test_a_hard_crash_is_found_at_the_next_start(tmp_path: Path) -> None:
    code = (
        "import sys, faulthandler, pathlib\n"
        "from kimi_desktop.ui.faults import FaultReporter\n"
        "FaultReporter(pathlib.Path(sys.argv[1])).install()\n"
        "faulthandler._sigabrt()\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False, timeout=60)
    assert done.returncode != 0
    assert "Aborted" in FaultReporter(tmp_path).last_crash
