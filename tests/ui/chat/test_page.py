"""The Chat page as a whole: writing, streaming, versions, the queue, folding, keys."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QApplication,
    QLineEdit,
    QTextEdit,
)

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode
from kimi_desktop.chat.types import Finish, Role
from kimi_desktop.ui.chat.chat_list import ChatList
from kimi_desktop.ui.chat.link_popover import LinkPopover, can_open
from kimi_desktop.ui.chat.message_views import NoticeView, QuestionView, StatsView
from kimi_desktop.ui.chat.panes import Side
from kimi_desktop.ui.chat.start_panel import Beginning

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


def type_and_send(page, text):
    page.composer.input.setFocus()
    QTest.keyClicks(page.composer.input, text)
    QTest.keyClick(page.composer.input, Qt.Key.Key_Return)


def calls(services, name):
    return [arguments for call, arguments in services.desk.calls if call == name]


def texts(page):
    return [entry.message.text for entry in page.transcript.entries]


def window_settings(bridge, **changes):
    bridge.save_settings(
        lambda s: dataclasses.replace(s, window=dataclasses.replace(s.window, **changes))
    )


# writing and answering


def test_a_message_is_sent_and_its_answer_streams(page, services):
    page.new_chat()
    assert not page.conversation.shows_transcript
    type_and_send(page, "Hello there")
    assert page.conversation.shows_transcript
    assert page.composer.text() == ""
    assert page.composer.stop.isVisible()
    assert not page.composer.send.isVisible()
    services.chats.stream("Hi. ")
    services.chats.stream("**Bold**.")
    assert texts(page) == ["Hello there", "Hi. **Bold**."]
    services.chats.finish()
    assert page.composer.send.isVisible()
    assert not page.composer.stop.isVisible()
    assert page.transcript.entries[-1].message.finish is Finish.END


def test_nothing_is_sent_that_is_only_blank(page, services):
    page.new_chat()
    type_and_send(page, "   ")
    assert calls(services, "chats.send") == []
    assert not page.composer.send.isEnabled()


def test_enter_and_shift_enter_can_be_swapped(page, services, bridge):
    page.new_chat()
    composer = page.composer
    composer.input.setFocus()
    QTest.keyClicks(composer.input, "one")
    QTest.keyClick(composer.input, Qt.Key.Key_Return, SHIFT)
    QTest.keyClicks(composer.input, "two")
    assert composer.text() == "one\ntwo"
    window_settings(bridge, enter_sends=False)
    QTest.keyClick(composer.input, Qt.Key.Key_Return)
    assert composer.text() == "one\ntwo\n"
    QTest.keyClick(composer.input, Qt.Key.Key_Return, CONTROL)
    assert calls(services, "chats.send")[-1][-1] == "one\ntwo"


def test_the_input_grows_and_then_scrolls(page):
    composer = page.composer
    low = composer.input.height()
    composer.put("one\ntwo\nthree")
    QApplication.processEvents()
    assert composer.input.height() == pytest.approx(low + 2 * 18, abs=8)
    composer.put("line\n" * 40)
    QApplication.processEvents()
    assert composer.input.height() <= 220


def test_escape_and_the_button_stop(page, services):
    page.new_chat()
    type_and_send(page, "Go")
    services.chats.stream("Some ")
    QTest.keyClick(page.composer.input, Qt.Key.Key_Escape)
    assert page.transcript.entries[-1].message.finish is Finish.STOPPED
    type_and_send(page, "Again")
    QTest.mouseClick(page.composer.stop, Qt.MouseButton.LeftButton)
    assert services.chats.generating_chat is None


def test_an_answer_that_breaks_off_is_kept_and_explained(page, services):
    page.new_chat()
    type_and_send(page, "Go")
    services.chats.stream("Half of ")
    services.chats.finish(
        Finish.FAILED, ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "reset"})
    )
    assert texts(page)[-1] == "Half of "
    assert any(isinstance(view, NoticeView) for _, view in page.transcript.pool)


def test_answering_again_and_going_through_versions(page, services):
    page.new_chat()
    type_and_send(page, "Go")
    services.chats.stream("First.")
    services.chats.finish()
    QTest.keyClick(page, Qt.Key.Key_R, CONTROL)
    services.chats.stream("Second.")
    services.chats.finish()
    assert texts(page) == ["Go", "Second."]
    stats = [v for _, v in page.transcript.pool if isinstance(v, StatsView)][-1]
    stats.show_stops()
    older = stats.stops()[0]
    assert older.accessibleName() == "Older version"
    QTest.mouseClick(older, Qt.MouseButton.LeftButton)
    assert texts(page) == ["Go", "First."]


def test_editing_a_question_replaces_it_as_a_version(page, services):
    page.new_chat()
    type_and_send(page, "What is 2+2?")
    services.chats.stream("4")
    services.chats.finish()
    question = next(v for _, v in page.transcript.pool if isinstance(v, QuestionView))
    question.show_stops()
    QTest.mouseClick(question.stops()[1], Qt.MouseButton.LeftButton)
    assert page.composer.is_editing
    assert page.composer.text() == "What is 2+2?"
    assert page.composer.send.text() == "Save and answer"
    page.composer.put("What is 3+3?")
    QTest.keyClick(page.composer.input, Qt.Key.Key_Return)
    assert not page.composer.is_editing
    services.chats.stream("6")
    assert texts(page) == ["What is 3+3?", "6"]
    assert page.transcript.entries[0].message.versions == 2


def test_an_edit_can_be_left(page, services):
    stats = [v for _, v in page.transcript.pool if isinstance(v, StatsView)][-1]
    stats.show_stops()
    edit = next(stop for stop in stats.stops() if stop.accessibleName() == "Edit the question")
    QTest.mouseClick(edit, Qt.MouseButton.LeftButton)
    assert page.composer.is_editing
    QTest.keyClick(page.composer.input, Qt.Key.Key_Escape)
    assert not page.composer.is_editing
    assert page.composer.text() == ""
    type_and_send(page, "New one")
    assert calls(services, "chats.edit") == []


def test_a_message_waits_while_the_model_loads_and_can_be_taken_back(page, services):
    services.engine.set_state(EngineState.LOADING, load_fraction=0.4)
    page.new_chat()
    type_and_send(page, "Sent early")
    note = page.composer._waiting
    assert note.isVisible()
    assert note.words() == "Sends when Kimi K2.6 is ready"
    QTest.mouseClick(note.close_button(), Qt.MouseButton.LeftButton)
    assert not note.isVisible()
    assert page.composer.text() == "Sent early"
    QTest.keyClick(page.composer.input, Qt.Key.Key_Return)
    assert note.isVisible()
    services.engine.set_state(EngineState.READY)
    assert not note.isVisible()
    assert texts(page)[0] == "Sent early"


def stopped_with_two_models(services, chat_id):
    """The engine is stopped; another model than the chosen one answered in the chat."""
    chosen = services.models.models[0]
    place = Path("/m/other.gguf")
    other = dataclasses.replace(chosen, id=str(place), path=place, title="Other")
    services.models.set_models(chosen, other)
    services.chats.answered = {"/m/other.gguf": (chat_id,)}
    services.engine.set_state(EngineState.STOPPED)
    return chosen, other


def test_a_message_to_a_stopped_engine_starts_the_model_of_its_chat(page, services, bridge, qtbot):
    chat = page.chat_id
    _, other = stopped_with_two_models(services, chat)
    page.open_chat(chat)
    assert other.title in page.composer.input.placeholderText()
    with qtbot.waitSignal(bridge.navigation.start_wanted) as start:
        type_and_send(page, "Good morning")
    assert start.args[0].model_path == other.path
    note = page.composer._waiting
    assert note.words() == f"Sends when {other.title} is ready"
    services.engine.set_state(EngineState.READY)  # the user has started the other one
    assert note.isVisible()
    QTest.mouseClick(note.close_button(), Qt.MouseButton.LeftButton)
    assert not note.isVisible()
    assert page.composer.text() == "Good morning"


def test_a_new_chat_starts_what_was_chosen(page, services, bridge, qtbot):
    chosen, _ = stopped_with_two_models(services, page.chat_id)
    page.new_chat()
    with qtbot.waitSignal(bridge.navigation.start_wanted) as start:
        type_and_send(page, "Hello")
    assert start.args[0].model_path == chosen.path


def test_an_answer_that_is_wanted_anew_starts_the_model_too(page, services, bridge, qtbot):
    _, other = stopped_with_two_models(services, page.chat_id)
    with qtbot.waitSignal(bridge.navigation.start_wanted) as start:
        page.regenerate()
    assert start.args[0].model_path == other.path


def test_without_any_model_the_list_opens(page, services, bridge, qtbot):
    services.engine.set_state(EngineState.STOPPED)
    services.models.set_models()
    page.new_chat()
    with qtbot.waitSignal(bridge.navigation.picker_wanted):
        type_and_send(page, "Hello")
    assert page.composer._waiting.words() == "Sends when ready"


def test_what_failed_or_loads_is_not_started_again_by_a_message(page, services, bridge):
    wanted = []
    bridge.navigation.start_wanted.connect(wanted.append)
    page.new_chat()
    for state in (EngineState.LOADING, EngineState.FAILED):
        services.engine.set_state(state)
        type_and_send(page, "Hello")
    assert wanted == []


def test_another_chats_answer_does_not_show_here(page, services):
    page.new_chat()
    first = page.chat_id
    type_and_send(page, "Long story")
    services.chats.stream("Once ")
    other = services.chats.chats()[1].id
    page.open_chat(other)
    before = texts(page)
    services.chats.stream("upon a time.")
    assert texts(page) == before
    assert page.composer.send.isVisible()
    page.open_chat(first)
    assert texts(page)[-1] == "Once upon a time."
    assert page.composer.stop.isVisible()
    services.chats.stream(" The end.")
    assert texts(page)[-1] == "Once upon a time. The end."


def test_the_last_answer_is_copied(page):
    answer = [e for e in page.transcript.entries if e.message.role is Role.ASSISTANT][-1]
    QTest.keyClick(page, Qt.Key.Key_C, CONTROL | SHIFT)
    assert QGuiApplication.clipboard().text() == answer.message.text


def test_the_thinking_switch_is_there_when_the_model_knows_it(page, services, bridge):
    toggle = page.composer.thinking
    assert toggle.isVisible()
    assert toggle.isChecked()
    toggle.click()
    assert not bridge.settings.chat.thinking
    services.engine.set_ready(services.models.models[3])  # the starter has no thinking
    assert not toggle.isVisible()


# beginnings


def test_without_a_model_there_is_one_sentence_and_one_button(fresh_page, fresh_bridge, qtbot):
    start = fresh_page.conversation.start
    assert start.beginning is Beginning.NO_MODEL
    assert start.nothing.sentence() == "No model yet. See what this machine can run."
    with qtbot.waitSignal(fresh_bridge.navigation.wizard_wanted):
        start.nothing.button.click()


def test_a_loaded_model_offers_three_prompts(page, services):
    page.new_chat()
    start = page.conversation.start
    assert start.beginning is Beginning.LOADED
    assert start.state_text() == "UD-Q4_K_XL · ready"
    assert [prompt.isVisible() for prompt in start.prompts] == [True] * 3
    start.prompts[0].click()
    assert texts(page) == [start.prompts[0].text(), ""]


def test_a_model_that_is_not_loaded_can_be_loaded_here(page, services, bridge, qtbot):
    services.engine.set_state(EngineState.STOPPED)
    page.new_chat()
    start = page.conversation.start
    assert start.beginning is Beginning.NOT_LOADED
    assert start.load_button.isVisible()
    with qtbot.waitSignal(bridge.navigation.start_wanted):
        start.load_button.click()
    services.engine.set_state(EngineState.LOADING, load_fraction=0.42)
    assert start.state_text() == "UD-Q4_K_XL · Loading 42%"
    assert not start.load_button.isVisible()


def test_a_failed_engine_says_so_in_place(page, services, bridge, qtbot):
    broken = services.models.models[-1].problem
    services.engine.set_failed(services.models.models[1], broken)
    panel = page.conversation.failure
    assert panel.isVisible()
    assert panel.width() <= 760
    restart = panel.panel.fix_buttons()[-1]
    with qtbot.waitSignal(bridge.navigation.start_wanted):
        restart.click()
    services.engine.set_state(EngineState.READY, error=None)
    assert not panel.isVisible()


# links


@pytest.mark.parametrize(
    ("address", "opens"),
    [
        ("https://example.org/a?b=c", True),
        ("http://127.0.0.1:8080/", True),
        ("HTTPS://EXAMPLE.ORG", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("mailto:a@b.c", False),
        ("//example.org", False),
        ("smb://host/share", False),
        ("http:///nohost", False),
        ("https://", False),
        ("data:text/html,x", False),
    ],
)
def test_only_web_addresses_are_opened(qapp, address, opens):
    assert can_open(address) is opens


def test_a_link_shows_its_address_before_it_is_opened(page, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    page.transcript.link_activated.emit("https://example.org/x", QPoint(400, 300))
    (popover,) = page.window().findChildren(LinkPopover)
    assert popover.address.text().replace("\u200b", "") == "https://example.org/x"
    assert opened == []
    popover.open_button.click()
    assert opened == ["https://example.org/x"]


def test_other_links_are_shown_but_cannot_be_opened(page):
    page.transcript.link_activated.emit("file:///etc/passwd", QPoint(400, 300))
    (popover,) = page.window().findChildren(LinkPopover)
    assert not popover.open_button.isVisible()
    popover.copy_button.click()
    assert QGuiApplication.clipboard().text() == "file:///etc/passwd"


# panes


def test_panes_fold_by_their_buttons_and_are_remembered(page, bridge, qtbot):
    assert page.panes.is_docked(Side.LIST)
    assert page.panes.is_docked(Side.INSPECTOR)
    page.chats.fold_wanted.emit()
    assert not page.chats.isVisible()
    assert not bridge.settings.window.chat_list_open
    assert page.conversation.list_button.isVisible()
    qtbot.mouseClick(page.conversation.list_button, Qt.MouseButton.LeftButton)
    assert page.chats.isVisible()
    page.inspector.fold_wanted.emit()
    assert not page.inspector.isVisible()
    assert page.conversation.width() == page.width() - 240
    assert not bridge.settings.window.inspector_open


def test_the_list_folds_away_beside_an_open_rail(page, bridge, qtbot):
    window_settings(bridge, rail_open=True)
    assert not page.chats.isVisible()
    qtbot.mouseClick(page.conversation.list_button, Qt.MouseButton.LeftButton)
    assert page.chats.isVisible()
    assert page.panes.drawer is Side.LIST
    assert bridge.settings.window.chat_list_open, "a drawer is nobody's wish"
    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert page.panes.drawer is None
    page.window().resize(1500, 732)
    assert page.chats.isVisible()


def test_the_inspector_becomes_a_drawer_in_a_narrow_window(page, qtbot):
    page.window().resize(960, 600)
    assert not page.inspector.isVisible()
    qtbot.mouseClick(page.conversation.inspector_button, Qt.MouseButton.LeftButton)
    assert page.panes.drawer is Side.INSPECTOR
    assert page.inspector.geometry().right() == page.width() - 1
    page.composer.input.setFocus()
    assert page.panes.drawer is None, "it closes when one goes on writing"


# list and navigation


def test_the_window_asks_for_chats(page, bridge, services):
    other = services.chats.chats()[2].id
    bridge.navigation.open_chat(other)
    assert page.chat_id == other
    bridge.navigation.new_chat()
    assert page.chat_id not in {chat.id for chat in services.chats.chats() if chat.title}
    assert isinstance(page.chats, ChatList)
    assert QApplication.focusWidget() is page.composer.input


def test_a_deleted_chat_gives_way_to_the_next_and_comes_back(page, services, qtbot):
    first, second = services.chats.chats()[:2]
    page.open_chat(first.id)
    page.chats.delete(first.id)
    assert page.chat_id == second.id
    assert page.chats.undo.isVisible()
    qtbot.mouseClick(page.chats.undo.button, Qt.MouseButton.LeftButton)
    assert page.chat_id == first.id
    assert not page.chats.undo.isVisible()


def test_tab_reaches_list_transcript_composer_and_inspector(page):
    page.chats.search.setFocus()
    seen = []
    for _ in range(80):
        widget = QApplication.focusWidget()
        for part in ("chats", "transcript", "composer", "inspector"):
            holder = getattr(page, part)
            if (holder is widget or holder.isAncestorOf(widget)) and (not seen or seen[-1] != part):
                seen.append(part)
        QTest.keyClick(widget, Qt.Key.Key_Tab)
        if QApplication.focusWidget() is page.chats.search:
            break
    assert seen == ["chats", "transcript", "composer", "inspector"]
    assert QApplication.focusWidget() is page.chats.search


def test_every_control_has_a_name(page):
    nameless = [
        widget
        for kind in (QAbstractButton, QLineEdit, QTextEdit, QAbstractSlider)
        for widget in page.findChildren(kind)
        if widget.isVisible()
        and widget.focusPolicy() != Qt.FocusPolicy.NoFocus
        and not (widget.accessibleName() or getattr(widget, "text", str)())
    ]
    assert nameless == []


def test_an_answer_streams_on_while_another_page_is_shown(page, services):
    page.new_chat()
    type_and_send(page, "Go")
    services.chats.stream("One ")
    page.hide()
    services.chats.stream("two ")
    services.chats.stream("three.")
    page.show()
    shown = [view.pane.toPlainText() for _, view in page.transcript.pool if view.pane is not None]
    assert "One two three." in shown


def test_the_failure_panel_stays_whole_in_the_smallest_window(make_page, bridge, services, qtbot):
    page = make_page(bridge, width=904, height=532)
    error = BackendError(ErrorCode.ENGINE_KILLED, {"signal": "SIGKILL"})
    failed = dataclasses.replace(
        services.engine.status,
        state=EngineState.FAILED,
        error=error,
        log_tail=("one line", "another line", "a third line"),
    )
    services.engine.set_status(failed)
    panel = page.conversation.failure
    qtbot.waitUntil(panel.isVisible)
    QApplication.processEvents()
    assert panel.height() >= panel.heightForWidth(panel.width())
    assert page.composer.isVisible()


def test_an_engine_that_is_gone_has_no_speed(make_page, bridge, services):
    page = make_page(bridge)
    services.engine.set_state(EngineState.STOPPED)
    assert page.inspector._stats is None
