"""Redirect and proxy rules, without a network."""

from __future__ import annotations

import http.client
import ssl
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kimi_desktop.downloads import transport
from kimi_desktop.downloads.transport import (
    certificate_problem,
    is_offline,
    is_private,
    open_range,
    tls_context,
)
from tests.support.hub.content import HubFile
from tests.support.hub.faults import redirect
from tests.support.hub.repos import Account
from tests.support.hub.server import LocalHub


def split(url: str) -> urllib.parse.SplitResult:
    return urllib.parse.urlsplit(url)


@pytest.mark.parametrize(
    ("origin", "target", "followed"),
    [
        ("https://huggingface.co/x", "https://us.aws.cdn.hf.co/y", True),
        ("https://huggingface.co/x", "http://us.aws.cdn.hf.co/y", False),
        ("https://huggingface.co/x", "https://192.168.0.1/y", False),
        ("https://huggingface.co/x", "https://127.0.0.1/y", False),
        ("https://huggingface.co/x", "https://[::1]/y", False),
        ("https://huggingface.co/x", "https://169.254.169.254/y", False),
        ("https://huggingface.co/x", "https://localhost/y", False),
        ("https://huggingface.co/x", "https://user:pass@hf.co/y", False),
        ("https://huggingface.co/x", "file:///etc/passwd", False),
        ("http://127.0.0.1:5000/x", "http://localhost:5001/y", True),
        ("https://127.0.0.1/x", "http://127.0.0.1/y", False),
    ],
)
def test_which_redirects_are_followed(origin: str, target: str, followed: bool) -> None:
    assert transport._may_follow(split(origin), split(target)) is followed


@pytest.mark.parametrize(
    ("host", "private"),
    [
        (None, True), ("", True), ("localhost", True), ("hub.local", True), ("10.1.2.3", True),
        ("::1", True), ("fe80::1", True), ("huggingface.co", False), ("8.8.8.8", False),
    ],
)  # fmt: skip
def test_private_hosts(host: str | None, private: bool) -> None:
    assert is_private(host) is private


def test_certificates_are_always_verified() -> None:
    context = tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.cert_store_stats()["x509_ca"] > 0


def test_an_empty_system_store_gets_certifi(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda: empty)
    tls_context.cache_clear()
    try:
        assert tls_context().cert_store_stats()["x509_ca"] > 0
    finally:
        tls_context.cache_clear()


def test_which_errors_mean_offline() -> None:
    assert is_offline(ConnectionRefusedError())
    assert is_offline(OSError(101, "Network is unreachable"))
    assert not is_offline(ConnectionResetError())
    assert not is_offline(http.client.BadStatusLine("x"))


def test_certificate_problems_are_found_behind_others() -> None:
    problem = ssl.SSLCertVerificationError(1, "certificate verify failed")
    outer = RuntimeError("outer")
    outer.__cause__ = problem
    assert "certificate verify failed" in (certificate_problem(outer) or "")
    assert certificate_problem(RuntimeError()) is None


def test_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    proxies = {"https": "http://me:p%40ss@proxy.example:3128", "http": "proxy.example:8080"}
    monkeypatch.setattr(transport.urllib.request, "getproxies", lambda: proxies)
    monkeypatch.setattr(transport.urllib.request, "proxy_bypass", lambda host: host == "skip.me")
    connection, target = transport._connect(split("https://huggingface.co/a?b=c"))
    assert isinstance(connection, http.client.HTTPSConnection)
    assert (connection.host, connection.port, target) == ("proxy.example", 3128, "/a?b=c")
    assert connection._tunnel_host == "huggingface.co"  # type: ignore[attr-defined]
    headers = connection._tunnel_headers  # type: ignore[attr-defined]
    assert headers["Proxy-Authorization"] == "Basic bWU6cEBzcw=="
    connection, target = transport._connect(split("http://hub.example/a"))
    assert (connection.host, connection.port) == ("proxy.example", 8080)
    assert target == "http://hub.example/a"
    for direct in ("https://skip.me/a", "http://127.0.0.1:9/a"):
        connection, target = transport._connect(split(direct))
        assert connection.host == split(direct).hostname
    monkeypatch.setattr(transport.urllib.request, "getproxies", dict)
    connection, _ = transport._connect(split("https://huggingface.co/a"))
    assert (connection.host, connection.port) == ("huggingface.co", 443)


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
                assert answer.content_range == transport.ContentRange(5, 9, 10)
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
