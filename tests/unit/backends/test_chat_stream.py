"""Stream events as deltas, and errors as what a person can act on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.chat_stream import ChatStreamReader, request_body
from kimi_desktop.backends.sse import SseEvent
from kimi_desktop.backends.types import ChatRequest, Delta, Sampling, Usage
from kimi_desktop.base.errors import ChatError, ErrorCode


def event(**chunk: Any) -> SseEvent:
    return SseEvent(json.dumps(chunk))


def text(content: str, **more: Any) -> SseEvent:
    return event(choices=[{"index": 0, "delta": {"content": content}}], **more)


def test_the_request_asks_for_usage_progress_and_counts() -> None:
    body = request_body(
        ChatRequest((("system", "Be kind."), ("user", "hi")), Sampling(0.6, 0.9, 128, ("\n",)))
    )
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
    ]
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.6, 0.9, 128)
    assert body["stop"] == ["\n"]
    assert body["stream_options"] == {"include_usage": True}
    assert "chat_template_kwargs" not in body


@pytest.mark.parametrize("thinking", [True, False])
def test_thinking_goes_under_both_names_that_templates_use(thinking: bool) -> None:
    body = request_body(ChatRequest((("user", "hi"),), Sampling(), thinking))
    assert body["chat_template_kwargs"] == {"thinking": thinking, "enable_thinking": thinking}
    assert "stop" not in body


def test_both_names_of_thoughts_are_understood() -> None:
    reader = ChatStreamReader()
    for name in ("reasoning_content", "reasoning"):
        delta = reader.read(event(choices=[{"delta": {name: "Hm", "content": None}}]))
        assert delta == Delta(reasoning="Hm")


def test_usage_and_timings_of_llama_cpp() -> None:
    reader = ChatStreamReader()
    first = reader.read(
        event(choices=[{"delta": {}}], prompt_progress={"total": 9, "cache": 2, "processed": 4})
    )
    assert first == Delta(prefill_done=4, prefill_total=9)
    counted = reader.read(text("x", timings={"predicted_n": 5}))
    assert counted == Delta(content="x", completion_tokens=5)
    last = reader.read(
        event(
            choices=[],
            usage={
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 2},
            },
            timings={"prompt_ms": 250.0, "predicted_ms": 1500.0, "predicted_n": 5},
        )
    )
    assert last is not None
    assert last.usage == Usage(9, 2, 5, 0.25, 1.5)


def test_the_end_mark_and_the_finish_reason_both_complete_a_stream() -> None:
    reader = ChatStreamReader()
    reader.read(event(choices=[{"delta": {}, "finish_reason": "length"}]))
    assert not reader.done
    reader.finish()
    reader.read(SseEvent("[DONE]"))
    assert reader.done


def test_an_end_in_the_middle_is_a_lost_connection() -> None:
    reader = ChatStreamReader()
    reader.read(text("half"))
    with pytest.raises(ChatError) as caught:
        reader.finish()
    assert caught.value.code is ErrorCode.CHAT_CONNECTION_LOST


@pytest.mark.parametrize("nonsense", ["<html>", "[1]", "{}", "null", '{"choices": 5}', ""])
def test_nonsense_alone_is_a_bad_answer_and_names_itself(nonsense: str) -> None:
    reader = ChatStreamReader()
    assert reader.read(SseEvent(nonsense)) is None
    with pytest.raises(ChatError) as caught:
        reader.finish()
    assert caught.value.code is ErrorCode.CHAT_BAD_ANSWER
    assert caught.value.params["detail"] == (nonsense or "EOF")


def test_nonsense_between_good_events_is_passed_over() -> None:
    reader = ChatStreamReader()
    assert reader.read(SseEvent("{broken")) is None
    assert reader.read(text("fine")) == Delta(content="fine")


@pytest.mark.parametrize(
    ("status", "body", "code", "params"),
    [
        (
            400,
            {"error": {"code": 400, "message": "bad role", "type": "invalid_request_error"}},
            ErrorCode.CHAT_REFUSED,
            {"detail": "400: bad role"},
        ),
        (
            400,
            {
                "error": {
                    "message": "request (300 tokens) exceeds the available context size "
                    "(256 tokens), try increasing it",
                    "type": "exceed_context_size_error",
                }
            },
            ErrorCode.CHAT_TOO_LONG,
            {"needed": 300, "context": 256},
        ),
        (
            400,
            {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}},
            ErrorCode.CHAT_TOO_LONG,
            {"needed": 9, "context": 8},
        ),
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 2048 tokens. However, your "
                "prompt contains at least 2049 input tokens, ...",
            },
            ErrorCode.CHAT_TOO_LONG,
            {"needed": 2049, "context": 2048},
        ),
        (
            503,
            {"error": {"message": "Loading model", "code": 503}},
            ErrorCode.CHAT_NO_ENGINE,
            {"detail": "503: Loading model"},
        ),
        (
            500,
            {"error": {"message": "boom"}},
            ErrorCode.CHAT_BAD_ANSWER,
            {"detail": "500: boom"},
        ),
        (401, {"error": "Unauthorized"}, ErrorCode.CHAT_REFUSED, {"detail": "401: Unauthorized"}),
    ],
)
def test_refusals_by_status_and_body(
    status: int, body: object, code: ErrorCode, params: dict[str, object]
) -> None:
    error = ChatStreamReader().refusal(status, json.dumps(body).encode())
    assert (error.code, error.params) == (code, params)


def test_a_refusal_that_is_not_json_keeps_its_beginning() -> None:
    error = ChatStreamReader().refusal(502, b"<html>\n bad \xff gateway " + b"x" * 1000)
    assert error.code is ErrorCode.CHAT_BAD_ANSWER
    detail = str(error.params["detail"])
    assert detail.startswith("502: <html> bad")
    assert len(detail) == 400


def test_an_error_inside_the_stream_is_raised() -> None:
    reader = ChatStreamReader()
    reader.read(text("half"))
    with pytest.raises(ChatError) as caught:
        reader.read(event(error={"code": 500, "message": "slot died"}))
    assert caught.value.params["detail"] == "500: slot died"
    with pytest.raises(ChatError):
        reader.read(SseEvent('{"message": "old style"}', is_error=True))


names = st.sampled_from(
    ["choices", "delta", "content", "usage", "timings", "prompt_progress", "finish_reason", "x"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(names, json_values, max_size=5))
def test_no_json_object_makes_the_reader_fail(chunk: dict[str, Any]) -> None:
    delta = ChatStreamReader().read(SseEvent(json.dumps(chunk)))
    assert delta is None or delta.content.encode() is not None


def test_half_of_an_escaped_pair_is_replaced() -> None:
    raw = r'{"choices":[{"delta":{"content":"a\ud83c","reasoning":"\ud83c\udf19"}}]}'
    delta = ChatStreamReader().read(SseEvent(raw))
    assert delta == Delta(content="a\ufffd", reasoning="🌙")
