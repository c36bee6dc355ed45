"""Buttons, fields, sliders, choices: states, keyboard, accessible roles."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui.tokens import DARK, LIGHT
from kimi_desktop.ui.widgets.button import Button, ButtonKind, IconButton
from kimi_desktop.ui.widgets.card import ListRow
from kimi_desktop.ui.widgets.chip import Chip, Verdict
from kimi_desktop.ui.widgets.field import Field, LabeledField, Select
from kimi_desktop.ui.widgets.gauge import Gauge
from kimi_desktop.ui.widgets.option_card import OptionCard
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.slider import Slider, SliderRow
from kimi_desktop.ui.widgets.toggle import CheckBox, ChoiceRow, Switch

from .conftest import pixel

LEFT = 6
"""A pixel inside a button, left of its text."""


def wheel(widget: QWidget) -> None:
    """Turn the wheel over the middle of the widget."""
    centre = QPointF(widget.rect().center())
    event = QWheelEvent(
        centre,
        widget.mapToGlobal(centre),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


def test_a_primary_button_shows_its_states(hold):
    button = Button("Start", kind=ButtonKind.PRIMARY)
    hold(button)
    assert button.height() == 32
    assert pixel(button, LEFT, 16) == DARK.accent
    button.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
    assert pixel(button, LEFT, 16) == DARK.accent_hover
    button.setDown(True)
    assert pixel(button, LEFT, 16) == DARK.accent_press
    button.setDown(False)
    button.setEnabled(False)
    assert pixel(button, LEFT, 16) not in (DARK.accent, DARK.accent_hover)


def test_a_switch_of_the_theme_repaints_everything(hold, theme):
    button = Button("Start", kind=ButtonKind.PRIMARY)
    icon = IconButton("copy", "Copy", bordered=True)
    hold(button, icon)
    before = icon.grab().toImage()
    theme.choose(ThemeChoice.LIGHT)
    assert pixel(button, LEFT, 16) == LIGHT.accent
    assert icon.grab().toImage() != before


def test_a_toggle_says_that_it_is_on_with_a_mark(hold):
    toggle = Button("Thinking", kind=ButtonKind.TOGGLE)
    hold(toggle)
    width = toggle.width()
    assert toggle.icon_name() == ""
    toggle.setChecked(True)
    assert toggle.icon_name() == "check"
    assert toggle.sizeHint().width() == width  # nothing moves


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Enter])
def test_return_and_space_press_a_button(qtbot, hold, key):
    button = Button("Start")
    hold(button)
    with qtbot.waitSignal(button.clicked):
        qtbot.keyClick(button, key)


def test_an_icon_button_tells_its_name_and_keys(hold):
    button = IconButton("copy")
    hold(button)
    button.set_label("Copy", "Ctrl+C")
    assert button.accessibleName() == "Copy"
    assert button.toolTip() == "Copy (Ctrl+C)"


def test_kinds_change_while_a_button_is_shown(hold):
    button = Button("Delete")
    hold(button)
    button.set_kind(ButtonKind.DANGER)
    assert pixel(button, button.width() // 2, 0) == DARK.bad
    button.set_kind(ButtonKind.PRIMARY)
    assert pixel(button, LEFT, 16) == DARK.accent


def test_a_field_marks_what_is_not_allowed_and_says_why(hold):
    field = Field("2.7")
    labelled = LabeledField(field)
    labelled.set_label("Temperature")
    hold(labelled)
    labelled.set_note("Between 0 and 2", error=True)
    assert field.failed
    assert pixel(field, field.width() // 2, 0) == DARK.bad
    assert field.accessibleDescription() == "Between 0 and 2"
    labelled.set_note("")
    assert not field.failed
    assert field.accessibleName() == "Temperature"


def test_fields_have_the_heights_of_the_design(hold):
    normal, small = Field(), Field(small=True)
    hold(normal, small)
    assert normal.height() == 32
    assert (small.width(), small.height()) == (64, 24)
    normal.setFocus()
    assert normal.height() == 32


def test_a_hint_leaves_when_there_is_text(hold):
    field = Field(icon="search")
    field.set_hint("Ctrl+K")
    hold(field)
    empty = field.grab().toImage()
    field.setText("x")
    field.setText("")
    assert field.grab().toImage() == empty
    field.setText("x")
    assert field.grab().toImage() != empty


def test_a_select_chooses_by_key_and_ignores_the_wheel(qtbot, hold):
    select = Select()
    for key, text in (("a", "First"), ("b", "Second")):
        select.addItem(text, key)
    other = Button("Other")
    hold(other, select)
    select.choose("b")
    assert select.currentText() == "Second"
    select.choose("missing")
    assert select.currentText() == "Second"
    other.setFocus()
    wheel(select)
    assert select.currentText() == "Second"
    select.setFocus()
    wheel(select)
    assert select.currentText() == "First"


def test_a_click_on_the_track_brings_the_thumb(qtbot, hold):
    slider = Slider()
    slider.setRange(0, 10)
    hold(slider)
    qtbot.mouseClick(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() - 8, 10))
    assert slider.value() == 10
    qtbot.mousePress(slider, Qt.MouseButton.LeftButton, pos=QPoint(slider.width() // 2, 10))
    assert slider.isSliderDown()
    qtbot.mouseMove(slider, QPoint(0, 10))
    qtbot.mouseRelease(slider, Qt.MouseButton.LeftButton, pos=QPoint(0, 10))
    assert slider.value() == 0
    assert not slider.isSliderDown()


def test_keys_step_a_slider_and_the_wheel_needs_the_focus(qtbot, hold):
    row = SliderRow()
    row.set_label("Context")
    row.set_range(0, 6)
    row.set_ticks([(0, "4K"), (3, "32K"), (6, "256K")])
    other = Button("Other")
    hold(other, row)
    with qtbot.waitSignal(row.value_changed):
        qtbot.keyClick(row.slider, Qt.Key.Key_Right)
    assert row.value() == 1
    other.setFocus()
    wheel(row.slider)
    assert row.value() == 1
    row.set_value_text("8,192 tokens")
    assert row.slider.accessibleName() == "Context"
    assert row.slider.accessibleDescription() == "8,192 tokens"


def test_the_thumb_is_where_the_value_is(hold):
    slider = Slider()
    slider.setRange(0, 4)
    hold(slider)
    slider.setValue(2)
    assert slider.thumb_x() == pytest.approx(slider.width() / 2)
    slider.setRange(3, 3)
    assert slider.thumb_x() == 8


def test_a_segmented_control_is_one_tab_stop_and_arrows_choose(qtbot, hold):
    segmented = Segmented([("auto", "Auto"), ("manual", "Manual")])
    after = Button("After")
    hold(segmented, after)
    segmented.segment("auto").setFocus()
    with qtbot.waitSignal(segmented.chosen) as told:
        qtbot.keyClick(segmented.segment("auto"), Qt.Key.Key_Right)
    assert told.args == ["manual"]
    assert segmented.key() == "manual"
    qtbot.keyClick(segmented.segment("manual"), Qt.Key.Key_Tab)
    assert after.hasFocus()


def test_new_words_keep_the_choice_of_a_segmented_control(qtbot, hold):
    segmented = Segmented([("a", "One"), ("b", "Two")])
    hold(segmented)
    segmented.choose("b")
    with qtbot.assertNotEmitted(segmented.chosen):
        segmented.set_options([("a", "一"), ("b", "二")])
    assert segmented.key() == "b"
    segmented.set_options([("b", "Two"), ("c", "Three")])
    assert segmented.key() == "b"
    segmented.set_options([("c", "Three")])
    assert segmented.key() == "c"
    segmented.set_options([])
    assert segmented.key() == ""


def test_an_option_that_is_off_says_why(qtbot, hold):
    segmented = Segmented([("a", "One"), ("b", "Two")])
    hold(segmented)
    segmented.set_option_enabled("b", enabled=False, why="Needs a GPU")
    qtbot.mouseClick(segmented.segment("b"), Qt.MouseButton.LeftButton)
    assert segmented.key() == "a"
    assert segmented.segment("b").toolTip() == "Needs a GPU"


@pytest.mark.parametrize("make", [lambda: CheckBox("Words"), Switch], ids=["box", "switch"])
def test_boxes_and_switches_answer_to_mouse_and_space(qtbot, hold, make):
    control = make()
    hold(control)
    off = control.grab().toImage()
    qtbot.mouseClick(control, Qt.MouseButton.LeftButton, pos=control.rect().center())
    assert control.isChecked()
    assert control.grab().toImage() != off
    qtbot.keyClick(control, Qt.Key.Key_Space)
    assert not control.isChecked()


@pytest.mark.parametrize(
    "make", [lambda: ChoiceRow("Q4_K_M", "621 GB", "Larger"), OptionCard], ids=["row", "card"]
)
def test_choices_exclude_each_other(qtbot, hold, make):
    first, second = make(), make()
    hold(first, second)
    qtbot.mouseClick(first, Qt.MouseButton.LeftButton, pos=QPoint(200, 8))
    qtbot.keyClick(first, Qt.Key.Key_Down)
    assert second.isChecked()
    assert not first.isChecked()


def test_a_choice_row_tells_all_of_its_words(hold):
    row = ChoiceRow("Q4_K_M", "621 GB", "Larger, and worse", chip=Chip(Verdict.WARN, "Not advised"))
    hold(row)
    assert row.accessibleName() == "Q4_K_M 621 GB Larger, and worse"
    row.set_texts("Q8_0", "1,091 GB")
    assert row.accessibleName() == "Q8_0 1,091 GB"


def test_a_selected_row_has_an_accent_edge(hold):
    row = ListRow("Chat title", "14:36")
    hold(row)
    row.setChecked(True)
    assert pixel(row, 1, 16) == DARK.accent
    assert pixel(row, 4, 4) == DARK.raised


@pytest.mark.parametrize(
    ("make", "role"),
    [
        (lambda: Button("x"), QAccessible.Role.Button),
        (lambda: IconButton("copy", "Copy"), QAccessible.Role.Button),
        (Field, QAccessible.Role.EditableText),
        (Select, QAccessible.Role.ComboBox),
        (Slider, QAccessible.Role.Slider),
        (lambda: CheckBox("x"), QAccessible.Role.CheckBox),
        (Switch, QAccessible.Role.CheckBox),
        (lambda: ChoiceRow("x"), QAccessible.Role.RadioButton),
        (OptionCard, QAccessible.Role.RadioButton),
        (Gauge, QAccessible.Role.ProgressBar),
        (lambda: Chip(Verdict.OK, "x"), QAccessible.Role.StaticText),
    ],
)
def test_controls_have_their_roles(qtbot, qapp, make, role):
    widget = make()
    qtbot.addWidget(widget)
    interface = QAccessible.queryAccessibleInterface(widget)
    assert interface.role() == role
