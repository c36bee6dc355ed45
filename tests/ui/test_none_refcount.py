"""Void Qt calls must leave the count of None alone (docs/decisions/0001-pyside-pin.md)."""

from __future__ import annotations

import sys

import pytest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

CALLS = 2000


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal from 3.12 on")
def test_void_calls_keep_the_references_to_none(qtbot: QtBot) -> None:
    label = QLabel()
    qtbot.addWidget(label)
    before = sys.getrefcount(None)
    for _ in range(CALLS):
        label.update()
        label.setText("text")
    assert abs(sys.getrefcount(None) - before) < CALLS // 10
