"""Asks a server what it is and what it has. IO thread.

/v1/models is what every OpenAI API has. What programs add to it is taken where it is known: vLLM's
and SGLang's ``max_model_len``, llama.cpp's /props, Ollama's /api/tags and /api/ps, the lists of
hosts with ``context_length`` or ``context_window``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kimi_desktop.backends.attached.addresses import places_of, root_of
from kimi_desktop.backends.attached.http import MOST_BYTES, not_reached, refused, server_http
from kimi_desktop.backends.attached.types import OfferedByServer, ServerReport
from kimi_desktop.backends.types import ServerProgram
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.models.facts import clean_text

if TYPE_CHECKING:
    import httpx

MOST_MODELS = 2000
_CONTEXTS = (
    "max_model_len", "loaded_context_length", "context_length", "context_window",
    "max_context_length",
)  # fmt: skip
_OWNERS = {
    "vllm": ServerProgram.VLLM,
    "sglang": ServerProgram.SGLANG,
    "llamacpp": ServerProgram.LLAMA_CPP,
}


async def ask_server(name: str, url: str, key: str) -> ServerReport:
    """What is at an address.

    Args:
        name: of the entry, for sentences.
        url: of the API; one without its /v1 is found, too.
        key: sent with every question; "" for none.

    Raises:
        BackendError: SERVER_UNREACHABLE, SERVER_NEEDS_KEY, SERVER_BAD_KEY, SERVER_BAD_CERTIFICATE,
            SERVER_NO_TLS, SERVER_NOT_OPENAI, SERVER_TROUBLE.
    """
    first, second = places_of(url)
    try:
        return await _ask(name, first, key)
    except BackendError as error:
        if error.code is not ErrorCode.SERVER_NOT_OPENAI or not second:
            raise
        try:
            return await _ask(name, second, key)
        except BackendError as other:
            keys = (ErrorCode.SERVER_NEEDS_KEY, ErrorCode.SERVER_BAD_KEY)
            raise (other if other.code in keys else error) from None


async def _ask(name: str, url: str, key: str) -> ServerReport:
    async with server_http(url, key) as http:
        question = _Question(http, name, url, key)
        entries = await question.models()
        models = [_described(entry) for entry in entries]
        owners = {model.owned_by for model in models}
        program = next((_OWNERS[owner] for owner in owners if owner in _OWNERS), None)
        if not url.endswith("/v1"):  # nobody knows where its own routes would be
            return ServerReport(url, program or ServerProgram.OTHER, models=tuple(models))
        if program is None:
            program = ServerProgram.OTHER
            version = _text((await question.own("/api/version")).get("version"))
            listed = (await question.own("/api/tags")).get("models") if version else None
            if isinstance(listed, list):
                running = (await question.own("/api/ps")).get("models")
                tags = _tags(listed, _contexts(running if isinstance(running, list) else []))
                found = tuple(tags.get(model.id, model) for model in models)
                return ServerReport(url, ServerProgram.OLLAMA, clean_text(version)[:40], found)
        version, context = "", None
        if program is ServerProgram.VLLM:
            version = clean_text(_text((await question.own("/version")).get("version")))[:40]
        elif program is ServerProgram.LLAMA_CPP:
            version, context = _props(await question.own("/props"))
        return ServerReport(
            url,
            program,
            version,
            tuple(_with_context(model, context) for model in models),
            await question.health(),
        )


class _Question:
    """Questions to one server."""

    def __init__(self, http: httpx.AsyncClient, name: str, url: str, key: str) -> None:
        self._http = http
        self._name = name
        self._url = url
        self._key = key

    async def models(self) -> list[Mapping[str, Any]]:
        """The entries of /models."""
        status, text = await self._get(f"{self._url}/models")
        if status != 200:
            raise refused(self._name, self._url, status, text, self._key)
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        data = answer.get("data") if isinstance(answer, dict) else answer
        if isinstance(answer, dict) and data is None and answer.get("object") == "list":
            data = []  # Ollama without any model says null
        if not isinstance(data, list) or not all(_is_entry(entry) for entry in data):
            params = {"url": self._url, "detail": "/models is no list of models"}
            raise BackendError(ErrorCode.SERVER_NOT_OPENAI, params)
        return data[:MOST_MODELS]

    async def own(self, path: str) -> Mapping[str, Any]:
        """The JSON object of one of a program's own routes; empty where it has none."""
        try:
            status, text = await self._get(root_of(self._url) + path)
            answer = json.loads(text) if status == 200 else None
        except (BackendError, ValueError):
            return {}
        return answer if isinstance(answer, dict) else {}

    async def health(self) -> bool | None:
        """Whether its /health is well; None where it has none."""
        try:
            status, _ = await self._get(f"{root_of(self._url)}/health")
        except BackendError:
            return None
        return {200: True, 503: False}.get(status)

    async def _get(self, url: str) -> tuple[int, str]:
        """Status and text; for a redirect where it leads."""
        import httpx  # noqa: PLC0415 - loaded by now

        body = bytearray()
        try:
            async with self._http.stream("GET", url) as response:
                if response.is_redirect:
                    return response.status_code, f"-> {response.headers.get('location', '')}"
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        params = {"url": self._url, "detail": f"> {MOST_BYTES:,} bytes"}
                        raise BackendError(ErrorCode.SERVER_NOT_OPENAI, params)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise not_reached(self._name, self._url, error) from error
        return response.status_code, body.decode("utf-8", "replace")


def _is_entry(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("id"), str) and bool(entry["id"])


def _described(entry: Mapping[str, Any]) -> OfferedByServer:
    meta = entry.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    found = next((value for name in _CONTEXTS if (value := _count(entry.get(name)))), None)
    return OfferedByServer(
        entry["id"],
        clean_text(_text(entry.get("owned_by")))[:80],
        found or _count(meta.get("n_ctx")),
        _count(meta.get("size")),
    )


def _with_context(model: OfferedByServer, context: int | None) -> OfferedByServer:
    if context is None or model.context is not None:
        return model
    return OfferedByServer(model.id, model.owned_by, context, model.size_bytes)


def _props(answer: Mapping[str, Any]) -> tuple[str, int | None]:
    """llama.cpp's build, and the context of one of its slots."""
    settings = answer.get("default_generation_settings")
    context = _count(settings.get("n_ctx")) if isinstance(settings, dict) else None
    return clean_text(_text(answer.get("build_info")))[:40], context


def _contexts(running: list[Any]) -> dict[str, int]:
    """What Ollama gives a model that is loaded, which is often less than it could have."""
    found = {}
    for entry in running:
        if isinstance(entry, dict) and (context := _count(entry.get("context_length"))):
            found[_text(entry.get("name"))] = context
    return found


def _tags(listed: list[Any], contexts: Mapping[str, int]) -> dict[str, OfferedByServer]:
    """Ollama's models with their size and quantization, by name."""
    found: dict[str, OfferedByServer] = {}
    for entry in listed:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            continue
        details = entry.get("details")
        details = details if isinstance(details, dict) else {}
        found[entry["name"]] = OfferedByServer(
            entry["name"],
            "",
            contexts.get(entry["name"]),
            _count(entry.get("size")),
            _known(details.get("quantization_level")),
            clean_text(_text(details.get("parameter_size")))[:40],
            details.get("format") == "gguf",
        )
    return found


def _known(value: object) -> str:
    """Ollama says "unknown" of formats that it has no name for."""
    text = clean_text(_text(value))[:40]
    return "" if text == "unknown" else text


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and isinstance(value, int) and 0 < value < 2**62 else None
