"""The list of other servers: what is kept where, what is asked when, and who gets a key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kimi_desktop.backends.attached.types import (
    KeyPlace,
    OtherServersChanged,
    ServerDraft,
)
from kimi_desktop.backends.types import ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import SettingsStore
from tests.support.attached_bench import AttachedBench, attached_bench
from tests.support.openai_servers import KEY, OpenAiServer


@pytest.fixture
def bench() -> Iterator[AttachedBench]:
    with attached_bench() as made:
        yield made


def refused(bench: AttachedBench, draft: ServerDraft, replaces: str = "") -> BackendError:
    """It fails, and nothing is kept."""
    before = bench.store.settings.other_servers
    secrets = dict(bench.keyring.secrets)
    with pytest.raises(BackendError) as caught:
        bench.servers.save(draft, replaces=replaces).result(30)
    assert bench.store.settings.other_servers == before
    assert bench.keyring.secrets == secrets
    return caught.value


def test_a_server_is_kept_by_name_and_its_key_in_the_keyring_alone(bench: AttachedBench) -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        added = bench.add(server)
    assert added.key_place is KeyPlace.KEYRING
    assert added.report is not None
    assert added.report.program is ServerProgram.VLLM
    assert bench.heard.wait(OtherServersChanged).servers == (added,)
    again = SettingsStore(bench.bench.paths.settings_file).settings.other_servers
    assert dict(again.addresses) == {"Lab": server.url}
    assert list(bench.keyring.secrets.values()) == [KEY]
    for file in bench.bench.paths.config.rglob("*"):
        assert file.is_dir() or KEY not in file.read_text(encoding="utf-8")
    assert KEY not in repr(ServerDraft("Lab", server.url, KEY))


def test_the_address_that_works_is_kept(bench: AttachedBench) -> None:
    with OpenAiServer("vllm") as server:
        bench.servers.save(ServerDraft("Lab", f"{server.root}/")).result(30)
        assert bench.store.settings.other_servers.addresses["Lab"] == server.url


@pytest.mark.parametrize("name", ["", "  ", "x" * 41])
def test_names_that_cannot_be(bench: AttachedBench, name: str) -> None:
    with OpenAiServer() as server:
        assert refused(bench, ServerDraft(name, server.url)).code is ErrorCode.SERVER_BAD_NAME
        assert server.asked == []


def test_a_name_is_given_once_whatever_its_case(bench: AttachedBench) -> None:
    with OpenAiServer() as server:
        bench.add(server)
        error = refused(bench, ServerDraft("lab", server.url))
    assert error.code is ErrorCode.SERVER_BAD_NAME


def test_what_is_no_openai_server_is_not_kept(bench: AttachedBench) -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        wrong = refused(bench, ServerDraft("Lab", server.url, "sk-wrong"))
        none = refused(bench, ServerDraft("Lab", server.url))
    assert wrong.code is ErrorCode.SERVER_BAD_KEY
    assert none.code is ErrorCode.SERVER_NEEDS_KEY


def test_one_that_is_down_is_kept_with_its_problem(bench: AttachedBench) -> None:
    with OpenAiServer() as server:
        pass
    added = bench.servers.save(ServerDraft("Lab", server.url)).result(30)
    assert isinstance(added.problem, BackendError)
    assert added.problem.code is ErrorCode.SERVER_UNREACHABLE
    assert bench.named("Lab") == added


@pytest.mark.parametrize(
    ("url", "key", "code"),
    [
        ("http://api.example.com/v1", KEY, ErrorCode.SERVER_KEY_OPEN),
        ("http://127.0.0.1:1/v1", "two words", ErrorCode.SERVER_KEY_MALFORMED),
        ("http://127.0.0.1:1/v1", "ключ", ErrorCode.SERVER_KEY_MALFORMED),
        ("http://127.0.0.1:1/v1", "a\nHost: b", ErrorCode.SERVER_KEY_MALFORMED),
    ],
)
def test_a_key_that_may_not_be_sent_never_is(
    bench: AttachedBench, url: str, key: str, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr("kimi_desktop.backends.attached.service.ask_server", never)
    assert refused(bench, ServerDraft("Lab", url, key)).code is code


def test_a_locked_keyring_is_told_and_the_key_works_meanwhile(bench: AttachedBench) -> None:
    bench.keyring.locked = True
    with OpenAiServer("vllm", key=KEY) as server:
        added = bench.add(server)
        assert added.problem is not None
        assert added.key_place is KeyPlace.SESSION
        assert bench.servers.check("Lab").result(30).problem is None


def test_editing_keeps_the_key_until_another_is_given_or_it_is_dropped(
    bench: AttachedBench,
) -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        bench.add(server)
        renamed = bench.servers.save(ServerDraft("Box", server.url), replaces="Lab").result(30)
        assert renamed.key_place is KeyPlace.KEYRING
        assert list(bench.store.settings.other_servers.addresses) == ["Box"]
        assert list(bench.keyring.secrets.values()) == [KEY]
        server.key = ""
        bench.servers.save(ServerDraft("Box", server.url, ""), replaces="Box").result(30)
    assert bench.keyring.secrets == {}


def test_editing_keeps_the_order(bench: AttachedBench) -> None:
    with OpenAiServer() as one, OpenAiServer() as other:
        bench.add(one, "A")
        bench.add(other, "B")
        bench.servers.save(ServerDraft("C", one.url), replaces="A").result(30)
        assert [server.entry.name for server in bench.servers.servers] == ["C", "B"]


def test_a_key_goes_with_the_last_entry_of_its_address(bench: AttachedBench) -> None:
    with OpenAiServer("vllm", key=KEY) as server:
        bench.add(server, "A")
        bench.servers.save(ServerDraft("B", server.url)).result(30)
        bench.servers.remove("A").result(30)
        assert list(bench.keyring.secrets.values()) == [KEY]
        bench.servers.remove("B").result(30)
    assert bench.keyring.secrets == {}
    assert bench.servers.servers == ()


def test_a_key_moves_nowhere_when_the_address_changes(bench: AttachedBench) -> None:
    with OpenAiServer("vllm", key=KEY) as server, OpenAiServer("openai") as other:
        bench.add(server)
        bench.servers.save(ServerDraft("Lab", other.url), replaces="Lab").result(30)
        assert {one.key for one in other.asked} == {""}
    assert bench.keyring.secrets == {}


def test_unknown_names_are_answered_with_the_known_ones(bench: AttachedBench) -> None:
    with OpenAiServer() as server:
        bench.add(server)
    for ask in (bench.servers.check, bench.servers.remove):
        with pytest.raises(BackendError) as caught:
            ask("Nobody").result(30)
        assert caught.value.code is ErrorCode.SERVER_UNKNOWN
        assert caught.value.params["names"] == "Lab"


def test_a_check_keeps_what_was_known_beside_what_is_wrong_now(bench: AttachedBench) -> None:
    with OpenAiServer("sglang") as server:
        bench.add(server)
    checked = bench.servers.check("Lab").result(30)
    assert checked.problem is not None
    assert checked.report is not None


def test_freshening_asks_once_a_minute(bench: AttachedBench) -> None:
    with OpenAiServer() as server:
        bench.add(server)
        count = len(server.asked)
        bench.servers.freshen()
        bench.servers.freshen()
        bench.servers.look().result(30)
        assert len(server.asked) == count


def test_ollama_is_found_where_it_listens_and_not_listed_twice() -> None:
    with OpenAiServer("ollama") as server, attached_bench({"OLLAMA_HOST": server.root}) as bench:
        bench.servers.freshen()
        bench.heard.wait(OtherServersChanged)
        (found,) = bench.servers.servers
        assert (found.entry.name, found.entry.is_found) == ("Ollama", True)
        assert found.report is not None
        assert [model.quantization for model in found.report.models] == ["Q8_0", ""]
        assert dict(bench.store.settings.other_servers.addresses) == {}
        bench.add(server, "Mine")
        bench.servers.freshen()
        bench.heard.wait(OtherServersChanged, 3)
        assert [one.entry.name for one in bench.servers.servers] == ["Mine"]


def test_something_else_on_the_port_of_ollama_is_left_alone() -> None:
    with OpenAiServer("vllm") as server, attached_bench({"OLLAMA_HOST": server.root}) as bench:
        bench.servers.freshen()
        bench.servers.look().result(30)
        assert bench.servers.servers == ()


def test_the_settings_file_of_another_hand_is_read_as_it_is(bench: AttachedBench) -> None:
    odd = replace(bench.store.settings.other_servers, addresses={"Odd": "no address"})
    bench.store.update(lambda settings: replace(settings, other_servers=odd))
    checked = bench.servers.check("Odd").result(30)
    assert isinstance(checked.problem, BackendError)
    text = bench.bench.paths.settings_file.read_text(encoding="utf-8")
    assert json.loads(text)["other_servers"]["addresses"] == {"Odd": "no address"}
