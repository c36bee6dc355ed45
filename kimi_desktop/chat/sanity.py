"""One short question to a model that has just been loaded: does it answer like a model at all?

Some tens of tokens, at temperature 0; given up as soon as anybody else wants the engine. What is
odd about the answer is told with its likely causes. IO thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Protocol

from kimi_desktop.backends.types import (
    ChatRequest,
    Delta,
    EngineState,
    EngineStateChanged,
    LoadRemarked,
    LoadSettings,
    Sampling,
)
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode, Param
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.text_checks import look_at
from kimi_desktop.chat.types import MessageAdded

QUESTION = "Name three colours."
MOST_TOKENS = 32
SAME_CHARACTERS = 4
"""So often one and the same, and nothing else, is no answer."""
BROKEN_SHARE = 0.2
"""Of characters that no text has."""
SHOWN = 40


class AnswerClient(Protocol):
    """Of a ready engine."""

    def stream_chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        """The answer in pieces."""


class SanityCheck:
    """Asks after every load, if that is wanted.

    Args:
        io: where it runs.
        bus: tells of loads, messages and streams; LoadRemarked is published there.
        client: of the ready engine.
        wanted: the user's choice.
    """

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        *,
        client: Callable[[], AnswerClient | None],
        wanted: Callable[[], bool],
    ) -> None:
        self._io = io
        self._bus = bus
        self._client = client
        self._wanted = wanted
        self._asking: asyncio.Task[None] | None = None
        self._is_due = False
        """Nobody has wanted the engine since it became ready."""
        self._asked_of: float | None = None
        """When the engine was started that was asked last."""
        self._leave_bus = bus.subscribe(self._on_event)

    def close(self) -> None:
        """Stop listening and asking."""
        self._leave_bus()
        self._give_up()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, MessageAdded):
            self._give_up()
        elif isinstance(event, EngineStateChanged):
            status = event.status
            is_fresh = status.state is EngineState.READY and status.started_at != self._asked_of
            if is_fresh and status.settings is not None:
                self._asked_of = status.started_at
                self._is_due = self._wanted()
                if self._is_due:
                    self._io.submit(lambda: self._begin(status.settings))
            elif status.state is not EngineState.READY:
                self._give_up()

    def _give_up(self) -> None:
        self._is_due = False

        async def cancel() -> None:
            if self._asking is not None:
                self._asking.cancel()

        if self._asking is not None:
            self._io.submit(cancel)

    async def _begin(self, settings: LoadSettings | None) -> None:
        client = self._client()
        if client is not None and settings is not None and self._is_due:
            self._asking = self._io.spawn(self._ask(client, settings), name="sanity check")

    async def _ask(self, client: AnswerClient, settings: LoadSettings) -> None:
        request = ChatRequest(
            (("user", QUESTION),),
            Sampling(temperature=0.0, max_tokens=MOST_TOKENS, stop=settings.stop),
            thinking=False,
        )
        text = thoughts = ""
        try:
            async with contextlib.aclosing(client.stream_chat(request)) as deltas:
                async for delta in deltas:
                    text += delta.content
                    thoughts += delta.reasoning
        except ChatError:
            return  # the first real question will tell
        finally:
            self._asking = None
        problem = judge(text or thoughts, settings)
        if problem is not None:
            self._bus.publish(LoadRemarked((problem,)))


def judge(text: str, settings: LoadSettings) -> BackendError | None:
    """What is odd about a first answer; None when it looks like one."""
    look, stripped = look_at(text), text.strip()
    broken = sum(c == "\ufffd" or not (c.isprintable() or c.isspace()) for c in stripped)
    params: dict[str, Param] = {"text": stripped[:SHOWN], "cache": settings.cache_type}
    code: ErrorCode | None = None
    if look.is_empty:
        code = ErrorCode.ENGINE_FIRST_EMPTY
    elif look.leaks_template:
        code = ErrorCode.ENGINE_FIRST_TEMPLATE
    elif len(stripped) >= SAME_CHARACTERS and len(set(stripped)) == 1:
        code = ErrorCode.ENGINE_FIRST_REPEATS
    elif look.is_gibberish or broken > BROKEN_SHARE * len(stripped):
        code = ErrorCode.ENGINE_FIRST_GIBBERISH
    return BackendError(code, params) if code is not None else None
