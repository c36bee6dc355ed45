"""The published speeds: how far the shipped factors are off, and that the script says so."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from kimi_desktop.planner.speed_factors import shipped_speed_data

ROOT = Path(__file__).parents[3]
POINTS = ROOT / "tests/data/speed_points.jsonl"
SCRIPT = ROOT / "benchmarks/speed.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("speed_benchmark", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["speed_benchmark"] = module
    spec.loader.exec_module(module)
    return module


def test_the_script_prints_a_line_per_point_and_a_summary() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--points", str(POINTS)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT.anchor,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == list(range(1, 42))
    for row in rows:
        assert set(row) == {"id", "decode_tps", "low", "high", "bottleneck"}
        assert 0 < row["low"] < row["decode_tps"] < row["high"]
    by_id = {row["id"]: row for row in rows}
    assert by_id[13]["bottleneck"] == by_id[41]["bottleneck"] == "disk"
    assert by_id[13]["decode_tps"] < 1
    assert by_id[19]["bottleneck"] == "ram"
    assert by_id[36]["bottleneck"] == "gpu_memory"
    assert "shipped factors: points 37" in done.stderr


def test_the_aims_hold_on_the_published_points(bench: ModuleType) -> None:
    rows = [json.loads(line) for line in POINTS.read_text(encoding="utf-8").splitlines()]
    points = [bench.Point(row, bench.read_report(row)) for row in rows]
    factors = shipped_speed_data().factors
    judged = [
        (point.row["decode_tps"], bench.predict(point, factors).decode_tps)
        for point in points
        if point.judged
    ]
    errors = [abs(band.likely / real - 1) for real, band in judged]
    assert len(judged) == 37
    assert bench.percentile(errors, 0.5) <= 0.14
    assert bench.percentile(errors, 0.9) <= 0.45
    assert sum(band.low <= real <= band.high for real, band in judged) >= 0.8 * len(judged)


def test_a_fit_finds_the_factors_that_made_the_points(bench: ModuleType) -> None:
    """Speeds made up by known factors lead back to forecasts that match them."""
    truth = shipped_speed_data().factors
    rows = [json.loads(line) for line in POINTS.read_text(encoding="utf-8").splitlines()][:12]
    rows = [row for row in rows if row["placement"] == "hybrid" and "decode_tps" in row]
    made = []
    for row in rows:
        setup = bench.read_report(row)
        speed = bench.predict(bench.Point(row, setup), truth).decode_tps.likely
        made.append(bench.Point(row | {"decode_tps": speed}, setup))
    found = bench.fit(made, truth)
    for point in made:
        speed = bench.predict(point, found).decode_tps.likely
        assert speed == pytest.approx(point.row["decode_tps"], rel=0.1)


@pytest.mark.parametrize(
    "row",
    [
        {"id": "bare", "model": "Something"},
        {"id": "named", "model": "Foo-48B-A3B", "placement": "hybrid", "gpu": "1x RTX 4090"},
        {"id": "dense", "model": "Kimi-Dev-72B", "quant": "Q4_K_M", "placement": "gpu_layer",
         "gpu": "2x Unheard Of", "ram": "2TB DDR5"},
        {"id": "no memory", "model": "x", "placement": "disk", "cpu": "", "ram": ""},
        {"id": "unified", "model": "gpt-oss-20b", "placement": "unified", "cpu": "M4 Max",
         "gpu": "M4 Max"},
    ],
)  # fmt: skip
def test_what_a_report_leaves_out_is_guessed(bench: ModuleType, row: dict[str, object]) -> None:
    band = bench.predict(bench.Point(row, bench.read_report(row)), shipped_speed_data().factors)
    assert 0 < band.decode_tps.low < band.decode_tps.high
    assert band.decode_tps.high / band.decode_tps.low > 2.2
