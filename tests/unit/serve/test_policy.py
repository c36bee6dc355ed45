from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.serve.policy import (
    FAILED_KEYS_WINDOW_S,
    MAX_FAILED_KEYS,
    MAX_PEERS,
    Client,
    Door,
    KeyCheck,
    RefusedError,
    checked_chat,
    checked_completion,
    checked_embeddings,
)

DOOR = Door(8080)
PEER = "127.0.0.1"
HI = [{"role": "user", "content": "hi"}]


def status_of(function: Any, *arguments: Any, **named: Any) -> int:
    with pytest.raises(RefusedError) as caught:
        function(*arguments, **named)
    return caught.value.status


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "[::1]:8080"]
)
def test_our_own_addresses_are_let_in(host: str) -> None:
    DOOR.check(host.encode(), None)
    DOOR.check(host.encode(), b"http://127.0.0.1:8080")


@pytest.mark.parametrize(
    "host",
    [
        *(None, "", "evil.example:8080", "127.0.0.1", "127.0.0.1:80", "localhost:8081"),
        *("127.0.0.1:8080.evil.example", "evil.example@127.0.0.1:8080", "0.0.0.0:8080"),
    ],
)
def test_other_host_names_are_refused(host: str | None) -> None:
    assert status_of(DOOR.check, host.encode() if host is not None else None, None) == 403


def test_an_encrypted_address_has_another_origin() -> None:
    door = Door(8080, ("192.168.1.20",), encrypted=True)
    door.check(b"192.168.1.20:8080", b"https://192.168.1.20:8080")
    door.check(b"127.0.0.1:8080", b"http://127.0.0.1:8080")
    for origin in (b"http://192.168.1.20:8080", b"https://127.0.0.1:8080"):
        assert status_of(door.check, b"192.168.1.20:8080", origin) == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8080", "http://127.0.0.1:8081", ""]
)
def test_other_origins_are_refused(origin: str) -> None:
    assert status_of(DOOR.check, b"127.0.0.1:8080", origin.encode()) == 403


def test_the_key_and_only_the_key_opens() -> None:
    keys = KeyCheck([Client("a", "kd-secret")])
    keys.check(b"Bearer kd-secret", PEER, 0.0)
    keys.check(b"bearer  kd-secret ", PEER, 0.0)
    for wrong in (None, b"", b"kd-secret", b"Basic kd-secret", b"Bearer", b"Bearer kd-secreT"):
        assert status_of(KeyCheck([Client("a", "kd-secret")]).check, wrong, PEER, 0.0) == 401
    keys.replace([Client("a", "kd-new")])
    assert status_of(keys.check, b"Bearer kd-secret", PEER, 0.0) == 401
    keys.check(b"Bearer kd-new", PEER, 0.0)


def test_each_program_has_a_key_of_its_own() -> None:
    keys = KeyCheck([Client("editor", "kd-1"), Client("notes", "kd-2")])
    assert keys.client(b"Bearer kd-1") == "editor"
    assert keys.client(b"Bearer kd-2") == "notes"
    assert keys.client(b"Bearer kd-3") is None
    keys.replace([Client("editor", "kd-1")])
    assert keys.client(b"Bearer kd-2") is None
    assert "kd-1" not in repr(Client("editor", "kd-1"))


def test_guessing_is_slowed_down_and_the_owner_is_not_locked_out() -> None:
    keys = KeyCheck([Client("a", "kd-secret")])
    for n in range(MAX_FAILED_KEYS):
        assert status_of(keys.check, b"Bearer guess", PEER, float(n)) == 401
    assert status_of(keys.check, b"Bearer guess", PEER, 20.0) == 429
    keys.check(b"Bearer kd-secret", PEER, 20.0)
    assert status_of(keys.check, b"Bearer guess", "192.168.1.9", 20.0) == 401  # another one's slip
    assert status_of(keys.check, b"Bearer guess", PEER, FAILED_KEYS_WINDOW_S + 0.5) == 401


def test_guesses_from_everywhere_are_not_remembered_for_ever() -> None:
    keys = KeyCheck([Client("a", "kd-secret")])
    for n in range(3 * MAX_PEERS):
        assert status_of(keys.check, b"Bearer guess", f"10.0.{n // 256}.{n % 256}", 0.0) == 401
    assert len(keys._failures) <= MAX_PEERS


def test_the_local_network_is_let_in_by_its_address_alone() -> None:
    door = Door(8080, ("192.168.1.5",))
    door.check(b"192.168.1.5:8080", None)
    door.check(b"127.0.0.1:8080", b"http://192.168.1.5:8080")
    assert status_of(door.check, b"192.168.1.6:8080", None) == 403
    assert status_of(DOOR.check, b"192.168.1.5:8080", None) == 403


def test_a_completion_passes_its_prompt_and_nothing_of_a_chat() -> None:
    raw = json.dumps({"prompt": "Once", "tools": [], "n_discard": -1, "echo": True, "stream": True})
    call = checked_completion(raw.encode(), model="tiny", max_tokens=9)
    told = json.loads(call.body)
    assert told == {
        "model": "tiny", "prompt": "Once", "max_tokens": 9, "echo": True, "stream": True
    }  # fmt: skip
    assert call.stream
    for bad in ({}, {"prompt": ["a", "b"]}, {"prompt": "a", "n": 2}, {"prompt": "a", "stream": 1}):
        raw = json.dumps(bad)
        assert status_of(checked_completion, raw.encode(), model="t", max_tokens=9) == 400


