"""The list of chats: days, search, renaming, deleting with a way back."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QDate, QDateTime, QPoint, Qt, QTime
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from kimi_desktop.chat.types import ChatSummary
from kimi_desktop.ui.chat.chat_list import ChatList
from kimi_desktop.ui.chat.chat_rows import CHAT_ID, rows_by_day


@pytest.fixture
def chats(qtbot, bridge):
    listed = ChatList(bridge)
    qtbot.addWidget(listed)
    listed.resize(240, 700)
    listed.show()
    qtbot.waitExposed(listed)
    return listed


def at(day, hour):
    return float(QDateTime(day, QTime(hour, 5)).toSecsSinceEpoch())


def titles(chats):
    return [row.title for row in chats.rows.rows if row.chat_id is not None]


def test_chats_stand_under_their_days(qapp):
    today = QDate(2026, 11, 30)
    rows = rows_by_day(
        [
            ChatSummary(1, "a", at(today, 14)),
            ChatSummary(2, "", at(today, 9)),
            ChatSummary(3, "c", at(today.addDays(-1), 21)),
            ChatSummary(4, "d", at(QDate(2026, 11, 27), 22)),
            ChatSummary(5, "e", at(QDate(2025, 12, 31), 8)),
        ],
        today,
    )
    assert [(row.title, row.time, row.chat_id) for row in rows] == [
        ("Today", "", None),
        ("a", "14:05", 1),
        ("New chat", "09:05", 2),
        ("Yesterday", "", None),
        ("c", "21:05", 3),
        ("27 Nov", "", None),
        ("d", "22:05", 4),
        ("31 Dec 2025", "", None),
        ("e", "08:05", 5),
    ]


def test_a_click_opens_and_a_heading_does_not(chats, services, qtbot):
    opened = []
    chats.chosen.connect(opened.append)
    for number in range(2):
        place = chats.view.visualRect(chats.rows.index(number)).center()
        qtbot.mouseClick(chats.view.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert opened == [chats.rows.rows[1].chat_id]


def test_the_keyboard_walks_opens_and_deletes(chats, qtbot):
    opened = []
    chats.chosen.connect(opened.append)
    chats.select(chats.rows.rows[1].chat_id)
    chats.view.setFocus()
    qtbot.keyClick(chats.view, Qt.Key.Key_Down)
    qtbot.keyClick(chats.view, Qt.Key.Key_Return)
    assert opened == [chats.rows.rows[2].chat_id]
    before = titles(chats)
    qtbot.keyClick(chats.view, Qt.Key.Key_Delete)
    chats.refresh()
    assert titles(chats) == [title for title in before if title != before[1]]


def test_searching_looks_into_titles_and_text(chats, services, qtbot):
    chats.search.setText("mla")
    qtbot.waitUntil(lambda: titles(chats) == ["Explain MLA caching"])
    chats.search.setText("nothing has this")
    qtbot.waitUntil(lambda: titles(chats) == [])
    assert chats._nothing.isVisible()
    chats.search.clear()
    qtbot.waitUntil(lambda: len(titles(chats)) == 6)
    assert not chats._nothing.isVisible()


def test_enter_in_the_search_opens_the_first(chats, qtbot):
    opened = []
    chats.chosen.connect(opened.append)
    chats.search.setText("regex")
    qtbot.keyClick(chats.search, Qt.Key.Key_Return)
    assert len(opened) == 1
    assert titles(chats) == ["Regex for shard names"]


def test_a_chat_is_renamed_in_place(chats, services, qtbot):
    index = chats.rows.index(1)
    chats.view.rename(index)
    (editor,) = chats.view.findChildren(QLineEdit)
    assert editor.selectedText() == "Where decode time goes"
    QTest.keyClicks(editor, "  Better   name ")
    services.chats.add_chat("meanwhile", ())
    chats.refresh()  # a list that changes must not take the editor away
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not chats.view.is_renaming)
    chats.refresh()
    assert "Better name" in titles(chats)
    assert "meanwhile" in titles(chats)


def test_an_empty_name_changes_nothing(chats, qtbot):
    chats.view.rename(chats.rows.index(1))
    (editor,) = chats.view.findChildren(QLineEdit)
    editor.clear()
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    chats.refresh()
    assert titles(chats)[0] == "Where decode time goes"


def test_the_menu_renames_and_deletes(chats, services):
    menu = chats.view.menu_for(chats.rows.index(2))
    assert [action.text() for action in menu.actions()] == ["Rename", "Delete"]
    menu.actions()[1].trigger()
    menu.deleteLater()
    assert chats.undo.isVisible()
    assert len(services.chats.chats()) == 5
    chats.undo.button.click()
    assert len(services.chats.chats()) == 6


def test_the_offer_to_undo_ends(chats, services, qtbot):
    chats.undo._over.setInterval(1)
    chats.delete(chats.rows.rows[1].chat_id)
    qtbot.waitUntil(lambda: not chats.undo.isVisible())


def test_the_row_under_the_mouse_shows_its_button(chats, qtbot):
    row = chats.view.visualRect(chats.rows.index(1))
    before = chats.view.grab(row).toImage()
    QTest.mouseMove(chats.view.viewport(), row.center())
    QTest.mouseMove(chats.view.viewport(), row.center() + QPoint(1, 0))
    assert chats.view.grab(row).toImage() != before


def test_screen_readers_hear_title_and_time(chats):
    index = chats.rows.index(1)
    spoken = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken.startswith("Where decode time goes ")
    assert index.data(CHAT_ID) is not None
    assert chats.rows.index(0).flags() == Qt.ItemFlag.NoItemFlags
