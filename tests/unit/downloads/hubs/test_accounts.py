"""Accounts: a token is proven, kept where it may be, named, forgotten; the hub asked first."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.downloads.hubs.account_types import TokenPlace
from kimi_desktop.downloads.hubs.accounts import Accounts
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.hub import ENDPOINT_VARIABLE, HubClient, known_hubs
from tests.support.hub.faults import Fault
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub
from tests.unit.downloads.hubs.test_tokens import Ring, store

TOKEN = "hf_aSecretOfTheTests"
WAIT_S = 30


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


class Desk:
    """Accounts of a profile whose first hub is the local one."""

    def __init__(self, io: IoLoop, folder: Path, hub: LocalHub, ring: Ring | None) -> None:
        self.settings = SettingsStore(folder / "settings.json")
        self.settings.update(
            lambda s: dataclasses.replace(
                s, hubs=dataclasses.replace(s.hubs, endpoint=hub.endpoint)
            )
        )
        self.tokens = store(folder, ring)
        self.accounts = Accounts(io, self.settings, self.tokens, HubClient(self.tokens.value_of))
        self.endpoint = hub.endpoint

    def first(self) -> object:
        return self.accounts.look().result(WAIT_S).accounts[0]


@pytest.fixture
def desk(io: IoLoop, tmp_path: Path, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.delenv(ENDPOINT_VARIABLE, raising=False)
    hub.accounts[TOKEN] = Account("ada")
    return Desk(io, tmp_path, hub, Ring())


def test_a_token_is_proven_named_and_kept(desk: Desk, hub: LocalHub, io: IoLoop) -> None:
    before = desk.accounts.look().result(WAIT_S)
    assert before.endpoint == hub.endpoint
    assert before.accounts[0].endpoint == hub.endpoint
    assert before.accounts[0].is_own
    assert before.accounts[0].place is None
    assert [account.name for account in before.accounts[1:]] == [
        "Hugging Face",
        "hf-mirror",
        "ModelScope",
    ]
    kept = desk.accounts.set_token(hub.endpoint, f" {TOKEN}\n").result(WAIT_S)
    assert (kept.place, kept.owner, kept.problem) == (TokenPlace.KEYRING, "ada", None)
    assert desk.tokens.value_of(origin_of(hub.endpoint)) == TOKEN
    # The name is kept with the settings, the token is not.
    text = (desk.settings._file).read_text()
    assert "ada" in text
    assert TOKEN not in text
    asked = len(hub.log)
    assert desk.first() == kept
    assert len(hub.log) == asked
    gone = desk.accounts.forget(hub.endpoint).result(WAIT_S)
    assert (gone.place, gone.owner) == (None, "")
    assert desk.settings.settings.hubs.owners == {}


def test_a_wrong_token_is_not_kept(desk: Desk, hub: LocalHub) -> None:
    with pytest.raises(DownloadError) as caught:
        desk.accounts.set_token(hub.endpoint, "hf_wrong").result(WAIT_S)
    assert caught.value.code is ErrorCode.HUB_BAD_TOKEN
    with pytest.raises(DownloadError) as caught:
        desk.accounts.set_token(hub.endpoint, "two words").result(WAIT_S)
    assert caught.value.code is ErrorCode.HUB_TOKEN_MALFORMED
    assert desk.tokens.find(origin_of(hub.endpoint)) is None


def test_a_hub_that_cannot_be_asked_does_not_stand_in_the_way(desk: Desk, hub: LocalHub) -> None:
    hub.faults.add("whoami", Fault(status=403))
    kept = desk.accounts.set_token(hub.endpoint, TOKEN).result(WAIT_S)
    assert kept.place is TokenPlace.KEYRING
    assert kept.owner == ""
    assert kept.problem is not None


def test_checked_again(desk: Desk, hub: LocalHub) -> None:
    assert desk.accounts.check(hub.endpoint).result(WAIT_S).place is None
    desk.accounts.set_token(hub.endpoint, TOKEN).result(WAIT_S)
    hub.accounts[TOKEN] = Account("ada-of-today")
    assert desk.accounts.check(hub.endpoint).result(WAIT_S).owner == "ada-of-today"
    hub.accounts.clear()
    checked = desk.accounts.check(hub.endpoint).result(WAIT_S)
    assert checked.problem is not None
    assert checked.problem.code is ErrorCode.HUB_BAD_TOKEN


@pytest.mark.parametrize(
    ("in_file", "place"), [(True, TokenPlace.FILE), (False, TokenPlace.SESSION)]
)
def test_without_a_keyring_a_file_needs_a_yes(
    io: IoLoop, tmp_path: Path, hub: LocalHub, in_file: bool, place: TokenPlace
) -> None:
    hub.accounts[TOKEN] = Account("ada")
    desk = Desk(io, tmp_path, hub, None)
    kept = desk.accounts.set_token(hub.endpoint, TOKEN, in_file=in_file).result(WAIT_S)
    assert (kept.place, kept.can_keep) == (place, False)


def test_a_keyring_that_is_locked_keeps_it_for_now(
    io: IoLoop, tmp_path: Path, hub: LocalHub
) -> None:
    hub.accounts[TOKEN] = Account("ada")
    ring = Ring()
    desk = Desk(io, tmp_path, hub, ring)
    ring.locked = True
    kept = desk.accounts.set_token(hub.endpoint, TOKEN).result(WAIT_S)
    assert kept.place is TokenPlace.SESSION
    assert kept.problem is not None
    assert kept.problem.code is ErrorCode.HUB_TOKEN_NOT_KEPT


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("hf-mirror.com", "https://hf-mirror.com"),
        (" https://hub.example.org/ ", "https://hub.example.org"),
        ("http://10.1.2.3:8080", "http://10.1.2.3:8080"),
    ],
)
def test_addresses_as_people_type_them(desk: Desk, text: str, kept: str) -> None:
    found = desk.accounts.set_endpoint(text).result(WAIT_S)
    assert found.endpoint == desk.settings.settings.hubs.endpoint == kept
    assert not found.from_environment
    if kept:
        assert found.accounts[0].endpoint == kept
    assert desk.accounts.hubs()[0].endpoint == (kept or "https://huggingface.co")


@pytest.mark.parametrize(
    "text",
    ["http://hub.example.org", "ftp://x", "https://", "https://a b", "https://x?y", "https://[x"],
)
def test_addresses_that_are_none(desk: Desk, text: str) -> None:
    with pytest.raises(DownloadError) as caught:
        desk.accounts.set_endpoint(text).result(WAIT_S)
    assert caught.value.code is ErrorCode.HUB_BAD_ADDRESS
    assert desk.settings.settings.hubs.endpoint == desk.endpoint


def test_the_environment_goes_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT_VARIABLE, "https://from.environment/")
    found = desk.accounts.look().result(WAIT_S)
    assert (found.endpoint, found.from_environment) == ("https://from.environment", True)
    assert found.accounts[0].endpoint == "https://from.environment"


def test_a_mirror_that_is_known_only_comes_first() -> None:
    hubs = known_hubs(endpoint="https://hf-mirror.com", environment=False)
    assert [hub.id for hub in hubs] == ["hf-mirror", "huggingface", "modelscope"]
    assert not any(hub.is_private for hub in hubs)
