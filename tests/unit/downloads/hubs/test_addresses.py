"""Addresses of files and the origins that tokens belong to."""

from __future__ import annotations

import httpx
import pytest

from kimi_desktop.downloads.hubs.addresses import file_url, origin_of, page_url
from kimi_desktop.downloads.types import HubKind, Source
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub


@pytest.mark.parametrize("kind", [HubKind.HUGGINGFACE, HubKind.MODELSCOPE])
@pytest.mark.parametrize("path", ["a.gguf", "UD-Q2/a b#?%&+.gguf", "中文/模型.gguf"])
def test_every_name_survives(kind: HubKind, path: str) -> None:
    with LocalHub("org/model", [HubFile(path, 100)]) as hub:
        url = file_url(Source(kind, hub.endpoint, "org/model", "main", path))
        answer = httpx.get(url, follow_redirects=True, trust_env=False)
        file = hub.file(path)
        assert file is not None
        assert answer.content == file.read(0, 100)


def test_archives_of_a_release() -> None:
    source = Source(HubKind.GITHUB, "https://g.com", "org/name", "b1", "a b#.zip")
    assert file_url(source) == "https://g.com/org/name/releases/download/b1/a%20b%23.zip"


def test_a_revision_with_a_slash() -> None:
    source = Source(HubKind.HUGGINGFACE, "https://h.co", "a/b", "refs/pr/1", "c")
    assert file_url(source) == "https://h.co/a/b/resolve/refs%2Fpr%2F1/c"


def test_pages_for_people() -> None:
    assert page_url(HubKind.HUGGINGFACE, "https://h.co", "a/b") == "https://h.co/a/b"
    assert page_url(HubKind.MODELSCOPE, "https://m.cn", "a/b") == "https://m.cn/models/a/b"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://HuggingFace.co/a?b#c", "https://huggingface.co"),
        ("https://huggingface.co:443/a", "https://huggingface.co"),
        ("https://huggingface.co:8443/a", "https://huggingface.co:8443"),
        ("http://huggingface.co/a", "http://huggingface.co"),
        ("https://user:pw@huggingface.co/a", "https://huggingface.co"),
        ("http://[::1]:80/", "http://[::1]"),
    ],
)
def test_origins(url: str, origin: str) -> None:
    assert origin_of(url) == origin
