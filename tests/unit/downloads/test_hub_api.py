"""One file of a hub: size, hash and address."""

from __future__ import annotations

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.hub_api import find_file
from kimi_desktop.downloads.types import HubKind, Source
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub


def failed(source: Source) -> ErrorCode:
    with pytest.raises(DownloadError) as caught:
        find_file(source)
    return caught.value.code


def test_hugging_face_pins_the_commit(hub: LocalHub, source: Source) -> None:
    found = find_file(source)
    file = hub.file(source.path)
    assert file is not None
    assert (found.size_bytes, found.sha256) == (file.length, file.sha256)
    assert found.url == f"{hub.endpoint}/{source.repo}/resolve/{hub.commit}/{source.path}"


def test_modelscope(hub: LocalHub, modelscope: Source) -> None:
    found = find_file(modelscope)
    file = hub.file(modelscope.path)
    assert file is not None
    assert (found.size_bytes, found.sha256) == (file.length, file.sha256)
    assert "FilePath=small-Q8_0.gguf" in found.url


@pytest.mark.parametrize("kind", list(HubKind))
def test_what_is_not_there(hub: LocalHub, kind: HubKind) -> None:
    source = Source(kind, hub.endpoint, hub.repo, "main", "none.gguf")
    assert failed(source) is ErrorCode.DOWNLOAD_NOT_FOUND


def test_nothing_proves_it(hub: LocalHub) -> None:
    hub.files.append(HubFile("empty.gguf", 0))
    for path in ("README.md", "empty.gguf"):
        source = Source(HubKind.HUGGINGFACE, hub.endpoint, hub.repo, "main", path)
        assert failed(source) is ErrorCode.DOWNLOAD_BAD_LISTING
