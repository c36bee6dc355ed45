"""The Chat page over the real conversations: their threads, their store, their order of events."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from kimi_desktop.backends.types import Delta, EngineState, Sampling
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.types import Finish
from kimi_desktop.ui.bridge import Bridge
from tests.support.scripted_client import HANG, ScriptedClient, ScriptedEngine, words

ANSWER = "First **bold** words.\n\n```python\nx = 1\n```\n\nLast words."


@pytest.fixture
def client():
    return ScriptedClient(*words(*(ANSWER[i : i + 3] for i in range(0, len(ANSWER), 3))))


@pytest.fixture
def engine(services, client):
    scripted = ScriptedEngine(services.bus, client)
    scripted.status = services.engine.status
    return scripted


@pytest.fixture
def chats(services, engine, tmp_path, qapp):
    io = IoLoop()
    settings = AnswerSettings(Sampling(0.5, 0.9, 64))
    service = ChatService(io, services.bus, tmp_path / "chats.sqlite3", engine, lambda: settings)
    service.start()
    services.chats = service
    yield service
    service.close()
    io.close()


@pytest.fixture
def page(make_page, services, chats):
    bridge = Bridge(services)
    yield make_page(bridge)
    bridge.close()


def send(page, text):
    page.composer.put(text)
    QTest.keyClick(page.composer.input, Qt.Key.Key_Return)


def texts(page):
    return [entry.message.text for entry in page.transcript.entries]


def settle(page, chats, qtbot, finish=Finish.END):
    """The open answer has ended and the page knows."""
    qtbot.waitUntil(
        lambda: (
            chats.generating_chat is None
            and page.transcript.entries
            and page.transcript.entries[-1].message.finish is finish
        )
    )


def test_an_answer_arrives_exactly_once(page, chats, qtbot):
    send(page, "Hello")
    settle(page, chats, qtbot)
    assert texts(page) == ["Hello", ANSWER]
    assert page.composer.send.isVisible()
    qtbot.waitUntil(lambda: "Hello" in {row.title for row in page.chats.rows.rows})


def test_a_chat_opened_in_mid_answer_shows_it_once(page, chats, client, qtbot):
    """Text that the store has already, its events still waiting in the queue, must not double."""
    wait = threading.Event()
    script = [Delta(content=f"{number} ") for number in range(200)]
    client.answer = lambda request: [
        *script[:100],
        0.05,
        *script[100:],
        Delta(finish_reason="stop"),
    ]
    send(page, "Count")
    first = page.chat_id
    qtbot.waitUntil(lambda: bool(texts(page)) and "50 " in texts(page)[-1])
    page.new_chat()
    wait.wait(0.02)  # events pile up while Qt's thread is busy
    page.open_chat(first)
    settle(page, chats, qtbot)
    assert texts(page) == ["Count", "".join(f"{number} " for number in range(200))]


def test_versions_by_answering_again_and_by_editing(page, chats, client, qtbot):
    send(page, "Hello")
    settle(page, chats, qtbot)
    client.script = words("Another.")
    page.regenerate()
    qtbot.waitUntil(lambda: texts(page) == ["Hello", "Another."])
    settle(page, chats, qtbot)
    answer = page.transcript.entries[-1].message
    assert (answer.version, answer.versions) == (2, 2)
    chats.show_version(page.chat_id, answer.id, -1)
    qtbot.waitUntil(lambda: texts(page) == ["Hello", ANSWER])

    question = page.transcript.entries[0].message
    page._edit(question.id)
    client.script = words("To the new one.")
    send(page, "Hello again")
    qtbot.waitUntil(lambda: texts(page) == ["Hello again", "To the new one."])
    settle(page, chats, qtbot)
    edited = page.transcript.entries[0].message
    assert (edited.version, edited.versions) == (2, 2)
    chats.show_version(page.chat_id, edited.id, -1)
    qtbot.waitUntil(lambda: texts(page) == ["Hello", ANSWER])


def test_stopping_keeps_the_text(page, chats, client, qtbot):
    client.script = [Delta(content="Once upon "), HANG]
    send(page, "Tell")
    qtbot.waitUntil(lambda: texts(page) == ["Tell", "Once upon "])
    QTest.keyClick(page.composer.input, Qt.Key.Key_Escape)
    settle(page, chats, qtbot, Finish.STOPPED)
    assert texts(page) == ["Tell", "Once upon "]


def test_a_broken_stream_keeps_the_text_and_says_why(page, chats, client, qtbot):
    client.script = [Delta(content="Half"), BackendError(ErrorCode.ENGINE_BUSY)]
    send(page, "Tell")
    settle(page, chats, qtbot, Finish.FAILED)
    assert texts(page) == ["Tell", "Half"]
    assert page.transcript.entries[-1].error is not None


def test_messages_wait_for_the_engine_and_go_out_by_themselves(page, chats, engine, qtbot):
    engine.set_state(EngineState.LOADING)
    send(page, "Early")
    note = page.composer._waiting
    qtbot.waitUntil(note.isVisible)
    assert texts(page) == []
    engine.set_state(EngineState.READY)
    settle(page, chats, qtbot)
    assert texts(page) == ["Early", ANSWER]
    assert not note.isVisible()


def test_a_second_message_waits_for_the_first_answer(page, chats, client, qtbot):
    client.script = [Delta(content="One."), 0.1, Delta(finish_reason="stop")]
    send(page, "First")
    qtbot.waitUntil(lambda: texts(page) == ["First", "One."])
    send(page, "Second")
    qtbot.waitUntil(page.composer._waiting.isVisible)
    qtbot.waitUntil(lambda: texts(page) == ["First", "One.", "Second", "One."])
    settle(page, chats, qtbot)
    assert not page.composer._waiting.isVisible()


def test_deleting_the_answering_chat_and_taking_it_back(page, chats, client, qtbot):
    client.script = [Delta(content="Once upon "), HANG]
    send(page, "Tell")
    qtbot.waitUntil(lambda: texts(page) == ["Tell", "Once upon "])
    told = page.chat_id
    page.chats.delete(told)
    assert page.chat_id != told
    page.chats.undo.button.click()
    qtbot.waitUntil(lambda: chats.generating_chat is None)
    assert page.chat_id == told
    qtbot.waitUntil(lambda: texts(page) == ["Tell", "Once upon "])
