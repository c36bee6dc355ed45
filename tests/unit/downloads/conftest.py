"""A local hub with one repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.downloads import fetch
from kimi_desktop.downloads.hubs import control
from kimi_desktop.downloads.types import HubKind, Job, Source
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub

REPO = "org/small-chat"
MODEL = "small-Q8_0.gguf"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between tries are not what these tests are about."""
    monkeypatch.setattr(fetch, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(control, "FIRST_WAIT_S", 0.001)


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile("README.md", content=b"# Small chat\n", lfs=False),
        HubFile(MODEL, 5 * 2**20 + 123),
        HubFile("sub/other.gguf", 1000),
    ]
    with LocalHub(REPO, files) as running:
        yield running


@pytest.fixture
def source(hub: LocalHub) -> Source:
    return Source(HubKind.HUGGINGFACE, hub.endpoint, REPO, "main", MODEL)


@pytest.fixture
def modelscope(hub: LocalHub) -> Source:
    return Source(HubKind.MODELSCOPE, hub.endpoint, REPO, "master", MODEL)


@pytest.fixture
def job(source: Source, tmp_path: Path) -> Job:
    return Job(str(tmp_path / "models"), f"{REPO}/{MODEL}", (source,))
