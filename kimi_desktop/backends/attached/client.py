"""Chats with a model on another server. IO thread.

Only what the OpenAI API has is sent, and what the program behind the address is known to add:
strict servers refuse a field that they do not know. A field that a model does not take (newer ones
of OpenAI have no ``max_tokens`` and one temperature) is left out when the server says so.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from kimi_desktop.backends.attached.addresses import root_of
from kimi_desktop.backends.attached.http import not_reached, refused, server_http, without
from kimi_desktop.backends.chat_stream import ChatStreamReader, request_body, unsupported_field
from kimi_desktop.backends.client import SILENCE_S, EngineClient
from kimi_desktop.backends.types import Attachment, ChatRequest, Delta, Endpoint, ServerProgram
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode, KimiError

if TYPE_CHECKING:
    import httpx

TURN_TOKENS = 16
"""More than any template known here puts around a turn."""
_ONLY_LLAMA = ("timings_per_token", "return_progress")
_LOST = (ErrorCode.CHAT_CONNECTION_LOST, ErrorCode.CHAT_NO_ENGINE)


class AttachedClient(EngineClient):
    """Requests to one model of one server."""

    _chat_path = "/chat/completions"

    def __init__(
        self,
        attachment: Attachment,
        endpoint: Endpoint,
        on_lost: Callable[[BackendError], None],
        *,
        silence_s: float = SILENCE_S,
    ) -> None:
        """Join it.

        Args:
            attachment: which model of which server.
            endpoint: where it is, with the key.
            on_lost: the server no longer answers at all.
            silence_s: after which a stream's server is asked whether it is still there.
        """
        super().__init__(endpoint, silence_s=silence_s)
        self._attachment = attachment
        self._key = endpoint.api_key
        self._on_lost = on_lost
        self._left_out: set[str] = set()
        self._unsupported = ""

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """See ``EngineClient.stream_chat``.

        Raises:
            BackendError: SERVER_LOST (``on_lost`` was told), SERVER_TROUBLE, SERVER_BAD_KEY,
                SERVER_NEEDS_KEY.
            ChatError: the others of there.
        """
        while True:
            self._unsupported = ""
            try:
                async with aclosing(super().stream_chat(request)) as deltas:
                    async for delta in deltas:
                        yield delta
            except ChatError as error:
                if self._unsupported and self._unsupported not in self._left_out:
                    self._left_out.add(self._unsupported)
                    continue
                if error.code in _LOST and not self._http.is_closed:  # else we have left it
                    raise await self._why_lost(error) from error
                raise
            return

    async def count_tokens(self, request: ChatRequest) -> int | None:
        """Tokens of the prompt where vLLM counts them; None elsewhere."""
        if self._attachment.program is not ServerProgram.VLLM:
            return None
        messages = [{"role": role, "content": text} for role, text in request.messages]
        asked = {"model": self._attachment.model, "messages": messages}
        try:
            answer = await self._http.post(f"{root_of(self._attachment.url)}/tokenize", json=asked)
            count = answer.json()["count"] if answer.status_code == 200 else None
        except (self._errors, ValueError, TypeError, KeyError):
            return None
        return count if isinstance(count, int) else None

    async def metrics_page(self) -> str:
        """Beside its API, where the program has one."""
        return await self._get_text(f"{root_of(self._attachment.url)}/metrics")

    async def is_healthy(self) -> bool:
        """It still lists its models."""
        return await self._trouble() is None

    def _connected(self, endpoint: Endpoint) -> httpx.AsyncClient:
        return server_http(endpoint.url, endpoint.api_key)

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        attachment = self._attachment
        body = request_body(request)
        body["model"] = attachment.model
        if attachment.program is not ServerProgram.LLAMA_CPP:
            for name in _ONLY_LLAMA:
                del body[name]
        if not attachment.program.takes_switches:
            body.pop("chat_template_kwargs", None)
        if attachment.context and _most_tokens(request) > attachment.context:
            del body["max_tokens"]  # servers refuse more than fits; without it they fill the rest
        for name in self._left_out & set(body):
            value = body.pop(name)
            if name == "max_tokens":
                body["max_completion_tokens"] = value
        return body

    def _refusal(self, reader: ChatStreamReader, status: int, body: bytes) -> KimiError:
        self._unsupported = unsupported_field(body) if status == 400 else ""
        attachment = self._attachment
        text = body.decode("utf-8", "replace")
        if status in (401, 403) or status >= 500:
            return refused(attachment.server, attachment.url, status, text, self._key)
        return reader.refusal(status, without(self._key, text).encode())

    async def _why_lost(self, error: ChatError) -> BackendError:
        """A stream broke: is it the stream or the server?"""
        name, detail = self._attachment.server, str(error.params.get("detail", ""))
        trouble = await self._trouble()
        if trouble is None:
            return BackendError(ErrorCode.SERVER_TROUBLE, {"name": name, "detail": detail})
        detail = str(trouble.params.get("detail", detail))
        lost = BackendError(ErrorCode.SERVER_LOST, {"name": name, "detail": detail})
        self._on_lost(lost)
        return lost

    async def _trouble(self) -> BackendError | None:
        name, url = self._attachment.server, self._attachment.url
        try:
            async with self._http.stream("GET", "/models") as response:
                status = response.status_code
        except self._errors as error:
            return not_reached(name, url, error)
        return refused(name, url, status, "", self._key) if status >= 500 else None


def _most_tokens(request: ChatRequest) -> int:
    """Of prompt and answer together; no token is less than a byte."""
    sizes = (len(text.encode("utf-8", "replace")) + TURN_TOKENS for _, text in request.messages)
    return sum(sizes) + request.sampling.max_tokens
