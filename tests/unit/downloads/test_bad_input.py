"""Whatever is wrong with a wish: one clear sentence and the next step, in both languages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.choose import Wish
from kimi_desktop.downloads.hubs.hub import HubClient, custom_hub
from kimi_desktop.downloads.preflight_types import Level
from kimi_desktop.downloads.prepare import Prepared, Preparer, read_wanted
from kimi_desktop.downloads.volume import VolumeFacts, look_at_volume
from tests.support.hub import faults
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.repos import Account, Repo
from tests.support.hub.server import LocalHub

REPO = "unsloth/Kimi-K2.6-GGUF"
LOOK = look_at_volume


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile(f"{name}/K-{name}-0000{number}-of-00002.gguf", 10**6)
        for name in ("UD-Q2_K_XL", "UD-Q4_K_XL")
        for number in (1, 2)
    ]
    with LocalHub(REPO, files) as running:
        gated = Repo.of("meta/gated", [HubFile("m.gguf", 10)])
        gated.gated, gated.hides_listing = "manual", True
        cut = Repo.of("org/uploading", [HubFile("m-Q8_0-00001-of-00003.gguf", 10)])
        hostile = Repo.of("org/hostile", [HubFile("../m-Q8_0.gguf", 10)])
        pickled = Repo.of("org/pickled", [HubFile("pytorch_model.bin", 10)])
        running.repos += [gated, cut, hostile, pickled]
        running.accounts["hf_mine"] = Account("ada")
        yield running


def prepare(
    hub: LocalHub,
    folder: Path,
    wanted: str = f"{REPO}:UD-Q2_K_XL",
    *,
    token: str | None = None,
    look_at: Callable[[Path], VolumeFacts] = LOOK,
    **more: object,
) -> Prepared:
    one = custom_hub(hub.endpoint)
    preparer = Preparer(HubClient(lambda _origin: token), hubs=lambda: [one], look_at=look_at)
    return preparer.prepare(read_wanted(wanted), folder, **more)


def is_clear(sentences: tuple[str, str], language: Language) -> None:
    for text in sentences:
        assert text
        assert "{" not in text
        assert "\n" not in text
        assert len(text) < 260
        assert text[-1] in ("。" if language is Language.ZH_CN else ".")


@pytest.mark.parametrize(
    ("wanted", "options", "code", "told"),
    [
        ("Kimi K2", {}, ErrorCode.HUB_BAD_NAME, "unsloth/Kimi-K2.6-GGUF"),
        ("unsloth/Kimi-K2.7-GGUF", {}, ErrorCode.HUB_NO_REPO, "spelling"),
        (f"{REPO}@nightly", {}, ErrorCode.HUB_NO_REVISION, "newest"),
        ("meta/gated", {}, ErrorCode.HUB_GATED_NO_TOKEN, "/meta/gated"),
        ("meta/gated", {"token": "hf_mine"}, ErrorCode.HUB_GATED, "/meta/gated"),
        (REPO, {"token": "hf_old"}, ErrorCode.HUB_BAD_TOKEN, "new read-only token"),
        (f"{REPO}:UD-Q2_K_LX", {}, ErrorCode.HUB_NO_QUANTIZATION, "UD-Q2_K_XL"),
        (REPO, {}, ErrorCode.HUB_NOTHING_CHOSEN, "UD-Q2_K_XL, UD-Q4_K_XL"),
        (REPO, {"wish": Wish(include=("*.gguv",))}, ErrorCode.HUB_NO_MATCH, "whole paths"),
        (REPO, {"source": "gitlab"}, ErrorCode.HUB_UNKNOWN_SOURCE, "HF_ENDPOINT"),
        ("org/uploading", {}, ErrorCode.HUB_SET_INCOMPLETE, "still be going on"),
        ("org/hostile:Q8_0", {}, ErrorCode.HUB_HOSTILE_NAME, "original publisher"),
        ("org/pickled", {}, ErrorCode.HUB_NO_WEIGHTS, "GGUF repository"),
    ],
)
def test_wishes(
    hub: LocalHub,
    tmp_path: Path,
    wanted: str,
    options: dict[str, object],
    code: ErrorCode,
    told: str,
) -> None:
    with pytest.raises(DownloadError) as caught:
        prepare(hub, tmp_path, wanted, **options)
    assert caught.value.code is code
    assert told in describe_error(caught.value, Language.EN)[1]
    for language in Language:
        is_clear(describe_error(caught.value, language), language)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (faults.captive_portal(), ErrorCode.DOWNLOAD_PORTAL),
        (faults.redirect("http://wifi.example/login"), ErrorCode.DOWNLOAD_PORTAL),
        (faults.too_many_requests(wait_s=200), ErrorCode.HUB_BUSY),
        (Fault(status=503), ErrorCode.HUB_TROUBLE),
        (Fault(body=b"[1"), ErrorCode.DOWNLOAD_BAD_LISTING),
    ],
)
def test_networks_and_hubs(hub: LocalHub, tmp_path: Path, fault: Fault, code: ErrorCode) -> None:
    hub.faults.add("/api/", fault)
    with pytest.raises(KimiError) as caught:
        prepare(hub, tmp_path)
    assert caught.value.code is code
    for language in Language:
        is_clear(describe_error(caught.value, language), language)


def test_no_network(hub: LocalHub, tmp_path: Path) -> None:
    with hub.offline(), pytest.raises(DownloadError) as caught:
        prepare(hub, tmp_path)
    assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE
    for language in Language:
        is_clear(describe_error(caught.value, language), language)


@pytest.mark.parametrize(
    ("changes", "topic"),
    [
        ({"free_bytes": 10**6}, "space"),
        ({"free_bytes": 10**6, "quota_bytes": 10**6}, "space"),
        ({"writable": False}, "writable"),
        ({"file_system": "vfat", "max_file_bytes": 10**5}, "file_size"),
        ({"max_path": 40}, "paths"),
        ({"max_name": 10}, "paths"),
    ],
)
def test_drives(hub: LocalHub, tmp_path: Path, changes: dict[str, object], topic: str) -> None:
    found = prepare(
        hub, tmp_path, look_at=lambda folder: dataclasses.replace(LOOK(folder), **changes)
    )
    assert not found.preflight.may_start
    (stop,) = found.preflight.stops
    assert (stop.topic, stop.level) == (topic, Level.STOP)
    for language in Language:
        text = stop.sentence(language)
        assert text
        assert "{" not in text
        is_clear((stop.next_step(language),) * 2, language)
    assert not list(tmp_path.iterdir())
