"""A list in which what is not possible says why, and a field for a number or nothing."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from kimi_desktop.ui.theme import color, tokens
from kimi_desktop.ui.widgets.legal_select import LegalItem, LegalSelect
from kimi_desktop.ui.widgets.number_field import NumberField

WHY = "64 heads cannot be divided by 3"
ITEMS = (LegalItem("1", 1), LegalItem("2", 2, tip="Then: pipeline 4"), LegalItem("3", 3, WHY))


def test_the_reason_stands_in_the_list_muted_and_cannot_be_taken(qtbot, monkeypatch):
    select = LegalSelect()
    qtbot.addWidget(select)
    select.show_items(ITEMS, 1)
    select.show()
    assert select.currentText() == "2"
    assert select.toolTip() == "Then: pipeline 4"
    assert select.itemText(2) == f"3   {WHY}"
    assert not select.model().index(2, 0).flags() & Qt.ItemFlag.ItemIsEnabled
    assert select.itemData(2, Qt.ItemDataRole.ToolTipRole) == WHY
    monkeypatch.setattr(QComboBox, "showPopup", lambda _: None)  # offscreen has no popups
    select.showPopup()
    ink = select.itemData(2, Qt.ItemDataRole.ForegroundRole)
    assert ink.color() == color(tokens().muted)
    assert select.itemData(0, Qt.ItemDataRole.ForegroundRole) is None
    wide = LegalSelect()
    qtbot.addWidget(wide)
    wide.show_items(ITEMS[:2], 0)
    assert select.sizeHint().width() == wide.sizeHint().width()


def test_the_keyboard_passes_over_what_is_not_possible(qtbot):
    select = LegalSelect()
    qtbot.addWidget(select)
    select.show_items((ITEMS[0], ITEMS[2], ITEMS[1]), 0)
    select.show()
    taken = []
    select.picked.connect(taken.append)
    qtbot.keyClick(select, Qt.Key.Key_Down)
    assert select.currentText() == "2"
    assert taken == [2]


def test_a_long_reason_is_cut_in_the_list_alone(qtbot):
    select = LegalSelect()
    qtbot.addWidget(select)
    select.show_items((LegalItem("1", 1), LegalItem("2", 2, "x" * 200)), 0)
    assert len(select.itemText(1)) < 100
    assert select.itemData(1, Qt.ItemDataRole.ToolTipRole) == "x" * 200


def test_a_number_is_taken_once(qtbot):
    row = NumberField(1, 100)
    qtbot.addWidget(row)
    row.set_texts("Share", "Automatic (92)", "of each GPU")
    row.show_number(None)
    taken = []
    row.taken.connect(taken.append)
    for text in ("80", "80", "abc", "0", "", ""):
        row.field.setText(text)
        row.field.editingFinished.emit()
    assert taken == [80, None]
    assert row.field.placeholderText() == "Automatic (92)"
