"""The engine's word on a download, with the real engine and headers from a local hub."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.engine_checks import EngineChecks
from kimi_desktop.backends.probe import embedded_build
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.choose import Choice
from kimi_desktop.downloads.hubs.hub import Hub
from kimi_desktop.downloads.load_verdict import load_verdict
from kimi_desktop.downloads.preflight_types import Level, Row
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.remote_sets import gguf_sets
from kimi_desktop.downloads.types import HubKind
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.references import parse_reference
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub
from tests.support.tiny_kimi import make_tiny_kimi

REPO = "some/Kimi-GGUF"


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


async def real() -> EngineBuild:
    return embedded_build()


async def none() -> EngineBuild:
    raise BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": "xllamacpp"})


async def old() -> EngineBuild:
    return dataclasses.replace(embedded_build(), name="llama.cpp b1")


def judged(io: IoLoop, content: bytes, build: object, *, cut: bool = False) -> Row | None:
    assert callable(build)
    files = [HubFile("K-Q8_0.gguf", content=content)]
    with LocalHub(REPO, files) as hub:
        hubs = (Hub("local", "Local", HubKind.HUGGINGFACE, hub.endpoint),)
        remote = RemoteModels(kv_bytes_per_token, hubs=lambda: hubs)
        reference = parse_reference(REPO)
        assert reference is not None
        listing = remote.listing(reference)
        (one,) = gguf_sets(listing.files)
        label = "other" if cut else one.quantization
        choice = Choice(listing.files, label, (), ())
        checks = EngineChecks(io, build=build, catalogue=shipped_catalogue)
        return load_verdict(remote, checks)(listing, choice)


def test_a_model_that_the_engine_knows(io: IoLoop, tmp_path: Path) -> None:
    content = make_tiny_kimi(tmp_path / "k.gguf").read_bytes()
    row = judged(io, content, real)
    assert row is not None
    assert (row.topic, row.level, row.next) == ("loads", Level.OK, None)
    for language in Language:
        assert "llama.cpp b" in row.sentence(language)


def test_a_model_that_it_does_not_know(io: IoLoop, tmp_path: Path) -> None:
    content = make_tiny_kimi(tmp_path / "k.gguf").read_bytes()
    row = judged(io, content.replace(b"deepseek2", b"deepseek9"), real)
    assert row is not None
    assert row.level is Level.WARN
    assert "deepseek9" in row.sentence(Language.EN)
    assert row.next_step(Language.ZH_CN)


def test_where_nobody_can_say(io: IoLoop, tmp_path: Path) -> None:
    content = make_tiny_kimi(tmp_path / "k.gguf").read_bytes()
    assert judged(io, content, none) is None
    assert judged(io, content, real, cut=True) is None
    assert judged(io, b"GGUF", real) is None
