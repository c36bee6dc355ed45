"""What the window sees of models that are elsewhere, over a local hub."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, HardwareError, KimiError, ModelError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.discover import Discover
from kimi_desktop.downloads.hubs.hub import Hub
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.types import HubKind
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.offer_types import OfferedFile, Use
from tests.support.hub.content import HubFile
from tests.support.hub.large_models import split_model
from tests.support.hub.repos import Repo
from tests.support.hub.server import LocalHub
from tests.support.machines import machine
from tests.support.measured import model_facts

K26 = "unsloth/Kimi-K2.6-GGUF"
OTHER = "org/Some-Model-GGUF"
PATIENCE_S = 30


@pytest.fixture(scope="module")
def hub() -> Iterator[LocalHub]:
    parts = split_model("kimi-k2.6.q4_x", 2)
    files = [
        dataclasses.replace(file, path=f"UD-Q4_K_XL/K-UD-Q4_K_XL-{n:05}-of-00002.gguf")
        for n, file in enumerate(parts, start=1)
    ]
    small = split_model("kimi-linear-48b.q4_k_m", 1)[0]
    with LocalHub(K26, [*files, HubFile("UD-Q2_K_XL/K-UD-Q2_K_XL.gguf", 340 * 10**9)]) as running:
        other = Repo.of(OTHER, [dataclasses.replace(small, path="Some-Model-Q4_K_M.gguf")])
        other.tags, other.downloads, other.licence = ("gguf",), 1234, "mit"
        running.repos[0].tags = ("gguf",)
        running.repos += [other, Repo.of("org/native", [HubFile("a.safetensors", 10)])]
        yield running


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


def discover(io: IoLoop, hub: LocalHub, found: Machine | None = None) -> Discover:
    hubs = (Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint),)
    return Discover(io, lambda: found, RemoteModels(kv_bytes_per_token, hubs=lambda: hubs))


@pytest.fixture
def here(io: IoLoop, hub: LocalHub) -> Discover:
    return discover(io, hub, machine())


def test_the_catalogue_is_priced_in_the_pool(io: IoLoop, hub: LocalHub) -> None:
    threads: list[str] = []

    def look() -> Machine:
        threads.append(threading.current_thread().name)
        return machine()

    hubs = (Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint),)
    view = Discover(io, look, RemoteModels(kv_bytes_per_token, hubs=lambda: hubs))
    offers = view.offers().result(PATIENCE_S)
    assert offers[0].use is Use.GOOD
    assert all(name.startswith("kimi-pool") for name in threads)
    assert discover(io, hub).offers().result(PATIENCE_S) == ()


def test_a_search_brings_repositories(here: Discover, hub: LocalHub) -> None:
    rows = here.search("gguf").result(PATIENCE_S)
    assert [row.repo for row in rows] == [OTHER, K26]
    assert (rows[0].downloads, rows[0].licence, rows[0].catalogue_name) == (1234, "mit", "")
    assert rows[1].catalogue_name == "Kimi K2.6"
    assert here.search("nothing like it").result(PATIENCE_S) == ()
    with hub.offline(), pytest.raises(DownloadError) as caught:
        here.search("gguf").result(PATIENCE_S)
    assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE


@pytest.mark.parametrize(
    ("text", "is_one"),
    [(OTHER, True), (f"https://huggingface.co/{OTHER}", True), ("kimi k2", False), ("", False)],
)
def test_what_is_pasted_is_told_from_words(here: Discover, text: str, is_one: bool) -> None:
    assert here.is_reference(text) is is_one


def test_a_repository_is_priced_by_its_listing(here: Discover) -> None:
    offer = here.look(f"https://huggingface.co/{K26}/tree/main").result(PATIENCE_S)
    assert [file.quantization for file in offer.files] == ["UD-Q4_K_XL", "UD-Q2_K_XL"]
    assert offer.best is not None
    assert offer.best.sized is not None
    assert not offer.is_catalogued
    assert offer.context_tokens == 262_144
    other = here.look(OTHER).result(PATIENCE_S)
    assert other.license.name == "mit"
    assert other.best is not None  # nobody knows its name, so that its header was read
    assert other.best.use is Use.GOOD
    assert other.best.sized is not None
    weights = sum(row.weights_bytes for row in other.best.sized.memory.devices)
    size = model_facts("kimi-linear-48b.q4_k_m").weights_bytes
    assert weights == pytest.approx(size, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("org/none", ErrorCode.HUB_NO_REPO),
        ("org/native", ErrorCode.MODEL_NO_GGUF),
        ("no reference", ErrorCode.MODEL_BAD_ADDRESS),
    ],
)
def test_what_cannot_be_looked_at(here: Discover, text: str, code: ErrorCode) -> None:
    with pytest.raises(KimiError) as caught:
        here.look(text).result(PATIENCE_S)
    assert caught.value.code is code


def test_a_file_is_planned_before_the_download(here: Discover) -> None:
    planned = here.plan(K26, "UD-Q4_K_XL").result(PATIENCE_S)
    assert planned.plan.fits
    assert planned.plan.forecast.exact
    facts = planned.model.facts
    assert facts is not None
    assert facts.weights_bytes == model_facts("kimi-k2.6.q4_x").weights_bytes
    assert planned.model.id == f"{K26}:UD-Q4_K_XL"
    assert planned.model.parts_present == 0
    offer = here.look(K26).result(PATIENCE_S)
    file: OfferedFile = offer.files[0]
    words = here.planned_words(file, planned, Language.EN)
    by_size = here.words(file, Language.EN)
    assert words.fit == by_size.fit
    assert words.reasons
    assert not by_size.reasons
    assert words.sentence.startswith("Fits in VRAM + RAM")


def test_a_file_that_the_repository_lacks_is_not_planned(here: Discover) -> None:
    with pytest.raises(ModelError) as caught:
        here.plan(K26, "Q9").result(PATIENCE_S)
    assert caught.value.code is ErrorCode.MODEL_NO_QUANTIZATION


def test_without_a_look_at_the_machine_nothing_is_priced(io: IoLoop, hub: LocalHub) -> None:
    with pytest.raises(HardwareError):
        discover(io, hub).look(OTHER).result(PATIENCE_S)


@pytest.mark.parametrize(
    ("found", "gpu_engine", "lacks"),
    [
        (machine(), False, True),
        (machine(), True, False),
        (machine(gpus=()), False, False),
        (None, False, False),
    ],
)
def test_gpus_without_an_engine_for_them(
    io: IoLoop, hub: LocalHub, found: Machine | None, gpu_engine: bool, lacks: bool
) -> None:
    remote = RemoteModels(kv_bytes_per_token)
    assert Discover(io, lambda: found, remote, lambda: gpu_engine).lacks_gpu_engine is lacks
