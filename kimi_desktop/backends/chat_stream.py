"""The chat completions protocol as data: request bodies, and stream events read into deltas. Pure.

Speaks OpenAI's dialect with what llama.cpp adds (``timings``, ``prompt_progress``) and both names
that servers give to thoughts (``reasoning_content``, ``reasoning``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from kimi_desktop.backends.sse import SseEvent
from kimi_desktop.backends.types import ChatRequest, Delta, Usage
from kimi_desktop.base.errors import ChatError, ErrorCode

END_MARK = "[DONE]"
LONGEST_DETAIL = 400

TOO_LONG = re.compile(
    r"request \((?P<needed>\d+) tokens\) exceeds the available context size \((?P<context>\d+)"
    r"|maximum context length is (?P<limit>\d+) tokens.*?"
    r"(?:contains at least|resulted in|you requested) (?P<asked>\d+)"
    r"|input \((?P<input>\d+) tokens\) is longer than the model's context length \((?P<length>\d+)",
    re.DOTALL,
)
"""llama.cpp's sentence, vLLM's and OpenAI's, SGLang's."""


def request_body(request: ChatRequest) -> dict[str, Any]:
    """The JSON of POST /v1/chat/completions. Fields that a server does not know are ignored."""
    sampling = request.sampling
    body: dict[str, Any] = {
        "messages": [{"role": role, "content": text} for role, text in request.messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "max_tokens": sampling.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "timings_per_token": True,
        "return_progress": True,
    }
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if request.thinking is not None:  # Kimi's templates ask for the first name, Qwen's the second
        body["chat_template_kwargs"] = {
            "thinking": request.thinking,
            "enable_thinking": request.thinking,
        }
    return body


def unsupported_field(body: bytes) -> str:
    """The field of a request that a model does not take, by OpenAI's error; "" for any other."""
    try:
        error = json.loads(body)["error"]
        if error["code"] in ("unsupported_parameter", "unsupported_value"):
            return str(error["param"] or "")
    except (ValueError, TypeError, KeyError):
        pass
    return ""


class ChatStreamReader:
    """Reads the events of one stream; knows when it is complete."""

    def __init__(self) -> None:
        self.done = False
        """The end mark came."""
        self._finished = False
        self._understood = 0
        self._nonsense = ""

    def read(self, event: SseEvent) -> Delta | None:
        """What the event says, None when it says nothing new.

        Raises:
            ChatError: the server reports an error inside the stream.
        """
        if event.data.strip() == END_MARK:
            self.done = True
            return None
        try:
            chunk = json.loads(event.data)
        except ValueError:
            chunk = None
        if not isinstance(chunk, dict):
            self._nonsense = self._nonsense or event.data
            return None
        if event.is_error or isinstance(chunk.get("error"), (dict, str)):
            raise self._error(chunk.get("error", chunk), status=None)
        delta = _delta(chunk)
        if delta is None:
            self._nonsense = self._nonsense or event.data
            return None
        self._understood += 1
        self._finished = self._finished or delta.finish_reason is not None
        return delta

    def finish(self) -> None:
        """The connection has ended.

        Raises:
            ChatError: CHAT_BAD_ANSWER when nothing was an answer, CHAT_CONNECTION_LOST when the
                answer is not complete.
        """
        if self.done or self._finished:
            return
        if self._understood == 0:
            raise ChatError(ErrorCode.CHAT_BAD_ANSWER, {"detail": _short(self._nonsense or "EOF")})
        raise ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "EOF"})

    def refusal(self, status: int, body: bytes) -> ChatError:
        """The error behind an HTTP status that is not 200."""
        text = body.decode("utf-8", "replace")
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        error = answer.get("error", answer) if isinstance(answer, dict) else text
        return self._error(error, status=status)

    @staticmethod
    def _error(error: object, *, status: int | None) -> ChatError:
        facts = error if isinstance(error, Mapping) else {}
        said = str(facts.get("message") or error or "")
        code = _whole(facts.get("code")) or status or 500
        if match := TOO_LONG.search(said):
            needed = match["needed"] or match["asked"] or match["input"]
            context = match["context"] or match["limit"] or match["length"]
            params = {"needed": int(needed), "context": int(context)}
            return ChatError(ErrorCode.CHAT_TOO_LONG, params)
        if facts.get("type") == "exceed_context_size_error":
            params = {
                "needed": _whole(facts.get("n_prompt_tokens")) or 0,
                "context": _whole(facts.get("n_ctx")) or 0,
            }
            return ChatError(ErrorCode.CHAT_TOO_LONG, params)
        detail = _short(f"{code}: {said}" if said else str(code))
        if code == 503:  # llama.cpp while it loads
            return ChatError(ErrorCode.CHAT_NO_ENGINE, {"detail": detail})
        refused = 400 <= code < 500
        kind = ErrorCode.CHAT_REFUSED if refused else ErrorCode.CHAT_BAD_ANSWER
        return ChatError(kind, {"detail": detail})


def _delta(chunk: Mapping[str, Any]) -> Delta | None:
    choices, usage = chunk.get("choices"), chunk.get("usage")
    progress, timings = chunk.get("prompt_progress"), chunk.get("timings")
    timings = timings if isinstance(timings, dict) else {}
    if not isinstance(choices, list) and not isinstance(usage, dict):
        return None
    first = choices[0] if isinstance(choices, list) and choices else None
    choice = first if isinstance(first, dict) else {}
    said = choice.get("delta")
    said = said if isinstance(said, dict) else {}
    finish_reason = choice.get("finish_reason")
    done, total = None, None
    if isinstance(progress, dict):
        done, total = _whole(progress.get("processed")), _whole(progress.get("total"))
    return Delta(
        content=_text(said.get("content")),
        reasoning=_text(said.get("reasoning_content")) or _text(said.get("reasoning")),
        finish_reason=finish_reason if isinstance(finish_reason, str) else None,
        usage=_usage(usage, timings) if isinstance(usage, dict) else None,
        prefill_done=done,
        prefill_total=total,
        completion_tokens=_whole(timings.get("predicted_n")),
        decode_s=_seconds(timings["predicted_ms"]) if "predicted_ms" in timings else None,
    )


def _usage(usage: Mapping[str, Any], timings: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return Usage(
        prompt_tokens=_whole(usage.get("prompt_tokens")) or 0,
        cached_tokens=_whole(cached) or _whole(timings.get("cache_n")) or 0,
        completion_tokens=_whole(usage.get("completion_tokens")) or 0,
        prefill_s=_seconds(timings.get("prompt_ms")),
        decode_s=_seconds(timings.get("predicted_ms")),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:  # half of an escaped pair: no file and no database would take it
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(milliseconds: object) -> float:
    return max(0.0, milliseconds / 1000) if isinstance(milliseconds, (int, float)) else 0.0


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONGEST_DETAIL else flat[: LONGEST_DETAIL - 1] + "…"
