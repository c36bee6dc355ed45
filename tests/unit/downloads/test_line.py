"""Ranged requests over kept connections, against the local hub."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads import line as lines
from kimi_desktop.downloads.line import AbortedError, ContentRange, Line, lifetime_s, open_range
from tests.support.hub.content import HubFile
from tests.support.hub.faults import Fault, expired_signature, redirect
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub

BIG = "big.gguf"


@pytest.fixture
def hub() -> Iterator[LocalHub]:
    with LocalHub("org/model", [HubFile(BIG, 10**6), HubFile("c", 9, lfs=False)]) as running:
        yield running


def url_of(hub: LocalHub, path: str = BIG) -> str:
    return f"{hub.endpoint}/org/model/resolve/main/{path}"


def take(line: Line, url: str, start: int, end: int) -> bytes:
    buffer = memoryview(bytearray(10**6))
    out = b""
    with line.ask(url, start, end) as answer:
        assert answer.status == 206
        while count := answer.readinto(buffer):
            out += buffer[:count]
    return out


def test_a_kept_connection_is_used_again_and_its_signed_address_too(hub: LocalHub) -> None:
    file = hub.files[0]
    line = Line()
    assert take(line, url_of(hub), 0, 99_999) == file.read(0, 100_000)
    assert take(line, url_of(hub), 500_000, 599_999) == file.read(500_000, 100_000)
    assert len(hub.requests("hub")) == 1
    assert len(hub.requests("cdn")) == 2
    line.close()


def test_a_body_that_was_not_read_up_costs_the_connection_and_a_new_address(hub: LocalHub) -> None:
    line = Line()
    with line.ask(url_of(hub), 0, None) as answer:
        assert answer.readinto(memoryview(bytearray(10)))
    assert take(line, url_of(hub), 7, 9) == hub.files[0].read(7, 3)
    assert len(hub.requests("hub")) == 2
    line.close()


def test_a_connection_that_the_server_closed_meanwhile_is_made_again(hub: LocalHub) -> None:
    line = Line()
    take(line, url_of(hub), 0, 9)
    with hub.offline():
        pass
    assert take(line, url_of(hub), 10, 19) == hub.files[0].read(10, 10)
    line.close()


def test_the_hub_describes_the_file_in_its_redirect(hub: LocalHub) -> None:
    line = Line()
    for start in (0, 10):  # also over the kept connection
        with line.ask(url_of(hub), start, start + 9) as answer:
            assert answer.linked_sha256 == hub.files[0].sha256
            answer.readinto(memoryview(bytearray(10)))
    with line.ask(url_of(hub, "c"), 0, 8) as answer:
        assert answer.linked_sha256 is None
        assert answer.length == 9
    line.close()


def test_an_address_close_to_its_end_is_not_asked_again() -> None:
    with LocalHub("org/model", [HubFile(BIG, 1000)], signature_s=200.0) as hub:
        line = Line()
        for start in (0, 10):
            take(line, url_of(hub), start, start + 9)
        assert len(hub.requests("hub")) == 2
        line.close()


def test_a_refused_signature_is_the_callers_to_see_and_then_asked_anew(hub: LocalHub) -> None:
    line = Line()
    take(line, url_of(hub), 0, 9)
    hub.faults.add("xet-bridge", expired_signature(), requests=(1,))
    with line.ask(url_of(hub), 10, 19) as answer:
        assert answer.status == 403
    line.forget(url_of(hub))
    assert take(line, url_of(hub), 10, 19) == hub.files[0].read(10, 10)
    assert len(hub.requests("hub")) == 2
    line.close()


def test_abort_ends_a_read_in_another_thread(hub: LocalHub) -> None:
    hub.faults.add("xet-bridge", Fault(stall_s=60.0, stall_after=1000))
    line = Line()
    answer = line.ask(url_of(hub), 0, None)
    buffer = memoryview(bytearray(2**20))
    caught: list[BaseException] = []

    def read() -> None:
        try:
            while answer.readinto(buffer):
                pass
        except OSError as error:
            caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    while not hub.requests("cdn"):
        time.sleep(0.01)
    line.abort()
    thread.join(30)
    assert isinstance(caught[0], AbortedError)
    with pytest.raises(AbortedError):
        answer.readinto(buffer)
    answer.close()
    hub.faults.clear()
    assert take(line, url_of(hub), 0, 9) == hub.files[0].read(0, 10)
    line.close()


def test_redirects_end_after_five(hub: LocalHub) -> None:
    hub.faults.add("/resolve/", redirect(url_of(hub)), origin="hub")
    with pytest.raises(DownloadError) as caught:
        open_range(url_of(hub), 0)
    assert caught.value.code is ErrorCode.DOWNLOAD_REDIRECT
    assert len(hub.requests("hub")) == lines.MAX_REDIRECTS + 1


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://x/y", "", "http://u:p@h/"])
def test_redirects_to_bad_places_are_not_followed(hub: LocalHub, location: str) -> None:
    hub.faults.add("/resolve/", redirect(location), origin="hub")
    with pytest.raises(DownloadError) as caught:
        open_range(url_of(hub), 0)
    assert caught.value.code is ErrorCode.DOWNLOAD_REDIRECT
    said = " ".join(describe_error(caught.value, Language.EN))
    assert "u:p" not in said
    assert "licence" not in said


def test_how_long_an_address_may_be_asked() -> None:
    server_now = 1_900_000_000
    date = formatdate(server_now, usegmt=True)
    margin = lines.SIGNATURE_MARGIN_S
    assert lifetime_s(f"https://h/x?Expires={server_now + 3600}", date) == 3600 - margin
    assert lifetime_s("https://h/x", date) == lines.UNDATED_SIGNATURE_S
    assert lifetime_s("https://h/x?Expires=soon", None) == lines.UNDATED_SIGNATURE_S
    here = lifetime_s(f"https://h/x?Expires={int(time.time()) + 3600}", None)
    assert 3000 < here <= 3600 - margin


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = (self.headers.get("Range") or "").encode()
        self.send_response(206)
        self.send_header("Content-Range", "bytes 5-9/10")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        pass


def test_ranges_are_asked_for_as_given() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/file?x=y#part"
        for end, wanted in ((9, b"bytes=5-9"), (None, b"bytes=5-")):
            with open_range(url, 5, end) as answer:
                buffer = memoryview(bytearray(100))
                count = answer.readinto(buffer)
                assert bytes(buffer[:count]) == wanted
                assert answer.content_range == ContentRange(5, 9, 10)
                assert answer.total_of_416 is None
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_token_never_leaves_its_origin() -> None:
    with LocalHub("org/model", [HubFile("big.gguf", 10**5), HubFile("c", 9, lfs=False)]) as hub:
        hub.accounts["hf_secret"] = Account("ada")
        for path in ("big.gguf", "c"):
            url = f"{hub.endpoint}/org/model/resolve/main/{path}"
            with open_range(url, 0, token="hf_secret") as answer:
                assert answer.status == 206
        assert [r.token for r in hub.requests("cdn")] == [None]
        assert {r.token for r in hub.requests("hub")} == {"Bearer hf_secret"}  # also redirected


def test_a_token_does_not_come_back_from_a_detour() -> None:
    with LocalHub("org/model", [HubFile("big.gguf", 10)]) as hub:
        back = f"{hub.mirror}/org/model/resolve/main/big.gguf"
        hub.faults.add("/resolve/", redirect(back), origin="hub")
        hub.accounts["hf_secret"] = Account("ada")
        url = f"{hub.endpoint}/org/model/resolve/main/big.gguf"
        with open_range(url, 0, token="hf_secret") as answer:
            assert answer.status == 206
        assert {r.token for r in hub.requests("mirror")} == {None}
