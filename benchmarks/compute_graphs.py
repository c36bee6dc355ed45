"""Fits the widths of compute graphs to measured allocations, and tests them on others.

    python benchmarks/compute_graphs.py --cases FILE... --models DIR... [--hold-out] [--write]

A FILE has lines as ``planner.py`` reads them. ``--hold-out`` fits the widths to one half of the
cases, tries them on the other half and prints how far the forecast of a device is above or below
its allocation. ``--write`` fits to all and writes ``assets/memory/graphs.json``. A fit is an upper
envelope: the least sum of over-forecasts that is nowhere below what was measured.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.planner import by_device, load, placement_of, split_of
from kimi_desktop.base.assets import asset
from kimi_desktop.planner.compute import is_idle
from kimi_desktop.planner.flash import uses_flash_attention
from kimi_desktop.planner.graph_terms import load_of, masks_of, place_of, terms_of
from kimi_desktop.planner.graph_width import (
    GRAPH,
    KEY,
    USUAL,
    class_of,
    classes_at,
    generic_width,
    key_of,
    parsed,
    part_of,
    stage_floats,
)
from kimi_desktop.planner.types import HOST, ModelShape
from kimi_desktop.planner.weights import layer_devices

PRICE = 0.01
"""What a stage must save, as a sum of relative over-forecasts, to be in the table."""
CANDIDATES = 16
USUAL_WEIGHT = 4.0
USUAL_CASES = 1
"""Cases from which a class of stages has widths of its own for usual settings."""
MOST = 120
"""Rows that a fit is made to; it is then raised over all others."""
FEW = 3
"""Cases; with fewer a class of stages is also as wide as at places like it."""
NONE = -1e18

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One device of one case."""

    case: str
    key: tuple[Any, ...]
    place: str
    floats: float
    """Measured, per token, without masks."""
    masks: float
    terms: Mapping[str, float]
    plain: float
    """The rule's width of the graph alone: a wide stage must be worth it."""
    weight: float
    """In the sum that a fit makes small; settings that are usual count more."""


LATENT = frozenset({"deepseek2"})
"""V is a view of K: one copy of a layer's cache as F16, which may lie in a hole (``graph_terms``).
Where only experts are in main memory one staged weight: each of a block's three begins a part of
the graph, and the one before has been read by then."""


def stages_of(rows: Sequence[Row]) -> list[str]:
    """The stages that a place may have."""
    found = _stages_of(rows)
    if rows[0].key[KEY.index("architecture")] not in LATENT:
        return found
    if rows[0].place.startswith("stage"):
        found = [stage for stage in found if not stage.startswith("2 staged")]
    if rows[0].place.startswith("pipe") and "2 converted" in found:
        found = [stage for stage in found if "converted" not in stage or "bf16" in stage]
        found += ["lodged", "spilled"]
    return found


def _stages_of(rows: Sequence[Row]) -> list[str]:
    have = {name for row in rows for name, value in row.terms.items() if value}
    bases = [""] + [
        name
        for name in ("scores", "converted", "bf16", "converted bf16")
        if set(name.split()) <= have
    ]
    found = [*bases, *(name for name in ("logits", "inputs") if name in have)]
    plain = [base for base in bases if "bf16" not in base]
    found += ["2 converted", "3 converted"] if "converted" in have else []
    if "copies" in have:
        found += [
            f"{base} {times}copies".strip()
            for base in plain
            for times in ("0.5 ", "", "1.5 ", "2 ")
        ]
    if "context" in have:
        found += [
            f"{base} {times}context".strip()
            for base in plain
            for times in ("0.5 ", "", "1.5 ", "2 ")
        ]
        found += [f"{times}copies context" for times in ("", "2 ") if "copies" in have]
        found += ["2 scores"] if "scores" in have else []
    if "states" in have:
        found += [f"{base} {times}states".strip() for base in plain for times in ("", "2 ", "3 ")]
    for name in ("staged", "2 staged", "dense"):
        if name.split()[-1] in have:
            found.append(name)
            found += [f"{name} copies"] if "copies" in have else []
    if "through" in have:
        found += [f"{base} 3 before 6 through".strip() for base in plain] + ["through"]
    return found


def rows_of(files: Iterable[Path], folders: Sequence[Path]) -> Iterator[Row]:
    shapes: dict[str, ModelShape] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if not case.get("buffers"):
                continue
            name = f"{case['model']}.{case['mix']}"
            if name not in shapes:
                folder = next(path for path in folders if (path / f"{name}.gguf").exists())
                shapes[name] = load(folder, name)
            settings = {key: value for key, value in case["case"].items() if value is not None}
            yield from _devices(
                shapes[name],
                f"{file.name} {case['id']} {json.dumps(settings, sort_keys=True)}",
                settings,
                case["buffers"],
            )


