"""Talks to an engine: one HTTP client per endpoint, streaming over a Unix socket or loopback TCP.

Lives on the IO thread. There is no limit on the time to the first token: a large prompt on a slow
machine takes minutes. Instead, when a stream has been silent for a while, the engine is asked
whether it is still there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kimi_desktop.backends.chat_stream import ChatStreamReader, request_body
from kimi_desktop.backends.sse import SseParser
from kimi_desktop.backends.types import ChatRequest, Delta, Endpoint
from kimi_desktop.base.errors import ChatError, ErrorCode, KimiError

if TYPE_CHECKING:
    import httpx

    from kimi_desktop.backends.engines.interface import Proof

CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 10.0
SILENCE_S = 60.0
"""llama.cpp sends a comment every 30 s while it works: two missed ones are worth a question."""
MAX_ERROR_BYTES = 65_536
_NONSENSE = (ValueError, TypeError, KeyError)
"""Of an answer that is not the JSON that was asked for."""


class EngineClient:
    """Requests to one running engine. Create and close it on the IO thread."""

    _chat_path = "/v1/chat/completions"

    def __init__(self, endpoint: Endpoint, *, silence_s: float = SILENCE_S) -> None:
        import httpx  # noqa: PLC0415 - 0.1 s that the first window does not wait for

        self._silence_s = silence_s
        self._errors: type[httpx.HTTPError] = httpx.HTTPError
        self._http = self._connected(endpoint)
        self._stream_timeout = httpx.Timeout(
            None, connect=CONNECT_TIMEOUT_S, write=ANSWER_TIMEOUT_S
        )

    def _connected(self, endpoint: Endpoint) -> httpx.AsyncClient:
        import httpx  # noqa: PLC0415 - see above

        socket_path = str(endpoint.socket_path) if endpoint.socket_path is not None else None
        host = "http://localhost" if socket_path else f"http://127.0.0.1:{endpoint.port}"
        return httpx.AsyncClient(
            base_url=host,
            headers={"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {},
            transport=httpx.AsyncHTTPTransport(
                uds=socket_path,
                verify=False,  # no TLS here, and loading certificates for it costs 30 ms
                # llama.cpp closes kept connections without a word (after a stream at once), and a
                # request that meets that would fail for no reason.
                limits=httpx.Limits(max_keepalive_connections=0),
                trust_env=False,
            ),
            timeout=httpx.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
            trust_env=False,
        )

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The answer in pieces; closing the generator ends it in the engine, too.

        Raises:
            ChatError: CHAT_NO_ENGINE (nobody listens), CHAT_TOO_LONG (with ``needed`` and
                ``context``), CHAT_REFUSED, CHAT_BAD_ANSWER, CHAT_CONNECTION_LOST (what came before
                was yielded).
        """
        reader = ChatStreamReader()
        parser = SseParser()
        heard = _Heard()
        try:
            async with self._http.stream(
                "POST",
                self._chat_path,
                json=self._body(request),
                timeout=self._stream_timeout,
            ) as response:
                heard.chunks = 1
                if response.status_code != 200:
                    beginning = await _beginning(response)
                    raise self._refusal(reader, response.status_code, beginning)
                async with self._watched(response, heard):
                    async for chunk in response.aiter_raw():
                        heard.chunks += 1
                        for event in parser.feed(chunk):
                            if (delta := reader.read(event)) is not None:
                                yield delta
                            if reader.done:
                                return
            reader.finish()
        except self._errors as error:
            detail = heard.silence or f"{type(error).__name__}: {error}"
            code = ErrorCode.CHAT_CONNECTION_LOST if heard.chunks else ErrorCode.CHAT_NO_ENGINE
            raise ChatError(code, {"detail": detail}, cause=error) from error

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        return request_body(request)

    def _refusal(self, reader: ChatStreamReader, status: int, body: bytes) -> KimiError:
        return reader.refusal(status, body)

    async def count_tokens(self, request: ChatRequest) -> int | None:
        """Tokens of the prompt, templates and all; None where the engine does not tell."""
        body = request_body(request)
        asked = {name: body[name] for name in ("messages", "chat_template_kwargs") if name in body}
        try:
            prompt = await self._http.post("/apply-template", json=asked)
            if prompt.status_code == 404:  # vLLM has one question for both
                whole = await self._http.post("/tokenize", json=asked)
                return int(whole.json()["count"]) if whole.status_code == 200 else None
            if prompt.status_code != 200:
                return None
            text = {"content": prompt.json()["prompt"], "add_special": True, "parse_special": True}
            counted = await self._http.post("/tokenize", json=text)
            return len(counted.json()["tokens"]) if counted.status_code == 200 else None
        except (*_NONSENSE, self._errors):
            return None

    async def is_healthy(self) -> bool:
        """/health says 200: the model is loaded and the server answers."""
        try:
            return (await self._http.get("/health")).status_code == 200
        except self._errors:
            return False

    async def proves_key(self, proof: Proof) -> bool:
        """A guarded route answers 200 with our key and 401 without: it is the engine we started."""
        asked = functools.partial(self._http.request, proof.method, proof.path, json=proof.body)
        try:
            ours = await asked()
            other = await asked(headers={"Authorization": "Bearer -"})
        except self._errors:
            return False
        return ours.status_code == 200 and other.status_code == 401

    async def models(self) -> tuple[Mapping[str, Any], ...]:
        """The ``data`` of /v1/models.

        Raises:
            ChatError: nobody listens, or it answers nonsense.
        """
        answer = json.loads(await self._get_text("/v1/models"))
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, list):
            raise ChatError(ErrorCode.CHAT_BAD_ANSWER, {"detail": "/v1/models"})
        return tuple(entry for entry in data if isinstance(entry, dict))

    async def metrics(self) -> dict[str, float]:
        """Prometheus samples without labels, by name (``llamacpp:requests_processing``).

        Raises:
            ChatError: nobody listens, or it answers nonsense.
        """
        samples: dict[str, float] = {}
        for line in (await self._get_text("/metrics")).splitlines():
            name, _, value = line.partition(" ")
            if name and not name.startswith("#"):
                with contextlib.suppress(ValueError):
                    samples[name] = float(value)
        return samples

    async def metrics_page(self) -> str:
        """/metrics as it is, for the engine to read.

        Raises:
            ChatError: nobody listens, or it has none.
        """
        return await self._get_text("/metrics")

    async def close(self) -> None:
        """Close every connection; open streams end."""
        await self._http.aclose()

    async def _get_text(self, path: str) -> str:
        try:
            response = await self._http.get(path)
        except self._errors as error:
            detail = f"{type(error).__name__}: {error}"
            raise ChatError(ErrorCode.CHAT_NO_ENGINE, {"detail": detail}, cause=error) from error
        if response.status_code != 200:
            detail = f"{path}: {response.status_code}"
            raise ChatError(ErrorCode.CHAT_BAD_ANSWER, {"detail": detail})
        return response.text

    @contextlib.asynccontextmanager
    async def _watched(self, response: httpx.Response, heard: _Heard) -> AsyncIterator[None]:
        """Close the response when the engine is silent and does not answer a question either."""
        # A task of its own, because a timeout around each read would cost 2 % of a core at
        # 2,000 tok/s and would break the read that it interrupts.
        loop = asyncio.get_running_loop()
        watch = loop.create_task(self._watch(response, heard), name="silence")
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.wait({watch})

    async def _watch(self, response: httpx.Response, heard: _Heard) -> None:
        before = -1
        while before != heard.chunks or await self.is_healthy():
            before = heard.chunks
            await asyncio.sleep(self._silence_s)
        heard.silence = f"{self._silence_s:g} s"
        with contextlib.suppress(self._errors):
            await response.aclose()


@dataclass(slots=True)
class _Heard:
    chunks: int = 0
    silence: str = ""
    """How long it had been silent, when that was the end."""


async def _beginning(response: httpx.Response) -> bytes:
    """At most 64 KiB of an error's body."""
    body = b""
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) >= MAX_ERROR_BYTES:
            break
    return body[:MAX_ERROR_BYTES]
