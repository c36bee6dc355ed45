"""Fixtures of the window tests: offscreen, scripted services, nothing left behind."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QThread, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from kimi_desktop.ui.bridge import Bridge
from tests.support.scripted_services import ScriptedServices, lived_in


def _describe(widget: QWidget) -> str:
    return f"{type(widget).__name__}({widget.objectName() or widget.windowTitle()!r})"


def _settle() -> None:
    for _ in range(3):
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QCoreApplication.processEvents()
    gc.collect()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(autouse=True)
def no_leaks(qapp: QApplication) -> Iterator[None]:
    """Fail a test that leaves a top-level widget, a running QThread or an active QTimer."""
    before = {id(widget) for widget in qapp.topLevelWidgets()}
    yield
    _settle()
    widgets = [_describe(w) for w in qapp.topLevelWidgets() if id(w) not in before]
    objects = gc.get_objects()
    alive = [t for t in objects if isinstance(t, QThread | QTimer) and isValid(t)]
    threads = [t for t in alive if isinstance(t, QThread) and t.isRunning()]
    ours = [t for t in threads if t is not qapp.thread()]
    timers = [t.objectName() or repr(t) for t in alive if isinstance(t, QTimer) and t.isActive()]
    for widget in qapp.topLevelWidgets():  # one leak must not fail the tests after it
        if id(widget) not in before:
            widget.close()
            widget.deleteLater()
    assert not widgets, f"left behind: {widgets}"
    assert not ours, f"still running: {ours}"
    assert not timers, f"still ticking: {timers}"


@pytest.fixture
def services(tmp_path: Path) -> ScriptedServices:
    """A profile in use on the machine with two GPUs."""
    return lived_in(tmp_path)


@pytest.fixture
def fresh_services(tmp_path: Path) -> ScriptedServices:
    """A first start on a machine without a GPU: nothing known, no model, no chat."""
    return ScriptedServices(tmp_path)


@pytest.fixture
def bridge(services: ScriptedServices, qapp: QApplication) -> Iterator[Bridge]:
    """The door to ``services``."""
    door = Bridge(services)
    yield door
    door.close()


@pytest.fixture
def fresh_bridge(fresh_services: ScriptedServices, qapp: QApplication) -> Iterator[Bridge]:
    """The door to ``fresh_services``."""
    door = Bridge(fresh_services)
    yield door
    door.close()
