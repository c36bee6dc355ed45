"""The planner's word before the first byte, from the headers of a set that has no bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.choose import Wish, choose_files
from kimi_desktop.downloads.header_verdict import header_verdict
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, custom_hub
from kimi_desktop.downloads.preflight_types import Level, Row
from kimi_desktop.downloads.prepare import Preparer, read_wanted
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.speed_factors import Factors, shipped_speed_data
from tests.support.gguf_files import LLAMA_TENSORS, data_bytes, header_bytes, llama_metadata
from tests.support.hub import faults
from tests.support.hub.content import HubFile
from tests.support.hub.large_models import split_model
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub
from tests.support.planned_machines import machine

REPO = "moonshot/kimi-k2.6-q4_x-GGUF"
TOKEN = "hf_thisIsOnlyOfTheTests"


@pytest.fixture(scope="module")
def kimi() -> Iterator[LocalHub]:
    files = [
        HubFile(f"UD-Q4_K_XL/Kimi-K2.6-UD-Q4_K_XL-{n:05}-of-00004.gguf", part.size_bytes,
                head=part.head)
        for n, part in enumerate(split_model("kimi-k2.6.q4_x", 4), 1)
    ]  # fmt: skip
    with LocalHub(REPO, files) as running:
        yield running


@pytest.fixture(autouse=True)
def clean(kimi: LocalHub) -> Iterator[None]:
    yield
    kimi.faults.clear()
    kimi.log.clear()


def verdict(
    hub: LocalHub, on: Machine, token: str | None = None, factors: Factors | None = None
) -> Row | None:
    one = custom_hub(hub.endpoint)
    client = HubClient(lambda _origin: token)
    remote = RemoteModels(kv_bytes_per_token, client, lambda: [one])
    listing = client.list_repo(one, hub.repo)
    choice = choose_files(listing, Wish())
    found = header_verdict(remote, on, factors)(listing, choice)
    if found is not None:
        for language in Language:
            assert "{" not in found.sentence(language)
            assert bool(found.next_step(language)) is (found.level is not Level.OK)
    return found


def test_planned_with_the_header(kimi: LocalHub) -> None:
    found = verdict(kimi, machine(24, ram_gib=768))
    assert found is not None
    assert found.level is Level.OK
    assert "planned with the header" in found.sentence(Language.EN)
    assert "tok/s" in found.sentence(Language.EN)
    assert sum(request.sent_bytes for request in kimi.requests("cdn")) < 40 * 2**20
    small = verdict(kimi, machine(24, ram_gib=128))
    assert small is not None
    assert small.level is Level.WARN


def test_what_was_learned_here_is_in_the_speed(kimi: LocalHub) -> None:
    site = machine(24, ram_gib=768)
    shipped = shipped_speed_data().factors
    slower = replace(shipped, ram=shipped.ram / 2, runs=9)

    def both() -> list[Row | None]:
        return [verdict(kimi, site), verdict(kimi, site, factors=slower)]

    before, after = both()
    assert before != after
    kimi.faults.add("xet-bridge", faults.expired_signature())
    estimated, corrected = both()
    assert None not in (estimated, corrected)
    assert estimated != corrected


def test_by_size_when_the_header_cannot_be_had(kimi: LocalHub) -> None:
    kimi.faults.add("xet-bridge", faults.expired_signature())
    found = verdict(kimi, machine(24, ram_gib=768))
    assert found is not None
    assert "estimated from the size" in found.sentence(Language.EN)


def test_a_gated_header_is_read_with_the_token(kimi: LocalHub) -> None:
    kimi.repos[0].gated = "manual"
    kimi.accounts[TOKEN] = Account("ada", frozenset({REPO}))
    try:
        without = verdict(kimi, machine(24))
        with_token = verdict(kimi, machine(24), TOKEN)
    finally:
        kimi.repos[0].gated = ""
    assert without is not None
    assert "estimated" in without.sentence(Language.EN)
    assert with_token is not None
    assert "planned" in with_token.sentence(Language.EN)
    assert {request.token for request in kimi.requests("cdn")} == {None}


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (b"<html>" + bytes(5000), Level.STOP),
        (b"GGUF\x09\0\0\0" + bytes(5000), Level.WARN),
        (
            header_bytes(dict(llama_metadata()) | {"general.type": "mmproj"}, LLAMA_TENSORS)
            + bytes(data_bytes(LLAMA_TENSORS)),
            Level.WARN,
        ),
    ],
)
def test_a_header_that_says_no(content: bytes, level: Level) -> None:
    with LocalHub(REPO, [HubFile("m-Q8_0.gguf", content=content)]) as hub:
        found = verdict(hub, machine(24))
    assert found is not None
    assert found.level is level


def test_no_word_on_a_checkpoint() -> None:
    files = [HubFile("model.safetensors", 1000), HubFile("config.json", content=b"{}", lfs=False)]
    with LocalHub(REPO, files) as hub:
        assert verdict(hub, machine(24)) is None


def test_a_model_without_a_memory_rule() -> None:
    metadata = {"general.architecture": "unheard-of", "general.name": "x"}
    content = header_bytes(metadata, LLAMA_TENSORS) + bytes(data_bytes(LLAMA_TENSORS))
    with LocalHub(REPO, [HubFile("m-Q8_0.gguf", content=content)]) as hub:
        found = verdict(hub, machine(24))
    assert found is not None
    assert "not known" in found.sentence(Language.EN)
    assert "header" in found.next_step(Language.EN)


def test_in_the_preflight(kimi: LocalHub, tmp_path: Path) -> None:
    one: Hub = custom_hub(kimi.endpoint)
    client = HubClient()
    remote = RemoteModels(kv_bytes_per_token, client, lambda: [one])
    preparer = Preparer(client, hubs=lambda: [one])
    judge = header_verdict(remote, machine(24, ram_gib=768))
    found = preparer.prepare(read_wanted(f"{REPO}:UD-Q4_K_XL"), tmp_path, judges=[judge])
    assert "verdict" in {row.topic for row in found.preflight.rows}
    assert found.spec.title == f"{REPO} UD-Q4_K_XL"
