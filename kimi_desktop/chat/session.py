"""One answer as it streams: reads the engine, adds up, and tells at most every 33 ms.

Runs on the IO thread. Cancelling its task is how an answer is stopped: the stream is closed, which
makes the engine stop too, and the text so far is the answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from kimi_desktop.backends.types import ChatRequest, Delta, Usage
from kimi_desktop.base.errors import ChatError, ErrorCode, KimiError
from kimi_desktop.chat.prompt import surely_fits, within
from kimi_desktop.chat.text_checks import look_at
from kimi_desktop.chat.types import AnswerStats, Finish

COALESCE_S = 0.033
LOOKED_AT = 4_000
"""Characters of the beginning and of the end of an answer."""
RATE_WINDOW_S = 2.0
"""The live speed is that of the last two seconds; the final one is the whole answer's."""
BURST_S = 0.1
"""What arrives in less was waiting somewhere on its way."""

_FINISHES = {"stop": Finish.END, "length": Finish.LENGTH, "tool_calls": Finish.END}


class AnswerClient(Protocol):
    """What a running engine is asked through."""

    def stream_chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """Stream an answer; closing the generator ends it in the engine too.

        Raises (while iterated):
            KimiError: the connection broke, or the engine refused or sent garbage.
        """

    async def count_tokens(self, request: ChatRequest) -> int | None:
        """Tokens of the prompt; None where the engine cannot tell."""


@dataclass(frozen=True, slots=True)
class AnswerUpdate:
    """What joined the answer since the last update."""

    text: str
    reasoning: str
    stats: AnswerStats


@dataclass(frozen=True, slots=True)
class Answer:
    """How it ended."""

    finish: Finish
    stats: AnswerStats
    error: KimiError | None = None


