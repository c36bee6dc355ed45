"""Speed forecasts against measured speeds.

    python benchmarks/speed.py --points POINTS.jsonl [--fit [--write]]

A line of POINTS has ``id``, ``model``, ``quant``, ``file_gib``, ``engine``, ``cpu``, ``ram``,
``ram_bw_theoretical_gbs``, ``ram_bw_measured_gbs``, ``numa_sockets``, ``gpu``, ``gpu_bw_gbs_each``,
``gpu_count``, ``placement``, ``experts_on_gpu_frac`` and ``context`` (null = not known), and for
the error figures ``decode_tps`` and ``prefill_tps``. Prints one JSON object per point on stdout
(``id``, ``decode_tps``, ``low``, ``high``, ``bottleneck``) and a summary on stderr.

``--fit`` forecasts each machine with factors fitted to all other machines (they start from the
shipped ones' priors); ``--write`` then fits to all points and writes ``assets/speed/factors.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.case_lines import Row, maybe_text, maybe_whole, number, run_lines
from benchmarks.speed_points import read_report
from kimi_desktop.base.assets import asset
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_factors import Factors, Spread, shipped_speed_data
from kimi_desktop.planner.speed_types import SpeedForecast, SpeedInput

NOT_JUDGED = frozenset({"disk", "tp_batch"})
"""Placements whose figure is not the speed of one answer from memory."""
PROMPT_TOKENS = 2048
MOST_DEVICES = 1024

# What the factors were before any measurement: known mechanisms, public reports (a share of the
# bandwidth that kernels reach, the cost of a kernel launch); and how sure that is (in logarithms).
PRIORS: dict[str, tuple[float, float]] = {
    "gpu": (0.66, 0.25),
    "gpu_tensor": (0.66, 0.3),
    "unified": (0.62, 0.2),
    "ram": (0.68, 0.25),
    "ram_specified": (0.8, 0.15),
    "ram_trust": (0.65, 0.3),
    "sockets_specified": (0.63, 0.2),
    "sockets_measured": (0.8, 0.2),
    "i_quant": (0.97, 0.15),
    "ktransformers": (0.81, 0.25),
    "core_gb_s": (14.0, 0.4),
    "host_layer_ms": (0.175, 0.5),
    "gpu_layer_ms": (0.06, 0.5),
    "unified_layer_ms": (0.05, 0.5),
    "tensor_layer_ms": (0.14, 0.5),
    "recurrent_layer_ms": (0.5, 0.5),
    # 0.04 ms were measured between two H200 (385 tok/s where one gives 391); slow slots take more.
    "hop_ms": (0.4, 0.5),
    "node_ms": (4.5, 0.5),
}
NOISE = 0.3
"""Standard deviation of a report's relative error; the larger, the more the priors count."""
OUTLIER = 0.2
"""Relative error from which on a point pulls no harder."""
ROUNDS = 14


@dataclass(frozen=True)
class Point:
    """One line, understood."""

    row: Mapping[str, Any]
    setup: SpeedInput

    @property
    def machine(self) -> str:
        """What is left out together."""
        return f"{self.row.get('cpu') or self.row.get('gpu')}"

    @property
    def judged(self) -> bool:
        """It counts in the error figures."""
        return bool(self.row.get("decode_tps")) and self.row.get("placement") not in NOT_JUDGED


def read_point(row: Row) -> Point:
    """A line as a point.

    Raises:
        BadCaseError: a field is of another kind, or beyond what there is.
    """
    for key in ("model", "quant", "engine", "cpu", "ram", "gpu", "placement"):
        maybe_text(row, key)
    for key in ("file_gib", "ram_bw_theoretical_gbs", "ram_bw_measured_gbs", "gpu_bw_gbs_each",
                "experts_on_gpu_frac", "context", "decode_tps", "prefill_tps"):  # fmt: skip
        number(row, key, None)
    for key in ("numa_sockets", "gpu_count"):
        maybe_whole(row, key, 0, MOST_DEVICES)
    return Point({"id": None, **row}, read_report(row))


def predict(point: Point, factors: Factors) -> SpeedForecast:
    return forecast_speed(point.setup, PROMPT_TOKENS, factors=factors)


# fitting: Gauss-Newton on relative errors with priors, points with large errors weighed down


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """Gaussian elimination of a small positive definite system."""
    n = len(right)
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for i in range(n):
        for j in range(i + 1, n):
            ratio = rows[j][i] / rows[i][i]
            rows[j] = [a - ratio * b for a, b in zip(rows[j], rows[i], strict=True)]
    found = [0.0] * n
    for i in reversed(range(n)):
        known = sum(rows[i][j] * found[j] for j in range(i + 1, n))
        found[i] = (rows[i][n] - known) / rows[i][i]
    return found


