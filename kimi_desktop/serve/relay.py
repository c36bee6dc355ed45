"""The engine's side of the gateway: one HTTP client, re-targeted when the engine restarts.

Runs in the gateway's process. The engine's key is known here and to the engine, to nobody else.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from kimi_desktop.backends.attached.http import server_http, without
from kimi_desktop.serve.policy import MAX_ANSWER_TOKENS, RefusedError

CONNECT_TIMEOUT_S = 5.0
WRITE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Target:
    """The engine that answers now."""

    socket_path: str | None
    port: int | None
    api_key: str = field(repr=False)
    model: str
    """Its name for the model, which clients see too."""
    max_tokens: int = MAX_ANSWER_TOKENS
    slots: int = 1
    """Requests that it answers at the same time."""
    url: str = ""
    """Of the API of a server that is not ours; "" = an engine of this app."""

    @property
    def is_ours(self) -> bool:
        """An engine of this app."""
        return not self.url

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Target:
        """As the app sends it."""
        return cls(
            raw.get("socket_path"),
            raw.get("port"),
            str(raw["api_key"]),
            str(raw["model"]),
            min(int(raw.get("max_tokens") or MAX_ANSWER_TOKENS), MAX_ANSWER_TOKENS),
            max(int(raw.get("slots") or 1), 1),
            str(raw.get("url") or ""),
        )


class Relay:
    """Sends checked requests to the engine that is set."""

    def __init__(self) -> None:
        self.target: Target | None = None
        self._http: httpx.AsyncClient | None = None

    async def set_target(self, target: Target | None) -> None:
        """Another engine, or none; what still streams from the old one ends with it."""
        old, self._http, self.target = self._http, None, target
        if target is not None:
            self._http = _client(target)
        if old is not None:
            await old.aclose()

    def models(self) -> bytes:
        """What /v1/models answers: the one model that is loaded, or none."""
        data = [_shown(self.target.model)] if self.target is not None else []
        return json.dumps({"object": "list", "data": data}).encode()

    def model(self, name: str) -> bytes:
        """What /v1/models/NAME answers.

        Raises:
            RefusedError: 404, it is not the one that is loaded.
        """
        if self.target is None or name != self.target.model:
            raise RefusedError(404, "This model is not loaded.", code="model_not_found")
        return json.dumps(_shown(name)).encode()

    def post(self, path: str, body: bytes) -> AbstractAsyncContextManager[httpx.Response]:
        """Open a request to one of its addresses; leaving the context ends it in the engine too.

        Raises:
            RefusedError: 503, no engine is ready.
        """
        if self._http is None or self.target is None:
            raise no_model()
        return _opened(self._http, path if self.target.is_ours else path.removeprefix("/v1"), body)


def _shown(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "local"}


def _client(target: Target) -> httpx.AsyncClient:
    # No limit on reading: a large prompt may take minutes to the first token.
    timeout = httpx.Timeout(None, connect=CONNECT_TIMEOUT_S, write=WRITE_TIMEOUT_S)
    if not target.is_ours:
        http = server_http(target.url, target.api_key)
        http.timeout = timeout
        return http
    # A connection for each request: llama.cpp closes kept ones without a word (after a stream at
    # once), and a request that meets that would fail for no reason.
    limits = httpx.Limits(max_keepalive_connections=0)
    port = f":{target.port}" if target.port else ""
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1{port}",
        headers={"Authorization": f"Bearer {target.api_key}", "Accept-Encoding": "identity"},
        transport=httpx.AsyncHTTPTransport(uds=target.socket_path, limits=limits, trust_env=False),
        timeout=timeout,
        trust_env=False,
    )


@asynccontextmanager
async def _opened(http: httpx.AsyncClient, path: str, body: bytes) -> AsyncIterator[httpx.Response]:
    try:
        async with http.stream(
            "POST",
            path,
            content=body,
            headers={"Content-Type": "application/json"},
        ) as response:
            yield response
    except httpx.ConnectError:
        raise no_model() from None


def shown_error(target: Target, status: int, body: bytes) -> bytes:
    """What a client sees of an answer that is not 200; never our key for somebody else's server.

    Raises:
        RefusedError: 502, what went wrong is between the app and that server.
    """
    if target.is_ours:
        return body
    if status in (401, 403):
        raise RefusedError(
            502,
            "The server behind this address does not accept the app's key.",
            kind="server_error",
        )
    if status < 400:
        raise RefusedError(502, "The server behind this address has moved.", kind="server_error")
    return without(target.api_key, body.decode("utf-8", "replace")).encode()


def no_model() -> RefusedError:
    """503: nothing is loaded, or the engine is gone."""
    return RefusedError(
        503, "No model is loaded at the moment.", kind="unavailable_error", code="no_model"
    )
