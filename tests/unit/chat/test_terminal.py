"""The terminal chat without a terminal: what is printed where, and the exit codes."""

from __future__ import annotations

import io as streams
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.backends.types import (
    Delta,
    EngineState,
    EngineStatus,
    LoadRemarked,
    Sampling,
)
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.base.terminal import printable
from kimi_desktop.chat.presets import AnswerSettings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.terminal import BAD_ARGUMENTS, DONE, FAILED, INTERRUPTED, TerminalChat
from kimi_desktop.chat.terminal_output import stats_line
from kimi_desktop.chat.terminal_typing import TypedLines
from kimi_desktop.chat.types import AnswerStats, Finish, Message, Role
from tests.support.scripted_client import HANG, ScriptedClient, ScriptedEngine, words


class Screen(streams.StringIO):
    """What is shown on a terminal, or lands in a pipe."""

    def __init__(self, text: str = "", *, is_terminal: bool = False) -> None:
        super().__init__(text)
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def client() -> ScriptedClient:
    return ScriptedClient(*words("Hello ", "there"))


@pytest.fixture
def engine(bus: EventBus, client: ScriptedClient) -> ScriptedEngine:
    made = ScriptedEngine(bus, client)
    made.set_state(EngineState.READY)
    return made


@pytest.fixture
def chats(
    io: IoLoop, bus: EventBus, engine: ScriptedEngine, tmp_path: Path
) -> Iterator[ChatService]:
    settings = AnswerSettings(Sampling())
    service = ChatService(io, bus, tmp_path / "chats.db", engine, lambda: settings)
    service.start()
    yield service
    service.close()


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")


class Run:
    """One run, with its streams."""

    def __init__(
        self,
        chats: ChatService,
        engine: ScriptedEngine,
        bus: EventBus,
        *,
        stdin: str = "",
        is_terminal: bool = False,
        language: Language = Language.EN,
        json_output: bool = False,
    ) -> None:
        self.out = Screen(is_terminal=is_terminal)
        self.err = Screen(is_terminal=is_terminal)
        self.chat = TerminalChat(
            chats,
            engine,
            bus,
            language,
            json_output=json_output,
            stdin=Screen(stdin, is_terminal=is_terminal),
            stdout=self.out,
            stderr=self.err,
        )

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.getvalue().splitlines()]


@pytest.fixture(autouse=True)
def nothing_typed_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """``Screen`` has no file descriptor to look at."""
    monkeypatch.setattr(TypedLines, "poll", lambda _: [])


def test_one_answer(chats: ChatService, engine: ScriptedEngine, bus: EventBus) -> None:
    run = Run(chats, engine, bus)
    assert run.chat.run("q") == DONE
    assert run.out.getvalue() == "Hello there\n"
    assert "2 tokens · first token" in run.err.getvalue()
    assert chats.chats() == ()


def test_thoughts_do_not_go_into_a_pipe(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, client: ScriptedClient
) -> None:
    client.script = [Delta(reasoning="hm"), *words(" \n", " Yes")]
    run = Run(chats, engine, bus, stdin="q")
    assert run.chat.run() == DONE
    assert run.out.getvalue() == "Yes\n"
    assert "thought for" in run.err.getvalue()


@pytest.mark.usefixtures("plain")
def test_a_conversation_on_a_terminal(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, client: ScriptedClient
) -> None:
    client.script = [
        Delta(prefill_done=1, prefill_total=2),
        Delta(reasoning="hm"),
        *words("Yes\x1b[31m\n"),
    ]
    typed = "/regenerate\nq1\\\nq2\n\n/regenerate\n/stop\n/help\n/new\nq3\n"
    run = Run(chats, engine, bus, stdin=typed, is_terminal=True)
    assert run.chat.run() == DONE
    shown = run.out.getvalue()
    assert shown.count("hm\n\nYes[31m\n") == 3
    assert "\rReading the prompt: 1 of 2 tokens" in shown.replace("\x1b[K", "")
    assert "/regenerate  answer" in shown
    assert "There is no question" in run.err.getvalue()
    assert "Nothing is being answered" in run.err.getvalue()
    assert [request.messages for request in client.requests] == [
        (("user", "q1\nq2"),),
        (("user", "q1\nq2"),),
        (("user", "q3"),),
    ]


