"""What an engine counts of itself: gauges as they are, counters as rates, and never a wait."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import EngineMetrics
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.monitor.engine_meter import (
    FRESH_S,
    NOTHING,
    EngineLoad,
    EngineMeter,
    load_of,
)

BUSY = EngineMetrics(
    running=4,
    waiting=3,
    cache_used=0.25,
    prompt_tokens=1000,
    generated_tokens=500,
    looked_up_tokens=1000,
    found_tokens=100,
)


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


class Page:
    """Answers that a test hands out."""

    def __init__(self) -> None:
        self.answer: EngineMetrics | Exception | None = None
        self.asked = 0
        self.gate: asyncio.Event | None = None

    async def __call__(self) -> EngineMetrics | None:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_the_first_page_has_no_rates() -> None:
    assert load_of(BUSY, None, 0) == EngineLoad(4, 3, 25.0)


def test_a_second_page_has_rates_and_hits() -> None:
    later = dataclasses.replace(
        BUSY, prompt_tokens=1400, generated_tokens=580, looked_up_tokens=1400, found_tokens=200
    )
    load = load_of(later, BUSY, 2.0)
    assert load.engine_prompt_tokens_per_s == 200
    assert load.engine_generated_tokens_per_s == 40
    assert load.prefix_hit_percent == 25
    assert load_of(BUSY, BUSY, 1.0).prefix_hit_percent is None  # no prompt came


def test_tokens_that_are_counted_at_the_end_take_the_engines_own_time() -> None:
    before = EngineMetrics(generated_tokens=0, generated_seconds=0.0)
    after = EngineMetrics(generated_tokens=1500, generated_seconds=50.0)
    assert load_of(after, before, 1.0).engine_generated_tokens_per_s == 30
    assert load_of(after, after, 1.0).engine_generated_tokens_per_s is None


def test_counters_that_began_anew_have_no_rate() -> None:
    fresh = EngineMetrics(prompt_tokens=1, generated_tokens=1, looked_up_tokens=1, found_tokens=0)
    load = load_of(fresh, BUSY, 1.0)
    assert load == NOTHING


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(0, 100))
def test_no_rate_is_below_nothing(then: int, now: int, step_s: float) -> None:
    load = load_of(
        EngineMetrics(generated_tokens=now), EngineMetrics(generated_tokens=then), step_s
    )
    assert (load.engine_generated_tokens_per_s or 0) >= 0


def on(io: IoLoop, meter: EngineMeter) -> EngineLoad:
    async def once() -> EngineLoad:
        load = meter.take()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return load

    return io.submit(once).result(10)


def test_a_slow_page_delays_nothing_and_is_asked_once(io: IoLoop) -> None:
    page = Page()
    now = [100.0]

    async def use() -> tuple[EngineLoad, ...]:
        page.answer, page.gate = BUSY, asyncio.Event()
        meter = EngineMeter(io, page, lambda: now[0])
        seen = [meter.take()]
        await asyncio.sleep(0)
        seen.append(meter.take())  # returns although the page is open
        page.gate.set()
        await asyncio.sleep(0.01)
        now[0] += 1
        seen.append(meter.take())
        now[0] += FRESH_S + 1
        page.gate.clear()
        seen.append(meter.take())
        page.gate.set()
        await asyncio.sleep(0.01)
        return tuple(seen)

    first, second, third, late = io.submit(use).result(10)
    assert (first, second) == (NOTHING, NOTHING)
    assert third.requests_running == 4
    assert late == NOTHING  # what an engine said long ago is not the present
    assert page.asked == 2


def test_no_engine_and_a_broken_page_say_nothing(io: IoLoop) -> None:
    page = Page()
    meter = EngineMeter(io, page)
    page.answer = BUSY
    on(io, meter)
    assert on(io, meter).requests_waiting == 3
    page.answer = OSError("gone")
    on(io, meter)
    assert on(io, meter) == NOTHING
    page.answer = None
    on(io, meter)
    assert on(io, meter) == NOTHING
    assert on(io, EngineMeter(io)) == NOTHING