def _devices(
    shape: ModelShape, name: str, settings: Mapping[str, Any], buffers: list[Any]
) -> Iterator[Row]:
    placement, split = placement_of(settings), split_of(settings)
    devices = layer_devices(shape.geometry.n_layer, placement.n_gpu_layers, split)
    if placement.flash_attention is None:
        flash = uses_flash_attention(shape.geometry, placement, devices, bool(split))
        placement = dataclasses.replace(placement, flash_attention=flash)
    load = load_of(shape, placement, len(split), devices)
    measured = by_device(buffers, "compute")
    for device in (HOST, *range(len(split))):
        if is_idle(load, device):
            continue
        masks = masks_of(load, device)
        floats = measured.get(device, 0) / load.token_bytes - masks
        yield Row(
            name,
            key_of(shape.geometry),
            place_of(load, device),
            floats,
            masks,
            terms_of(load, device),
            generic_width(shape.geometry, GRAPH, ""),
            USUAL_WEIGHT if usual(settings) else 1.0,
        )


def usual(settings: Mapping[str, Any]) -> bool:
    """llama-server's own batch, micro-batch and cache, as most people start it."""
    return settings.get("ubatch", 512) == 512 and settings.get("parallel", 1) == 1


def fit(rows: Sequence[Row]) -> dict[str, int]:
    """Widths of the stages of one place: a fit to some rows, raised over all of them."""
    few = [rows[i] for i in np.random.default_rng(1).permutation(len(rows))[:MOST]]
    stages = stages_of(rows)
    found = _fit(few, stages)
    for row in rows:
        short = row.floats
        if max(_known(stage, row) + width for stage, width in found.items()) < short:
            stage = _largest(stages, row)
            width = max(found.get(stage, -1), row.floats - _known(stage, row), 0)
            found[stage] = int(np.ceil(width))
    return found | _never_fullest(rows, found)


def _largest(stages: Sequence[str], row: Row) -> str:
    """The stage that explains most of a buffer."""
    known = {stage: _known(stage, row) for stage in stages}
    return max(
        (stage for stage in stages if known[stage] <= row.floats + 1),
        key=lambda stage: known[stage],
        default="",
    )


def _fit(rows: Sequence[Row], stages: Sequence[str]) -> dict[str, int]:
    """Pairs of widths are moved until no move helps."""
    known = np.array([[_known(stage, row) for stage in stages] for row in rows])
    has = known > NONE / 10
    floats = np.array([row.floats for row in rows])
    whole = np.maximum(floats + [row.masks for row in rows], 1.0)
    wanted = np.where(has, floats[:, None] - known, NONE)

    weights = np.array([row.weight for row in rows])
    plain = rows[0].plain

    def cost(forecast: Floats, widths: Floats) -> float:
        used = widths > NONE / 10
        over = np.minimum((forecast - floats) / whole, 3) * weights
        return float(over.sum()) + PRICE * float(
            used.sum() + np.maximum(widths[used], 0).sum() / plain
        )

    starts = []
    for explain in ("", None):
        widths = np.full(len(stages), NONE)
        for row, needs in zip(rows, wanted, strict=True):
            at = stages.index(_largest(stages, row) if explain is None else explain)
            widths[at] = max(widths[at], needs[at], 0.0)
        starts.append((cost((known + widths).max(1), widths), widths))
    best, widths = min(starts, key=lambda start: start[0])
    for _ in range(4):
        before = best
        for first in range(len(stages)):
            tried = np.unique(np.clip(wanted[has[:, first], first], 0, None))
            if len(tried) > CANDIDATES:
                tried = np.quantile(tried, np.linspace(0, 1, CANDIDATES), method="nearest")
            for second in range(len(stages)):
                if first == second:
                    continue
                kept = [
                    i
                    for i in range(len(stages))
                    if i not in (first, second) and widths[i] > NONE / 10
                ]
                rest = (known[:, kept] + widths[kept]).max(1) if kept else np.full(len(rows), NONE)
                for width in (NONE, *tried):
                    forecast = np.maximum(rest, known[:, first] + width)
                    open_rows = forecast < floats - 1e-6
                    other = NONE
                    if open_rows.any():
                        if not has[open_rows, second].all():
                            continue
                        other = max(0.0, wanted[open_rows, second].max())
                        forecast = np.maximum(forecast, known[:, second] + other)
                    moved = widths.copy()
                    moved[first], moved[second] = width, other
                    if (now := cost(forecast, moved)) < best - 1e-9:
                        best, widths = now, moved
        if best >= before - 1e-9:
            break
    found = {
        stage: int(np.ceil(width))
        for stage, width in zip(stages, widths, strict=True)
        if width > NONE / 10
    }
    return found


def _never_fullest(rows: Sequence[Row], found: Mapping[str, int]) -> dict[str, int]:
    """Classes of stages that were there, but behind others in every row.

    Each is as wide as the rows allow, and as the rule has it at most; -1 where some row has no room
    for its terms.
    """
    kinds = {class_of(parsed(stage)) for stage in found}
    seen = {kind for row in rows for kind in classes_at(row.terms)}
    widths = {}
    for kind in sorted(seen - kinds):
        stage = "" if kind == GRAPH else kind
        room = [row.floats - known for row in rows if (known := _known(stage, row)) > NONE / 10]
        widths[stage] = int(max(min([*room, rows[0].plain]), -1))
    return widths


def _known(stage: str, row: Row) -> float:
    floats = stage_floats(parsed(stage), row.terms)
    return NONE if floats is None else floats