def test_quitting(chats: ChatService, engine: ScriptedEngine, bus: EventBus) -> None:
    run = Run(chats, engine, bus, stdin="/quit\nq", is_terminal=True, language=Language.ZH_CN)
    assert run.chat.run() == DONE
    assert "请输入问题" in run.out.getvalue()


def test_nothing_to_answer(chats: ChatService, engine: ScriptedEngine, bus: EventBus) -> None:
    run = Run(chats, engine, bus, stdin=" \n")
    assert run.chat.run() == BAD_ARGUMENTS
    assert "--prompt" in run.err.getvalue()


def test_a_failure_is_told_in_words_after_the_text_so_far(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, client: ScriptedClient
) -> None:
    refused = ChatError(ErrorCode.CHAT_REFUSED, {"detail": "no"})
    client.script = [Delta(content="half"), refused]
    run = Run(chats, engine, bus)
    assert run.chat.run("q") == FAILED
    assert run.out.getvalue() == "half\n"
    assert "The engine refused the request: no" in run.err.getvalue()
    run = Run(chats, engine, bus, json_output=True)
    assert run.chat.run("q") == FAILED
    assert run.events[-1]["finish"] == "failed"
    assert run.events[-1]["error"]["code"] == "chat.refused"


def test_an_engine_that_is_gone_gives_no_answer(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus
) -> None:
    engine.set_state(EngineState.STOPPED)
    run = Run(chats, engine, bus)
    assert run.chat.run("q") == FAILED
    assert "No model is loaded." in run.err.getvalue()
    engine.set_state(EngineState.FAILED, BackendError(ErrorCode.DISK_FULL, {"path": "/x"}))
    run = Run(chats, engine, bus, json_output=True)
    assert run.chat.run("q") == FAILED
    assert run.events[-1]["event"] == "failed"
    assert run.events[-1]["error"]["code"] == "settings.disk_full"


