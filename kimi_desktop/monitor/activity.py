"""What the engine is doing, pieced together from what the engine and the chat say. Any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.monitor.types import Phase

# A stream that has been silent for this long is not running at its last speed.
STALE_S = 2.0

ANSWERING = frozenset({Phase.PREFILL, Phase.DECODE})
LOADING = frozenset({EngineState.STARTING, EngineState.LOADING})


@dataclass(frozen=True, slots=True)
class Doing:
    """What goes into one sample."""

    phase: Phase
    tokens_per_s: float | None
    prefill_tokens_per_s: float | None


class Activity:
    """Collects notes between two samples.

    A phase that began and ended between them still shows in the next sample: a short answer must
    not go unseen because nobody looked at the right moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._engine_pid: int | None = None
        self._phase = Phase.IDLE
        self._busy: Phase | None = None
        self._decode: float | None = None
        self._decode_at = 0.0
        self._prefill: float | None = None
        self._prefill_from: tuple[float, int] | None = None

    @property
    def engine_pid(self) -> int | None:
        """The root of the engine's process tree while there is one."""
        return self._engine_pid

    def note_engine(self, status: EngineStatus) -> None:
        """The engine changed its state."""
        with self._lock:
            self._engine_pid = status.pid
            if status.state in LOADING:
                self._enter(Phase.LOAD)
            elif status.state is EngineState.GENERATING:
                # Every request begins with its prompt; the chat says when the answer starts.
                if self._phase in (Phase.IDLE, Phase.LOAD):
                    self._enter(Phase.PREFILL)
            else:
                self._enter(Phase.IDLE)

    def note_phase(self, phase: Phase) -> None:
        """The chat knows what the engine does."""
        with self._lock:
            self._enter(phase)

    def note_prefill(self, done_tokens: int, total_tokens: int) -> None:
        """The engine has worked through ``done_tokens`` of the prompt."""
        with self._lock:
            if self._phase is not Phase.PREFILL:
                self._enter(Phase.PREFILL)
            now = self._clock()
            if self._prefill_from is None or done_tokens < self._prefill_from[1]:
                self._prefill_from = (now, done_tokens)
            since, done_then = self._prefill_from
            if now > since and done_then < done_tokens <= total_tokens:
                self._prefill = (done_tokens - done_then) / (now - since)

    def note_tokens_per_s(self, decode: float | None, prefill: float | None = None) -> None:
        """Tokens are coming at this speed; nothing at all = the answer has ended."""
        with self._lock:
            if decode is None and prefill is None and self._phase in ANSWERING:
                self._enter(Phase.IDLE)
            if prefill is not None:
                self._prefill = prefill
            if decode is not None:
                if self._phase is not Phase.DECODE:
                    self._enter(Phase.DECODE)
                self._decode = decode
                self._decode_at = self._clock()

    def take(self) -> Doing:
        """What happened since the last call."""
        with self._lock:
            phase = self._phase
            if phase is Phase.IDLE and self._busy is not None:
                phase = self._busy
            decode = self._decode
            if self._phase is Phase.DECODE and self._clock() - self._decode_at > STALE_S:
                decode = 0.0 if decode is not None else None
            doing = Doing(phase, decode, self._prefill)
            self._busy = None if self._phase is Phase.IDLE else self._phase
            if self._phase is not Phase.DECODE:
                self._decode = None
            if self._phase is not Phase.PREFILL:
                self._prefill = None
            return doing

    def _enter(self, phase: Phase) -> None:
        if phase is not Phase.IDLE:
            self._busy = phase
        if phase is not self._phase:
            self._prefill_from = None
        self._phase = phase
