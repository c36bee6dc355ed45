"""A run's samples: thinned out, kept with the run, read back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_samples import (
    COARSE_STEP_S,
    FINE_FOR_S,
    FINE_STEP_S,
    RunSamples,
    row_of,
    row_text,
)
from kimi_desktop.monitor.runs import RunStore
from kimi_desktop.monitor.types import Phase, Sample
from tests.support.samples import gpu_sample, sample
from tests.unit.monitor.test_runs import RUN


def collect(*samples: Sample, started_at: float = 0.0) -> tuple[Row, ...]:
    found = RunSamples(started_at)
    for one in samples:
        found.add(one)
    return found.take(to_the_end=True)


def test_five_seconds_become_one_row():
    rows = collect(*(sample(float(n), tokens_per_s=float(n)) for n in range(10)))
    assert [row.step_s for row in rows] == [FINE_STEP_S, FINE_STEP_S]
    assert [row.sample.tokens_per_s for row in rows] == [2.0, 7.0]


def test_what_the_engine_counts_is_kept_with_the_run():
    (row,) = collect(sample(1.0, requests_running=3.0, kv_cache_percent=41.5))
    assert row_of(row_text(row)) == row
    assert row.sample.requests_running == 3.0


def test_after_an_hour_half_a_minute_does():
    rows = collect(*(sample(FINE_FOR_S + n) for n in range(61)))
    assert {row.step_s for row in rows} == {COARSE_STEP_S}
    assert len(rows) == 3


def test_what_was_taken_is_not_given_again():
    found = RunSamples(0.0)
    for n in range(11):
        found.add(sample(float(n)))
    assert found.waiting == 2
    assert len(found.take()) == 2
    assert len(found.take(to_the_end=True)) == 1
    assert found.take(to_the_end=True) == ()


@given(
    st.floats(0, 2e9),
    st.sampled_from(Phase),
    st.none() | st.floats(0, 1e6),
    st.none() | st.integers(0, 2**45),
    st.lists(st.sampled_from(["power cap", "thermal (hardware)"]), unique=True),
)
def test_a_row_is_read_back_as_it_was(at, phase, speed, swap, reasons):
    cards = (gpu_sample(throttled=tuple(reasons)), gpu_sample(1, temperature_c=None))
    row = Row(
        sample(at, phase=phase, tokens_per_s=speed, swap_used_bytes=swap, gpus=cards), FINE_STEP_S
    )
    assert row_of(row_text(row)) == row


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"step_s": 5}', '{"step_s": 5, "phase": "dance", "at": 1}']
)
def test_a_row_of_another_version_is_left_out(text):
    assert row_of(text) is None


def test_they_are_kept_with_the_run_and_go_with_it(tmp_path: Path):
    store = RunStore(tmp_path / "runs.sqlite3")
    number = store.add(RUN)
    rows = collect(*(sample(float(n)) for n in range(20)))
    store.add_samples(number, rows[:2])
    store.add_samples(number, rows[2:])
    store.add_samples(number + 7, rows)  # a run that was deleted meanwhile
    assert store.samples(number) == rows
    assert store.samples(number + 7) == ()
    store.delete(number)
    assert store.samples(number) == ()
    store.close()


def test_a_notebook_of_the_first_version_gets_them(tmp_path: Path):
    store = RunStore(tmp_path / "runs.sqlite3")
    number = store.add(RUN)
    with store._db:
        store._db.execute("DROP TABLE samples")
        store._db.execute("PRAGMA user_version = 1")
    store.close()
    store = RunStore(tmp_path / "runs.sqlite3")
    assert [run.id for run in store.list()] == [number]
    store.add_samples(number, collect(sample(1.0)))
    assert len(store.samples(number)) == 1
    store.close()
