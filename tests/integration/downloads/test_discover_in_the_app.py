"""Discover as the app wires it: the user's token, the machine that was looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.core import Core
from kimi_desktop.downloads.hubs import tokens
from tests.support.engine_programs import short_folder
from tests.support.heard import WAIT_S
from tests.support.hub.large_models import split_model
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub

MINE = "team/mine"


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[Core]:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # no other hub is within reach
    monkeypatch.setattr(tokens, "system_keyring", lambda: None)  # leave the developer's alone
    with short_folder() as folder:
        made = Core(AppPaths.under(folder))
        yield made
        made.close()


def test_a_private_repository_is_found_looked_at_and_planned_with_a_token(
    core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = split_model("kimi-linear-48b.q4_k_m", 1)[0]
    with LocalHub(MINE, [dataclasses.replace(part, path="Mine-Q4_K_M.gguf")]) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        hub.repos[0].private = True
        hub.repos[0].tags = ("gguf",)
        hub.accounts["hf_mine"] = Account("somebody", frozenset({MINE}))
        core.machine.probe().result(WAIT_S)
        with pytest.raises(DownloadError):
            core.discover.look(MINE).result(WAIT_S)
        core.tokens.save(hub.endpoint, "hf_mine")
        (row,) = core.discover.search("mine").result(WAIT_S)
        assert row.repo == MINE
        offer = core.discover.look(MINE).result(WAIT_S)
        assert [file.quantization for file in offer.files] == ["Q4_K_M"]
        planned = core.discover.plan(MINE, "Q4_K_M").result(WAIT_S)
        assert planned.plan.forecast.exact
