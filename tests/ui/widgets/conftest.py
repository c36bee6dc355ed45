"""The controls are tested in the dark theme, and looked at pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui.theme import Theme

Hold = Callable[..., QWidget]


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    """Dark until the test chooses otherwise."""
    dresser = Theme(qapp)
    dresser.choose(ThemeChoice.DARK)
    yield dresser
    dresser.choose(ThemeChoice.DARK)


@pytest.fixture
def hold(qtbot, theme: Theme) -> Hold:
    """Put controls into a shown window with room around them."""
    kept: list[QWidget] = []

    def put(*widgets: QWidget, width: int = 400) -> QWidget:
        window = QWidget()
        layout = QVBoxLayout(window)
        layout.setContentsMargins(16, 16, 16, 16)
        for widget in widgets:
            layout.addWidget(widget)
        qtbot.addWidget(window)
        kept.append(window)
        window.resize(width, 40 + 48 * len(widgets))
        window.show()
        qtbot.waitExposed(window)
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow)
        QApplication.processEvents()
        return window

    return put


def pixel(widget: QWidget, x: int, y: int) -> str:
    """``#RRGGBB`` of what the widget shows there."""
    return widget.grab().toImage().pixelColor(x, y).name().upper()
