"""The real embedded engine as a chat sees it, without the app's engine service."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from kimi_desktop.backends.client import EngineClient
from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus, LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from tests.support.engine_programs import RunningProgram, embedded_engine

ENDLESS = 262_144
"""A context that a test does not fill, however busy the machine is."""


class LinkedEngine:
    """A running engine program and the state that the app would show."""

    def __init__(
        self, bus: EventBus, program: RunningProgram, client: EngineClient, context: int
    ) -> None:
        self._bus = bus
        self._client = client
        self.program = program
        settings = LoadSettings(Path("tiny-kimi.gguf"), context=context)
        self.status = EngineStatus(EngineState.READY, settings, engine_name="llama.cpp")

    def client(self) -> EngineClient | None:
        ready = self.status.state in (EngineState.READY, EngineState.GENERATING)
        return self._client if ready else None

    def set_generating(self, generating: bool) -> None:
        if self.client() is not None:
            self._set(EngineState.GENERATING if generating else EngineState.READY)

    def kill(self) -> None:
        """As the system kills it; the app finds out a moment later."""
        self.program.process.kill()
        self.program.process.wait()
        self._set(EngineState.FAILED, BackendError(ErrorCode.ENGINE_KILLED, {"signal": "SIGKILL"}))

    def _set(self, state: EngineState, error: BackendError | None = None) -> None:
        self.status = dataclasses.replace(self.status, state=state, error=error)
        self._bus.publish(EngineStateChanged(self.status))


@contextlib.contextmanager
def linked_engine(
    io: IoLoop, bus: EventBus, model: Path, *, context: int = 2048
) -> Iterator[LinkedEngine]:
    """Start the embedded engine with this model. Endless answers need a large context."""
    with embedded_engine(model, "-c", str(context)) as program:

        async def connect() -> EngineClient:
            return EngineClient(program.endpoint)

        client = io.submit(connect).result(60)
        try:
            yield LinkedEngine(bus, program, client, context)
        finally:
            io.submit(client.close).result(60)