def fit(points: Sequence[Point], start: Factors) -> Factors:
    names = list(PRIORS)
    prior = [math.log(PRIORS[name][0]) for name in names]
    weights = [1 / PRIORS[name][1] ** 2 for name in names]
    at = list(prior)

    def factors(logs: Sequence[float]) -> Factors:
        values = {name: math.exp(value) for name, value in zip(names, logs, strict=True)}
        return replace(start, **values, runs=0)

    def errors(logs: Sequence[float]) -> list[float]:
        now = factors(logs)
        return [predict(point, now).decode_tps.likely / point.row["decode_tps"] - 1
                for point in points]  # fmt: skip

    size, step = len(names), 1e-4
    for _ in range(ROUNDS):
        base = errors(at)
        slopes = []
        for i in range(size):
            moved = errors([value + step * (i == j) for j, value in enumerate(at)])
            slopes.append([(b - a) / step for a, b in zip(base, moved, strict=True)])
        pull = [min(1, OUTLIER / max(abs(error), 1e-9)) / NOISE**2 for error in base]
        matrix = [
            [sum(w * a * b for w, a, b in zip(pull, slopes[i], slopes[j], strict=True))
             + (weights[i] if i == j else 0.0) for j in range(size)]
            for i in range(size)
        ]  # fmt: skip
        right = [
            -sum(w * a * e for w, a, e in zip(pull, slopes[i], base, strict=True))
            - weights[i] * (at[i] - prior[i])
            for i in range(size)
        ]
        at = [a + 0.7 * d for a, d in zip(at, solve(matrix, right), strict=True)]
    return factors(at)


# figures


def percentile(values: Iterable[float], share: float) -> float:
    """Linear between neighbours, as most tools have it."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def summary(name: str, pairs: Sequence[tuple[Point, SpeedForecast]]) -> str:
    judged = [(point.row["decode_tps"], found.decode_tps) for point, found in pairs if point.judged]
    errors = [abs(band.likely / real - 1) for real, band in judged]
    inside = sum(band.low <= real <= band.high for real, band in judged)
    width = [band.high / band.low for _, band in judged]
    return (
        f"{name}: points {len(judged)}  median error {percentile(errors, 0.5):.1%}  "
        f"p90 {percentile(errors, 0.9):.1%}  inside the band {inside}/{len(judged)} = "
        f"{inside / max(len(judged), 1):.0%}  high/low (median) {percentile(width, 0.5):.2f}"
    )


def prefill_summary(pairs: Sequence[tuple[Point, SpeedForecast]]) -> str:
    judged = [(point.row["prefill_tps"], found.prefill_tps) for point, found in pairs
              if point.row.get("prefill_tps")]  # fmt: skip
    ratios = [abs(math.log(band.likely / real)) for real, band in judged]
    inside = sum(band.low <= real <= band.high for real, band in judged)
    median, p90 = (math.exp(percentile(ratios, share)) for share in (0.5, 0.9))
    return (
        f"prefill (reports do not tell the micro-batch): points {len(judged)}  off by a factor of "
        f"{median:.2f} (median), {p90:.2f} (p90)  inside the band {inside}/{len(judged)}"
    )


def leave_one_out(points: Sequence[Point], start: Factors) -> list[tuple[Point, SpeedForecast]]:
    judged = [point for point in points if point.judged]
    pairs: list[tuple[Point, SpeedForecast]] = []
    for machine in dict.fromkeys(point.machine for point in points):
        factors = fit([point for point in judged if point.machine != machine], start)
        pairs.extend((point, predict(point, factors)) for point in points
                     if point.machine == machine)  # fmt: skip
    return sorted(pairs, key=lambda pair: points.index(pair[0]))


def write(factors: Factors, spread: Spread) -> None:
    def rounded(values: Mapping[str, float]) -> dict[str, float]:
        return {name: float(f"{value:.3g}") for name, value in values.items() if name != "runs"}

    data = {"factors": rounded(asdict(factors)), "spread": asdict(spread)}
    asset("speed/factors.json").write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def show(pairs: Iterable[tuple[Point, SpeedForecast]]) -> None:
    for point, found in pairs:
        band = found.decode_tps
        print(json.dumps({
            "id": point.row["id"],
            "decode_tps": round(band.likely, 3),
            "low": round(band.low, 3),
            "high": round(band.high, 3),
            "bottleneck": band.bottleneck.value,
        }))  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=Path, required=True)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    points: list[Point] = []
    failed = run_lines(arguments.points, lambda row: points.append(read_point(row)))
    shipped = shipped_speed_data()
    as_shipped = [(point, predict(point, shipped.factors)) for point in points]
    shown = as_shipped
    if arguments.fit:
        shown = leave_one_out(points, shipped.factors)
    show(shown)
    print(summary("shipped factors", as_shipped), file=sys.stderr)
    print(prefill_summary(as_shipped), file=sys.stderr)
    if arguments.fit:
        print(summary("leave one machine out", shown), file=sys.stderr)
        everything = fit([point for point in points if point.judged], shipped.factors)
        refitted = [(point, predict(point, everything)) for point in points]
        print(summary("fitted to all", refitted), file=sys.stderr)
        if arguments.write:
            write(everything, shipped.spread)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