def test_embeddings_take_texts_only() -> None:
    good = {"input": ["a", "b"], "model": "other", "encoding_format": "float", "user": "x"}
    told = json.loads(checked_embeddings(json.dumps(good).encode(), model="tiny").body)
    assert told == {"input": ["a", "b"], "model": "tiny", "encoding_format": "float"}
    assert json.loads(checked_embeddings(b'{"input": "a"}', model="t").body)["input"] == "a"
    for bad in (b"{}", b'{"input": []}', b'{"input": [1]}', b'{"input": null}', b"[]"):
        assert status_of(checked_embeddings, bad, model="t") == 400
    many = json.dumps({"input": ["a"] * 257}).encode()
    assert status_of(checked_embeddings, many, model="t") == 400


def checked(**fields: Any) -> dict[str, Any]:
    call = checked_chat(
        json.dumps({"messages": HI, **fields}).encode(), model="tiny", max_tokens=1000
    )
    return dict(json.loads(call.body))


def test_known_fields_pass_and_the_others_do_not() -> None:
    passed = checked(
        model="gpt-4",
        temperature=0.5,
        stop=["x"],
        tools=[{"type": "function"}],
        n_discard=-1,
        id_slot=3,
        slot_id=3,
        chat_template="{{ evil }}",
        cache_prompt=True,
        timings_per_token=True,
        grammar="root ::= x",
        n=1,
    )
    assert passed == {
        "model": "tiny",
        "messages": HI,
        "temperature": 0.5,
        "stop": ["x"],
        "tools": [{"type": "function"}],
        "max_tokens": 1000,
    }


@pytest.mark.parametrize(
    ("asked", "given_tokens"),
    [
        ({}, 1000),
        ({"max_tokens": 5}, 5),
        ({"max_completion_tokens": 6}, 6),
        ({"max_completion_tokens": 6, "max_tokens": 7}, 6),
        ({"max_tokens": 5000}, 1000),
        ({"max_tokens": -1}, 1000),
        ({"max_tokens": None}, 1000),
    ],
)
def test_every_answer_has_an_end(asked: dict[str, Any], given_tokens: int) -> None:
    passed = checked(**asked)
    assert passed["max_tokens"] == given_tokens
    assert "max_completion_tokens" not in passed


def test_only_the_templates_own_switches_pass() -> None:
    switches = {"thinking": False, "enable_thinking": True, "loop": "x", "preserve_thinking": 1}
    passed = checked(chat_template_kwargs=switches)["chat_template_kwargs"]
    assert passed == {"thinking": False, "enable_thinking": True}


def test_parts_of_a_message() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    content = [{"type": "text", "text": "see", "cache_control": 1}, image]
    message = {"role": "user", "content": content, "weight": 1, "name": "me"}
    assert checked(messages=[message])["messages"] == [
        {"role": "user", "name": "me", "content": [{"type": "text", "text": "see"}, image]}
    ]


def test_an_assistants_tool_calls_pass() -> None:
    turn = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    assert checked(messages=[*HI, turn])["messages"][1] == turn


@pytest.mark.parametrize(
    "fields",
    [
        *({"messages": wrong} for wrong in (None, [], "hi", [3], [{"role": "wizard"}], [{}])),
        {"messages": [{"role": "user", "content": 3}]},
        {"messages": [{"role": "user", "content": [3]}]},
        {"messages": [{"role": "user", "content": [{"type": "audio"}]}]},
        *(
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]}
            for url in ({"url": "http://x/y.png"}, "file:///etc/passwd", {}, None)
        ),
        *({"max_tokens": wrong} for wrong in ("5", 1.5, True)),
        {"n": 2},
        {"stream": "yes"},
        {"stop": ["x"] * 17},
    ],
)
def test_bad_requests_are_refused(fields: dict[str, Any]) -> None:
    raw = json.dumps({"messages": HI, **fields}).encode()
    assert status_of(checked_chat, raw, model="m", max_tokens=9) == 400


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000, b'{"seed": NaN}']
)
def test_what_is_no_json_object_is_refused(raw: bytes) -> None:
    assert status_of(checked_chat, raw, model="m", max_tokens=9) == 400


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(["messages", "max_tokens", "stream", "n", "stop", "chat_template_kwargs"])
        | st.text(max_size=5),
        JSON | st.just(HI),
    )
)
def test_any_json_is_either_checked_or_refused(asked: dict[str, Any]) -> None:
    raw = json.dumps(asked).encode()
    refused: RefusedError | None = None
    try:
        call = checked_chat(raw, model="m", max_tokens=9)
    except RefusedError as error:
        refused = error
    if refused is not None:
        assert refused.status == 400
        assert json.loads(refused.body())["error"]["message"]
        return
    passed = json.loads(call.body)
    assert 1 <= passed["max_tokens"] <= 9
    assert passed["model"] == "m"
    assert call.stream is passed.get("stream", False)
