"""What the engine counts of itself, once a sample: requests, cache, tokens. IO thread.

A page that is slow (an engine answers between two batches) delays no sample: each takes the newest
answer there is and asks the next question when the last one was answered.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kimi_desktop.backends.types import EngineMetrics
from kimi_desktop.base.io_loop import IoLoop

log = logging.getLogger(__name__)

FRESH_S = 3.0
"""An older answer says nothing of the present."""
LEAST_STEP_S = 0.05
"""Closer pages give no rate."""

Ask = Callable[[], Awaitable[EngineMetrics | None]]
"""None while no engine is ready."""


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """What goes into one sample, under the names of its fields; None where it is not told."""

    requests_running: float | None = None
    requests_waiting: float | None = None
    kv_cache_percent: float | None = None
    engine_prompt_tokens_per_s: float | None = None
    engine_generated_tokens_per_s: float | None = None
    prefix_hit_percent: float | None = None


NOTHING = EngineLoad()


class EngineMeter:
    """Asks, and makes rates of what is counted since the start."""

    def __init__(
        self, io: IoLoop, ask: Ask | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``ask``: the engine's counters; None: there is nobody to ask."""
        self._io = io
        self._ask = ask
        self._clock = clock
        self._open: asyncio.Task[None] | None = None
        self._last: tuple[float, EngineMetrics] | None = None
        self._load = NOTHING

    def take(self) -> EngineLoad:
        """The newest answer; never waits."""
        if self._ask is not None and (self._open is None or self._open.done()):
            self._open = self._io.spawn(self._look(self._ask), name="engine metrics")
        if self._last is None or self._clock() - self._last[0] > FRESH_S:
            return NOTHING
        return self._load

    async def _look(self, ask: Ask) -> None:
        found: EngineMetrics | None = None
        try:
            found = await ask()
        except Exception:
            log.debug("no engine metrics", exc_info=True)
        now = self._clock()
        if found is None:
            self._last, self._load = None, NOTHING
            return
        before, self._last = self._last, (now, found)
        step_s = now - before[0] if before is not None else 0.0
        self._load = load_of(found, before[1] if before is not None else None, step_s)


def load_of(now: EngineMetrics, before: EngineMetrics | None, step_s: float) -> EngineLoad:
    """Gauges as they are, counters as rates.

    Args:
        now: the newest page.
        before: the one before it; without it there are no rates.
        step_s: between the two.
    """
    then = before if before is not None and step_s >= LEAST_STEP_S else EngineMetrics()
    looked_up = _grown(now.looked_up_tokens, then.looked_up_tokens)
    found = _grown(now.found_tokens, then.found_tokens)
    return EngineLoad(
        requests_running=now.running,
        requests_waiting=now.waiting,
        kv_cache_percent=None if now.cache_used is None else 100 * now.cache_used,
        engine_prompt_tokens_per_s=_rate(
            _grown(now.prompt_tokens, then.prompt_tokens),
            _step(now.prompt_seconds, then.prompt_seconds, step_s),
        ),
        engine_generated_tokens_per_s=_rate(
            _grown(now.generated_tokens, then.generated_tokens),
            _step(now.generated_seconds, then.generated_seconds, step_s),
        ),
        prefix_hit_percent=100 * found / looked_up if looked_up and found is not None else None,
    )


def _grown(now: float | None, then: float | None) -> float | None:
    """None also for a counter that began anew."""
    return None if now is None or then is None or now < then else now - then


def _step(now: float | None, then: float | None, step_s: float) -> float | None:
    """The time that the tokens took: the engine's own where it tells, else between the pages."""
    return step_s if now is None else _grown(now, then)


def _rate(tokens: float | None, seconds: float | None) -> float | None:
    """None also for a second in which nothing ended, where only ends are counted."""
    return None if tokens is None or not seconds else tokens / seconds
