"""A local hub with one repository, asked as Hugging Face, as a mirror and as ModelScope."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kimi_desktop.downloads.hubs.hub import Hub
from kimi_desktop.downloads.types import HubKind
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub

REPO = "org/small-chat"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile("README.md", content=b"# Small chat\n", lfs=False),
        HubFile("small-Q8_0.gguf", 5 * 2**20 + 123),
        HubFile("sub/other.gguf", 1000),
    ]
    with LocalHub(REPO, files) as running:
        yield running


@pytest.fixture
def huggingface(hub: LocalHub) -> Hub:
    return Hub("huggingface", "Hugging Face", HubKind.HUGGINGFACE, hub.endpoint)


@pytest.fixture
def mirror(hub: LocalHub) -> Hub:
    return Hub("hf-mirror", "hf-mirror", HubKind.HUGGINGFACE, hub.mirror)


@pytest.fixture
def modelscope(hub: LocalHub) -> Hub:
    return Hub("modelscope", "ModelScope", HubKind.MODELSCOPE, hub.modelscope)


@pytest.fixture(params=["huggingface", "modelscope"])
def any_hub(request: pytest.FixtureRequest) -> Hub:
    found: Hub = request.getfixturevalue(request.param)
    return found
