"""Headers over HTTP ranges: what they cost and how they fail."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, ModelError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads import remote_header
from kimi_desktop.downloads.remote_header import HEAD_BYTES, RemoteSource, read_remote_header
from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.gguf import LeftInFile, read_header
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import (
    LLAMA_TENSORS,
    Typed,
    data_bytes,
    header_bytes,
    llama_metadata,
)
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault
from tests.support.hub.large_models import split_model
from tests.support.hub.server import LocalHub
from tests.support.measured import model_facts

REPO = "org/model"
VOCABULARY = {
    "tokenizer.ggml.tokens": [f"token number {number}" for number in range(100_000)],
    "tokenizer.ggml.scores": [0.0] * 100_000,
}


def part(number: int, parts: int) -> bytes:
    metadata: dict[str, object] = dict(llama_metadata() | VOCABULARY) if number == 0 else {}
    metadata |= {"split.no": Typed("H", number), "split.count": Typed("H", parts)}
    tensors = [(f"blk.{number}.{name}", shape, kind) for name, shape, kind in LLAMA_TENSORS]
    return header_bytes(metadata, tensors) + bytes(data_bytes(tensors))


@pytest.fixture(scope="module")
def hub() -> Iterator[LocalHub]:
    files = [
        HubFile(f"m-{number + 1:05}-of-00003.gguf", content=part(number, 3)) for number in range(3)
    ]
    with LocalHub(REPO, [*files, HubFile("noise.gguf", 10**6)]) as running:
        yield running


@pytest.fixture(autouse=True)
def clean(hub: LocalHub) -> Iterator[None]:
    yield
    hub.faults.clear()
    hub.log.clear()


def url(hub: LocalHub, number: int) -> str:
    return f"{hub.endpoint}/{REPO}/resolve/{hub.commit}/m-{number + 1:05}-of-00003.gguf"


def test_a_header_is_the_same_as_from_a_file(hub: LocalHub) -> None:
    header = read_remote_header(url(hub, 0))
    file = hub.files[0]
    assert header.metadata["tokenizer.ggml.tokens"] == LeftInFile(100_000)
    assert header.text("general.name") == "Tiny Llama"
    assert len(header.tensors) == len(LLAMA_TENSORS)
    assert header.size_bytes == file.length
    assert header.expected_bytes <= file.length


def test_later_parts_cost_one_small_request(hub: LocalHub) -> None:
    with RemoteSource(url(hub, 1)) as source:
        assert source.size_bytes == hub.files[1].length
    read_remote_header(url(hub, 2))
    assert len(hub.requests("cdn")) == 2
    assert len(hub.requests("hub")) == 2
    assert {request.range for request in hub.requests("cdn")} == {f"bytes=0-{HEAD_BYTES - 1}"}


def test_the_first_part_costs_one_more(hub: LocalHub) -> None:
    with RemoteSource(url(hub, 0)) as source:
        header = read_header(source, label="m")
        assert source.requests == 2
        assert source.bytes_read < header.data_offset + 2 * HEAD_BYTES
    assert len(hub.requests("cdn")) == 2
    assert len(hub.requests("hub")) == 1  # the signed address is used twice


def test_what_is_not_a_model_is_said(hub: LocalHub) -> None:
    noise = f"{hub.endpoint}/{REPO}/resolve/{hub.commit}/noise.gguf"
    with pytest.raises(ModelError) as caught:
        read_remote_header(noise, label="noise.gguf")
    assert caught.value.code is ErrorCode.MODEL_NOT_GGUF
    assert caught.value.params["path"] == "noise.gguf"


@pytest.mark.parametrize(
    ("pattern", "fault", "code"),
    [
        ("/resolve/", Fault(status=404), ErrorCode.DOWNLOAD_NOT_FOUND),
        ("xet", Fault(status=403), ErrorCode.DOWNLOAD_REFUSED),
        ("xet", Fault(status=500), ErrorCode.HUB_TROUBLE),
        ("xet", Fault(status=503), ErrorCode.HUB_TROUBLE),
        ("xet", Fault(status=429), ErrorCode.HUB_BUSY),
        ("xet", Fault(status=416), ErrorCode.DOWNLOAD_BROKEN),
        (
            "xet",
            Fault(body=b"<html>", headers=(("Content-Type", "text/html"),)),
            ErrorCode.DOWNLOAD_PORTAL,
        ),
        ("xet", Fault(ignore_range=True), ErrorCode.DOWNLOAD_BROKEN),
        ("xet", Fault(shift=5), ErrorCode.DOWNLOAD_BROKEN),
        ("xet", Fault(headers=(("Content-Encoding", "gzip"),)), ErrorCode.DOWNLOAD_BROKEN),
        ("xet", Fault(cut_after=100), ErrorCode.DOWNLOAD_BROKEN),
    ],
)
def test_failures_have_a_code(hub: LocalHub, pattern: str, fault: Fault, code: ErrorCode) -> None:
    hub.faults.add(pattern, fault)
    with pytest.raises(DownloadError) as caught:
        read_remote_header(url(hub, 0))
    assert caught.value.code is code
    for language in Language:
        what, then = describe_error(caught.value, language)
        assert "{" not in what + then
        assert ("licence" in then) is (code is ErrorCode.DOWNLOAD_REFUSED and language == "en")


@pytest.mark.parametrize("fault", [Fault(total=99), Fault(cut_after=10), Fault(status=500)])
def test_failures_on_the_second_request(hub: LocalHub, fault: Fault) -> None:
    hub.faults.add("xet", fault, requests=(2,))
    with pytest.raises(DownloadError):
        read_remote_header(url(hub, 0))


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(DownloadError) as caught:
            read_remote_header(f"http://127.0.0.1:{taken.getsockname()[1]}/m.gguf")
    assert caught.value.code is ErrorCode.DOWNLOAD_OFFLINE


def test_far_jumps_are_a_new_request(hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_header, "MAX_DRAIN_BYTES", 1000)
    with RemoteSource(url(hub, 0)) as source:
        content = hub.files[0].content
        assert content is not None
        for offset, length in ((10, 20), (65_530, 100), (66_000, 50), (500_000, 40), (70_000, 9)):
            assert source.read(offset, length) == content[offset : offset + length]
        assert source.requests == 4


def test_a_trillion_parameters_for_a_few_megabytes() -> None:
    """Two requests per part of a 584 GB set, and hardly more than the bytes of its headers."""
    files = split_model("kimi-k2.6.q4_x", 14)
    with LocalHub("moonshot/kimi", files) as large:
        headers = []
        requests = bytes_read = 0
        for file in files:
            address = f"{large.endpoint}/moonshot/kimi/resolve/{large.commit}/{file.path}"
            with RemoteSource(address) as source:
                headers.append(read_header(source, label=file.path))
                requests += source.requests
                bytes_read += source.bytes_read
        assert len(large.requests("cdn")) == requests == 15
        assert len(large.requests("hub")) == 14
    facts = facts_of(headers, files[0].path, kv_bytes_per_token)
    assert facts.weights_bytes == model_facts("kimi-k2.6.q4_x").weights_bytes
    assert facts.parameter_count == 1_026_408_232_448
    assert facts.kv_bytes_per_token == 70_272
    needed = sum(header.data_offset for header in headers)
    assert bytes_read < needed + 15 * HEAD_BYTES
