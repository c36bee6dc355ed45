"""Servers that speak OpenAI's API the way real programs do, on 127.0.0.1.

``OpenAiServer("openai" | "vllm" | "sglang" | "llama.cpp" | "ollama")``: what each lists, whom it
lets in, which fields it takes, how it frames a stream and words a refusal follow its documentation,
its source or (vLLM, llama.cpp) recordings. Orders say what goes wrong:

    break_after   so many pieces of an answer, then the connection is gone
    dies          the same, and nobody listens any more
    error_after   so many pieces, then an error event
    refuse        (status, body) for chats
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

THOUGHT = ("The user ", "greets ", "me.")
ANSWER = ("Hello", " there", ", friend", "!")
KEY = "sk-test-0123456789abcdef"
TAGS = [
    {
        "name": "gemma3:270m",
        "model": "gemma3:270m",
        "modified_at": "2026-10-01T12:00:00.0+02:00",
        "size": 291554930,
        "digest": "e7d36fb2c3b3293cfe56d55889867a064b3a2b22e98335f2e6e8a387e081d6be",
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "gemma3",
            "families": ["gemma3"],
            "parameter_size": "268.10M",
            "quantization_level": "Q8_0",
        },
    },
    {
        "name": "hf.co/unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL",
        "model": "hf.co/unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL",
        "modified_at": "2026-10-02T12:00:00.0+02:00",
        "size": 340 * 10**9,
        "digest": "ab" * 32,
        "details": {
            "parent_model": "",
            "format": "gguf",
            "family": "deepseek2",
            "families": ["deepseek2"],
            "parameter_size": "1.0T",
            "quantization_level": "unknown",
        },
    },
]
_STANDARD = frozenset(
    {
        "model", "messages", "temperature", "top_p", "max_tokens", "max_completion_tokens",
        "stream", "stream_options", "stop", "seed", "tools", "tool_choice", "response_format",
    }
)  # fmt: skip


@dataclass
class Orders:
    """What goes wrong."""

    break_after: int | None = None
    dies: bool = False
    error_after: int | None = None
    refuse: tuple[int, str] | None = None
    pause_s: float = 0.0
    """Between pieces."""


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    key: str
    body: dict[str, Any] = field(default_factory=dict)


class OpenAiServer:
    """A context manager; ``url`` is that of its API."""

    def __init__(
        self,
        program: str = "openai",
        *,
        key: str = "",
        models: tuple[str, ...] = ("kimi-k2.6",),
        context: int = 8192,
        tls: Path | None = None,
        port: int = 0,
    ) -> None:
        self.program = program
        self.key = key
        self.models = models
        self.context = context
        self.orders = Orders()
        self.asked: list[Asked] = []
        self.loaded: list[dict[str, Any]] = []
        """Of Ollama's /api/ps."""
        self.dropped = threading.Event()
        """Whoever asked closed the connection in the middle of an answer."""
        self._http = _Http(("127.0.0.1", port), _handler(self))
        self._scheme = "http"
        if tls is not None:
            self._scheme = "https"
            context_ = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context_.load_cert_chain(tls, tls.with_suffix(".key"))
            self._http.socket = context_.wrap_socket(self._http.socket, server_side=True)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def root(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def chats(self) -> list[dict[str, Any]]:
        """The bodies of the chats that were asked for."""
        return [one.body for one in self.asked if one.path.endswith("/chat/completions")]

    def paths(self) -> list[str]:
        return [one.path for one in self.asked]

    def stop(self) -> None:
        """Nobody listens any more."""
        self._http.shutdown()
        self._http.server_close()

    def stop_listening(self) -> None:
        """The same from one of its own requests."""
        self._http.socket.close()
        threading.Thread(target=self._http.shutdown, daemon=True).start()

    def __enter__(self) -> OpenAiServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join(5)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the tests."""


def _handler(server: OpenAiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(_Handler):
        kept = server

    return Handler


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    kept: OpenAiServer

    def log_message(self, *_: object) -> None:
        """Quiet."""

    # what it has

    def do_GET(self) -> None:
        self._note({})
        program = self.kept.program
        path = self.path
        if path == "/v1/models":
            if self._let_in():
                self._json(200, self._listing())
        elif path == "/health" and program in ("vllm", "sglang", "llama.cpp"):
            body = '{"status":"ok"}' if program == "llama.cpp" else ""
            self._answer(200, body.encode())
        elif path == "/metrics" and program == "vllm":
            text = "vllm:num_requests_running 2.0\nvllm:num_requests_waiting 1.0\n"
            self._answer(200, text.encode(), "text/plain")
        elif path == "/version" and program == "vllm":
            self._json(200, {"version": "0.32.0"})
        elif path == "/props" and program == "llama.cpp":
            if self._let_in():
                settings = {"n_ctx": self.kept.context, "id": 0}
                props = {"default_generation_settings": settings, "build_info": "b11549-0123abcd"}
                self._json(200, props)
        elif path == "/api/version" and program == "ollama":
            self._json(200, {"version": "0.14.1"})
        elif path == "/api/tags" and program == "ollama":
            self._json(200, {"models": TAGS if self.kept.models else []})
        elif path == "/api/ps" and program == "ollama":
            self._json(200, {"models": self.kept.loaded})
        elif path == "/" and program == "ollama":
            self._answer(200, b"Ollama is running", "text/plain; charset=utf-8")
        else:
            self._not_found()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(raw)
        self._note(body)
        if self.path == "/tokenize" and self.kept.program == "vllm":
            words = sum(len(m["content"].split()) for m in body["messages"])
            self._json(200, {"count": words + 8, "max_model_len": self.kept.context})
        elif self.path == "/v1/chat/completions":
            if self._let_in() and self._takes(body):
                self._stream(body)
        else:
            self._not_found()

    def _listing(self) -> dict[str, Any]:
        program = self.kept.program
        if program == "ollama":
            data = [
                {"id": tag["name"], "object": "model", "created": 1, "owned_by": "library"}
                for tag in TAGS
            ]
            return {"object": "list", "data": data if self.kept.models else None}
        more: dict[str, Any] = {"owned_by": "system"}
        if program in ("vllm", "sglang"):
            more = {"owned_by": program, "root": "/models/x", "max_model_len": self.kept.context}
        elif program == "llama.cpp":
            meta = {"vocab_type": 2, "n_ctx_train": 262144, "n_params": 10**12, "size": 10**9}
            more = {"owned_by": "llamacpp", "meta": meta}
        data = [{"id": name, "object": "model", "created": 1, **more} for name in self.kept.models]
        return {"object": "list", "data": data}

    # whom it lets in, and what it takes

    def _let_in(self) -> bool:
        given = self.headers.get("Authorization", "")
        if not self.kept.key or given == f"Bearer {self.kept.key}":
            return True
        shown = given.removeprefix("Bearer ")
        message = {
            "openai": f"Incorrect API key provided: {shown}. You can find your API key at ...",
            "llama.cpp": "Invalid API Key",
        }.get(self.kept.program, "Unauthorized")
        if self.kept.program in ("vllm", "sglang"):
            self._json(401, {"error": "Unauthorized"})
        else:
            error = {"message": message, "type": "invalid_request_error", "param": None}
            self._json(401, {"error": {**error, "code": "invalid_api_key"}})
        return False

    def _takes(self, body: dict[str, Any]) -> bool:
        if self.kept.orders.refuse is not None:
            status, text = self.kept.orders.refuse
            self._answer(status, text.encode())
            return False
        if self.kept.program == "openai":
            return self._is_strict(body)
        known = [tag["name"] for tag in TAGS] if self.kept.program == "ollama" else self.kept.models
        if self.kept.program == "llama.cpp" or body.get("model") in known:
            return True
        if self.kept.program == "ollama":
            message = f'model "{body.get("model")}" not found, try pulling it first'
            kind = "not_found_error"
        else:
            message, kind = f"The model `{body.get('model')}` does not exist.", "NotFoundError"
        error = {"message": message, "type": kind, "param": None, "code": 404}
        self._json(404, {"error": error})
        return False

    def _is_strict(self, body: dict[str, Any]) -> bool:
        """As OpenAI: no field that it does not know; newer models take fewer of them."""
        if unknown := set(body) - _STANDARD:
            message = f"Unrecognized request argument supplied: {sorted(unknown)[0]}"
            error = {"message": message, "type": "invalid_request_error"}
            self._json(400, {"error": {**error, "param": None, "code": None}})
            return False
        if str(body.get("model", "")).startswith("o"):
            for name, code in (
                ("max_tokens", "unsupported_parameter"),
                ("temperature", "unsupported_value"),
                ("top_p", "unsupported_parameter"),
            ):
                if name in body:
                    message = f"Unsupported parameter: '{name}' is not supported with this model."
                    error = {"message": message, "type": "invalid_request_error"}
                    self._json(400, {"error": {**error, "param": name, "code": code}})
                    return False
        return True

    # its answer

    def _stream(self, body: dict[str, Any]) -> None:
        orders = self.kept.orders
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        name = "reasoning" if self.kept.program in ("vllm", "ollama") else "reasoning_content"
        pieces = [{name: text} for text in THOUGHT] + [{"content": text} for text in ANSWER]
        try:
            self._event(self._chunk(body, {"role": "assistant", "content": ""}, None))
            for number, piece in enumerate(pieces):
                if number == orders.break_after:
                    if orders.dies:
                        self.kept.stop_listening()
                    self.close_connection = True
                    return
                if number == orders.error_after:
                    error = {"message": "CUDA error", "type": "InternalServerError", "code": 500}
                    self._event({"error": error})
                    self._end()
                    return
                time.sleep(orders.pause_s)
                self._event(self._chunk(body, piece, None))
            self._event(self._chunk(body, {}, "stop"))
            if (body.get("stream_options") or {}).get("include_usage"):
                counts = {"prompt_tokens": 11, "completion_tokens": len(pieces)}
                usage = {**counts, "total_tokens": 11 + len(pieces)}
                self._event({**self._chunk(body, {}, None), "choices": [], "usage": usage})
            self._end()
        except (BrokenPipeError, ConnectionResetError):
            self.kept.dropped.set()
            self.close_connection = True

    def _chunk(
        self, body: dict[str, Any], delta: dict[str, Any], finish: str | None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
        return {**head, "model": body.get("model", ""), "choices": [choice]}

    def _event(self, value: dict[str, Any]) -> None:
        self._piece(f"data: {json.dumps(value)}\n\n".encode())

    def _piece(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _end(self) -> None:
        self._piece(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    # HTTP

    def _note(self, body: dict[str, Any]) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.kept.asked.append(Asked(self.command, self.path, key, body))

    def _not_found(self) -> None:
        if self.kept.program == "ollama":
            self._answer(404, b"404 page not found", "text/plain")
        else:
            self._json(404, {"detail": "Not Found"})

    def _json(self, status: int, value: object) -> None:
        self._answer(status, json.dumps(value).encode())

    def _answer(self, status: int, data: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
