from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.monitor.history import (
    FINE_MAX,
    MIDDLE_MAX,
    MIDDLE_STEP_S,
    SESSION_MAX,
    History,
)
from kimi_desktop.monitor.types import Phase, Sample
from tests.support.samples import GIB, gpu_sample, sample

HOUR_S = 3600


def filled(samples: Sequence[Sample]) -> History:
    history = History()
    for entry in samples:
        history.add(entry)
    return history


def seconds(count: int, start: float = 1000.0, **changes: object) -> list[Sample]:
    return [sample(start + number, **changes) for number in range(count)]


def test_nothing_yet() -> None:
    assert History().last(300) == ()
    assert History().rows() == ()


def test_five_minutes_are_shown_by_the_second() -> None:
    samples = seconds(400)
    assert filled(samples).last(300) == tuple(samples[-300:])


def test_a_young_session_is_shown_whole() -> None:
    samples = seconds(20)
    history = filled(samples)
    assert history.last(300) == tuple(samples)
    assert history.last(math.inf)[-1].at == samples[-1].at


def test_an_hour_is_shown_by_five_seconds() -> None:
    hour = filled(seconds(2 * HOUR_S)).last(HOUR_S)
    assert len(hour) == HOUR_S / MIDDLE_STEP_S
    assert {later.at - earlier.at for earlier, later in itertools.pairwise(hour)} == {5.0}


