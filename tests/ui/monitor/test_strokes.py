"""Curves as segments: nothing lost, nothing invented, dashes tied to the time."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.ui.monitor.strokes import (
    DASH,
    DASH_DOT,
    DOT,
    LEVEL,
    STEEP,
    STROKES,
    dashed,
    solid,
    straighten,
    stroke_of,
    thin,
)


@st.composite
def curves(draw, least=2):
    """Points with rising x, some of them in the same column."""
    steps = draw(st.lists(st.floats(0, 5), min_size=least, max_size=60))
    heights = draw(st.lists(st.floats(0, 100), min_size=len(steps), max_size=len(steps)))
    x, points = 0.0, []
    for step, y in zip(steps, heights, strict=True):
        x += step
        points.append((x, y))
    return points


def columns(points):
    found = {}
    for x, y in points:
        found.setdefault(int(x), []).append(y)
    return found


@given(curves())
def test_thinning_keeps_every_spike_of_every_pixel(points):
    kept = thin(points)
    before, after = columns(points), columns(kept)
    assert before.keys() == after.keys()
    for column, heights in before.items():
        assert (min(after[column]), max(after[column])) == (min(heights), max(heights))
        assert (after[column][0], after[column][-1]) == (heights[0], heights[-1])
        assert len(after[column]) <= 4


@given(curves())
def test_thinning_keeps_the_order(points):
    kept = thin(points)
    places = iter(points)
    assert all(point in places for point in kept)


def test_a_single_spike_among_ten_thousand_survives():
    points = [(i / 20, 50.0) for i in range(10_000)]
    points[7_777] = (points[7_777][0], 1.0)
    kept = thin(points)
    assert len(kept) < 2_100
    assert (points[7_777][0], 1.0) in kept


@given(curves(least=1))
def test_straightening_moves_no_line_visibly(points):
    kept = straighten(points)
    assert kept[0] == points[0]
    assert kept[-1] == points[-1]
    waiting = list(kept)
    level = points[0][1]
    for point in points:
        if waiting and point == waiting[0]:
            level = waiting.pop(0)[1]
        else:
            assert abs(point[1] - level) < LEVEL
    assert not waiting


def test_a_level_curve_is_one_segment():
    assert straighten([(float(i), 7.0) for i in range(300)]) == [(0.0, 7.0), (299.0, 7.0)]


@given(curves(), st.sampled_from([DASH, DOT, DASH_DOT]), st.floats(-1000, 1000))
def test_dashes_lie_on_the_curve(points, pattern, origin):
    whole = solid(points)
    for dash in dashed(points, pattern, origin):
        assert dash in whole or any(lies_on(dash, part) for part in whole)


def lies_on(dash, part):
    """The dash is a piece of the segment."""
    (x1, y1, x2, y2), (a, b, c, d) = dash, part
    if c == a or not a - 1e-9 <= x1 <= x2 <= c + 1e-9:
        return False
    slope = (d - b) / (c - a)
    expected = (b + (x1 - a) * slope, b + (x2 - a) * slope)
    return (y1, y2) == pytest.approx(expected, abs=1e-6)


def test_dashes_of_a_level_line():
    found = dashed([(0.0, 5.0), (25.0, 5.0)], (6, 4), 0.0)
    assert [(x1, x2) for x1, _, x2, _ in found] == [(0, 6), (10, 16), (20, 25)]


def test_dashes_go_on_over_the_points():
    points = [(float(x), 5.0) for x in range(26)]
    found = dashed(points, (6, 4), 0.0)
    drawn = sum(x2 - x1 for x1, _, x2, _ in found)
    assert drawn == pytest.approx(17)


@given(st.floats(0, 200), st.sampled_from([DASH, DOT, DASH_DOT]))
def test_dashes_travel_with_the_curve(shift, pattern):
    line = [(0.0, 5.0), (100.0, 5.0)]
    moved = [(x + shift, y) for x, y in line]
    here = [x1 for x1, _, x2, _ in dashed(line, pattern, 0.0) if x2 - x1 > 1e-6]
    there = [x1 for x1, _, x2, _ in dashed(moved, pattern, shift) if x2 - x1 > 1e-6]
    assert there == pytest.approx([x1 + shift for x1 in here])


def test_a_steep_rise_is_never_in_a_pause():
    rise = [(7.0, 90.0), (8.0, 90.0 - STEEP)]
    assert dashed(rise, (6, 4), 0.0) == solid(rise)
    level = [(7.0, 90.0), (8.0, 90.0)]
    assert dashed(level, (6, 4), 0.0) == []


def test_without_a_pattern_the_line_is_whole():
    assert dashed([(0.0, 1.0), (3.0, 2.0)], (), 0.0) == [(0.0, 1.0, 3.0, 2.0)]
    assert dashed([(0.0, 1.0)], DASH, 0.0) == []


def test_eight_gpus_look_different():
    looks = [stroke_of(place) for place in range(8)]
    assert len(set(looks)) == 8
    for one, other in pairwise(looks):
        assert one.tone != other.tone
        assert one.pattern != other.pattern
    assert stroke_of(8) == STROKES[0]
