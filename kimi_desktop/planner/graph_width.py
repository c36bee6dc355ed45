"""How wide a compute graph is at its widest place: measured for known geometries, else a rule.

Pure. ``compute`` adds what follows from the geometry; this is the remainder in floats per token.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from kimi_desktop.models.geometry import Geometry
from kimi_desktop.planner.compute_several import SEVERAL
from kimi_desktop.planner.compute_table import WIDTHS, Key, Points

MEASURED_UBATCH = 512
"""The micro-batch that the table was measured with."""


def widths_of(geometry: Geometry) -> Mapping[str, Points] | None:
    """The measured widths of a geometry, None when it was not measured."""
    return WIDTHS.get(_key(geometry))


def widened(geometry: Geometry, name: str, n_ubatch: int, context: int) -> float:
    """What several GPUs need more (or less) than ``widths_of`` says, floats per token.

    Args:
        geometry: of the model; 0 for one that was not measured.
        name: the way the graph is spread, and the place in it (``compute_several``).
        n_ubatch: the micro-batch; linear between measured ones, level beyond them.
        context: cells per sequence.
    """
    table = SEVERAL.get(_key(geometry), {})
    measured = table.get(name) or table.get(name.replace("+", ""))
    if measured is None:
        return 0.0
    return between([(ubatch, between(at, context)) for ubatch, at in measured], n_ubatch)


def _key(geometry: Geometry) -> Key:
    return (
        geometry.architecture,
        geometry.n_embd,
        geometry.n_head,
        geometry.n_ff,
        geometry.n_ff_expert,
        geometry.n_expert,
        geometry.n_expert_used,
    )


def between(points: Sequence[tuple[int, float]], context: float) -> float:
    """Linear between measured contexts, level beyond them."""
    at = bisect_right(points, context, key=lambda point: point[0])
    if at == 0:
        return float(points[0][1])
    if at == len(points):
        return float(points[-1][1])
    (x0, y0), (x1, y1) = points[at - 1], points[at]
    return y0 + (y1 - y0) * (context - x0) / (x1 - x0)


def generic_width(geometry: Geometry, name: str) -> float:
    """The rule for a geometry that was not measured.

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
    base, _, variant = name.partition("_")
    if variant in ("q", "off"):
        return attention + (12 * embd if base in ("first", "mid") else 0)
    extra = {"first": 12 * embd, "mid": 7 * embd, "cpu": embd}.get(base, 0)
    return float(plain + extra + 8)
