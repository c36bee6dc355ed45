"""Runs correct the factors: towards the truth, in bounded steps."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_factors import (
    FACTOR_NAMES,
    factors_from,
    read_speed_data,
    shipped_speed_data,
)
from kimi_desktop.planner.speed_learn import MAX_DRIFT, MAX_STEP, is_telling, kept_values, learn
from kimi_desktop.planner.speed_types import FinishedRun, Resource
from tests.support.speeds import GB, hybrid

SHIPPED = shipped_speed_data().factors


def test_the_first_run_counts_most_and_many_runs_find_the_truth() -> None:
    expected = forecast_speed(hybrid()).decode_tps.likely
    truth = expected * 0.6
    factors = SHIPPED
    gaps = []
    for _ in range(25):
        factors = learn(factors, FinishedRun(hybrid(), decode_tps=truth))
        gaps.append(abs(forecast_speed(hybrid(), factors=factors).decode_tps.likely / truth - 1))
    assert factors.runs == 25
    assert gaps[0] < 0.3
    assert gaps[-1] < 0.02
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(gaps))
    # What the time went to has moved most.
    assert factors.ram / SHIPPED.ram < factors.gpu / SHIPPED.gpu < 1


def test_prompts_and_loads_correct_their_own_factors() -> None:
    seen = forecast_speed(hybrid(), 2048)
    run = FinishedRun(
        hybrid(),
        prefill_tps=seen.prefill_tps.likely * 1.3,
        prompt_tokens=2048,
        load_s=seen.load_s.likely * 2,
    )
    after = learn(SHIPPED, run)
    assert after.pcie > SHIPPED.pcie
    assert after.disk_load < SHIPPED.disk_load
    assert after.ram == pytest.approx(SHIPPED.ram)


@given(st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=40))
def test_no_run_moves_a_factor_far(speeds: list[float]) -> None:
    factors = SHIPPED
    for speed in speeds:
        before = kept_values(factors)
        factors = learn(factors, FinishedRun(hybrid(), decode_tps=speed))
        for name in FACTOR_NAMES:
            value = getattr(factors, name)
            assert abs(math.log(value / before[name])) <= MAX_STEP + 1e-9
            shipped = getattr(SHIPPED, name)
            assert shipped / MAX_DRIFT <= value * 1.000001
            assert value <= shipped * MAX_DRIFT * 1.000001


def test_a_run_that_measured_nothing_teaches_nothing() -> None:
    assert learn(SHIPPED, FinishedRun(hybrid())) is SHIPPED
    assert learn(SHIPPED, FinishedRun(hybrid(), decode_tps=0.0, prefill_tps=100.0)) is SHIPPED


def test_work_on_gpus_counts_as_much_as_work_in_memory() -> None:
    def reading(host: float, *gpus: float) -> FinishedRun:
        work = replace(hybrid().work, host_bytes=int(host * GB), gpu_bytes=tuple(gpus))
        return FinishedRun(hybrid(work=work), decode_tps=5.0)

    assert is_telling(reading(1.0))
    assert is_telling(reading(0.0, 0.5 * GB, 0.5 * GB))
    assert not is_telling(reading(0.5, 0.4 * GB))


def test_what_was_learned_is_kept_and_read_back() -> None:
    factors = learn(SHIPPED, FinishedRun(hybrid(), decode_tps=5.0))
    kept = json.loads(json.dumps(kept_values(factors)))
    assert factors_from(kept, SHIPPED) == factors


def test_absurd_kept_values_fall_back() -> None:
    kept = {"ram": -1.0, "gpu": 1e9, "pcie": float("nan"), "runs": float("inf"), "new": 3.0}
    found = factors_from(kept, SHIPPED)
    assert found.ram == SHIPPED.ram
    assert found.gpu == SHIPPED.gpu * MAX_DRIFT
    assert found.pcie == SHIPPED.pcie
    assert found.runs == 0


@pytest.mark.parametrize(
    "change", [{"ram": None}, {"ram": 0}, {"ram": True}, {"ram": "fast"}, {"warp": 1.0}]
)
def test_a_factor_file_with_a_slip_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    values: dict[str, object] = {name: getattr(SHIPPED, name) for name in FACTOR_NAMES}
    values |= change
    values = {name: value for name, value in values.items() if value is not None}
    path = tmp_path / "factors.json"
    path.write_text(json.dumps({"factors": values, "spread": {}}), encoding="utf-8")
    with pytest.raises(ValueError, match=next(iter(change))):
        read_speed_data(path)


def test_a_bottleneck_has_a_name_in_both_languages() -> None:
    assert [resource.value for resource in Resource] == [
        "ram",
        "gpu_memory",
        "pcie",
        "disk",
        "network",
        "compute",
    ]