def test_a_week_stays_bounded_and_whole() -> None:
    start = 1_700_000_000.0
    history = History()
    step = 30  # seconds between samples, to keep the test short
    for number in range(7 * 24 * HOUR_S // step):
        history.add(sample(start + number * step))
    session = history.last(math.inf)
    assert SESSION_MAX / 2 <= len(session) <= SESSION_MAX
    assert session[0].at - start < 2000
    assert session[-1].at == start + 7 * 24 * HOUR_S - step
    rows = history.rows()
    assert len(rows) <= SESSION_MAX + MIDDLE_MAX + FINE_MAX
    times = [row.sample.at for row in rows]
    assert times == sorted(times)


def test_means_of_rates_and_peaks_of_memory() -> None:
    history = filled(
        [
            sample(1000, tokens_per_s=10.0, phase=Phase.DECODE, ram_used_bytes=5 * GIB),
            sample(1001, tokens_per_s=None, ram_used_bytes=9 * GIB, engine_cpu_percent=50.0),
            sample(1002, tokens_per_s=20.0, phase=Phase.DECODE, ram_used_bytes=7 * GIB),
        ]
    )
    (step,) = history.last(HOUR_S)
    assert step.at == 1002
    assert step.tokens_per_s == 15.0  # idle seconds do not count
    assert step.engine_cpu_percent == 50.0
    assert step.ram_used_bytes == 9 * GIB
    assert step.engine_rss_bytes is None
    assert step.engine_read_bytes_per_s is None


def test_the_most_requests_and_the_mean_of_their_tokens() -> None:
    history = filled(
        [
            sample(1000, requests_waiting=0.0, engine_generated_tokens_per_s=40.0),
            sample(1001, requests_waiting=5.0, kv_cache_percent=90.0),
            sample(1002, requests_waiting=1.0, engine_generated_tokens_per_s=20.0),
        ]
    )
    (step,) = history.last(HOUR_S)
    assert (step.requests_waiting, step.kv_cache_percent) == (5.0, 90.0)
    assert step.engine_generated_tokens_per_s == 30.0


def test_gpus_come_and_go() -> None:
    history = filled(
        [
            sample(1000, gpus=(gpu_sample(0, load_percent=10), gpu_sample(1, temperature_c=80))),
            sample(1001, gpus=(gpu_sample(0, load_percent=21, power_w=None),)),
            sample(1002, gpus=(gpu_sample(0, load_percent=90, vram_used_bytes=90 * GIB),)),
        ]
    )
    (step,) = history.last(HOUR_S)
    first, second = step.gpus
    assert (first.load_percent, first.vram_used_bytes) == (40, 90 * GIB)
    assert first.power_w == 212.5
    assert (second.index, second.temperature_c) == (1, 80)


def test_doubled_steps_keep_means_peaks_and_every_gpu() -> None:
    """Means weigh every sample alike, however often its step was joined to others."""
    history = History()
    for number in range(SESSION_MAX + 1):
        lone = (gpu_sample(1, temperature_c=90),) if number == 7 else ()
        card = gpu_sample(0, load_percent=number % 2 * 100, vram_used_bytes=number)
        rate = float(number) if number % 20 < 10 else None
        history.add(sample(10.0 * number, tokens_per_s=rate, gpus=(card, *lone)))
    session = history.last(math.inf)
    assert len(session) == SESSION_MAX / 2 + 1
    assert [step.tokens_per_s for step in session[:6]] == [0.5, 2.5, 4.5, 6.5, 8.5, None]
    assert [gpu.index for gpu in session[3].gpus] == [0, 1]
    assert session[3].gpus[1].temperature_c == 90
    assert {step.gpus[0].load_percent for step in session[:-1]} == {50}
    assert [step.gpus[0].vram_used_bytes for step in session[:3]] == [1, 3, 5]


@pytest.mark.parametrize(
    ("phases", "shown"),
    [
        ([Phase.IDLE] * 5, Phase.IDLE),
        ([Phase.IDLE] * 4 + [Phase.DECODE], Phase.DECODE),
        ([Phase.PREFILL] + [Phase.DECODE] * 3 + [Phase.IDLE], Phase.DECODE),
    ],
)
def test_work_is_never_hidden_by_idleness(phases: list[Phase], shown: Phase) -> None:
    history = filled([sample(1000 + i, phase=phase) for i, phase in enumerate(phases)])
    assert history.last(HOUR_S)[-1].phase is shown


def test_a_suspend_leaves_a_gap() -> None:
    history = filled([*seconds(5, 1000.0), *seconds(5, 1000.0 + 8 * HOUR_S)])
    assert [entry.at for entry in history.last(300)] == [1000.0 + 8 * HOUR_S + i for i in range(5)]
    assert history.last(math.inf)[0].at == 1004.0


def test_a_clock_set_back_takes_the_history_along() -> None:
    history = filled(seconds(100, 5000.0))
    history.shift(-3600.0)
    history.add(sample(5000.0 + 100 - 3600.0))
    times = [entry.at for entry in history.last(300)]
    assert times == [1400.0 + number for number in range(101)]
    for spans in (HOUR_S, math.inf):
        steps = [entry.at for entry in history.last(spans)]
        assert steps == sorted(steps)
        assert steps[-1] == 1500.0
    assert [row.sample.at for row in history.rows()] == times


def test_rows_use_the_finest_steps_there_are() -> None:
    count = 3 * HOUR_S
    rows = filled(seconds(count)).rows()
    assert [row.step_s for row in rows[-FINE_MAX:]] == [1.0] * FINE_MAX
    kinds = {row.step_s for row in rows}
    assert kinds == {1.0, MIDDLE_STEP_S, 10.0}
    times = [row.sample.at for row in rows]
    assert times == sorted(set(times))
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert max(gaps) <= 15  # no stretch is missing where two resolutions meet
    assert times[0] < 1010


rates = st.none() | st.floats(0, 1e6)
some_samples = st.lists(
    st.tuples(
        st.floats(0.5, 400.0),
        st.sampled_from(Phase),
        rates,
        st.integers(0, 64 * GIB),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=120,
)


@given(some_samples, st.lists(st.floats(-1e5, 1e5), max_size=2))
def test_whatever_comes_order_bounds_and_peaks_hold(
    entries: list[tuple[float, Phase, float | None, int, int]], shifts: list[float]
) -> None:
    history, at, end = History(), 1e6, 0.0
    for number, (wait, phase, rate, used, gpus) in enumerate(entries):
        at += wait
        if shifts and number % 50 == 49:
            moved = shifts.pop()
            history.shift(moved)
            at += moved
        end = at
        history.add(
            sample(
                at,
                phase=phase,
                tokens_per_s=rate,
                ram_used_bytes=used,
                gpus=tuple(gpu_sample(index) for index in range(gpus)),
            )
        )
    known = [rate for _, _, rate, _, _ in entries if rate is not None]
    for span in (300.0, 3600.0, math.inf):
        shown = history.last(span)
        times = [entry.at for entry in shown]
        assert times == sorted(times)
        assert times[-1] == pytest.approx(end)
        assert len(shown) <= SESSION_MAX
        for entry in shown:
            if entry.tokens_per_s is not None:
                assert min(known) - 1e-6 <= entry.tokens_per_s <= max(known) * (1 + 1e-9) + 1e-6
    session = history.last(math.inf)
    assert max(entry.ram_used_bytes for entry in session) == max(entry[3] for entry in entries)
    assert any(entry.phase is not Phase.IDLE for entry in session) == any(
        entry[1] is not Phase.IDLE for entry in entries
    )


@given(st.integers(1, 4000), st.floats(0, 5000))
def test_the_last_seconds_are_the_last_seconds(count: int, span: float) -> None:
    samples = seconds(count)
    shown = filled(samples).last(span)
    assert all(entry.at >= samples[-1].at - span for entry in shown)
    if span <= FINE_MAX:
        assert len(shown) == min(count, FINE_MAX, math.floor(span + 0.5))