def test_control_c_stops_then_leaves(
    chats: ChatService,
    engine: ScriptedEngine,
    bus: EventBus,
    client: ScriptedClient,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client.script = [Delta(content="x"), HANG]
    run = Run(chats, engine, bus)
    presses = iter((True, False))
    show = run.chat._show

    def press(event: object) -> None:
        show(event)  # type: ignore[arg-type]
        if client.open_streams and next(presses, False):
            raise KeyboardInterrupt

    monkeypatch.setattr(run.chat, "_show", press)
    assert run.chat.run("q") == INTERRUPTED
    assert run.out.getvalue() == "x\n"
    run = Run(chats, engine, bus)
    monkeypatch.setattr(chats, "stop", lambda: None)

    def press_again(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run.chat, "_next_event", press_again)
    assert run.chat.run("q") == INTERRUPTED


def starting(io: IoLoop, result: EngineStatus | BaseException) -> tuple[Any, threading.Event]:
    go_on = threading.Event()

    def wait() -> EngineStatus:
        go_on.wait(30)
        if isinstance(result, BaseException):
            raise result
        return result

    return io.pool(wait), go_on


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("is_terminal", [True, False])
def test_loading_is_shown(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, io: IoLoop, is_terminal: bool
) -> None:
    run = Run(chats, engine, bus, is_terminal=is_terminal)
    loading = EngineStatus(EngineState.LOADING, load_fraction=0.43)
    operation, go_on = starting(io, EngineStatus(EngineState.READY, engine_name="llama.cpp b1"))
    engine.status = loading
    engine.set_state(EngineState.LOADING)
    engine.set_state(EngineState.LOADING)
    threading.Timer(0.3, go_on.set).start()
    run.chat.wait_until_ready(operation, "tiny")
    shown = (run.out if is_terminal else run.err).getvalue().replace("\x1b[K", "")
    assert shown.endswith("tiny is ready (llama.cpp b1).\n")
    assert "Loading tiny: 43 %" in shown
    assert is_terminal or shown.count("Loading tiny: 43 %") == 1
    if not is_terminal:
        assert run.out.getvalue() == ""


def test_loading_as_json(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, io: IoLoop
) -> None:
    run = Run(chats, engine, bus, json_output=True)
    operation, go_on = starting(io, EngineStatus(EngineState.READY, engine_name="e"))
    for _ in range(3):
        engine.set_state(EngineState.LOADING)
    threading.Timer(0.3, go_on.set).start()
    run.chat.wait_until_ready(operation, "tiny")
    assert run.events == [
        {"event": "loading", "model": "tiny", "fraction": None},
        {"event": "ready", "model": "tiny", "engine": "e"},
    ]


def test_an_engine_that_does_not_start(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, io: IoLoop
) -> None:
    run = Run(chats, engine, bus, json_output=True)
    error = BackendError(ErrorCode.DISK_FULL, {"path": "/x"})
    operation, go_on = starting(io, error)
    go_on.set()
    with pytest.raises(BackendError):
        run.chat.wait_until_ready(operation, "tiny")
    assert run.events[-1]["error"]["code"] == "settings.disk_full"


def test_control_c_while_it_loads(
    chats: ChatService,
    engine: ScriptedEngine,
    bus: EventBus,
    io: IoLoop,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = Run(chats, engine, bus)

    class Interrupted:
        done = False
        was_cancelled = False

        def cancel(self) -> None:
            self.was_cancelled = True

    class NoEvents:
        def get(self, **_: object) -> None:
            raise KeyboardInterrupt

    monkeypatch.setattr(run.chat, "_events", NoEvents())
    operation = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run.chat.wait_until_ready(operation, "tiny")  # type: ignore[arg-type]
    assert operation.was_cancelled


def test_a_terminal_gets_no_control_characters() -> None:
    assert printable("a\tb\n\x1b[2J\x07\x9b\u202ec\r🌙👩‍💻 显存") == "a\tb\n[2Jc🌙👩‍💻 显存"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        (
            Language.EN,
            "18.4 tok/s · 1,512 tokens · first token 3.1 s · thought for 12 s · stopped: end",
        ),
        (
            Language.ZH_CN,
            "18.4 词元/秒 · 1,512 个词元 · 首字延迟 3.1 秒 · 思考 12 秒 · 结束：正常",
        ),
    ],
)
def test_the_line_of_figures(language: Language, line: str) -> None:
    stats = AnswerStats(1512, 18.4, 3.1, 12.0)
    answer = Message(1, Role.ASSISTANT, "x", stats=stats)
    assert stats_line(answer, language) == line
    assert stats_line(Message(1, Role.ASSISTANT, "", finish=Finish.FAILED), language) == ""


def test_what_is_odd_about_a_load_is_told(
    chats: ChatService, engine: ScriptedEngine, bus: EventBus, io: IoLoop
) -> None:
    found = (
        BackendError(ErrorCode.ENGINE_FIRST_REPEATS, {"text": "!\x1b[31m!!", "cache": "q4_0"}),
    )
    as_json = Run(chats, engine, bus, json_output=True)
    plain = Run(chats, engine, bus, is_terminal=True)
    operation, go_on = starting(io, EngineStatus(EngineState.READY, engine_name="e"))
    bus.publish(LoadRemarked(found))
    threading.Timer(0.3, go_on.set).start()
    as_json.chat.wait_until_ready(operation, "tiny")
    assert as_json.events[1]["event"] == "remark"
    assert as_json.events[1]["remark"]["code"] == "engine.first_repeats"
    plain.chat.run("q")
    assert "one character again and again: ![31m!!" in plain.err.getvalue()
    assert "now q4_0" in plain.err.getvalue()
