"""Curves as line segments: thinned to the pixels, dashed along the time. Pure.

Why not QPainter's polylines: Qt rasterises a wide antialiased polyline as one outline, 2 to 10 ms
for 300 points here; the same curve as separate segments takes 0.1 to 0.3 ms and looks alike at
1.5 px (``benchmarks/graphs.py``). Qt restarts a dash pattern at every segment, so dashes are cut
here. They are tied to the time axis: they travel with the curve instead of crawling along it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
"""x, y in px."""
Segment = tuple[float, float, float, float]
"""x1, y1, x2, y2 in px."""

LEVEL = 0.05
"""Differences below this many px cannot be seen."""
STEEP = 2.0
"""A part that rises by more than this per px is drawn whole: in a pause it would vanish."""


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a curve looks: a colour of the tokens, and dashes as (on, off, on, off ...) px."""

    tone: str
    pattern: tuple[float, ...] = ()


SOLID: tuple[float, ...] = ()
DASH = (6.0, 4.0)
DOT = (2.0, 3.0)
DASH_DOT = (8.0, 3.0, 2.0, 3.0)
STROKES = (
    Stroke("weights", SOLID),
    Stroke("kv", DASH),
    Stroke("compute", DOT),
    Stroke("warn", DASH_DOT),
    Stroke("weights", DASH),
    Stroke("kv", DOT),
    Stroke("compute", DASH_DOT),
    Stroke("warn", SOLID),
)
"""Of the first, second ... GPU: neighbours differ in colour and in shape."""


def stroke_of(place: int) -> Stroke:
    """The look of the ``place``-th curve of a graph."""
    return STROKES[place % len(STROKES)]


def thin(points: Sequence[Point]) -> list[Point]:
    """At most four points per pixel column: first, lowest, highest, last, in their order.

    What is left covers the same pixels, so that no spike is lost.
    """
    kept: list[Point] = []
    column: list[Point] = []
    for point in points:
        if column and int(point[0]) != int(column[0][0]):
            kept.extend(_extremes(column))
            column = []
        column.append(point)
    kept.extend(_extremes(column))
    return kept


def _extremes(column: list[Point]) -> Iterator[Point]:
    if len(column) <= 4:
        yield from column
        return
    heights = [y for _, y in column]
    places = {0, heights.index(min(heights)), heights.index(max(heights)), len(column) - 1}
    yield from (column[place] for place in sorted(places))


def straighten(points: Sequence[Point]) -> list[Point]:
    """Level stretches as one segment: many short ones would show their joints."""
    if len(points) < 3:
        return list(points)
    kept = [points[0]]
    level = points[0][1]
    for point, (_, next_y) in pairwise(points[1:]):
        y = point[1]
        if -LEVEL < y - level < LEVEL and -LEVEL < next_y - level < LEVEL:
            continue
        kept.append(point)
        level = y
    kept.append(points[-1])
    return kept


def solid(points: Sequence[Point]) -> list[Segment]:
    """One segment from each point to the next."""
    return [(x1, y1, x2, y2) for (x1, y1), (x2, y2) in pairwise(points)]


def dashed(points: Sequence[Point], pattern: Sequence[float], origin: float) -> list[Segment]:
    """The curve cut into dashes along x.

    Args:
        points: x ascending.
        pattern: on, off, on, off ... in px.
        origin: where on the x axis a period begins (it moves along with the window).
    """
    if not pattern:
        return solid(points)
    found: list[Segment] = []
    if len(points) < 2:
        return found
    lengths = itertools.cycle(pattern)
    edge = points[0][0] - (points[0][0] - origin) % sum(pattern)
    drawing = False
    while edge <= points[0][0]:
        edge += next(lengths)
        drawing = not drawing
    for (x1, y1), (x2, y2) in pairwise(points):
        width = x2 - x1
        if abs(y2 - y1) >= STEEP * width:
            found.append((x1, y1, x2, y2))
            while edge <= x2:
                edge += next(lengths)
                drawing = not drawing
            continue
        slope = (y2 - y1) / width
        x, y = x1, y1
        while edge <= x2:
            edge_y = y1 + (edge - x1) * slope
            if drawing:
                found.append((x, y, edge, edge_y))
            x, y = edge, edge_y
            edge += next(lengths)
            drawing = not drawing
        if drawing and x < x2:
            found.append((x, y, x2, y2))
    return found
