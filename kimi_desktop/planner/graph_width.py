"""How wide the stages of a compute graph are: measured for known geometries, else a rule. Pure.

``graph_terms`` says what of a stage follows from the flags; this is the remainder in floats per
token of the micro-batch. How wide a stage is depends on how llama.cpp's allocator packs the tensors
of each architecture, so it is measured: ``assets/memory/graphs.json``, written by
``benchmarks/compute_graphs.py`` from dry runs. A width there is an upper envelope: no allocation
that was measured at its place is above it. The file is read once, on any thread.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from kimi_desktop.base.assets import asset
from kimi_desktop.models.geometry import Geometry, LayerKind

KEY = (
    "architecture",
    "n_embd",
    "n_head",
    "n_ff",
    "n_ff_expert",
    "n_expert",
    "n_expert_used",
)
"""What makes two graphs alike, by the names of ``Geometry``."""

Key = tuple[object, ...]
Stage = tuple[tuple[float, str], ...]
"""(times, term) pairs that add up."""


def key_of(geometry: Geometry) -> Key:
    """What a geometry's graph is found by."""
    return tuple(getattr(geometry, name) for name in KEY)


@lru_cache(maxsize=1024)
def parsed(stage: str) -> Stage:
    """``converted 0.5 copies`` as ((1, converted), (0.5, copies)); nothing is the graph alone."""
    found: list[tuple[float, str]] = []
    times = 1.0
    for word in stage.split():
        if word[0].isdigit():
            times = float(word)
        else:
            found.append((times, word))
            times = 1.0
    return tuple(found)


def stage_floats(stage: Stage, terms: Mapping[str, float]) -> float | None:
    """The terms of a stage together; None when the load has no such stage."""
    floats = 0.0
    for times, term in stage:
        value = terms[term]
        if not value:
            return None
        floats += times * value
    return floats


_RECURRENT = re.compile(r"\.(only|first|later)r")

CLASSES = ("scores", "converted", "copies", "staged", "dense", "logits", "inputs")
"""What makes a stage of its own; the first of them that a stage has names its class."""
USUAL = " 512"
"""Behind a place: as measured with the usual micro-batch and one slot."""
USUAL_UBATCH = 512
GRAPH = "graph"
"""The class of a stage with none of them."""


def class_of(stage: Stage) -> str:
    """The class of a stage, by what it holds beside the graph."""
    have = {term for _, term in stage}
    if {"staged", "dense"} & have:
        return "staged" if "staged" in have else "dense"
    if {"lodged", "spilled"} & have:
        return "converted"
    return next((name for name in CLASSES if name in have), GRAPH)


def classes_at(terms: Mapping[str, float]) -> frozenset[str]:
    """The classes of stages that a device goes through."""
    found = {name for name in CLASSES if terms[name]}
    if terms["scores"] or terms["converted"]:
        found.discard("copies")  # they lie beside these
    if not terms["inputs"]:
        found.add(GRAPH)
    return frozenset(found)


@dataclass(frozen=True, slots=True, eq=False)
class Widths:
    """The stages of one geometry."""

    geometry: Geometry
    places: Mapping[str, Mapping[str, int]]
    """Per place, the width of each stage; -1 for one that was never the fullest."""
    seldom: Mapping[str, frozenset[str]]
    """Per place, the classes of stages with few measurements: not below those of places like it."""
    scale: Mapping[str, float]
    """By class; what a geometry that was not measured has more than these."""
    measured: bool

    def stages(
        self, place: str, terms: Mapping[str, float], *, usual: bool
    ) -> tuple[Sequence[tuple[Stage, float]], bool]:
        """Stages and widths of a place, and whether all of them were measured there.

        Args:
            place: see ``graph_terms.place_of``.
            terms: of the device.
            usual: the micro-batch is llama.cpp's own, for one slot: measured more closely.
        """
        wanted = classes_at(terms)
        if usual:
            stages, known = _stages(self, place + USUAL, wanted)
            if known:
                return stages, known
        return _stages(self, place, wanted)


@lru_cache(maxsize=4096)
def _stages(
    widths: Widths, place: str, wanted: frozenset[str]
) -> tuple[tuple[tuple[Stage, float], ...], bool]:
    found: list[tuple[Stage, float]] = []
    seen: set[str] = set()
    if place not in widths.places:
        place = _RECURRENT.sub(r".\1", place)  # with attention beside them a graph is no narrower
    for name, width in widths.places.get(place, {}).items():
        stage = parsed(name)
        seen.add(class_of(stage))
        if width >= 0:
            found.append((stage, width * widths.scale.get(class_of(stage), 1.0)))
    if "logits" in wanted and not place.endswith(USUAL):
        found.append((parsed("logits"), _beside_logits(widths, place, found)))
        seen.add("logits")
    missing = wanted - seen
    unsure = missing | (wanted & widths.seldom.get(place, frozenset()))
    if "scores" in unsure and widths.geometry.n_indexer_key:
        found.append((parsed("2 scores"), 0.0))  # seen with the indexer's scores beside them
    for kind in missing:
        found += _elsewhere(widths, place, kind)
    return tuple(found), not unsure


