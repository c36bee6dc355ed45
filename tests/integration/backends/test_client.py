"""The HTTP client against the real llama.cpp and against a server that misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.backends.client import EngineClient
from kimi_desktop.backends.engines.llama_cpp import LlamaCpp
from kimi_desktop.backends.types import ChatRequest, Delta, Endpoint, Sampling
from kimi_desktop.base.errors import ChatError, ErrorCode
from tests.support.engine_programs import (
    RunningProgram,
    embedded_engine,
    misbehaving_engine,
    short_folder,
)
from tests.support.misbehaving_engine import script_file
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="Unix sockets")


@pytest.fixture(scope="module")
def engine(tiny_kimi: Path) -> Iterator[RunningProgram]:
    with embedded_engine(tiny_kimi) as running:
        yield running


def with_client(
    endpoint: Endpoint, use: Callable[[EngineClient], Awaitable[Any]], **options: Any
) -> Any:
    async def run() -> Any:
        client = EngineClient(endpoint, **options)
        try:
            return await use(client)
        finally:
            await client.close()

    return asyncio.run(run())


def ask(text: str, *, thinking: bool | None = None, max_tokens: int = 1024) -> ChatRequest:
    return ChatRequest((("user", text),), Sampling(max_tokens=max_tokens), thinking)


async def collect(client: EngineClient, request: ChatRequest) -> list[Delta]:
    return [delta async for delta in client.stream_chat(request)]


def content(deltas: list[Delta]) -> str:
    return "".join(delta.content for delta in deltas)


def reasoning(deltas: list[Delta]) -> str:
    return "".join(delta.reasoning for delta in deltas)


def test_thoughts_answer_usage_and_counts(engine: RunningProgram) -> None:
    deltas = with_client(engine.endpoint, lambda client: collect(client, ask("hi")))

    assert reasoning(deltas) == said("hello")
    assert content(deltas) == said("hello_fast")
    assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["stop"]
    [usage] = [delta.usage for delta in deltas if delta.usage]
    assert usage.completion_tokens == 16
    assert usage.prompt_tokens > 5
    assert usage.decode_s > 0
    counts = [delta.completion_tokens for delta in deltas if delta.content or delta.reasoning]
    assert counts == sorted(counts)
    assert counts[-1] == 15
    prefill = [(delta.prefill_done, delta.prefill_total) for delta in deltas if delta.prefill_total]
    assert prefill[-1] == (usage.prompt_tokens, usage.prompt_tokens)


def test_instant_mode(engine: RunningProgram) -> None:
    deltas = with_client(engine.endpoint, lambda client: collect(client, ask("hi", thinking=False)))
    assert (reasoning(deltas), content(deltas)) == ("", said("hello_fast"))


def test_the_token_limit_is_the_finish_reason(engine: RunningProgram) -> None:
    deltas = with_client(
        engine.endpoint, lambda client: collect(client, ask("count", max_tokens=20))
    )
    assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["length"]


def test_closing_the_stream_ends_the_answer_in_the_engine(engine: RunningProgram) -> None:
    async def use(client: EngineClient) -> None:
        stream = client.stream_chat(ask("forever", max_tokens=1_000_000))
        async for delta in stream:
            if delta.content:
                break
        assert (await client.metrics())["llamacpp:requests_processing"] == 1
        await stream.aclose()
        async with asyncio.timeout(10):
            while (await client.metrics())["llamacpp:requests_processing"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)

    with_client(engine.endpoint, use)


def test_a_prompt_that_is_too_long_says_by_how_much(engine: RunningProgram) -> None:
    with pytest.raises(ChatError) as caught:
        with_client(engine.endpoint, lambda client: collect(client, ask("word " * 3000)))
    assert caught.value.code is ErrorCode.CHAT_TOO_LONG
    assert caught.value.params["context"] == 2048
    assert int(caught.value.params["needed"]) > 2048


def test_the_tokens_of_a_prompt_are_those_the_engine_reports(engine: RunningProgram) -> None:
    async def use(client: EngineClient) -> tuple[int | None, list[Delta]]:
        request = ask("count the words of this sentence", thinking=False, max_tokens=1)
        return await client.count_tokens(request), await collect(client, request)

    counted, deltas = with_client(engine.endpoint, use)
    [usage] = [delta.usage for delta in deltas if delta.usage]
    assert counted == usage.prompt_tokens > 5


@pytest.mark.parametrize(
    "answer", [[{"status": 404, "body": ""}], [{"raw": "HTTP/1.1 200 OK\r\n\r\n[]"}]]
)
def test_an_engine_that_does_not_count(tmp_path: Path, answer: list[dict[str, Any]]) -> None:
    model = script_file(tmp_path / "m.gguf", answer=answer)
    with misbehaving_engine(model) as running:
        assert with_client(running.endpoint, lambda client: client.count_tokens(ask("x"))) is None


def test_requests_after_a_stream_are_not_lost(engine: RunningProgram) -> None:
    async def use(client: EngineClient) -> list[bool]:
        found = []
        for _ in range(20):
            await collect(client, ask("hi", max_tokens=2))
            found.append(await client.is_healthy())
        return found

    assert with_client(engine.endpoint, use) == [True] * 20


def test_health_key_and_models(engine: RunningProgram) -> None:
    async def use(client: EngineClient) -> tuple[bool, bool, Any]:
        return (
            await client.is_healthy(),
            await client.proves_key(LlamaCpp.proof),
            await client.models(),
        )

    healthy, proved, models = with_client(engine.endpoint, use)
    assert (healthy, proved) == (True, True)
    assert [model["id"] for model in models] == ["tiny-kimi.q8_0.gguf"]


def test_a_wrong_key_is_refused_and_not_taken_for_ours(engine: RunningProgram) -> None:
    wrong = Endpoint(engine.endpoint.socket_path, None, "sk-wrong")
    assert with_client(wrong, lambda client: client.proves_key(LlamaCpp.proof)) is False
    with pytest.raises(ChatError) as caught:
        with_client(wrong, lambda client: collect(client, ask("hi")))
    assert caught.value.code is ErrorCode.CHAT_REFUSED


def test_nobody_listens() -> None:
    with short_folder() as folder:
        nowhere = Endpoint(folder / "none.sock", None, "key")
        assert with_client(nowhere, lambda client: client.is_healthy()) is False
        assert with_client(nowhere, lambda client: client.proves_key(LlamaCpp.proof)) is False
        for use in (lambda client: collect(client, ask("hi")), lambda client: client.metrics()):
            with pytest.raises(ChatError) as caught:
                with_client(nowhere, use)
            assert caught.value.code is ErrorCode.CHAT_NO_ENGINE


def test_the_key_is_not_in_the_endpoints_repr() -> None:
    assert "sk-secret" not in repr(Endpoint(None, 1, "sk-secret"))


def stream_from(model: Path, **options: Any) -> tuple[str, ChatError | None]:
    """The text that arrived, and how it ended."""
    text = ""

    async def use(client: EngineClient) -> None:
        nonlocal text
        async for delta in client.stream_chat(ask("hi")):
            text += delta.content

    with misbehaving_engine(model) as running:
        try:
            with_client(running.endpoint, use, **options)
        except ChatError as error:
            return text, error
    return text, None


@pytest.mark.parametrize(
    ("answer", "text", "code"),
    [
        pytest.param(
            [{"text": "Hello"}, {"drop": True}], "Hello", "chat.connection_lost", id="drop"
        ),
        pytest.param([{"text": "He"}, {"exit": 7}], "He", "chat.connection_lost", id="exit"),
        pytest.param(
            [{"text": "He"}, {"raw": 'data: {"choi'}, {"drop": True}],
            "He",
            "chat.connection_lost",
            id="cut event",
        ),
        pytest.param([{"text": "Hello"}], "Hello", "chat.connection_lost", id="no end mark"),
        pytest.param([{"raw": "data: <html>\n\n"}], "", "chat.bad_answer", id="garbage"),
        pytest.param([{"raw": "\x00\xff\xfe"}], "", "chat.bad_answer", id="binary"),
        pytest.param([{"status": 500, "body": "boom"}], "", "chat.bad_answer", id="500"),
        pytest.param(
            [{"text": "He"}, {"raw": 'data: {"error":{"code":500,"message":"slot"}}\n\n'}],
            "He",
            "chat.bad_answer",
            id="error inside",
        ),
        pytest.param(
            [
                {"raw": ": ping\r\n\r\n"},
                {"raw": "data: nonsense\n\n"},
                {"text": "é"},
                {"done": True},
            ],
            "é",
            None,
            id="comments and nonsense between",
        ),
    ],
)
def test_a_server_that_misbehaves(
    tmp_path: Path, answer: list[dict[str, Any]], text: str, code: str | None
) -> None:
    got, error = stream_from(script_file(tmp_path / "model", answer=answer))
    assert got == text
    assert (error.code.value if error else None) == code


def test_characters_and_events_cut_anywhere(tmp_path: Path) -> None:
    raw = 'data: {"choices":[{"delta":{"content":"月亮🌙"}}]}\r\n\r\n'.encode().decode("latin-1")
    answer = [step for part in raw for step in ({"raw": part}, {"sleep": 0.0005})]
    got, error = stream_from(script_file(tmp_path / "model", answer=[*answer, {"done": True}]))
    assert (got, error) == ("月亮🌙", None)


def test_silence_of_a_server_that_still_answers_is_waited_for(tmp_path: Path) -> None:
    model = script_file(
        tmp_path / "model", answer=[{"text": "a"}, {"sleep": 0.5}, {"text": "b"}, {"done": True}]
    )
    assert stream_from(model, silence_s=0.05) == ("ab", None)


def test_silence_of_a_server_that_hangs_is_a_lost_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kimi_desktop.backends.client.ANSWER_TIMEOUT_S", 0.1)
    model = script_file(tmp_path / "model", answer=[{"text": "a"}, {"sleep": 600}], healthy=False)
    text, error = stream_from(model, silence_s=0.1)
    assert text == "a"
    assert error is not None
    assert error.code is ErrorCode.CHAT_CONNECTION_LOST
    assert error.params["detail"] == "0.1 s"
