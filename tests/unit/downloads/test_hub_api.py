"""What hubs say about a file, and what is made of nonsense."""

from __future__ import annotations

import json
import socket
import ssl

import httpx
import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads import hub_api
from kimi_desktop.downloads.hub_api import find_file
from kimi_desktop.downloads.types import HubKind, Source
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.server import LocalHub


def failed(source: Source) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        find_file(source)
    for language in Language:
        assert all(describe_error(caught.value, language))
    return caught.value


def test_hugging_face_pins_the_commit(hub: LocalHub, source: Source) -> None:
    found = find_file(source)
    file = hub.file(source.path)
    assert file is not None
    assert found.size_bytes == file.length
    assert found.sha256 == file.sha256
    assert found.url == f"{hub.endpoint}/{source.repo}/resolve/{hub.commit}/{source.path}"


def test_long_listings_have_pages(hub: LocalHub, source: Source) -> None:
    hub.page_entries = 1
    assert find_file(source).size_bytes > 0
    assert len(hub.requests("hub", "/tree/")) == 2


def test_modelscope(hub: LocalHub, modelscope: Source) -> None:
    found = find_file(modelscope)
    file = hub.file(modelscope.path)
    assert file is not None
    assert (found.size_bytes, found.sha256) == (file.length, file.sha256)
    assert "FilePath=small-Q8_0.gguf" in found.url


def test_modelscope_folders(hub: LocalHub) -> None:
    source = Source(HubKind.MODELSCOPE, hub.endpoint, hub.repo, "master", "sub/other.gguf")
    assert find_file(source).size_bytes == 1000


@pytest.mark.parametrize("kind", list(HubKind))
def test_what_is_not_there(hub: LocalHub, kind: HubKind) -> None:
    error = failed(Source(kind, hub.endpoint, hub.repo, "main", "none.gguf"))
    assert error.code is ErrorCode.DOWNLOAD_NOT_FOUND
    assert error.params["file"] == "none.gguf"
    gone = failed(Source(kind, hub.endpoint, "org/none", "main", "none.gguf"))
    assert gone.code is ErrorCode.DOWNLOAD_NOT_FOUND


def test_modelscope_says_no_in_the_body(hub: LocalHub, modelscope: Source) -> None:
    hub.faults.add("/repo/files", Fault(body=b'{"Code": 404, "Success": false}'))
    assert failed(modelscope).code is ErrorCode.DOWNLOAD_NOT_FOUND


def test_a_small_git_file_has_no_sha256(hub: LocalHub) -> None:
    error = failed(Source(HubKind.HUGGINGFACE, hub.endpoint, hub.repo, "main", "README.md"))
    assert error.code is ErrorCode.DOWNLOAD_BAD_LISTING


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        error = failed(Source(HubKind.HUGGINGFACE, endpoint, "a/b", "main", "c"))
    assert error.code is ErrorCode.DOWNLOAD_OFFLINE
    assert error.params["host"] == "127.0.0.1"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(body=b"<html>Please sign in</html>", headers=(("Content-Type", "text/html"),)),
        Fault(body=b"  <!DOCTYPE html>"),
        Fault(status=302, body=b"", headers=(("Location", "http://portal.example/login"),)),
        Fault(status=404, body=b"<html>", headers=(("Content-Type", "text/html"),)),
    ],
)
def test_captive_portals(hub: LocalHub, source: Source, modelscope: Source, fault: Fault) -> None:
    hub.faults.add("/api/", fault)
    assert failed(source).code is ErrorCode.DOWNLOAD_PORTAL
    assert failed(modelscope).code is ErrorCode.DOWNLOAD_PORTAL


@pytest.mark.parametrize("status", [400, 401, 403])
def test_closed_doors(hub: LocalHub, source: Source, status: int) -> None:
    hub.faults.add("/revision/", Fault(status=status))
    error = failed(source)
    assert error.code is ErrorCode.DOWNLOAD_REFUSED
    assert error.params["detail"] == f"HTTP {status}"


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_hubs_are_asked_again(hub: LocalHub, source: Source, status: int) -> None:
    retry = (("RateLimit", '"api";r=0;t=55'), ("Retry-After", "7"))
    hub.faults.add("/revision/", Fault(status=status, headers=retry), requests=(1, 2))
    assert find_file(source).size_bytes > 0
    hub.faults.clear()
    hub.faults.add("/revision/", Fault(status=status))
    assert failed(source).code is ErrorCode.DOWNLOAD_REFUSED
    assert len(hub.requests("hub", "/revision/")) == 3 + hub_api.ATTEMPTS


def _tree(**entry: object) -> bytes:
    return json.dumps([{"type": "file", "path": "small-Q8_0.gguf", **entry}]).encode()


@pytest.mark.parametrize(
    ("pattern", "body"),
    [
        ("/revision/", b"not json"),
        ("/revision/", b"[]"),
        ("/revision/", b'{"sha": "main"}'),
        ("/tree/", b'{"error": 1}'),
        ("/tree/", b"[" * 100_000),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": -1})),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": 0})),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": True})),
        ("/tree/", _tree(lfs={"oid": "ab" * 32, "size": 2**60})),
        ("/tree/", _tree(lfs={"oid": "../../etc", "size": 10})),
        ("/tree/", _tree(lfs={"size": 10})),
        ("/tree/", _tree(lfs={"oid": hub_api._EMPTY_SHA256, "size": 10})),
        ("/tree/", _tree()),
    ],
)
def test_listings_that_make_no_sense(
    hub: LocalHub, source: Source, pattern: str, body: bytes
) -> None:
    hub.faults.add(pattern, Fault(body=body))
    assert failed(source).code is ErrorCode.DOWNLOAD_BAD_LISTING


def test_modelscope_listings_that_make_no_sense(hub: LocalHub, modelscope: Source) -> None:
    for data in ({}, {"Files": None}, {"Files": [{"Path": "small-Q8_0.gguf", "Size": 5}]}, None):
        hub.faults.clear()
        body = json.dumps({"Success": True, "Data": data}).encode()
        hub.faults.add("/repo/files", Fault(body=body))
        assert failed(modelscope).code is ErrorCode.DOWNLOAD_BAD_LISTING


def test_endless_and_foreign_pages(
    hub: LocalHub, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_api, "MAX_PAGES", 3)
    again = f'<{hub.endpoint}/api/models/{hub.repo}/tree/main?x>; rel="next"'
    hub.faults.add("/tree/", Fault(body=b"[]", headers=(("Link", again),)))
    assert failed(source).params["detail"] == "pages"
    hub.faults.clear()
    elsewhere = '<http://evil.example/api>; rel="next"'
    hub.faults.add("/tree/", Fault(body=b"[]", headers=(("Link", elsewhere),)))
    assert failed(source).params["detail"] == "Link"


def test_endless_bodies(hub: LocalHub, source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_api, "MAX_BODY_BYTES", 1000)
    hub.files += [HubFile(f"{number}.gguf", 10) for number in range(100)]
    assert failed(source).params["detail"] == "length"


def test_a_certificate_that_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        reason = ssl.SSLCertVerificationError(1, "certificate verify failed")
        raise httpx.ConnectError("TLS") from reason

    monkeypatch.setattr(httpx.Client, "stream", refuse)
    error = failed(Source(HubKind.HUGGINGFACE, "https://hub.example", "a/b", "main", "c"))
    assert error.code is ErrorCode.DOWNLOAD_REFUSED
    assert "certificate" in str(error.params["detail"])
