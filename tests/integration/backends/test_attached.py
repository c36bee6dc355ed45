"""A model of another server in the place of an engine: attached, chatted with, lost, left."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kimi_desktop.backends.attached.types import ServerDraft
from kimi_desktop.backends.types import EngineState, EngineStatus, ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode, KimiError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.settings import ChatSettings
from kimi_desktop.chat.presets import answer_settings
from kimi_desktop.chat.service import ChatService
from kimi_desktop.chat.types import AnswerFinished, Finish, TokensArrived
from tests.support.attached_bench import AttachedBench, attached_bench
from tests.support.engine_bench import embedded
from tests.support.engine_programs import KEY as PROGRAM_KEY
from tests.support.engine_programs import embedded_on_port
from tests.support.openai_servers import ANSWER, KEY, THOUGHT, OpenAiServer
from tests.support.tiny_kimi_scripts import said

S = EngineState


@pytest.fixture
def bench() -> Iterator[AttachedBench]:
    with attached_bench() as made:
        yield made


@pytest.fixture
def chats(bench: AttachedBench, tmp_path: Path) -> Iterator[ChatService]:
    service = ChatService(
        bench.io,
        bench.bench.bus,
        tmp_path / "chats.db",
        bench.engine,
        lambda: answer_settings(ChatSettings(), None),
    )
    service.start()
    with closing(service):
        yield service


def attach(bench: AttachedBench, server: OpenAiServer, model: str = "") -> EngineStatus:
    bench.add(server)
    return bench.servers.attach("Lab", model).result(30)


def failing(bench: AttachedBench, name: str, model: str = "") -> KimiError:
    with pytest.raises(KimiError) as caught:
        bench.servers.attach(name, model).result(30)
    assert bench.engine.status.state is S.FAILED
    assert bench.engine.status.error is caught.value
    for language in Language:
        assert all(describe_error(caught.value, language))
    return caught.value


def test_attach_chat_detach(bench: AttachedBench, chats: ChatService) -> None:
    with OpenAiServer("vllm", key=KEY, context=4096) as server:
        server.orders.pause_s = 0.05
        status = attach(bench, server)
        assert (status.state, status.engine_name, status.pid) == (S.READY, "Lab", None)
        assert status.settings is None
        assert status.attached is not None
        assert (status.attached.model, status.attached.context) == ("kimi-k2.6", 4096)
        chat = chats.new_chat()
        chats.send(chat, "hi")
        finished = bench.heard.wait(AnswerFinished)
        assert finished.error is None
        message = finished.message
        assert (message.text, message.reasoning) == ("".join(ANSWER), "".join(THOUGHT))
        assert message.stats is not None
        assert (message.stats.tokens, message.stats.prompt_tokens) == (7, 11)
        assert message.stats.decode_tokens_per_s > 0
        asked = len(server.asked)
        assert bench.engine.stop().result(30).state is S.STOPPED
        assert len(server.asked) == asked
    assert bench.bench.states == [
        S.STARTING, S.READY, S.GENERATING, S.READY, S.STOPPING, S.STOPPED,
    ]  # fmt: skip
    assert bench.engine.status.attached is None
    assert bench.store.settings.other_servers.chosen == "Lab"
    assert bench.store.settings.other_servers.model == "kimi-k2.6"


def test_a_lost_server_is_named_and_the_text_is_kept(
    bench: AttachedBench, chats: ChatService
) -> None:
    with OpenAiServer("vllm") as server:
        attach(bench, server)
        server.orders.break_after, server.orders.dies = 5, True
        chat = chats.new_chat()
        chats.send(chat, "hi")
        finished = bench.heard.wait(AnswerFinished)
    assert finished.error is not None
    assert finished.error.code is ErrorCode.SERVER_LOST
    assert finished.message.finish is Finish.FAILED
    assert finished.message.text == "Hello there"
    status = bench.engine.status
    assert (status.state, status.error) == (S.FAILED, finished.error)
    assert status.attached is not None  # what to attach to again
    assert bench.engine.client() is None
    with OpenAiServer("vllm", port=server.port):
        assert bench.servers.attach("Lab", "kimi-k2.6").result(30).state is S.READY


def test_detaching_in_mid_answer_ends_the_stream_and_not_the_server(
    bench: AttachedBench, chats: ChatService
) -> None:
    with OpenAiServer("vllm") as server:
        attach(bench, server)
        server.orders.pause_s = 0.2
        chats.send(chats.new_chat(), "hi")
        bench.heard.wait(TokensArrived)
        assert bench.engine.stop().result(30).state is S.STOPPED
        finished = bench.heard.wait(AnswerFinished)
        assert finished.error is not None
        assert finished.error.code is ErrorCode.CHAT_CONNECTION_LOST
        assert server.dropped.wait(10)
        assert bench.engine.status.state is S.STOPPED
        assert bench.servers.check("Lab").result(30).problem is None


def test_counters_of_a_known_program_are_read(bench: AttachedBench) -> None:
    with OpenAiServer("vllm", key=KEY) as server, OpenAiServer("ollama") as other:
        attach(bench, server)
        found = bench.io.submit(bench.engine.metrics).result(30)
        assert found is not None
        assert (found.running, found.waiting) == (2, 1)
        bench.add(other, "Ollama here")
        bench.servers.attach("Ollama here", "gemma3:270m").result(30)
        assert bench.io.submit(bench.engine.metrics).result(30) is None
        assert "/metrics" not in other.paths()


def test_models_are_chosen_by_name(bench: AttachedBench) -> None:
    with OpenAiServer("openai", models=("a", "b")) as server:
        bench.add(server)
        none = failing(bench, "Lab")
        other = failing(bench, "Lab", "c")
        assert none.code is other.code is ErrorCode.SERVER_NO_MODEL
        assert other.params["models"] == "a, b"
        status = bench.servers.attach("Lab", "b").result(30)
        assert status.attached is not None
        assert status.attached.model == "b"


def test_a_server_that_is_down_fails_by_name(bench: AttachedBench) -> None:
    with OpenAiServer() as server:
        bench.add(server)
    assert failing(bench, "Lab").code is ErrorCode.SERVER_UNREACHABLE
    assert bench.engine.log_text() == ""


def test_an_unknown_server_is_refused_before_anything_ends(bench: AttachedBench) -> None:
    with pytest.raises(BackendError) as caught:
        bench.servers.attach("Nobody")
    assert caught.value.code is ErrorCode.SERVER_UNKNOWN
    assert bench.engine.status.state is S.STOPPED


def test_it_takes_turns_with_an_engine_of_ours(bench: AttachedBench, tiny_kimi: Path) -> None:
    running = bench.engine.start(embedded(tiny_kimi)).result(60)
    with OpenAiServer("llama.cpp") as server:
        attach(bench, server)
        assert bench.engine.status.pid is None
        assert running.settings is not None
        again = bench.engine.start(running.settings).result(60)
        assert again.attached is None
        assert again.settings == running.settings
    bench.engine.stop().result(30)


def test_a_real_llama_cpp_of_somebody_else(
    bench: AttachedBench, chats: ChatService, tiny_kimi: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    with embedded_on_port(tiny_kimi, port) as program:
        with pytest.raises(BackendError) as refused:
            bench.servers.save(ServerDraft("Lab", url, "sk-wrong")).result(30)
        assert refused.value.code is ErrorCode.SERVER_BAD_KEY
        added = bench.servers.save(ServerDraft("Lab", url, PROGRAM_KEY)).result(30)
        assert added.report is not None
        assert added.report.program is ServerProgram.LLAMA_CPP
        assert (added.report.models[0].context, added.report.is_healthy) == (2048, True)
        bench.servers.attach("Lab").result(30)
        chats.send(chats.new_chat(), "hi")
        finished = bench.heard.wait(AnswerFinished)
        assert (finished.error, finished.message.text) == (None, said("hello_fast"))
        assert finished.message.stats is not None
        assert finished.message.stats.tokens == 16
        assert bench.io.submit(bench.engine.metrics).result(30) is not None
        chats.send(chats.new_chat(), "word " * 3000)
        long = bench.heard.wait(AnswerFinished, 2)
        assert long.error is not None
        assert long.error.code is ErrorCode.CHAT_TOO_LONG
        bench.engine.stop().result(30)
        assert program.process.poll() is None  # it is not ours to end


def test_stop_while_it_is_asked(bench: AttachedBench, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAiServer() as server:
        bench.add(server)

        async def slow(*_: object) -> None:
            await asyncio.sleep(60)

        monkeypatch.setattr("kimi_desktop.backends.attached.service.ask_server", slow)
        attaching = bench.servers.attach("Lab")
        bench.bench.wait_for(S.STARTING)
        assert bench.engine.stop().result(30).state is S.STOPPED
        assert attaching.result(30).state is S.STOPPED
