"""One repository on several hubs, joined by hashes; and which of them is fast."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hubs import speed
from kimi_desktop.downloads.hubs.gather import Gathered, Refusal, gather, is_same
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, custom_hub
from kimi_desktop.downloads.hubs.speed import measure
from kimi_desktop.downloads.types import HubKind, RepoFile, RepoListing, Source
from tests.support.hub import faults
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub
from tests.unit.downloads.hubs.conftest import REPO

A, B = "a" * 64, "b" * 64


def ask(hubs: list[Hub], repo: str = REPO, revision: str | None = None) -> Gathered:
    return gather(HubClient(), hubs, repo, revision)


def test_three_hubs_offer_the_same_bytes(
    hub: LocalHub, huggingface: Hub, mirror: Hub, modelscope: Hub
) -> None:
    found = ask([huggingface, mirror, modelscope])
    assert found.leading.endpoint == hub.endpoint
    assert (len(found.others), found.refusals, found.disagreements) == (2, (), ())
    readme, model, _ = found.leading.files
    assert [(s.endpoint, s.revision) for s in found.sources_of(model)] == [
        (hub.endpoint, hub.commit),
        (hub.mirror, hub.commit),
        (hub.modelscope, "master"),
    ]
    # Git names a small file by another hash than ModelScope: nothing says that they are the same.
    assert [s.endpoint for s in found.sources_of(readme)] == [hub.endpoint, hub.mirror]


def test_a_revision_is_the_leading_hubs_business(
    hub: LocalHub, huggingface: Hub, modelscope: Hub
) -> None:
    first = hub.commit
    hub.repos[0].change([HubFile("new.gguf", 10)])
    found = ask([huggingface, modelscope], revision=first)
    assert [f.path for f in found.others[0].files] == ["new.gguf"]
    assert ask([modelscope], revision=first).leading.commit == first


def test_the_next_one_leads_when_the_first_is_away(
    hub: LocalHub, huggingface: Hub, mirror: Hub
) -> None:
    with hub.offline("hub"):
        found = ask([huggingface, mirror])
    assert found.leading.endpoint == hub.mirror
    (refusal,) = found.refusals
    assert (refusal.hub, refusal.error.code) == (huggingface, ErrorCode.DOWNLOAD_OFFLINE)


def test_the_most_telling_refusal(hub: LocalHub, huggingface: Hub, mirror: Hub) -> None:
    with hub.offline("hub"), pytest.raises(DownloadError) as caught:
        ask([huggingface, mirror], "org/none")
    assert caught.value.code is ErrorCode.HUB_NO_REPO
    with hub.offline(), pytest.raises(DownloadError) as caught:
        ask([huggingface, mirror])
    assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE
    with pytest.raises(ValueError, match="no hub"):
        ask([])


def test_other_names_elsewhere(hub: LocalHub, huggingface: Hub, modelscope: Hub) -> None:
    hub.repos[0].name = "org/here"
    found = gather(
        HubClient(),
        [huggingface, modelscope],
        "org/there",
        names={"huggingface": "org/here", "modelscope": "org/here"},
    )
    assert len(found.others) == 1


def listing(endpoint: str, *files: RepoFile) -> RepoListing:
    return RepoListing(HubKind.HUGGINGFACE, endpoint, "a/b", "c", files, "", False, False)


def test_only_hashes_join() -> None:
    mine = RepoFile("w/a.gguf", 10, A, None)
    moved = RepoFile("x/other-name.gguf", 10, A, None)
    other = RepoFile("w/a.gguf", 10, B, None)
    found = Gathered(listing("h", mine), (listing("m", other, moved), listing("n", other)))
    assert [(s.endpoint, s.path) for s in found.sources_of(mine)] == [
        ("h", "w/a.gguf"),
        ("m", "x/other-name.gguf"),
    ]
    assert found.disagreements == ("w/a.gguf",)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((10, A, None), (10, A, None), True),
        ((10, A, None), (11, A, None), False),
        ((10, A, None), (10, B, None), False),
        ((10, None, "g"), (10, None, "g"), True),
        ((10, None, "g"), (10, None, "h"), False),
        ((10, None, None), (10, None, None), False),
        ((10, A, None), (10, None, "g"), False),
    ],
)
def test_sameness(
    one: tuple[int, str | None, str | None], other: tuple[int, str | None, str | None], same: bool
) -> None:
    assert is_same(RepoFile("x", *one), RepoFile("y", *other)) is same


# speed


@pytest.fixture
def sources(hub: LocalHub) -> list[Source]:
    path = "small-Q8_0.gguf"
    return [
        Source(HubKind.HUGGINGFACE, hub.endpoint, REPO, "main", path),
        Source(HubKind.MODELSCOPE, hub.modelscope, REPO, "master", path),
    ]


SIZE = 5 * 2**20 + 123


def test_the_faster_one_comes_first(
    hub: LocalHub, sources: list[Source], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "PROBE_S", 0.3)
    hub.speeds["cdn"] = 400_000
    first, second = measure(sources, SIZE)
    assert (first.source, second.source) == (sources[1], sources[0])
    assert first.bytes_per_s > second.bytes_per_s > 0
    assert first.first_byte_s is not None
    assert hub.requests("cdn")[0].range == f"bytes={SIZE // 3}-{SIZE - 1}"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=403),
        Fault(ignore_range=True),
        Fault(total=99),
        Fault(cut_after=0),
        faults.captive_portal(),
        faults.redirect("file:///etc/passwd"),
    ],
)
def test_those_that_give_nothing_come_last(
    hub: LocalHub, sources: list[Source], fault: Fault
) -> None:
    hub.faults.add("/resolve/|xet-bridge", fault)
    first, second = measure(sources, SIZE)
    assert (first.source, second.source) == (sources[1], sources[0])
    assert (second.bytes_per_s, second.first_byte_s) == (0.0, None)


def test_nobody_there_is_no_error(sources: list[Source]) -> None:
    gone = dataclasses.replace(sources[0], endpoint="http://127.0.0.1:9")
    assert measure([gone], SIZE)[0].bytes_per_s == 0.0


def test_the_rate_counts_from_the_first_byte(hub: LocalHub, sources: list[Source]) -> None:
    ticks = itertools.count()
    (found,) = measure(sources[:1], 300, clock=lambda: float(next(ticks)))
    assert found.bytes_per_s == 0.0  # another size than the hub's
    hub.files = [HubFile("small-Q8_0.gguf", 300)]
    ticks = itertools.count(0, 10)
    (found,) = measure(sources[:1], 300, clock=lambda: float(next(ticks)))
    assert (found.first_byte_s, found.bytes_per_s) == (10.0, pytest.approx(1 / 20))


def test_the_probe_brings_its_token(hub: LocalHub, sources: list[Source]) -> None:
    hub.repos[0].private = True
    hub.accounts["hf_x"] = Account("ada", frozenset({REPO}))
    assert measure(sources[:1], SIZE)[0].bytes_per_s == 0.0
    found = measure(sources[:1], SIZE, token_of={hub.endpoint: "hf_x"}.get)
    assert found[0].bytes_per_s > 0
    assert {r.token for r in hub.requests("cdn")} == {None}


def test_refusals_are_data(huggingface: Hub) -> None:
    error = DownloadError(ErrorCode.HUB_NO_REPO)
    assert Refusal(huggingface, error).error is error
    assert custom_hub("https://a.example/").endpoint == "https://a.example"
