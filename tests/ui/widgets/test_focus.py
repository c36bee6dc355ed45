"""The ring: after the keyboard, not after a click; it follows, and it goes."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QVBoxLayout, QWidget

from kimi_desktop.ui.tokens import DARK
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.focus import REACH, FocusRing
from kimi_desktop.ui.widgets.segmented import Segmented

from .conftest import pixel


def focus(control: QWidget) -> None:
    """As the Tab key does; a new window has given the focus to somebody already."""
    control.clearFocus()
    control.setFocus(Qt.FocusReason.TabFocusReason)


def rings(window: QWidget) -> list[FocusRing]:
    return [ring for ring in window.findChildren(FocusRing) if ring.isVisible()]


def test_the_keyboard_shows_a_ring_and_the_mouse_does_not(qtbot, hold):
    first, second = Button("First"), Button("Second")
    window = hold(first, second)
    first.setFocus(Qt.FocusReason.MouseFocusReason)
    assert rings(window) == []
    qtbot.keyClick(first, Qt.Key.Key_Tab)
    (ring,) = rings(window)
    assert second.hasFocus()
    assert ring.geometry() == second.geometry().adjusted(-REACH, -REACH, REACH, REACH)
    assert pixel(window, second.geometry().center().x(), second.y() - REACH) == DARK.accent
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton)
    first.setFocus(Qt.FocusReason.MouseFocusReason)
    assert rings(window) == []


def test_the_ring_follows_its_control_and_leaves_with_it(qtbot, hold):
    button = Button("First")
    window = hold(button)
    focus(button)
    button.move(button.x() + 30, button.y() + 5)
    (ring,) = rings(window)
    assert ring.geometry() == button.geometry().adjusted(-REACH, -REACH, REACH, REACH)
    button.hide()
    assert rings(window) == []


def test_a_window_that_comes_back_restores_what_was(qtbot, hold):
    button, other = Button("First"), Button("Other")
    window = hold(button, other)
    for reason, wanted in (
        (Qt.FocusReason.MouseFocusReason, 0),
        (Qt.FocusReason.TabFocusReason, 1),
    ):
        button.setFocus(reason)
        button.clearFocus()
        button.setFocus(Qt.FocusReason.ActiveWindowFocusReason)
        assert len(rings(window)) == wanted
        other.setFocus(Qt.FocusReason.MouseFocusReason)


def test_the_ring_finds_room_outside_a_tight_parent_but_stays_in_the_page(hold):
    button = Button("Tight")
    tight = QWidget()
    inside = QVBoxLayout(tight)
    inside.setContentsMargins(0, 0, 0, 0)
    inside.addWidget(button)
    page = QWidget()
    layout = QVBoxLayout(page)
    layout.setContentsMargins(8, 8, 8, 8)
    layout.addWidget(tight)
    area = QScrollArea()
    area.setWidget(page)
    area.setWidgetResizable(True)
    window = hold(area, width=300)
    focus(button)
    (ring,) = rings(window)
    assert ring.parentWidget() is page


def test_a_segmented_control_is_ringed_as_a_whole(hold):
    segmented = Segmented([("a", "One"), ("b", "Two")])
    window = hold(segmented)
    focus(segmented.segment("a"))
    (ring,) = rings(window)
    assert ring.width() == segmented.width() + 2 * REACH
    QApplication.processEvents()
