"""Addresses of servers as people write them, and OLLAMA_HOST."""

from __future__ import annotations

import pytest

from kimi_desktop.backends.attached.addresses import api_url, ollama_url, places_of, root_of
from kimi_desktop.base.errors import BackendError, ErrorCode


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("http://192.168.1.5:8000/v1", "http://192.168.1.5:8000/v1"),
        (" http://192.168.1.5:8000/v1/ ", "http://192.168.1.5:8000/v1"),
        ("http://h.local:8000/v1/chat/completions", "http://h.local:8000/v1"),
        ("https://API.example.com:443/v1/models", "https://api.example.com/v1"),
        ("localhost:1234", "http://localhost:1234"),
        ("10.0.0.7", "http://10.0.0.7"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("https://example.com/api/openai/v1", "https://example.com/api/openai/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
    ],
)
def test_what_is_meant(written: str, url: str) -> None:
    assert api_url(written) == url


@pytest.mark.parametrize(
    "written",
    [
        "", "http://", "ftp://x/v1", "http://x:99999/v1", "http://x/v1?api_key=secret",
        "http://ada:secret@x/v1", "http://a b/v1", "http://x/v1#k", "file:///etc/passwd",
        "http://x/" + "y" * 3000,
    ],
)  # fmt: skip
def test_what_is_refused_shows_no_secret(written: str) -> None:
    with pytest.raises(BackendError) as caught:
        api_url(written)
    assert caught.value.code is ErrorCode.SERVER_BAD_ADDRESS
    assert "secret" not in str(caught.value)


def test_where_it_is_asked() -> None:
    assert places_of("http://h:1/v1") == ("http://h:1/v1", "")
    assert places_of("http://h:1") == ("http://h:1/v1", "http://h:1")
    assert places_of("http://h/api") == ("http://h/api", "http://h/api/v1")


def test_the_root_is_above_v1() -> None:
    assert root_of("http://x:1/v1") == "http://x:1"
    assert root_of("http://x:1/api") == "http://x:1/api"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:11500", "http://127.0.0.1:11500/v1"),
        (":11500", "http://127.0.0.1:11500/v1"),
        ("192.168.1.5", "http://192.168.1.5:11434/v1"),
        ("'192.168.1.5:80'", "http://192.168.1.5:80/v1"),
        ("http://gpu.local", "http://gpu.local:80/v1"),
        ("https://gpu.local/ollama/", "https://gpu.local:443/ollama/v1"),
        ("[::1]:11434", "http://[::1]:11434/v1"),
        ("host:no", "http://127.0.0.1:11434/v1"),
    ],
)
def test_where_ollama_listens(host: str, url: str) -> None:
    assert ollama_url(host) == url
