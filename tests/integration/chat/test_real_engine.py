"""Conversations with the real llama.cpp and the tiny Kimi: what is shown is what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.types import Sampling
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.types import (
    AnswerFinished,
    Finish,
    Message,
    PrefillProgressed,
    TokensArrived,
)
from tests.support.engine_link import ENDLESS, LinkedEngine, linked_engine
from tests.support.heard import Heard
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="Unix sockets")


@pytest.fixture(scope="module")
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def bus() -> EventBus:
    return EventBus()


@pytest.fixture(scope="module")
def engine(io: IoLoop, bus: EventBus, tiny_kimi: Path) -> Iterator[LinkedEngine]:
    with linked_engine(io, bus, tiny_kimi) as linked:
        yield linked


@pytest.fixture
def heard(bus: EventBus) -> Heard:
    return Heard(bus)


Make = Callable[..., ChatService]


@pytest.fixture
def make(io: IoLoop, bus: EventBus, engine: LinkedEngine, tmp_path: Path) -> Iterator[Make]:
    made: list[ChatService] = []

    def service(max_tokens: int = 4096, thinking: bool | None = None) -> ChatService:
        settings = AnswerSettings(Sampling(max_tokens=max_tokens), thinking=thinking)
        made.append(ChatService(io, bus, tmp_path / "chats.db", engine, lambda: settings))
        made[-1].start()
        return made[-1]

    yield service
    for one in made:
        one.close()


def ask(chats: ChatService, heard: Heard, text: str) -> Message:
    before = len(heard.all(AnswerFinished))
    chats.send(chats.new_chat(), text)
    return heard.wait(AnswerFinished, before + 1).message


def test_thinking_and_answer_with_the_engines_own_counts(make: Make, heard: Heard) -> None:
    message = ask(make(), heard, "hi")
    assert (message.reasoning, message.text) == (said("hello"), said("hello_fast"))
    assert message.finish is Finish.END
    stats = message.stats
    assert stats is not None
    assert stats.tokens == 16
    assert stats.prompt_tokens > 5
    assert stats.decode_tokens_per_s > 0
    assert stats.first_token_s is not None
    assert stats.thinking_s is not None
    assert heard.all(PrefillProgressed)


def test_instant_mode_does_not_think(make: Make, heard: Heard) -> None:
    message = ask(make(thinking=False), heard, "hi")
    assert (message.reasoning, message.text) == ("", said("hello_fast"))
    assert message.stats is not None
    assert message.stats.thinking_s is None


def test_a_long_answer_is_told_piece_by_piece(make: Make, heard: Heard) -> None:
    message = ask(make(), heard, "count to two hundred")
    assert message.text == said("count")
    told = heard.all(TokensArrived)
    assert "".join(event.text for event in told) == message.text
    assert [event.stats.tokens for event in told] == sorted(event.stats.tokens for event in told)


def test_chinese(make: Make, heard: Heard) -> None:
    chats = make()
    assert ask(chats, heard, "你好").text == said("chinese")
    assert chats.chats()[0].title == "你好"
    assert len(chats.chats("很小")) == 1


def test_the_second_question_finds_the_first_in_the_cache(make: Make, heard: Heard) -> None:
    chats = make()
    chat = chats.new_chat()
    chats.send(chat, "count")
    heard.wait(AnswerFinished)
    chats.send(chat, "and now some code")
    message = heard.wait(AnswerFinished, 2).message
    assert message.text == said("code")
    assert message.stats is not None
    assert message.stats.cached_tokens > 0


def test_the_token_limit_and_a_budget_spent_on_thinking(make: Make, heard: Heard) -> None:
    chats = make(max_tokens=12)
    assert ask(chats, heard, "count").finish is Finish.LENGTH
    message = ask(chats, heard, "ponder")
    error = heard.all(AnswerFinished)[-1].error
    assert (message.text, message.finish) == ("", Finish.LENGTH)
    assert error is not None
    assert error.code is ErrorCode.CHAT_ONLY_THINKING
    assert error.params == {"max_tokens": 12}


def test_a_prompt_beyond_the_context_is_not_sent(make: Make, heard: Heard) -> None:
    message = ask(make(), heard, "word " * 3000)
    error = heard.all(AnswerFinished)[-1].error
    assert message.finish is Finish.FAILED
    assert error is not None
    assert error.code is ErrorCode.CHAT_TOO_LONG
    assert error.params["context"] == 2048
    assert int(error.params["needed"]) > 3000
    assert heard.all(PrefillProgressed) == []


def test_an_answer_at_the_edge_of_the_context(make: Make, heard: Heard) -> None:
    message = ask(make(), heard, "forever " + "word " * 600)
    assert message.finish is Finish.CONTEXT
    assert message.text.startswith("Round")


def test_stopping_an_endless_answer_frees_the_engine_and_killing_it_keeps_the_text(
    io: IoLoop, endless_kimi: Path, tmp_path: Path
) -> None:
    bus = EventBus()
    heard = Heard(bus)
    with linked_engine(io, bus, endless_kimi, context=ENDLESS) as engine:
        settings = AnswerSettings(Sampling(max_tokens=ENDLESS))
        chats = ChatService(io, bus, tmp_path / "chats.db", engine, lambda: settings)
        chats.start()
        chats.send(chats.new_chat(), "go on forever")
        heard.wait(TokensArrived, 5)
        chats.stop()
        stopped = heard.wait(AnswerFinished).message
        assert stopped.finish is Finish.STOPPED
        assert stopped.text.startswith("Round and round")
        # One slot: this comes only when the endless answer has ended in the engine too.
        assert ask(chats, heard, "code").text == said("code")

        told = len(heard.all(TokensArrived))
        chats.send(chats.new_chat(), "forever")
        heard.wait(TokensArrived, told + 5)
        engine.kill()
        finished = heard.wait(AnswerFinished, 3)
        assert finished.message.finish is Finish.FAILED
        assert finished.message.text.startswith("Round and round")
        assert finished.error is not None
        assert finished.error.code is ErrorCode.ENGINE_KILLED
        assert chats.close()
