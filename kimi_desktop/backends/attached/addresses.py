"""Addresses of other servers, as people write them. Pure."""

from __future__ import annotations

import urllib.parse

from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.hosts import is_private

OLLAMA_PORT = 11434
LONGEST = 2000
_ROUTES = ("/chat/completions", "/completions", "/embeddings", "/models")


def api_url(text: str) -> str:
    """The address of an API: scheme, host, port and path, no slash at the end.

    Without a scheme it is https, on one's own network http. What people copy from examples (the
    address of one of its routes) is cut off.

    Raises:
        BackendError: SERVER_BAD_ADDRESS.
    """
    written = text.strip()
    shown = written if "@" not in written else written.rpartition("@")[2]
    bad = BackendError(ErrorCode.SERVER_BAD_ADDRESS, {"url": shown.partition("?")[0][:200]})
    if "//" not in written:
        host = urllib.parse.urlsplit(f"//{written}").hostname if written else None
        written = f"{'http' if host and is_private(host) else 'https'}://{written}"
    try:
        parts = urllib.parse.urlsplit(written)
        port = parts.port
    except ValueError:
        raise bad from None
    host = (parts.hostname or "").lower()
    tidy = host and not any(letter.isspace() or not letter.isprintable() for letter in written)
    extras = parts.username is not None or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not tidy or extras or len(written) > LONGEST:
        raise bad
    path = parts.path.rstrip("/")
    for route in _ROUTES:
        path = path.removesuffix(route)
    host = f"[{host}]" if ":" in host else host
    usual = {"https": 443, "http": 80}[parts.scheme]
    where = host if port in (None, usual) else f"{host}:{port}"
    return f"{parts.scheme}://{where}{path.rstrip('/')}"


def places_of(url: str) -> tuple[str, str]:
    """Where an API may be by what was typed: the likelier place, and another one or "".

    A host alone means its /v1, also where the program answers above it, too (llama.cpp does).
    """
    if url.endswith("/v1"):
        return url, ""
    below = f"{url}/v1"
    return (url, below) if urllib.parse.urlsplit(url).path else (below, url)


def root_of(url: str) -> str:
    """What stands above its /v1: where servers have their own routes."""
    return url.removesuffix("/v1")


def ollama_url(host: str) -> str:
    """Where Ollama's API is.

    Args:
        host: OLLAMA_HOST: "", "0.0.0.0", ":11435", "192.168.1.5:11434", "https://...". Where a
            server listens on every address it is asked on this computer's own.
    """
    text = host.strip().strip("\"'")
    scheme, given, rest = text.rpartition("://")
    scheme = scheme or "http"
    place, _, path = rest.partition("/")
    try:
        parts = urllib.parse.urlsplit(f"//{place}")
        name, port = parts.hostname or "", parts.port
    except ValueError:
        name, port = "", None
    if name in ("", "0.0.0.0", "::"):
        name = "127.0.0.1"
    usual = {"http": 80, "https": 443}.get(scheme, OLLAMA_PORT) if given else OLLAMA_PORT
    name = f"[{name}]" if ":" in name else name
    path = f"/{path.strip('/')}" if path.strip("/") else ""
    return f"{scheme}://{name}:{port or usual}{path}/v1"
