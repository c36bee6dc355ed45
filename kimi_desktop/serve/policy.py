"""What the gateway lets through: hosts, origins, keys, fields. Pure; the gateway's own process.

An allow-list: whatever is not named here does not reach the engine. That keeps out the engine
fields that have been security holes or reach into other requests (``n_discard``, ``id_slot``,
``chat_template``, ``cache_prompt``), and addresses that the engine would fetch.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_BODY_BYTES = 20 * 2**20
MAX_ANSWER_TOKENS = 32_768
MAX_FAILED_KEYS = 10
FAILED_KEYS_WINDOW_S = 60.0
MAX_PEERS = 256
"""So many addresses that guess are remembered."""
MAX_STOPS = 16
MAX_INPUTS = 256

_PASSED = frozenset(
    (
        *("temperature", "top_p", "top_k", "min_p", "seed", "stop", "stream", "stream_options"),
        *("presence_penalty", "frequency_penalty", "repeat_penalty", "repetition_penalty"),
        *("logprobs", "top_logprobs", "logit_bias", "response_format", "tools", "tool_choice"),
        *("parallel_tool_calls", "reasoning_effort"),
    )
)
"""Fields of a chat request that go on as they are; the engine checks their values."""
_MESSAGE_FIELDS = frozenset(
    ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")
)
_ROLES = frozenset(("system", "developer", "user", "assistant", "tool"))
_TEMPLATE_SWITCHES = frozenset(("thinking", "enable_thinking", "preserve_thinking"))


class RefusedError(Exception):
    """The request is answered with an error and goes no further.

    Attributes:
        status: The HTTP status.
        kind: OpenAI's ``error.type``.
        code: OpenAI's ``error.code``, or None.
        allow: The methods that the address knows, for 405.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.code = code
        self.allow = allow

    def body(self) -> bytes:
        """In the form that OpenAI's clients read."""
        return error_body(self.status, str(self), self.kind, self.code)


def error_body(status: int, message: str, kind: str, code: str | None = None) -> bytes:
    """An error as JSON, as OpenAI's clients read it."""
    error = {"message": message, "type": kind, "param": None, "code": code or status}
    return json.dumps({"error": error}).encode()


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in by name: the addresses of the gateway itself, nothing else."""

    port: int
    names: tuple[str, ...] = ()
    """Of this machine in the local network, when it is served there."""
    encrypted: bool = False
    """There, not on this machine."""

    @property
    def hosts(self) -> frozenset[bytes]:
        """Values of Host; another one is a page whose name was pointed at this machine."""
        return frozenset(origin.partition(b"://")[2] for origin in self.origins)

    @property
    def origins(self) -> frozenset[bytes]:
        """The same with their schemes, as values of Origin."""
        there = "https" if self.encrypted else "http"
        here = (("http", name) for name in ("127.0.0.1", "localhost", "[::1]"))
        every = (*here, *((there, name) for name in self.names))
        return frozenset(
            f"{scheme}://{name.lower()}:{self.port}".encode() for scheme, name in every
        )

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Against DNS rebinding and against pages that call across origins.

        Raises:
            RefusedError: 403.
        """
        if host is None or host.lower() not in self.hosts:
            raise RefusedError(403, "This host name is not served here.", code="bad_host")
        if origin is not None and origin.lower() not in self.origins:
            raise RefusedError(403, "Web pages are not served here.", code="bad_origin")


@dataclass(frozen=True, slots=True)
class Client:
    """A program with a key of its own."""

    name: str
    key: str = field(repr=False)


class KeyCheck:
    """The clients' keys, compared in constant time; who guesses is shut out for a while."""

    def __init__(self, clients: Iterable[Client]) -> None:
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._digests: tuple[tuple[str, bytes], ...] = ()
        self.replace(clients)

    def replace(self, clients: Iterable[Client]) -> None:
        """Keys that are not among them stop working at once."""
        self._digests = tuple((client.name, _digest(client.key)) for client in clients)

    def check(self, authorization: bytes | None, peer: str, now: float) -> None:
        """Let a request in that carries a key.

        Args:
            authorization: The header's value.
            peer: The address that it comes from.
            now: Seconds of a monotonic clock.

        Raises:
            RefusedError: 401, or 429 after ten wrong keys from this address within a minute. A
                right key is always let in: a stranger's guesses must not lock the owner out.
        """
        if self.client(authorization) is not None:
            return
        failures = self._failures.setdefault(peer, deque(maxlen=MAX_FAILED_KEYS))
        self._failures.move_to_end(peer)
        while len(self._failures) > MAX_PEERS:
            self._failures.popitem(last=False)
        full = len(failures) == MAX_FAILED_KEYS
        if full and now - failures[0] < FAILED_KEYS_WINDOW_S:
            raise RefusedError(429, "Too many wrong keys; wait a minute.", code="rate_limited")
        failures.append(now)
        raise RefusedError(401, "The API key is missing or wrong.", code="invalid_api_key")

    def client(self, authorization: bytes | None) -> str | None:
        """Whose key it is. All are compared, so that the time tells nothing."""
        scheme, _, key = (authorization or b"").partition(b" ")
        given = _digest(key.strip().decode("latin-1"))
        found: str | None = None
        for name, digest in self._digests:
            if hmac.compare_digest(given, digest):
                found = name
        return found if scheme.lower() == b"bearer" else None


def _digest(key: str) -> bytes:
    # Digests are of one length, so that the comparison tells nothing about the key's.
    return hashlib.sha256(key.encode("utf-8", "replace")).digest()


