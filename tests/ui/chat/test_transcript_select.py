"""Selecting across pieces and messages, by mouse and keyboard, also while text streams in."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QWidget

from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role, TokensArrived
from kimi_desktop.ui.chat.code_view import CodeView
from kimi_desktop.ui.chat.selection import Spot
from kimi_desktop.ui.chat.transcript import Transcript


def arrival(transcript, text):
    """The event for more of the live answer."""
    (live,) = (e.message for e in transcript.entries if e.message.id == LIVE.id)
    length = len(live.text) + len(text)
    return TokensArrived(0, LIVE.id, text, "", AnswerStats(1, 1.0, 0.1), length, 0)


LIVE = Message(99, Role.ASSISTANT, "", finish=Finish.GENERATING)
ANSWER = "First **bold** words.\n\n```python\nx = 1\ny = 2\n```\n\nLast words."
CHAT = [
    Message(1, Role.USER, "One question"),
    Message(2, Role.ASSISTANT, ANSWER, "", Finish.END, AnswerStats()),
    Message(3, Role.USER, "Two *plain*\nlines"),
    Message(4, Role.ASSISTANT, "A [link](https://example.org/x) here.", "", Finish.END),
]


@pytest.fixture
def window(qtbot):
    holder = QWidget()
    qtbot.addWidget(holder)
    holder.resize(760, 600)
    return holder


@pytest.fixture
def transcript(qtbot, window):
    widget = Transcript(window)
    widget.resize(760, 600)
    window.show()
    qtbot.waitExposed(window)
    widget.show_messages(CHAT)
    return widget


def panes(transcript):
    found = [view for _, view in transcript.pool if view.isVisible() and view.pane is not None]
    return sorted(found, key=lambda view: view.y())


def at(transcript, number, position):
    """A point in the viewport right on a text position of the n-th pane."""
    view = panes(transcript)[number]
    rect = view.pane.position_rect(position).toRect()
    return view.pos() + view.pane.pos() + QPoint(rect.left(), rect.center().y())


def drag(transcript, start, end, steps=4, modifier=Qt.KeyboardModifier.NoModifier):
    viewport = transcript.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, modifier, start)
    for step in range(1, steps + 1):
        QTest.mouseMove(viewport, start + (end - start) * step / steps)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, modifier, end)


def test_every_height_of_a_line_hits_the_line(transcript):
    pane = panes(transcript)[2].pane
    hits = [pane.position_at(QPoint(30, y)) for y in range(pane.height())]
    assert hits == sorted(hits)
    assert len(set(hits)) == 2, "one position in each of the two lines"


def test_a_drag_across_messages_selects_and_copies_markdown(transcript):
    drag(transcript, at(transcript, 0, 4), at(transcript, 4, 3))
    assert transcript.select.markdown() == f"question\n\n{ANSWER}\n\nTwo"
    selected = [view.pane.textCursor().selectedText() for view in panes(transcript)]
    assert selected[0] == "question"
    assert selected[2] == "x = 1\u2029y = 2"
    assert selected[5] == ""
    QTest.keyClick(transcript, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == f"question\n\n{ANSWER}\n\nTwo"


def test_a_drag_upwards_is_the_same(transcript):
    drag(transcript, at(transcript, 3, 4), at(transcript, 1, 6))
    assert transcript.select.markdown() == (
        "**bold** words.\n\n```python\nx = 1\ny = 2\n```\n\nLast"
    )


def test_part_of_one_code_block_is_bare_code(transcript):
    drag(transcript, at(transcript, 2, 0), at(transcript, 2, 11))
    assert transcript.select.markdown() == "x = 1\ny = 2"


def test_a_double_click_takes_a_word_and_a_drag_goes_on_by_words(transcript, qtbot):
    viewport = transcript.viewport()
    point = at(transcript, 0, 6)
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=point)
    assert transcript.select.markdown() == "question"
    QTest.mouseMove(viewport, at(transcript, 0, 1))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=at(transcript, 0, 1))
    assert transcript.select.markdown() == "One question"


def test_a_third_click_takes_the_paragraph(transcript):
    viewport = transcript.viewport()
    point = at(transcript, 1, 8)
    QTest.mouseDClick(viewport, Qt.MouseButton.LeftButton, pos=point)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=point)
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=point)
    assert transcript.select.markdown() == "First **bold** words."


def test_shift_and_a_click_extend(transcript):
    viewport = transcript.viewport()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, pos=at(transcript, 0, 4))
    assert transcript.select.markdown() == ""
    shift = Qt.KeyboardModifier.ShiftModifier
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, shift, at(transcript, 1, 5))
    assert transcript.select.markdown() == "question\n\nFirst"


def test_select_all_and_escape(transcript):
    QTest.keyClick(transcript, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    expected = "\n\n".join(message.text for message in CHAT)
    assert transcript.select.markdown() == expected
    QTest.keyClick(transcript, Qt.Key.Key_Escape)
    assert transcript.select.markdown() == ""


def test_all_of_a_long_chat_is_copied_without_its_views(transcript):
    long = [
        dataclasses.replace(CHAT[n % 2], id=n + 1, text=f"{CHAT[n % 2].text}\n\nNumber {n}.")
        for n in range(400)
    ]
    transcript.show_messages(long)
    transcript.select.select_all()
    assert transcript.select.markdown() == "\n\n".join(message.text for message in long)
    assert len(list(transcript.pool)) < 25


def test_dragging_below_the_edge_scrolls_and_goes_on_selecting(transcript, qtbot):
    long = [dataclasses.replace(CHAT[n % 2], id=n + 1) for n in range(60)]
    transcript.show_messages(long)
    transcript.column.to_start()
    transcript.relayout()
    viewport = transcript.viewport()
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=at(transcript, 0, 0))
    first_view = transcript.pool.get(transcript.select.pinned)
    QTest.mouseMove(viewport, QPoint(200, 900))
    qtbot.waitUntil(lambda: transcript.select.selection.head.entry > 12)
    assert transcript.pool.get(transcript.select.pinned) is first_view, "recycled under the mouse"
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=QPoint(200, 900))
    assert transcript.select.markdown().startswith(f"One question\n\n{ANSWER}\n\nOne question")
    transcript.scroll_by(-5000)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=QPoint(300, 300))
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=QPoint(300, 300))
    assert transcript.select.markdown() == ""


def test_the_keyboard_selects_across_pieces(transcript):
    select = transcript.select
    select.selection.start(Spot(1, transcript.entries[1].items[0].key, 11))
    shift = Qt.KeyboardModifier.ShiftModifier
    control = Qt.KeyboardModifier.ControlModifier
    QTest.keyClick(transcript, Qt.Key.Key_Right, shift)
    assert select.markdown() == "w"
    QTest.keyClick(transcript, Qt.Key.Key_End, shift)
    assert select.markdown() == "words."
    QTest.keyClick(transcript, Qt.Key.Key_Down, shift)
    QTest.keyClick(transcript, Qt.Key.Key_Down, shift)
    QTest.keyClick(transcript, Qt.Key.Key_Down, shift)
    assert select.markdown().startswith("words.\n\n```python\nx = 1\ny = 2\n```\n\nLast")
    for _ in range(3):
        QTest.keyClick(transcript, Qt.Key.Key_Up, shift)
    assert select.markdown() == "words."
    QTest.keyClick(transcript, Qt.Key.Key_Left, shift | control)
    assert select.markdown() == "words"
    QTest.keyClick(transcript, Qt.Key.Key_End, shift | control)
    assert select.markdown().endswith("A [link](https://example.org/x) here.")
    QTest.keyClick(transcript, Qt.Key.Key_Home, shift | control)
    assert select.markdown() == "One question\n\nFirst **bold** "


def test_a_selection_survives_streaming_and_new_cuts(transcript):
    transcript.show_messages([CHAT[0], LIVE])
    words = "word " * 100 + "\n\n"

    def feed(text):
        transcript.feed(arrival(transcript, text))
        transcript.flush()

    feed("Intro text. " + words)
    key = next(item.key for item in transcript.entries[1].items if item.has_text)
    transcript.select.selection.start(Spot(1, key, 6))
    transcript.select.extend_to(Spot(1, key, 10))
    assert transcript.select.markdown() == "text"
    end = transcript.select.texts.length(1, transcript.entries[1].items[0])
    transcript.select.extend_to(Spot(1, key, end - 2))
    before = transcript.select.markdown()
    for _ in range(6):
        feed("Second **part** here. " + words)
        assert transcript.select.markdown() == before
    feed("```python\nx = 1\n")
    feed("```\n\nend")
    transcript.select.extend_to(transcript.select.texts.last_spot())
    assert transcript.select.markdown().endswith("x = 1\n```\n\nend")
    finished = transcript.entries[1].message
    transcript.finish(dataclasses.replace(finished, finish=Finish.END), None)
    assert transcript.select.markdown().endswith("x = 1\n```\n\nend")


def test_a_place_moves_into_the_piece_that_takes_its_text(transcript):
    transcript.show_messages([LIVE])

    def feed(text):
        transcript.feed(arrival(transcript, text))
        transcript.flush()

    feed("a" * 650 + "\n\nTail text")
    texts = transcript.select.texts
    spot = texts.last_spot()
    transcript.select.selection.start(spot._replace(position=spot.position - 4))
    transcript.select.extend_to(spot)
    assert transcript.select.markdown() == "text"
    feed(" grows\n\nand grows\n\n")
    assert len([item for item in transcript.entries[0].items if item.has_text]) > 1
    assert transcript.select.markdown() == "text"


def test_selecting_while_it_streams_holds_the_text_still(transcript):
    transcript.show_messages([*CHAT, LIVE])
    transcript.feed(arrival(transcript, "Some words to begin with.\n\n" * 12))
    transcript.flush()
    assert transcript.at_end
    viewport = transcript.viewport()
    start = at(transcript, -1, 5)
    QTest.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    QTest.mouseMove(viewport, start + QPoint(80, 0))
    before = {view.place: view.y() for view in panes(transcript)}
    transcript.feed(arrival(transcript, "And more.\n\n" * 20))
    transcript.flush()
    after = {view.place: view.y() for view in panes(transcript)}
    assert all(after[place] == y for place, y in before.items() if place in after)
    QTest.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=start + QPoint(80, 0))
    assert transcript.select.markdown()
    assert not transcript.at_end, "it would run away from what was just selected"


def test_a_mere_click_does_not_unstick(transcript):
    transcript.show_messages([*CHAT, LIVE])
    transcript.feed(arrival(transcript, "Some words to begin with.\n\n" * 30))
    transcript.flush()
    QTest.mouseClick(transcript.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(300, 300))
    assert transcript.at_end


def test_a_link_is_told_and_not_opened(transcript, qtbot):
    with qtbot.waitSignal(transcript.link_activated) as told:
        QTest.mouseClick(transcript.viewport(), Qt.MouseButton.LeftButton, pos=at(transcript, 5, 4))
    assert told.args[0] == "https://example.org/x"
    assert transcript.select.link_at(at(transcript, 5, 4)) == "https://example.org/x"
    QTest.mouseMove(transcript.viewport(), at(transcript, 5, 4))
    assert transcript.viewport().cursor().shape() == Qt.CursorShape.PointingHandCursor
    QTest.mouseMove(transcript.viewport(), at(transcript, 1, 4))
    assert transcript.viewport().cursor().shape() == Qt.CursorShape.IBeamCursor


def test_the_mouse_and_enter_learn_where_a_link_leads(transcript, qtbot):
    assert transcript.select.hint_at(at(transcript, 5, 4)) == "https://example.org/x"
    assert transcript.select.hint_at(at(transcript, 1, 4)) == ""
    place = transcript.entries[3].items[0].key
    transcript.select.selection.start(Spot(3, place, 2))
    transcript.select.extend_to(Spot(3, place, 5))
    with qtbot.waitSignal(transcript.link_activated) as told:
        QTest.keyClick(transcript, Qt.Key.Key_Return)
    assert told.args[0] == "https://example.org/x"
    image = Message(5, Role.ASSISTANT, "![a chart](http://x.example/y.png)", "", Finish.END)
    transcript.show_messages([image])
    assert transcript.select.hint_at(at(transcript, 0, 4)) == "http://x.example/y.png"


def test_the_context_menu_copies(transcript):
    transcript.select.select_all()
    menu = transcript.select.menu_at(at(transcript, 5, 4))
    actions = {action.text(): action for action in menu.actions() if action.text()}
    assert list(actions) == ["Copy", "Copy link address", "Select all"]
    actions["Copy link address"].trigger()
    assert QGuiApplication.clipboard().text() == "https://example.org/x"
    actions["Copy"].trigger()
    assert QGuiApplication.clipboard().text().startswith("One question")
    menu.deleteLater()


def test_tab_goes_through_the_controls_in_view_and_out(transcript, window, qtbot):
    before, after = QLineEdit(window), QLineEdit(window)
    before.show()
    after.show()
    QWidget.setTabOrder(before, transcript)
    QWidget.setTabOrder(transcript, after)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    before.setFocus()
    QTest.keyClick(before, Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is transcript
    names = []
    for _ in range(40):
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
        if QApplication.focusWidget() is after:
            break
        names.append(
            QApplication.focusWidget().accessibleName() or QApplication.focusWidget().text()
        )
    assert names[:4] == ["Copy message", "Edit message", "Wrap long lines", "Copy code"]
    assert names[-1] == "Answer again"
    assert QApplication.focusWidget() is after
    QTest.keyClick(after, Qt.Key.Key_Backtab)
    assert QApplication.focusWidget() is transcript
    assert any(isinstance(view, CodeView) for view in panes(transcript))


def test_the_mouse_reaches_the_selection_through_views_with_controls(transcript, window):
    """By the window's own events: a question and a block of code lie in the way."""
    handle = window.windowHandle()

    def in_window(number, position):
        point = at(transcript, number, position)
        return transcript.viewport().mapTo(window, point)

    start, end = in_window(0, 4), in_window(2, 5)
    QTest.mousePress(handle, Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 9):
        QTest.mouseMove(handle, start + (end - start) * step / 8)
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=end)
    assert transcript.select.markdown() == (
        "question\n\nFirst **bold** words.\n\n```python\nx = 1\n```"
    )
    QTest.mouseDClick(handle, Qt.MouseButton.LeftButton, pos=in_window(2, 1))
    assert transcript.select.markdown() == "x"
    QTest.mouseRelease(handle, Qt.MouseButton.LeftButton, pos=in_window(2, 1))
    code = next(view for _, view in transcript.pool if isinstance(view, CodeView))
    copy = code.stops()[1]
    QTest.mouseClick(
        handle, Qt.MouseButton.LeftButton, pos=copy.mapTo(window, copy.rect().center())
    )
    assert QGuiApplication.clipboard().text() == "x = 1\ny = 2"
    assert transcript.select.markdown() == "x", "a button does not select"
