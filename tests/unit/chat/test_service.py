from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kimi_desktop.backends.types import ChatRequest, Delta, EngineState, Sampling
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.database import ChatDatabase
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.types import (
    AnswerFinished,
    ChatListChanged,
    Finish,
    MessageAdded,
    PrefillProgressed,
    QueueChanged,
    Role,
    StoreFailed,
    StoreRecovered,
    TokensArrived,
)
from tests.support.heard import Heard
from tests.support.scripted_client import HANG, ScriptedClient, ScriptedEngine, Step, words

WAIT_S = 10.0


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def heard(bus: EventBus) -> Heard:
    return Heard(bus)


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient(*words("Hello ", "there"))


@pytest.fixture
def engine(bus: EventBus, client: ScriptedClient) -> ScriptedEngine:
    made = ScriptedEngine(bus, client)
    made.set_state(EngineState.READY)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.sqlite3"


Make = Callable[[], ChatService]


@pytest.fixture
def make(io: IoLoop, bus: EventBus, engine: ScriptedEngine, file: Path) -> Iterator[Make]:
    made: list[ChatService] = []

    def service() -> ChatService:
        settings = AnswerSettings(Sampling(0.5, 0.9, 64), "Be brief.", thinking=True)
        made.append(ChatService(io, bus, file, engine, lambda: settings))
        made[-1].start()
        return made[-1]

    yield service
    for one in made:
        one.close()


@pytest.fixture
def chats(make: Make, heard: Heard) -> ChatService:
    return make()


def texts(chats: ChatService, chat_id: int) -> list[str]:
    return [message.text for message in chats.messages(chat_id)]


