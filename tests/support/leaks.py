"""Finds what a test left behind: top-level widgets, running threads, ticking timers."""

from __future__ import annotations

import gc

from PySide6.QtCore import QCoreApplication, QEvent, QThread, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid


def settle() -> None:
    """Let deferred deletions happen, and collect."""
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
    gc.collect()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def top_level_widgets() -> dict[int, QWidget]:
    """The windows of now, by identity."""
    return {id(widget): widget for widget in QApplication.topLevelWidgets()}


def leaks(before: dict[int, QWidget]) -> list[str]:
    """What is there and was not; what runs; what ticks. Leaked windows are closed."""
    found = []
    for key, widget in top_level_widgets().items():
        if key not in before:  # one leak must not fail the tests after it
            name = widget.objectName() or widget.windowTitle()
            found.append(f"window {type(widget).__name__} {name!r}")
            widget.close()
            widget.deleteLater()
    main = QCoreApplication.instance().thread()
    for thing in gc.get_objects():
        if not isinstance(thing, QThread | QTimer) or not isValid(thing):
            continue
        name = thing.objectName() or repr(thing)
        if isinstance(thing, QThread):
            if thing.isRunning() and thing is not main:
                found.append(f"thread {name}")
        elif thing.isActive():
            found.append(f"timer {name}")
    return found
