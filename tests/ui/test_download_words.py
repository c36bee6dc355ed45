"""Downloads in words: names, states, figures, parts; progress that never lies."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.queue_types import (
    DownloadState,
    DownloadStatus,
    MeasuredSource,
    PartState,
    PartStatus,
)
from kimi_desktop.ui import download_words as words
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support.scripted_downloads import HUBS, MEASURED_AT

GB = 10**9
OFFLINE = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})


def status(state: DownloadState = DownloadState.DOWNLOADING, **changes: object) -> DownloadStatus:
    made = DownloadStatus("x", "unsloth/Kimi-K2.6-GGUF UD-Q4_K_XL", "/m", state, 100 * GB, shards=4)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("unsloth/Kimi-K2.6-GGUF UD-Q4_K_XL", ("Kimi K2.6", "UD-Q4_K_XL")),
        ("Qwen/Qwen3-0.6B-GGUF", ("Qwen3 0.6B", "")),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", ("Kimi Linear 48B A3B Instruct", "")),
        ("plain", ("plain", "")),
    ],
)
def test_names(title: str, name: tuple[str, str]) -> None:
    assert words.name_of(title) == name


def test_hubs_as_people_call_them() -> None:
    assert words.hub_name("https://huggingface.co") == "Hugging Face"
    assert words.hub_name("www.modelscope.ai") == "ModelScope"
    assert words.hub_name("http://10.0.0.1:8080") == "10.0.0.1"
    assert words.hub_name("") == ""


@pytest.mark.parametrize(
    ("changes", "verdict", "word"),
    [
        ({}, Verdict.WORKING, "Downloading"),
        ({"waiting": OFFLINE}, Verdict.WARN, "Waiting"),
        ({"is_repairing": True}, Verdict.WORKING, "Repairing"),
        (
            {"state": DownloadState.VERIFYING, "verifying_shard": 3},
            Verdict.CHECKED,
            "Verifying shard 3 of 4",
        ),
        ({"state": DownloadState.VERIFYING}, Verdict.CHECKED, "Verifying"),
        ({"state": DownloadState.PAUSED}, Verdict.PLAIN, "Paused"),
        ({"state": DownloadState.PAUSED, "reason": OFFLINE}, Verdict.WARN, "Paused"),
        ({"state": DownloadState.FAILED, "reason": OFFLINE}, Verdict.BAD, "Failed"),
        ({"state": DownloadState.READY}, Verdict.OK, "Ready"),
        ({"state": DownloadState.QUEUED}, Verdict.PLAIN, "Queued"),
    ],
)
def test_states(changes: dict[str, object], verdict: Verdict, word: str, qapp: object) -> None:
    found = words.state_of(status(**changes))  # type: ignore[arg-type]
    assert (found[0], found[2]) == (verdict, word)


def lines(one: DownloadStatus) -> list[str]:
    return [fact.whole for fact in words.facts_of(one)]


def test_the_line_of_figures(qapp: object) -> None:
    one = status(
        done_bytes=46 * GB,
        shards_done=1,
        bytes_per_s=200e6,
        eta_s=270.0,
        connections=8,
        source="huggingface.co",
    )
    assert lines(one) == [
        "Shards 1/4",
        "46.0 of 100.0 GB (46%)",
        "200.0 MB/s",
        "4 min 30 s left",
        "8 connections · Hugging Face",
    ]
    assert "one connection" in lines(dataclasses.replace(one, connections=1))[-1]
    assert "pieces replaced: 2" in lines(dataclasses.replace(one, pieces_replaced=2))[-1]
    assert "Kimi K2.6 UD-Q4_K_XL, Downloading, Shards 1/4" in words.spoken(one)


def test_why_nothing_moves(qapp: object) -> None:
    assert "cannot be reached" in lines(status(waiting=OFFLINE))[-1]
    assert lines(status(waiting=OFFLINE, retry_in_s=12.3))[-2] == "next try in 12 s"
    paused = status(DownloadState.PAUSED, preferred="https://hf-mirror.com")
    assert lines(paused)[-1] == "paused by you · goes on at the same byte · hf-mirror"
    at = MEASURED_AT
    assert lines(dataclasses.replace(paused, rested_at=at))[-1].startswith("paused by you at 14:05")
    by_itself = dataclasses.replace(paused, rested_at=at, reason=OFFLINE)
    assert lines(by_itself)[-2] == "paused by itself at 14:05"
    failed = status(DownloadState.FAILED, reason=OFFLINE)
    assert "cannot be reached" in words.sentence_of(failed)[0]
    assert "kept" in words.sentence_of(failed)[1]


def test_verifying_says_how_much_was(qapp: object) -> None:
    one = status(DownloadState.VERIFYING, done_bytes=100 * GB, hashed_bytes=40 * GB)
    assert lines(one)[1] == "40.0 of 100.0 GB (40%) checked"
    measured = dataclasses.replace(one, bytes_per_s=2.1e9, eta_s=28.0)
    assert lines(measured)[2:4] == ["2.1 GB/s", "28 s left"]


def test_sources_say_what_was_measured_and_when(qapp: object) -> None:
    one = status(sources=HUBS)
    assert words.measured_words(one) == (
        [(hub, words.hub_name(hub)) for hub in HUBS],
        "not measured",
    )
    rates = (213e6, 4.56e6, 0.0)
    measured = tuple(MeasuredSource(h, r, MEASURED_AT) for h, r in zip(HUBS, rates, strict=True))
    options, when = words.measured_words(dataclasses.replace(one, measured=measured))
    assert [word for _, word in options] == ["Hugging Face 213", "hf-mirror 4.6", "ModelScope –"]
    assert when == "MB/s, measured at 14:05"


def test_all_of_it_is_said_only_when_it_is_there(qapp: object) -> None:
    assert words.amount_of(status(done_bytes=100 * GB - 1)).endswith("(99%)")
    assert words.amount_of(status(done_bytes=100 * GB)).endswith("(100%)")
    small = status(total_bytes=5_000_000, done_bytes=1_500_000)
    assert words.amount_of(small) == "1.5 MB of 5.0 MB (30%)"


def test_parts_as_told_or_by_the_counts() -> None:
    told = (PartStatus(PartState.DONE, 1.0),) * 4
    assert words.parts_of(status(parts=told)) == told
    assert words.parts_of(status(DownloadState.READY)) == told
    by_counts = words.parts_of(status(shards_done=1, done_bytes=60 * GB))
    assert [part.state for part in by_counts] == [
        PartState.DONE,
        PartState.COMING,
        PartState.COMING,
        PartState.WAITING,
    ]
    assert [round(part.share, 2) for part in by_counts] == [1.0, 1.0, 0.4, 0.0]


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 10**12), st.integers(0, 10**12))
def test_every_download_has_a_strip(shards: int, done: int, total: int, came: int) -> None:
    one = status(
        shards=shards,
        shards_done=min(done, shards),
        total_bytes=total,
        done_bytes=min(came, total),
    )
    parts = words.parts_of(one)
    assert len(parts) == shards
    assert all(0 <= part.share <= 1 for part in parts)
