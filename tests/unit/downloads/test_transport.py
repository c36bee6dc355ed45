"""Redirect and proxy rules, without a network."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.parse

import pytest

from kimi_desktop.base.hosts import is_private
from kimi_desktop.base.tls import certificate_problem, tls_context
from kimi_desktop.downloads import transport
from kimi_desktop.downloads.transport import is_offline


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
    assert transport.may_follow(split(origin), split(target)) is followed


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
    link = transport.connect(url := "https://huggingface.co/a?b=c")
    connection = link.connection
    assert isinstance(connection, http.client.HTTPSConnection)
    assert (connection.host, connection.port) == ("proxy.example", 3128)
    assert link.target(url) == "/a?b=c"
    assert connection._tunnel_host == "huggingface.co"  # type: ignore[attr-defined]
    headers = connection._tunnel_headers  # type: ignore[attr-defined]
    assert headers["Proxy-Authorization"] == "Basic bWU6cEBzcw=="
    link = transport.connect(url := "http://hub.example/a")
    assert (link.connection.host, link.connection.port) == ("proxy.example", 8080)
    assert link.target(url) == url
    for direct in ("https://skip.me/a", "http://127.0.0.1:9/a"):
        assert transport.connect(direct).connection.host == split(direct).hostname
    monkeypatch.setattr(transport.urllib.request, "getproxies", dict)
    link = transport.connect("https://huggingface.co/a")
    assert (link.connection.host, link.connection.port) == ("huggingface.co", 443)


def test_all_edges_of_a_host_get_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    v6, v4 = socket.AF_INET6, socket.AF_INET
    addresses = [(v6, f"::{n}") for n in (1, 2)] + [(v4, f"10.0.0.{n}") for n in (1, 2, 3)]
    found = [(family, socket.SOCK_STREAM, 6, "", (name, 443)) for family, name in addresses]
    tried: list[str] = []

    class Socket:
        def __init__(self, _family: int, _kind: int, _protocol: int) -> None:
            pass

        def settimeout(self, _seconds: float) -> None:
            pass

        def connect(self, place: tuple[str, int]) -> None:
            tried.append(place[0])
            raise ConnectionRefusedError(place[0])

        def close(self) -> None:
            pass

    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: list(found))
    monkeypatch.setattr(socket, "socket", Socket)
    firsts = set()
    for _ in range(60):
        tried.clear()
        with pytest.raises(ConnectionRefusedError):
            transport._connect_to_any(("hub.example", 443), 1.0)
        assert sorted(tried[:2]) == ["::1", "::2"]  # the system's order of families holds
        assert sorted(tried[2:]) == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        firsts.add(tried[0])
    assert firsts == {"::1", "::2"}
