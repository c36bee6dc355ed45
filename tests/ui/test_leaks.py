"""The fixture that finds leaks finds them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QThread, QTimer
from PySide6.QtWidgets import QLabel, QWidget

from tests.support.leaks import leaks, settle, top_level_widgets


def test_nothing_is_found_where_nothing_leaks(qapp):
    before = top_level_widgets()
    label = QLabel("gone")
    label.show()
    label.deleteLater()
    settle()
    assert leaks(before) == []


def test_a_window_is_found_and_closed(qapp):
    before = top_level_widgets()
    window = QWidget()
    window.setObjectName("left")
    window.show()
    assert leaks(before) == ["window QWidget 'left'"]
    assert not window.isVisible()


@pytest.mark.parametrize("kind", ["timer", "thread"])
def test_what_runs_is_found(qapp, kind):
    before = top_level_widgets()
    thing = QTimer() if kind == "timer" else QThread()
    thing.setObjectName("left")
    try:
        if isinstance(thing, QTimer):
            thing.start(1000)
        else:
            thing.start()
        assert leaks(before) == [f"{kind} left"]
    finally:
        if isinstance(thing, QTimer):
            thing.stop()
        else:
            thing.quit()
            thing.wait()
