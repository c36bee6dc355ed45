"""The monitor for the window: one sample a second, the session's history, its export.

The loop is a task on the IO thread; blocking reads run in the pool. ``history`` and the notes may
be called from any thread.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from kimi_desktop.backends.types import EngineStateChanged
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.monitor.activity import Activity
from kimi_desktop.monitor.engine_meter import Ask, EngineMeter
from kimi_desktop.monitor.export import export_csv
from kimi_desktop.monitor.history import History
from kimi_desktop.monitor.sampler import Sampler
from kimi_desktop.monitor.types import Mark, Phase, Sample, SampleTaken

log = logging.getLogger(__name__)

PERIOD_S = 1.0
MOST_MARKS = 200
# Times of two samples differ by at least this much.
TICK_S = 0.001


class MonitorService:
    """Samples (``ui.bridge.MonitorService``). Start it once everything is wired."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        gpus: GpuReader | None = None,
        *,
        metrics: Ask | None = None,
        sampler: Sampler | None = None,
        wall_clock: Callable[[], float] = time.time,
        period_s: float = PERIOD_S,
    ) -> None:
        """``gpus``: shared with the machine service. ``metrics``: of the engine that is ready."""
        self._io = io
        self._bus = bus
        self._sampler = sampler or Sampler(io, gpus or GpuReader(), engine=EngineMeter(io, metrics))
        self._wall_clock = wall_clock
        self._period_s = period_s
        self._activity = Activity()
        self._history = History()
        self._marks: deque[Mark] = deque(maxlen=MOST_MARKS)
        self._last_at: float | None = None
        self._reported = ""
        self._running: Operation[None] | None = None
        self._unsubscribe: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin sampling and listening to the engine."""
        if self._running is None:
            self._unsubscribe = self._bus.subscribe(self._on_event)
            self._running = self._io.submit(self._run)

    def close(self) -> None:
        """Stop sampling; the history stays."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def history(self, seconds: float) -> tuple[Sample, ...]:
        """The samples of the last ``seconds`` (at most the session's), oldest first.

        One a second up to 10 minutes, one in 5 seconds up to 75, else at most 1,440 for the whole
        session.
        """
        return self._history.last(seconds)

    def marks(self) -> tuple[Mark, ...]:
        """The moments of this session that something was said about, oldest first."""
        return tuple(self._marks)

    def note_mark(self, cause: str) -> None:
        """Something was found just now."""
        self._marks.append(Mark(self._wall_clock(), cause))

    def export_csv(self, file: Path) -> Operation[Path]:
        """Write the session's samples. Ends with MonitorError when that is not possible."""
        return self._io.pool(lambda: export_csv(self._history.rows(), file))

    def note_phase(self, phase: Phase) -> None:
        """What the engine does now, by whoever knows: IDLE when an answer has ended."""
        self._activity.note_phase(phase)

    def note_prefill(self, done_tokens: int, total_tokens: int) -> None:
        """The prompt is being read; the speed is derived from two such notes."""
        self._activity.note_prefill(done_tokens, total_tokens)

    def note_tokens_per_s(self, decode: float | None, prefill: float | None = None) -> None:
        """Tokens are coming at this speed (``prefill``: how fast the prompt was read).

        Without any speed: the answer has ended.
        """
        self._activity.note_tokens_per_s(decode, prefill)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            self._activity.note_engine(event.status)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            try:
                await self._take()
            except Exception as error:  # noqa: BLE001 - whatever it is, the next second comes
                self._report(error)
            due += self._period_s
            # Behind by more than a sample (a suspended laptop): go on from now.
            due = max(due, loop.time())
            await asyncio.sleep(due - loop.time())

    def _report(self, error: Exception) -> None:
        """Log it, but not every second."""
        if repr(error) != self._reported:
            self._reported = repr(error)
            log.error("no sample", exc_info=error)

    async def _take(self) -> None:
        sample = await self._sampler.take(
            self._activity.engine_pid, self._activity.take(), self._next_time()
        )
        self._history.add(sample)
        self._bus.publish(SampleTaken(sample))

    def _next_time(self) -> float:
        """The wall clock, which people read, but never running backwards in the history.

        A clock that was set back takes the older samples along. A leap forwards, or a suspend,
        is a gap and stays one.
        """
        now = self._wall_clock()
        if self._last_at is not None and now < self._last_at + TICK_S:
            if self._last_at - now > self._period_s:
                self._history.shift(now - self._last_at - self._period_s)
            else:
                now = self._last_at + TICK_S
        self._last_at = now
        return now