def eventually(check: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT_S
    while not check():
        assert time.monotonic() < end, "never"
        time.sleep(0.005)


def test_a_question_is_answered(chats: ChatService, heard: Heard, client: ScriptedClient) -> None:
    chat = chats.new_chat()
    chats.send(chat, "Why is the sky blue? Explain.")
    finished = heard.wait(AnswerFinished)
    assert (finished.chat_id, finished.error) == (chat, None)
    assert finished.message == chats.messages(chat)[-1]
    assert finished.message.finish is Finish.END
    assert finished.message.stats is not None
    assert finished.message.stats.tokens == 2
    assert texts(chats, chat) == ["Why is the sky blue? Explain.", "Hello there"]
    assert "".join(event.text for event in heard.all(TokensArrived)) == "Hello there"
    added = [event.message for event in heard.all(MessageAdded)]
    assert [(m.role, m.finish) for m in added] == [
        (Role.USER, Finish.END),
        (Role.ASSISTANT, Finish.GENERATING),
    ]
    assert chats.chats()[0].title == "Why is the sky blue?"
    assert client.requests[0] == ChatRequest(
        (("system", "Be brief."), ("user", "Why is the sky blue? Explain.")),
        Sampling(0.5, 0.9, 64),
        thinking=True,
    )
    assert heard.all(QueueChanged) == []
    assert chats.generating_chat is None


def test_the_chats_of_a_model(
    chats: ChatService, heard: Heard, client: ScriptedClient, engine: ScriptedEngine
) -> None:
    chat = chats.new_chat()
    chats.send(chat, "Who are you?")
    heard.wait(AnswerFinished)
    assert [one.id for one in chats.chats_of("model.gguf")] == [chat]
    chats.rename_model("model.gguf", "/n/one.gguf")
    assert chats.chats_of("model.gguf") == ()
    assert [one.id for one in chats.chats_of("/n/one.gguf")] == [chat]


def test_the_engine_is_generating_meanwhile(
    chats: ChatService, heard: Heard, client: ScriptedClient, engine: ScriptedEngine
) -> None:
    client.script = [Delta(content="x"), HANG]
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(TokensArrived)
    assert engine.status.state is EngineState.GENERATING
    assert chats.generating_chat == chat
    chats.stop()
    heard.wait(AnswerFinished)
    assert engine.status.state is EngineState.READY


def test_stopping_keeps_the_text_and_closes_the_stream(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    client.script = [Delta(content="so far"), HANG]
    chat = chats.new_chat()
    chats.stop()  # nothing to stop
    chats.send(chat, "q")
    heard.wait(TokensArrived)
    chats.stop()
    message = heard.wait(AnswerFinished).message
    assert (message.text, message.finish) == ("so far", Finish.STOPPED)
    assert client.open_streams == 0


def test_stopping_at_once(chats: ChatService, heard: Heard, client: ScriptedClient) -> None:
    client.script = [HANG]
    chats.send(chats.new_chat(), "q")
    chats.stop()
    message = heard.wait(AnswerFinished).message
    assert (message.text, message.finish) == ("", Finish.STOPPED)
    assert client.open_streams == 0


def test_the_history_goes_along_without_reasoning(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    client.script = [Delta(reasoning="hm"), *words("a1")]
    chat = chats.new_chat()
    chats.send(chat, "q1")
    heard.wait(AnswerFinished)
    chats.send(chat, "q2")
    heard.wait(AnswerFinished, 2)
    assert client.requests[1].messages[1:] == (("user", "q1"), ("assistant", "a1"), ("user", "q2"))
    assert chats.messages(chat)[1].reasoning == "hm"


def test_a_message_waits_while_the_engine_loads(
    chats: ChatService, heard: Heard, engine: ScriptedEngine
) -> None:
    engine.set_state(EngineState.LOADING)
    chat = chats.new_chat()
    chats.send(chat, "patience")
    assert heard.all(QueueChanged) == [QueueChanged(chat, "patience")]
    assert texts(chats, chat) == []
    assert chats.queued_text(chat) == "patience"
    engine.set_state(EngineState.READY)
    heard.wait(AnswerFinished)
    assert heard.all(QueueChanged)[1:] == [QueueChanged(None, "")]
    assert texts(chats, chat) == ["patience", "Hello there"]


def test_a_waiting_message_can_be_taken_back(
    chats: ChatService, heard: Heard, engine: ScriptedEngine
) -> None:
    engine.set_state(EngineState.LOADING)
    first, second = chats.new_chat(), 0
    chats.send(first, "one")
    chats.rename(first, "named")
    second = chats.new_chat()
    chats.send(second, "other")
    chats.send(first, "two")
    assert chats.cancel_queued(first) == "one\n\ntwo"
    assert heard.all(QueueChanged)[-2:] == [QueueChanged(None, ""), QueueChanged(second, "other")]
    assert chats.cancel_queued(first) == ""
    engine.set_state(EngineState.READY)
    heard.wait(AnswerFinished)
    assert texts(chats, second) == ["other", "Hello there"]
    assert texts(chats, first) == []


def test_a_message_waits_for_the_model_that_it_was_written_to(
    chats: ChatService, heard: Heard, engine: ScriptedEngine
) -> None:
    engine.set_state(EngineState.STOPPED)
    first = chats.new_chat()
    chats.send(first, "for another", "/m/other.gguf")
    chats.rename(first, "named")
    second = chats.new_chat()
    chats.send(second, "for anybody")
    engine.set_state(EngineState.READY)  # model.gguf
    heard.wait(AnswerFinished)
    assert texts(chats, second) == ["for anybody", "Hello there"]
    assert texts(chats, first) == []
    assert chats.queued_model(first) == "/m/other.gguf"
    assert chats.model_of(second) == "model.gguf"
    assert (chats.model_of(first), chats.model_of(99)) == ("", "")
    engine.set_state(EngineState.STOPPED)
    engine.has_model(Path("/m/other.gguf"))
    engine.set_state(EngineState.READY)
    heard.wait(AnswerFinished, 2)
    assert texts(chats, first) == ["for another", "Hello there"]
    assert chats.model_of(first) == "/m/other.gguf"


def test_a_model_that_was_moved_is_still_waited_for(
    chats: ChatService, heard: Heard, engine: ScriptedEngine
) -> None:
    chat = chats.new_chat()
    chats.send(chat, "q", "/old/model.gguf")
    assert chats.queued_text(chat) == "q"
    chats.rename_model("/old/model.gguf", "model.gguf")
    heard.wait(AnswerFinished)
    assert texts(chats, chat) == ["q", "Hello there"]


def test_messages_sent_meanwhile_wait_for_their_turn(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    client.script = [Delta(content="x"), HANG]
    first = chats.new_chat()
    chats.send(first, "q1")
    heard.wait(TokensArrived)
    second = chats.new_chat()
    chats.send(second, "q2")
    assert heard.all(QueueChanged) == [QueueChanged(second, "q2")]
    client.script = words("done")
    chats.stop()
    heard.wait(AnswerFinished, 2)
    assert texts(chats, first) == ["q1", "x"]
    assert texts(chats, second) == ["q2", "done"]


def test_a_blank_message_is_not_sent(chats: ChatService, heard: Heard) -> None:
    chat = chats.new_chat()
    chats.send(chat, " \n ")
    assert texts(chats, chat) == []
    assert heard.all(MessageAdded) == []


def test_regenerating_makes_another_version(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    chat = chats.new_chat()
    chats.regenerate(chat)  # nothing to answer
    chats.send(chat, "q")
    first = heard.wait(AnswerFinished).message
    client.script = words("Another")
    chats.regenerate(chat)
    second = heard.wait(AnswerFinished, 2).message
    assert (second.text, second.version, second.versions) == ("Another", 2, 2)
    assert client.requests[1].messages == client.requests[0].messages
    chats.show_version(chat, second.id, -1)
    shown = heard.all(MessageAdded)[-1].message
    assert (shown.id, shown.version, shown.versions) == (first.id, 1, 2)
    assert texts(chats, chat) == ["q", "Hello there"]


def test_regenerating_an_open_answer_stops_it_first(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    client.script = [Delta(content="old"), HANG]
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(TokensArrived)
    client.script = words("new")
    chats.regenerate(chat)
    finished = heard.wait(AnswerFinished, 2)
    assert (finished.message.text, finished.message.versions) == ("new", 2)
    assert texts(chats, chat) == ["q", "new"]


def test_editing_a_question_answers_the_new_one(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    chat = chats.new_chat()
    chats.send(chat, "q1")
    heard.wait(AnswerFinished)
    chats.send(chat, "q2")
    heard.wait(AnswerFinished, 2)
    question = chats.messages(chat)[0]
    chats.edit(chat, question.id, "q1 edited")
    heard.wait(AnswerFinished, 3)
    assert texts(chats, chat) == ["q1 edited", "Hello there"]
    assert client.requests[-1].messages[-1] == ("user", "q1 edited")
    chats.show_version(chat, chats.messages(chat)[0].id, -1)
    assert texts(chats, chat) == ["q1", "Hello there", "q2", "Hello there"]


def test_an_edit_while_the_engine_is_away_waits(
    chats: ChatService, heard: Heard, engine: ScriptedEngine
) -> None:
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(AnswerFinished)
    engine.set_state(EngineState.STOPPED)
    chats.edit(chat, chats.messages(chat)[0].id, "edited")
    assert heard.all(QueueChanged) == [QueueChanged(chat, "edited")]
    assert texts(chats, chat) == ["edited"]
    assert chats.cancel_queued(chat) == ""  # it is in the chat already
    chats.regenerate(chat)
    chats.regenerate(chat)  # an impatient second press
    engine.set_state(EngineState.READY)
    heard.wait(AnswerFinished, 2)
    assert texts(chats, chat) == ["edited", "Hello there"]
    assert chats.messages(chat)[1].versions == 1


def test_a_killed_engine_keeps_the_text_and_says_why(
    chats: ChatService, heard: Heard, client: ScriptedClient, engine: ScriptedEngine
) -> None:
    lost = ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "peer closed"})
    client.script = [Delta(content="half"), 0.05, lost]
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(TokensArrived)
    killed = BackendError(ErrorCode.ENGINE_KILLED, {"signal": "SIGKILL"})
    engine.set_state(EngineState.FAILED, killed)
    finished = heard.wait(AnswerFinished)
    assert finished.error is killed
    assert (finished.message.text, finished.message.finish) == ("half", Finish.FAILED)
    client.script = words("again")
    chats.regenerate(chat)
    engine.set_state(EngineState.READY)
    heard.wait(AnswerFinished, 2)
    assert texts(chats, chat) == ["q", "again"]


@pytest.mark.parametrize("state", [EngineState.READY, EngineState.STOPPED])
def test_a_lost_connection_to_an_engine_that_says_nothing(
    chats: ChatService,
    heard: Heard,
    client: ScriptedClient,
    engine: ScriptedEngine,
    state: EngineState,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kimi_desktop.chat.service.ENGINE_REASON_WAIT_S", 0.1)
    lost = ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "peer closed"})
    client.script = [Delta(content="half"), 0.05, lost]
    chats.send(chats.new_chat(), "q")
    heard.wait(TokensArrived)
    if state is EngineState.STOPPED:
        engine.set_state(state)
    assert heard.wait(AnswerFinished).error is lost


def test_a_bug_in_the_stream_does_not_block_the_next_answer(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    def broken(_: ChatRequest) -> list[Step]:
        raise RuntimeError("a bug")

    client.answer = broken
    chat = chats.new_chat()
    chats.send(chat, "q")
    assert heard.wait(AnswerFinished).message.finish is Finish.FAILED
    client.answer = None
    chats.regenerate(chat)
    heard.wait(AnswerFinished, 2)
    assert texts(chats, chat) == ["q", "Hello there"]


def test_prefill_is_told(chats: ChatService, heard: Heard, client: ScriptedClient) -> None:
    client.script = [Delta(prefill_done=5, prefill_total=10), *words("x")]
    chat = chats.new_chat()
    chats.send(chat, "q")
    message = heard.wait(AnswerFinished).message
    assert heard.all(PrefillProgressed) == [PrefillProgressed(chat, message.id, 5, 10)]


def test_a_prompt_beyond_the_context_is_refused_with_numbers(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    client.tokens = 5000
    chats.send(chats.new_chat(), "x" * 4096)
    error = heard.wait(AnswerFinished).error
    assert error is not None
    assert error.code is ErrorCode.CHAT_TOO_LONG
    assert error.params == {"needed": 5000, "context": 4096}


def test_chats_are_named_deleted_and_restored(chats: ChatService, heard: Heard) -> None:
    chat = chats.new_chat()
    assert chats.new_chat() == chat
    chats.send(chat, "hello")
    heard.wait(AnswerFinished)
    chats.rename(chat, "  A\nname ")
    assert [c.title for c in chats.chats()] == ["A name"]
    chats.delete(chat)
    assert chats.chats() == ()
    chats.restore(chat)
    assert [c.id for c in chats.chats("hello")] == [chat]
    assert len(heard.all(ChatListChanged)) >= 5


def test_deleting_a_chat_ends_what_goes_on_in_it(
    chats: ChatService, heard: Heard, client: ScriptedClient
) -> None:
    client.script = [Delta(content="x"), HANG]
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(TokensArrived)
    chats.send(chat, "queued")
    chats.delete(chat)
    assert heard.wait(AnswerFinished).message.finish is Finish.STOPPED
    assert chats.queued_text(chat) == ""


def test_a_chat_that_does_not_exist_has_no_messages(chats: ChatService) -> None:
    assert chats.messages(12345) == ()


def test_the_chats_are_there_at_the_next_start(
    make: Make, heard: Heard, engine: ScriptedEngine
) -> None:
    chats = make()
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(AnswerFinished)
    engine.set_state(EngineState.LOADING)
    chats.send(chat, "still waiting at the end")
    assert chats.close()
    again = make()
    assert texts(again, chat) == ["q", "Hello there", "still waiting at the end"]


def test_closing_ends_the_open_answer(make: Make, heard: Heard, client: ScriptedClient) -> None:
    client.script = [Delta(content="so far"), HANG]
    chats = make()
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(TokensArrived)
    assert chats.close()
    assert client.open_streams == 0
    message = make().messages(chat)[-1]
    assert (message.text, message.finish) == ("so far", Finish.STOPPED)


def test_an_open_answer_is_written_while_it_streams(
    chats: ChatService, heard: Heard, client: ScriptedClient, file: Path
) -> None:
    client.script = [Delta(content="so far"), HANG]
    chat = chats.new_chat()
    chats.send(chat, "q")
    with closing(ChatDatabase(file)) as database:
        eventually(lambda: [m.text for m in database.messages(chat)] == ["q", "so far"])


def test_a_folder_that_cannot_be_written_is_said_once_somebody_listens(
    make: Make, heard: Heard, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kimi_desktop.chat.service.RETRY_WRITING_S", 0.02)
    file.parent.write_text("in the way")
    chats = make()
    failed = heard.wait(StoreFailed)
    assert failed.error.code is ErrorCode.DATA_READ_ONLY
    assert chats.store_error is failed.error
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(AnswerFinished)
    assert texts(chats, chat) == ["q", "Hello there"]
    file.parent.unlink()
    heard.wait(StoreRecovered)
    assert chats.store_error is None
    assert chats.close()
    assert texts(make(), chat) == ["q", "Hello there"]


def test_closing_says_that_chats_are_lost(make: Make, heard: Heard, file: Path) -> None:
    file.parent.write_text("in the way")
    chats = make()
    chats.send(chats.new_chat(), "q")
    heard.wait(AnswerFinished)
    assert not chats.close()


def test_an_unreadable_chat_keeps_the_message_waiting(
    make: Make, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    chats = make()
    chat = chats.new_chat()
    chats.send(chat, "q")
    heard.wait(AnswerFinished)
    chats.close()
    chats = make()
    error = ChatError(ErrorCode.CHAT_STORE_FAILED, {"path": "p", "detail": "I/O error"})

    def refuse(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("kimi_desktop.chat.database.ChatDatabase.messages", refuse)
        chats.send(chat, "kept")
        assert chats.queued_text(chat) == "kept"
        assert chats.messages(chat) == ()
        assert heard.wait(StoreFailed).error is error
    chats.send(chat, "and more")
    heard.wait(AnswerFinished, 3)
    assert texts(chats, chat) == [
        "q",
        "Hello there",
        "kept",
        "Hello there",
        "and more",
        "Hello there",
    ]