class AnswerSession:
    """Streams one answer. ``on_update`` and ``on_prefill`` are called on the IO thread."""

    def __init__(
        self,
        client: AnswerClient,
        *,
        on_update: Callable[[AnswerUpdate], None],
        on_prefill: Callable[[int, int], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._on_update = on_update
        self._on_prefill = on_prefill
        self._clock = clock
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._whole = ""
        """The answer's beginning and end: what a look at it needs."""
        self._has_text = False
        self._has_reasoning = False
        self._finish: Finish | None = None
        self._asked_tokens = 0
        """The longest answer that was wanted; the room in the context may be less."""
        self._prompt_tokens = 0
        """As the engine tells while it reads the prompt: the context gauge needs it at once."""
        self._usage: Usage | None = None
        self._tokens = 0
        self._started = self._first = self._content = clock()
        self._decode_s: float | None = None
        """The engine's own clock, which does not stand still while this process waits its turn."""
        self._points: deque[tuple[float, int]] = deque()
        """(seconds of decoding, tokens so far), for the live speed."""
        self._told = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, request: ChatRequest, context: int | None) -> Answer:
        """Stream to the end. A cancellation ends the answer as STOPPED and is not passed on.

        Args:
            request: What to answer.
            context: Tokens that prompt and answer share, where known.
        """
        self._started = self._clock()
        self._asked_tokens = request.sampling.max_tokens
        try:
            if context is not None and not surely_fits(request, context):
                needed = await self._client.count_tokens(request)
                if needed is not None:
                    request = within(request, needed, context)
            async with aclosing(self._client.stream_chat(request)) as deltas:
                async for delta in deltas:
                    self._take(delta)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
            return self._end(Finish.STOPPED)
        except KimiError as error:
            return self._end(Finish.FAILED, error)
        if self._finish is None:
            lost = ChatError(ErrorCode.CHAT_CONNECTION_LOST, {"detail": "no end of the stream"})
            return self._end(Finish.FAILED, lost)
        return self._end(self._reached(), self._emptiness(request) or self._oddity())

    def _reached(self) -> Finish:
        """How it ended; a limit below the one that was asked for is the context's."""
        assert self._finish is not None
        tokens = self._usage.completion_tokens if self._usage else 0
        if self._finish is Finish.LENGTH and 0 < tokens < self._asked_tokens:
            return Finish.CONTEXT
        return self._finish

    def _take(self, delta: Delta) -> None:
        now = self._clock()
        if delta.prefill_total and delta.prefill_done is not None and not self._tokens:
            self._prompt_tokens = delta.prefill_total
            self._on_prefill(delta.prefill_done, delta.prefill_total)
        if delta.usage is not None:
            self._usage = delta.usage
        if delta.finish_reason is not None:
            self._finish = _FINISHES.get(delta.finish_reason, Finish.END)
        if not (delta.content or delta.reasoning):
            return
        if not self._tokens:
            self._first = now
        if not self._has_text and delta.content.strip():
            self._has_text = True
            self._content = now
        self._has_reasoning = self._has_reasoning or bool(delta.reasoning)
        self._tokens = max(delta.completion_tokens or 0, self._tokens + 1)
        if delta.decode_s is not None:
            self._decode_s = delta.decode_s
        self._text.append(delta.content)
        self._whole += delta.content
        if len(self._whole) > 4 * LOOKED_AT:
            self._whole = self._whole[:LOOKED_AT] + self._whole[-LOOKED_AT:]
        self._reasoning.append(delta.reasoning)
        if now - self._told >= COALESCE_S:
            self._tell(now)
        elif self._timer is None:
            wait_s = COALESCE_S - (now - self._told)
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._tell(self._clock())

    def _tell(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text, reasoning = "".join(self._text), "".join(self._reasoning)
        if not (text or reasoning):
            return
        self._text.clear()
        self._reasoning.clear()
        self._told = now
        decoding_s = self._decoding_s(now)
        self._points.append((decoding_s, self._tokens))
        while len(self._points) > 2 and decoding_s - self._points[1][0] >= RATE_WINDOW_S:
            self._points.popleft()
        self._on_update(AnswerUpdate(text, reasoning, self._stats(now)))

    def _decoding_s(self, now: float) -> float:
        """How long the engine has been decoding: by its own clock, else since the first token."""
        return self._decode_s if self._decode_s is not None else now - self._first

    def _stats(self, now: float) -> AnswerStats:
        """So far, with the speed of the last two seconds."""
        if not self._tokens:
            return AnswerStats()
        began_s, before = self._points[0] if self._points else (0.0, 1)
        took_s = self._decoding_s(now) - began_s
        thinking_s = (self._content if self._has_text else now) - self._first
        return AnswerStats(
            tokens=self._tokens,
            decode_tokens_per_s=(self._tokens - before) / took_s if took_s > 0 else 0.0,
            first_token_s=self._first - self._started,
            thinking_s=thinking_s if self._has_reasoning else None,
            prompt_tokens=self._prompt_tokens,
        )

    def _end(self, finish: Finish, error: KimiError | None = None) -> Answer:
        now = self._clock()
        self._tell(now)
        stats = self._stats(now)
        usage = self._usage or Usage()
        tokens = usage.completion_tokens or self._tokens
        return Answer(
            finish,
            replace(
                stats,
                tokens=tokens,
                decode_tokens_per_s=self._whole_speed(tokens, usage.decode_s, now),
                prompt_tokens=usage.prompt_tokens or self._prompt_tokens,
                cached_tokens=usage.cached_tokens,
            ),
            error,
        )

    def _whole_speed(self, tokens: int, usage_s: float, now: float) -> float:
        """Tokens a second of the whole answer.

        The engine's clock runs from the end of the prompt; ours begins with the first token, which
        is therefore not counted, and by it a burst that came at once has no speed.
        """
        if engine_s := usage_s or self._decode_s:
            return tokens / engine_s
        took_s = now - self._first
        return (tokens - 1) / took_s if tokens > 1 and took_s >= BURST_S else 0.0

    def _oddity(self) -> KimiError | None:
        """What is wrong with a text that is there: seen at a glance, and only said."""
        look = look_at(self._whole)
        if look.leaks_template:
            return ChatError(ErrorCode.CHAT_TEMPLATE_LEAK)
        if look.repeats:
            return ChatError(ErrorCode.CHAT_LOOPING)
        return ChatError(ErrorCode.CHAT_GIBBERISH) if look.is_gibberish else None

    def _emptiness(self, request: ChatRequest) -> KimiError | None:
        """Why an answer that ended by itself has no text."""
        if self._has_text:
            return None
        if self._finish is Finish.LENGTH and self._has_reasoning:
            tokens = self._usage.completion_tokens if self._usage else 0
            params = {"max_tokens": tokens or request.sampling.max_tokens}
            return ChatError(ErrorCode.CHAT_ONLY_THINKING, params)
        return ChatError(ErrorCode.CHAT_EMPTY_ANSWER)
