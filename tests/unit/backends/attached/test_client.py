"""Chats with models of other servers: what is sent to whom, and what breaks."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace

import pytest

from kimi_desktop.backends.attached.client import AttachedClient
from kimi_desktop.backends.types import (
    Attachment,
    ChatRequest,
    Delta,
    Endpoint,
    Sampling,
    ServerProgram,
)
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode, KimiError
from tests.support.openai_servers import ANSWER, KEY, THOUGHT, OpenAiServer

REQUEST = ChatRequest((("user", "hi"),), Sampling(max_tokens=100), thinking=True)
PROGRAMS = {
    "openai": ServerProgram.OTHER,
    "vllm": ServerProgram.VLLM,
    "sglang": ServerProgram.SGLANG,
    "llama.cpp": ServerProgram.LLAMA_CPP,
    "ollama": ServerProgram.OLLAMA,
}


class Talk:
    """One client and what it was told."""

    def __init__(
        self, server: OpenAiServer, *, model: str = "", context: int | None = None
    ) -> None:
        name = "gemma3:270m" if server.program == "ollama" else "kimi-k2.6"
        self.attachment = Attachment(
            "Lab", server.url, model or name, PROGRAMS[server.program], context=context
        )
        self.endpoint = Endpoint(None, None, server.key, server.url)
        self.lost: list[BackendError] = []
        self.deltas: list[Delta] = []

    def ask(self, request: ChatRequest = REQUEST) -> list[Delta]:
        asyncio.run(self._ask(request))
        return self.deltas

    def failing(self, request: ChatRequest = REQUEST) -> KimiError:
        with pytest.raises(KimiError) as caught:
            self.ask(request)
        return caught.value

    async def _ask(self, request: ChatRequest) -> None:
        client = AttachedClient(self.attachment, self.endpoint, self.lost.append)
        try:
            async with aclosing(client.stream_chat(request)) as deltas:
                async for delta in deltas:
                    self.deltas.append(delta)
        finally:
            await client.close()


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_thoughts_answer_and_usage_of_every_dialect(program: str) -> None:
    with OpenAiServer(program, key="" if program == "ollama" else KEY) as server:
        deltas = Talk(server).ask()
    assert "".join(delta.reasoning for delta in deltas) == "".join(THOUGHT)
    assert "".join(delta.content for delta in deltas) == "".join(ANSWER)
    assert [delta.finish_reason for delta in deltas if delta.finish_reason] == ["stop"]
    usage = next(delta.usage for delta in deltas if delta.usage)
    assert (usage.prompt_tokens, usage.completion_tokens) == (11, 7)
    assert usage.decode_s == 0.0  # nobody but our own clock tells the speed


def test_only_those_who_know_them_get_more_than_the_standard() -> None:
    sent: dict[str, set[str]] = {}
    for program in PROGRAMS:
        with OpenAiServer(program) as server:
            Talk(server).ask()
            sent[program] = set(server.chats()[0])
    standard = {
        "model", "messages", "temperature", "top_p", "max_tokens", "stream", "stream_options",
    }  # fmt: skip
    assert sent["openai"] == sent["ollama"] == standard
    assert sent["vllm"] == sent["sglang"] == standard | {"chat_template_kwargs"}
    more = {"chat_template_kwargs", "timings_per_token", "return_progress"}
    assert sent["llama.cpp"] == standard | more


def test_the_key_goes_along_and_is_asked_for_by_name() -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        Talk(server).ask()
        assert server.asked[0].key == KEY
        assert server.chats()[0]["model"] == "kimi-k2.6"
        talk = Talk(server)
        talk.endpoint = replace(talk.endpoint, api_key="")
        assert talk.failing().code is ErrorCode.SERVER_NEEDS_KEY


def test_fields_that_a_model_does_not_take_are_left_out_as_it_says() -> None:
    with OpenAiServer("openai", models=("o4-mini",)) as server:
        deltas = Talk(server, model="o4-mini").ask()
        bodies = server.chats()
    assert "".join(delta.content for delta in deltas) == "".join(ANSWER)
    assert len(bodies) == 4
    assert bodies[-1]["max_completion_tokens"] == 100
    assert {"temperature", "top_p", "max_tokens"}.isdisjoint(bodies[-1])


def test_more_than_fits_is_not_asked_for() -> None:
    with OpenAiServer("vllm") as server:
        Talk(server, context=110).ask()
        Talk(server, context=4096).ask()
        tight, roomy = server.chats()
    assert "max_tokens" not in tight
    assert roomy["max_tokens"] == 100


def test_vllm_counts_a_prompt() -> None:
    async def count(talk: Talk) -> int | None:
        client = AttachedClient(talk.attachment, talk.endpoint, talk.lost.append)
        try:
            return await client.count_tokens(REQUEST)
        finally:
            await client.close()

    with OpenAiServer("vllm") as server:
        assert asyncio.run(count(Talk(server))) == 9
    with OpenAiServer("ollama") as server:
        assert asyncio.run(count(Talk(server))) is None


def test_a_stream_that_breaks_off_while_the_server_lives() -> None:
    with OpenAiServer("vllm") as server:
        server.orders.break_after = 4
        talk = Talk(server)
        error = talk.failing()
    assert error.code is ErrorCode.SERVER_TROUBLE
    assert talk.lost == []
    assert "".join(delta.content for delta in talk.deltas) == "Hello"


def test_a_server_that_is_gone_in_the_middle_is_lost_and_the_text_is_kept() -> None:
    with OpenAiServer("vllm") as server:
        server.orders.break_after = 5
        server.orders.dies = True
        talk = Talk(server)
        error = talk.failing()
    assert error.code is ErrorCode.SERVER_LOST
    assert talk.lost == [error]
    assert "".join(delta.content for delta in talk.deltas) == "Hello there"


def test_a_server_that_was_gone_before() -> None:
    with OpenAiServer("vllm") as server:
        talk = Talk(server)
    error = talk.failing()
    assert error.code is ErrorCode.SERVER_LOST
    assert talk.lost == [error]


def test_an_error_inside_the_stream() -> None:
    with OpenAiServer("vllm") as server:
        server.orders.error_after = 4
        talk = Talk(server)
        error = talk.failing()
    assert error.code is ErrorCode.CHAT_BAD_ANSWER
    assert "CUDA error" in str(error.params["detail"])
    assert talk.lost == []


@pytest.mark.parametrize(
    ("message", "needed", "context"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9001 tokens.",
            9001,
            8192,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 9104 "
            "tokens (5008 in the messages, 4096 in the completion).",
            9104,
            8192,
        ),
        (
            "The input (9001 tokens) is longer than the model's context length (8192 tokens).",
            9001,
            8192,
        ),
    ],
)
def test_a_prompt_that_is_too_long(message: str, needed: int, context: int) -> None:
    with OpenAiServer("openai") as server:
        server.orders.refuse = (400, json.dumps({"error": {"message": message}}))
        error = Talk(server).failing()
    assert error.code is ErrorCode.CHAT_TOO_LONG
    assert error.params == {"needed": needed, "context": context}


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, ErrorCode.CHAT_REFUSED),
        (429, ErrorCode.CHAT_REFUSED),
        (403, ErrorCode.SERVER_BAD_KEY),
        (500, ErrorCode.SERVER_TROUBLE),
        (503, ErrorCode.SERVER_TROUBLE),
    ],
)
def test_refusals_name_the_reason_and_never_the_key(status: int, code: ErrorCode) -> None:
    with OpenAiServer("openai", key=KEY) as server:
        server.orders.refuse = (status, json.dumps({"error": {"message": f"because of {KEY}"}}))
        error = Talk(server).failing()
    assert error.code is code
    assert KEY not in str(error)
    assert "because of" in str(error)


def test_a_model_that_ollama_does_not_have() -> None:
    with OpenAiServer("ollama") as server:
        error = Talk(server, model="nothing:latest").failing()
    assert isinstance(error, ChatError)
    assert "try pulling it first" in str(error)


def test_stopping_ends_it_on_the_server() -> None:
    async def first(talk: Talk) -> None:
        client = AttachedClient(talk.attachment, talk.endpoint, talk.lost.append)
        async with aclosing(client.stream_chat(REQUEST)) as deltas:
            async for delta in deltas:
                if delta.content:
                    break
        await client.close()

    with OpenAiServer("vllm") as server:
        server.orders.pause_s = 0.1
        talk = Talk(server)
        asyncio.run(first(talk))
        assert server.dropped.wait(10)
    assert talk.lost == []
