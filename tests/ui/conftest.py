"""Fixtures of the window tests: offscreen, scripted services, nothing left behind."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtWidgets import QApplication

from kimi_desktop.ui.bridge import Bridge
from tests.support.leaks import leaks, settle, top_level_widgets
from tests.support.scripted_services import ScriptedServices, lived_in


@pytest.fixture(autouse=True)
def no_leaks(qapp: QApplication) -> Iterator[None]:
    """Fail a test that leaves a top-level widget, a running QThread or an active QTimer."""
    # What survives from earlier (modules, caches) is looked at no more: that halves the time of
    # the tests.
    gc.freeze()
    before = top_level_widgets()
    yield
    settle()
    assert leaks(before) == [], "left behind"


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