@dataclass(frozen=True, slots=True)
class Call:
    """A checked request."""

    body: bytes
    """JSON for the engine."""
    stream: bool = False


def checked_chat(raw: bytes, *, model: str, max_tokens: int, fills_in: bool = True) -> Call:
    """The fields of a chat request that the engine may see.

    Args:
        raw: The request's body.
        model: The engine's name for what is loaded; clients may have any other in their settings.
        max_tokens: The longest answer that is allowed.
        fills_in: It is also the limit of a request that names none, as ``max_tokens``; else a limit
            goes on under the name that the client gave it, or not at all.

    Raises:
        RefusedError: 400.
    """
    asked = _object(raw)
    passed = _generation(asked, model, max_tokens, fills_in=fills_in)
    passed["messages"] = _messages(asked.get("messages"))
    switches = asked.get("chat_template_kwargs")
    if isinstance(switches, dict):
        passed["chat_template_kwargs"] = {
            name: value
            for name, value in switches.items()
            if name in _TEMPLATE_SWITCHES and isinstance(value, bool)
        }
    return Call(json.dumps(passed).encode(), _streams(asked))


def checked_completion(raw: bytes, *, model: str, max_tokens: int, fills_in: bool = True) -> Call:
    """The fields of a plain completion that the engine may see; see ``checked_chat``.

    Raises:
        RefusedError: 400.
    """
    asked = _object(raw)
    prompt = asked.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        (prompt,) = prompt
    if not isinstance(prompt, str):
        raise RefusedError(400, "prompt: one text.")
    passed = _generation(asked, model, max_tokens, fills_in=fills_in)
    for name in ("messages", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort"):
        passed.pop(name, None)
    passed["prompt"] = prompt
    if isinstance(asked.get("echo"), bool):
        passed["echo"] = asked["echo"]
    return Call(json.dumps(passed).encode(), _streams(asked))


def checked_embeddings(raw: bytes, *, model: str) -> Call:
    """The fields of an embeddings request that the engine may see.

    Raises:
        RefusedError: 400.
    """
    asked = _object(raw)
    texts = asked.get("input")
    listed = texts if isinstance(texts, list) else [texts]
    good = all(isinstance(text, str) for text in listed)
    if not good or not 0 < len(listed) <= MAX_INPUTS:
        raise RefusedError(400, f"input: a text, or at most {MAX_INPUTS} of them.")
    passed: dict[str, Any] = {"model": model, "input": texts}
    if asked.get("encoding_format") in ("float", "base64"):
        passed["encoding_format"] = asked["encoding_format"]
    return Call(json.dumps(passed).encode())


def _object(raw: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The body is not JSON.") from None
    if not isinstance(asked, dict):
        raise RefusedError(400, "The body is not a JSON object.")
    return asked


def _generation(
    asked: Mapping[str, Any], model: str, max_tokens: int, *, fills_in: bool
) -> dict[str, Any]:
    """What chats and completions have in common."""
    passed: dict[str, Any] = {name: asked[name] for name in asked if name in _PASSED}
    passed["model"] = model
    name, limit = _answer_tokens(asked, max_tokens)
    if fills_in:
        passed["max_tokens"] = limit
    elif name:
        passed[name] = limit
    if asked.get("n") not in (None, 1):
        raise RefusedError(400, "n: only one answer at a time.")
    stops = asked.get("stop")
    if isinstance(stops, list) and len(stops) > MAX_STOPS:
        raise RefusedError(400, f"stop: at most {MAX_STOPS} of them.")
    return passed


def _streams(asked: Mapping[str, Any]) -> bool:
    stream = asked.get("stream", False)
    if not isinstance(stream, bool):
        raise RefusedError(400, "stream: true or false.")
    return stream


def _no_number(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _answer_tokens(asked: Mapping[str, Any], limit: int) -> tuple[str, int]:
    """The field that limits the answer, "" for none, and the limit."""
    for name in ("max_completion_tokens", "max_tokens"):
        value = asked.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise RefusedError(400, f"{name}: a whole number.")
        if value > 0:  # -1 asks for no limit
            return name, min(value, limit)
    return "", limit


def _messages(asked: object) -> list[dict[str, Any]]:
    if not isinstance(asked, list) or not asked:
        raise RefusedError(400, "messages: a list with at least one message.")
    return [_message(message) for message in asked]


def _message(asked: object) -> dict[str, Any]:
    if not isinstance(asked, dict) or asked.get("role") not in _ROLES:
        raise RefusedError(400, "messages: each has one of the roles " + ", ".join(sorted(_ROLES)))
    content = asked.get("content")
    if isinstance(content, list):
        content = [_part(part) for part in content]
    elif not (content is None or isinstance(content, str)):
        raise RefusedError(400, "content: a text, or a list of parts.")
    known = {name: value for name, value in asked.items() if name in _MESSAGE_FIELDS}
    return {**known, "content": content}


def _part(asked: object) -> dict[str, Any]:
    if isinstance(asked, dict) and asked.get("type") == "text":
        return {"type": "text", "text": str(asked.get("text", ""))}
    if isinstance(asked, dict) and asked.get("type") == "image_url":
        image = asked.get("image_url")
        address = image.get("url") if isinstance(image, dict) else image
        if isinstance(address, str) and address.startswith("data:image/"):
            return {"type": "image_url", "image_url": {"url": address}}
        raise RefusedError(400, "image_url: only data: addresses; nothing is fetched from here.")
    raise RefusedError(400, "content: only parts of the types text and image_url.")
