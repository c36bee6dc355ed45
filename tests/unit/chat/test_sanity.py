"""The question after a load: what counts as no answer, and who it gives way to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.types import (
    ChatRequest,
    Delta,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadRemarked,
    LoadSettings,
)
from kimi_desktop.base.errors import ChatError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.sanity import MOST_TOKENS, SanityCheck, judge
from kimi_desktop.chat.types import Message, MessageAdded, Role
from tests.support.heard import Heard

SETTINGS = LoadSettings(Path("m"), cache_type="q4_0", stop=("Question:",))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", ErrorCode.ENGINE_FIRST_EMPTY),
        (" \n", ErrorCode.ENGINE_FIRST_EMPTY),
        ("!!!!", ErrorCode.ENGINE_FIRST_REPEATS),
        ("?" * 32, ErrorCode.ENGINE_FIRST_REPEATS),
        ("<|im_end|><|im_end|>", ErrorCode.ENGINE_FIRST_TEMPLATE),
        ("\ufffd\ufffdx\ufffd \ufffd", ErrorCode.ENGINE_FIRST_GIBBERISH),
        ("foo 你好 привет سلام ok", ErrorCode.ENGINE_FIRST_GIBBERISH),
    ],
)
def test_answers_that_are_none(text: str, code: ErrorCode) -> None:
    found = judge(text, SETTINGS)
    assert found is not None
    assert found.code is code
    assert found.params["cache"] == "q4_0"


@pytest.mark.parametrize(
    "text",
    [
        "Red, blue, green.",
        "红、黄、蓝。",
        "Red.",
        "...",
        "Red\nRed\nRed\nRed\nRed\nRed\nRed\nRed",
        "赤、青 red",
    ],
)
def test_answers_that_may_be_one(text: str) -> None:
    assert judge(text, SETTINGS) is None


class Client:
    """Answers as told; ``closed`` is set when somebody hangs up."""

    def __init__(self, *pieces: Delta, hangs: bool = False) -> None:
        self.pieces, self.hangs = pieces, hangs
        self.requests: list[ChatRequest] = []
        self.asked, self.closed = threading.Event(), threading.Event()
        self.error: ChatError | None = None

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        self.asked.set()
        try:
            if self.error is not None:
                raise self.error
            for piece in self.pieces:
                yield piece
            if self.hangs:
                await asyncio.sleep(600)
        finally:
            self.closed.set()


class Bench:
    def __init__(self) -> None:
        self.io, self.bus = IoLoop(), EventBus()
        self.heard = Heard(self.bus)
        self.client = Client(Delta(content="!!!!"), Delta(content="!!!!"))
        self.wanted = True
        self.check = SanityCheck(
            self.io, self.bus, client=lambda: self.client, wanted=lambda: self.wanted
        )

    def move(self, state: EngineState, started_at: float = 1.0) -> None:
        status = EngineStatus(state, settings=SETTINGS, started_at=started_at)
        self.bus.publish(EngineStateChanged(status))

    def settle(self) -> None:
        async def nothing() -> None:
            await asyncio.sleep(0.05)

        self.io.submit(nothing).result(30)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.check.close()
    made.io.close()


def test_it_is_asked_once_after_a_load_and_told(bench: Bench) -> None:
    bench.move(EngineState.LOADING)
    bench.move(EngineState.READY)
    remark = bench.heard.wait(LoadRemarked).remarks[0]
    assert (remark.code, remark.params["text"]) == (ErrorCode.ENGINE_FIRST_REPEATS, "!!!!!!!!")
    (request,) = bench.client.requests
    assert request.sampling.max_tokens == MOST_TOKENS
    assert request.sampling.temperature == 0.0
    assert request.sampling.stop == ("Question:",)
    bench.move(EngineState.GENERATING)
    bench.move(EngineState.READY)
    bench.settle()
    assert len(bench.client.requests) == 1
    bench.move(EngineState.READY, started_at=2.0)
    bench.heard.wait(LoadRemarked, 2)


def test_a_good_answer_says_nothing(bench: Bench) -> None:
    bench.client = Client(Delta(reasoning="Colours ..."))
    bench.move(EngineState.READY)
    assert bench.client.closed.wait(30)
    bench.settle()
    assert bench.heard.all(LoadRemarked) == []


def test_switched_off_it_asks_nothing(bench: Bench) -> None:
    bench.wanted = False
    bench.move(EngineState.READY)
    bench.settle()
    assert bench.client.requests == []


def test_it_gives_way(bench: Bench) -> None:
    message = Message(1, Role.USER, "hi")
    for started, interrupt in enumerate(
        (
            lambda: bench.bus.publish(MessageAdded(1, message)),
            lambda: bench.move(EngineState.GENERATING, 1.0),
            lambda: bench.move(EngineState.STOPPING, 2.0),
        )
    ):
        bench.client = Client(Delta(content="!"), hangs=True)
        bench.move(EngineState.READY, started_at=float(started))
        assert bench.client.asked.wait(30)
        interrupt()
        assert bench.client.closed.wait(30)
    assert bench.heard.all(LoadRemarked) == []


def test_a_refusal_is_left_to_the_first_real_question(bench: Bench) -> None:
    bench.client.error = ChatError(ErrorCode.CHAT_REFUSED, {"detail": "x"})
    bench.move(EngineState.READY)
    assert bench.client.closed.wait(30)
    bench.settle()
    assert bench.heard.all(LoadRemarked) == []
