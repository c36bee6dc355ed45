"""An engine's client that says what the test puts into it, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from kimi_desktop.backends.types import (
    ChatRequest,
    Delta,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import EventBus

HANG = object()
"""A step at which the engine says nothing more."""

Step = Delta | KimiError | float | object
"""A delta, a failure, seconds to wait, or HANG."""


def words(*texts: str) -> list[Step]:
    """One delta for each text, and a normal end."""
    return [*(Delta(content=text) for text in texts), Delta(finish_reason="stop")]


class ScriptedClient:
    """Streams ``script``, or what ``answer`` makes of the request."""

    def __init__(self, *script: Step, answer: Callable[[ChatRequest], list[Step]] | None = None):
        self.script = list(script)
        self.answer = answer
        self.requests: list[ChatRequest] = []
        self.tokens: int | None = None
        """What ``count_tokens`` says."""
        self.open_streams = 0
        self.closed_early = 0

    async def stream_chat(self, request: ChatRequest) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        self.open_streams += 1
        complete = False
        try:
            for step in self.answer(request) if self.answer else self.script:
                await asyncio.sleep(step if isinstance(step, float) else 0)
                if isinstance(step, KimiError):
                    raise step
                if step is HANG:
                    await asyncio.Event().wait()
                if isinstance(step, Delta):
                    yield step
            complete = True
        finally:
            self.open_streams -= 1
            self.closed_early += not complete

    async def count_tokens(self, request: ChatRequest) -> int | None:
        return self.tokens


class ScriptedEngine:
    """The engine as a chat sees it; ``set_state`` publishes what the real one would."""

    def __init__(self, bus: EventBus, client: ScriptedClient, *, context: int = 4096) -> None:
        self._bus = bus
        self.scripted = client
        self.status = EngineStatus(
            EngineState.STOPPED, settings=LoadSettings(Path("model.gguf"), context=context)
        )

    def has_model(self, path: Path) -> None:
        """It was started with another model."""
        self.status = dataclasses.replace(self.status, settings=LoadSettings(path))

    def client(self) -> ScriptedClient | None:
        ready = self.status.state in (EngineState.READY, EngineState.GENERATING)
        return self.scripted if ready else None

    def set_generating(self, generating: bool) -> None:
        if self.client() is not None:
            self.set_state(EngineState.GENERATING if generating else EngineState.READY)

    def set_state(self, state: EngineState, error: KimiError | None = None) -> None:
        self.status = dataclasses.replace(self.status, state=state, error=error)
        self._bus.publish(EngineStateChanged(self.status))