@dataclass
class Fit:
    """The stages of one geometry, as the table has them."""

    places: dict[str, dict[str, int]]
    seldom: dict[str, list[str]]


def fitted(rows: Iterable[Row]) -> dict[tuple[Any, ...], Fit]:
    places: dict[tuple[Any, ...], dict[str, list[Row]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for row in rows:
        places[row.key][row.place].append(row)
        if row.weight > 1:
            places[row.key][row.place + USUAL].append(row)
    table = {}
    for key, by_place in sorted(places.items()):
        kept = {place: thinned(found) for place, found in by_place.items()}
        alone = {place: fit(found) for place, found in sorted(kept.items())}
        often = {
            place: seen_often(found, USUAL_CASES if place.endswith(USUAL) else FEW)
            for place, found in by_place.items()
        }
        seldom = {
            place: sorted({class_of(parsed(stage)) for stage in stages} - often[place])
            for place, stages in alone.items()
        }
        wide = {
            place: stages if place.endswith(USUAL) else widened(place, alone, often)
            for place, stages in alone.items()
        }
        table[key] = Fit(wide, {place: kinds for place, kinds in seldom.items() if kinds})
    return table


def seen_often(rows: Sequence[Row], least: int) -> frozenset[str]:
    """Classes of stages that enough cases had."""
    cases: dict[str, set[str]] = collections.defaultdict(set)
    for row in rows:
        for kind in classes_at(row.terms):
            cases[kind].add(row.case)
    return frozenset(kind for kind, seen in cases.items() if len(seen) >= least)


def widened(
    place: str, table: Mapping[str, Mapping[str, int]], often: Mapping[str, frozenset[str]]
) -> dict[str, int]:
    """A class of stages that was seldom seen is as wide as anywhere like here."""
    found = dict(table[place])
    gpu = part_of(place) in ("only", "first", "later")
    for other, stages in table.items():
        if (
            place.endswith("-")
            or other.endswith("-")
            or not gpu
            or part_of(other) not in ("only", "first", "later")
        ):
            continue
        if other.endswith(USUAL):
            continue
        if place.startswith("pipe") != other.startswith("pipe"):
            continue
        for stage, width in stages.items():
            kind = class_of(parsed(stage))
            if "before" in stage or "through" in stage:
                continue
            if (
                kind in often[other]
                and kind not in often[place]
                and (kind in {class_of(parsed(own)) for own in table[place]})
            ):
                found[stage] = max(found.get(stage, -1), width)
    return found


def thinned(rows: Sequence[Row]) -> list[Row]:
    """Rows that differ: several numbers of GPUs often give the same."""
    seen = {
        (round(row.floats), tuple(round(value) for value in row.terms.values())): row
        for row in rows
    }
    return list(seen.values())


def half(row: Row) -> int:
    return hashlib.sha256(row.case.encode()).digest()[0] % 2


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=Path, nargs="+", required=True)
    parser.add_argument("--models", type=Path, nargs="+", required=True)
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    rows = list(rows_of(arguments.cases, arguments.models))
    if arguments.hold_out:
        table = fitted(row for row in rows if half(row) == 0)
        report("fitted to", [row for row in rows if half(row) == 0], table)
        report("held out", [row for row in rows if half(row) == 1], table)
    if arguments.write:
        write(fitted(rows))
    return 0


def report(title: str, rows: Sequence[Row], table: Mapping[Any, Fit]) -> None:
    errors: dict[str, list[float]] = collections.defaultdict(list)
    missing = 0
    for row in rows:
        place = table[row.key].places.get(row.place) if row.key in table else None
        if place is None:
            missing += 1
            continue
        found = [_known(stage, row) + width for stage, width in place.items()]
        whole = max(row.floats + row.masks, 1.0)
        errors[row.place].append((max(found) - row.floats) / whole)
    print(f"{title}: {len(rows)} buffers, {missing} of places without a fit")
    for place, values in [
        *sorted(errors.items()),
        ("all", [x for v in errors.values() for x in v]),
    ]:
        low, mid, high = np.quantile(values, [0.0, 0.5, 0.95])
        far = sum(value < -0.01 for value in values)
        print(
            f"  {place:24} {len(values):6}  median {mid:+7.2%}  p95 {high:+7.1%}  "
            f"lowest {low:+7.1%}  below -1 %: {far}"
        )


def write(table: Mapping[tuple[Any, ...], Fit]) -> None:
    lines = []
    for key, graph in table.items():
        head = json.dumps(dict(zip(KEY, key, strict=True)))[1:-1]
        body = ",\n".join(
            f"{json.dumps(place)}: {json.dumps(widths)}" for place, widths in graph.places.items()
        )
        seldom = json.dumps(graph.seldom)
        lines.append(f'{{{head},\n"places": {{\n{body}\n}},\n"seldom": {seldom}}}')
    text = '{"build": "llama.cpp b11549", "graphs": [\n' + ",\n".join(lines) + "\n]}\n"
    asset("memory/graphs.json").parent.mkdir(exist_ok=True)
    asset("memory/graphs.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