def _beside_logits(widths: Widths, place: str, stages: Sequence[tuple[Stage, float]]) -> float:
    """Four rows of activations at least; in a pipeline the inputs of the graph lie there, too."""
    rows = 4.0 * widths.geometry.n_embd
    if place.startswith("pipe"):
        rows = max([rows, *(width for stage, width in stages if not stage)])
    return rows


def _elsewhere(widths: Widths, place: str, kind: str) -> list[tuple[Stage, float]]:
    """An upper bound for a class of stages that was not measured at a place.

    The widest of the geometry's other GPUs (or of the host), then the rule.
    """
    hosts = ("host", "cpu")
    widest: dict[str, int] = {}
    for other, stages in widths.places.items():
        if other.endswith(USUAL) or (part_of(other) in hosts) != (part_of(place) in hosts):
            continue
        if other.startswith("pipe") != place.startswith("pipe"):
            continue
        for name, width in stages.items():
            if class_of(parsed(name)) == kind:
                widest[name] = max(width, widest.get(name, -1))
    if widest:
        scale = widths.scale.get(kind, 1.0)
        return [(parsed(name), width * scale) for name, width in widest.items() if width >= 0]
    term = "" if kind == GRAPH else kind
    return [(parsed(term), generic_width(widths.geometry, kind, place))]


def part_of(place: str) -> str:
    """``first``, ``later``, ``only``, ``host`` or ``cpu``, without the marks behind it."""
    return place.rpartition(".")[2].rstrip("-ehfr") if "." in place else place


@dataclass(frozen=True, slots=True)
class _Graph:
    places: Mapping[str, Mapping[str, int]]
    seldom: Mapping[str, frozenset[str]]


@cache
def _measured_graphs() -> Mapping[Key, _Graph]:
    """``assets/memory/graphs.json``."""
    data = json.loads(asset("memory/graphs.json").read_text(encoding="utf-8"))
    return {
        tuple(graph[name] for name in KEY): _Graph(
            graph["places"],
            {place: frozenset(kinds) for place, kinds in graph["seldom"].items()},
        )
        for graph in data["graphs"]
    }


@lru_cache(maxsize=64)
def widths_of(geometry: Geometry) -> Widths:
    """The widths of a geometry, or of the most alike of its architecture, scaled, or none."""
    graphs = _measured_graphs()
    if graph := graphs.get(key_of(geometry)):
        return Widths(geometry, graph.places, graph.seldom, {}, True)
    alike = [other for other in graphs if other[0] == geometry.architecture]
    if not alike:
        return Widths(geometry, {}, {}, {}, False)
    scales = {other: _scale(geometry, _like(geometry, other)) for other in alike}
    nearest = min(alike, key=lambda other: max(abs(math.log(s)) for s in scales[other].values()))
    return Widths(geometry, graphs[nearest].places, {}, scales[nearest], False)


def _like(geometry: Geometry, key: Key) -> Geometry:
    changed: dict[str, Any] = dict(zip(KEY, key, strict=True))
    return dataclasses.replace(geometry, **changed)


def _scale(geometry: Geometry, measured: Geometry) -> dict[str, float]:
    """How much wider each class of stages is than at a measured geometry, by the rule."""
    graph = generic_width(geometry, GRAPH, "") / generic_width(measured, GRAPH, "")
    attention = generic_width(geometry, "scores", "") / generic_width(measured, "scores", "")
    wider = max(graph, attention)
    return {GRAPH: graph, "scores": attention, "converted": attention} | dict.fromkeys(
        ("copies", "staged", "dense", "logits"), wider
    )


def generic_width(geometry: Geometry, kind: str, place: str) -> float:
    """The rule for a geometry that was not measured, by the class of the stage.

    Exact for dense models with all layers on one GPU; for experts it was between 13 % below and
    42 % above the measured widths, so callers mark it as an estimate.
    """
    embd, query = geometry.n_embd, geometry.n_head * geometry.key_length
    plain = 3 * geometry.n_ff + 4 * embd
    if geometry.n_expert:
        used = geometry.n_expert_used
        shared = geometry.n_ff_shared
        moe = used * embd * (3 if shared else 2) + 2 * embd
        moe += 4 * shared if shared else used * geometry.n_ff_expert
        plain = max(moe, 4 * embd + 2 * query)
    attention = max(5 * embd, 2 * query + 4 * embd)
    recurrent = LayerKind.RECURRENT in geometry.layers or LayerKind.BOTH in geometry.layers
    if recurrent:  # measured: 14 rows (Mamba 2) to 23 (Kimi Linear, with its experts)
        plain = max(plain, 24 * embd)
    extra = 0
    if place.startswith("pipe"):
        extra = 12 * embd if place.startswith("pipe.first") else 7 * embd
        extra *= 4 if recurrent else 1
    if kind == "inputs":
        return 0.0
    width = attention if kind in ("scores", "converted") else plain
    return float(max(width, 1) + extra + 8)
