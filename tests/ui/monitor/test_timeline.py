"""Samples on the time axis: gaps, phases, ticks, the nearest sample."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.monitor.types import Phase
from kimi_desktop.ui.monitor.timeline import (
    TickKind,
    breaks,
    gap_s,
    nearest,
    phase_spans,
    runs,
    time_ticks,
    usual_step_s,
)
from kimi_desktop.ui.monitor.view import view_of
from tests.support import scripted_data as data

DAY_S = 86_400
BOX = data.two_gpu_box()


def samples(phases: str, *, begin: float = 1000.0, step: float = 1.0, rate: float | None = None):
    """One sample per letter: i, l, p, d; a blank is a second without one."""
    names = {"i": Phase.IDLE, "l": Phase.LOAD, "p": Phase.PREFILL, "d": Phase.DECODE}
    return tuple(
        data.sample(
            BOX,
            begin + place * step,
            phase=names[letter],
            prefill_tokens_per_s=rate if letter == "p" else None,
        )
        for place, letter in enumerate(phases)
        if letter != " "
    )


def spans(found):
    return [(span.phase, span.start, span.end) for span in found]


def test_phases_begin_where_the_one_before_ended():
    found = phase_spans(samples("iillpddi"), 3)
    assert spans(found) == [
        (Phase.LOAD, 1001, 1003),
        (Phase.PREFILL, 1003, 1004),
        (Phase.DECODE, 1004, 1006),
    ]


def test_a_phase_from_the_first_sample_to_the_last():
    assert spans(phase_spans(samples("dd"), 3)) == [(Phase.DECODE, 999, 1001)]


def test_a_gap_ends_a_phase_and_the_next_one_begins_a_step_before_its_sample():
    found = phase_spans(samples("dd      dd"), 3)
    assert spans(found) == [(Phase.DECODE, 999, 1001), (Phase.DECODE, 1007, 1009)]


def test_the_engines_own_prefill_rate_wins_over_what_was_seen_meanwhile():
    seen = list(samples("ppd", rate=400.0))
    assert phase_spans(seen, 3)[0].prefill_tokens_per_s == 400
    seen[2] = dataclasses.replace(seen[2], prefill_tokens_per_s=438.0)
    assert phase_spans(seen, 3)[0].prefill_tokens_per_s == 438
    assert phase_spans(samples("pp"), 3)[0].prefill_tokens_per_s is None


def test_gaps_do_not_count_as_the_usual_step():
    times = [0, 1, 2, 3, 500, 501, 502, 900]
    assert usual_step_s(times) == 1
    assert gap_s(times) == 3
    assert breaks(times, gap_s(times)) == (4, 7)


def test_coarse_samples_have_longer_gaps():
    assert gap_s([0, 60, 120, 180, 240]) == 150
    assert gap_s([]) == gap_s([5]) == 3


def test_unknown_values_and_gaps_split_a_curve():
    assert runs([1, 2, None, None, 3, 4, 5], (5,)) == [(0, 2), (4, 5), (5, 7)]
    assert runs([None, None], ()) == []
    assert runs([], ()) == []


@given(
    st.lists(st.none() | st.floats(0, 9), max_size=40),
    st.sets(st.integers(1, 39), max_size=8),
)
def test_runs_cover_every_known_value_once(values, cuts):
    torn = tuple(sorted(cut for cut in cuts if cut < len(values)))
    found = runs(values, torn)
    covered = [place for first, end in found for place in range(first, end)]
    assert covered == [place for place, value in enumerate(values) if value is not None]
    for first, end in found:
        assert not any(first < cut < end for cut in torn)


@given(
    st.floats(0, 2e9),
    st.floats(20, 400 * DAY_S),
    st.integers(2, 12),
    st.sampled_from([-7 * 3600, 0, 3600, 5 * 3600 + 1800, 8 * 3600, 12 * 3600 + 2700]),
)
def test_time_ticks_are_few_round_and_inside(start, span, most, offset):
    ticks = time_ticks(start, start + span, most, utc_offset_s=offset)
    assert len(ticks) <= most
    if most >= 6 and span <= 80 * DAY_S:
        assert ticks
    assert all(start - 1e-6 <= tick.at <= start + span + 1e-6 for tick in ticks)
    steps = {b.at - a.at for a, b in pairwise(ticks)}
    assert len(steps) <= 1
    for tick in ticks:
        local = tick.at + offset
        assert (tick.kind is TickKind.DAY) == (local % DAY_S == 0)
        if tick.kind is TickKind.MINUTE:
            assert local % 60 == 0


def test_five_minutes_have_a_tick_a_minute():
    ticks = time_ticks(1000, 1300, 6)
    assert [tick.at for tick in ticks] == [1020, 1080, 1140, 1200, 1260]
    assert {tick.kind for tick in ticks} == {TickKind.MINUTE}


def test_midnight_shows_the_day_where_people_live():
    midnight = 10 * DAY_S - 8 * 3600
    ticks = time_ticks(midnight - 3600, midnight + 3600, 9, utc_offset_s=8 * 3600)
    assert [tick.at for tick in ticks if tick.kind is TickKind.DAY] == [midnight]


def test_a_short_session_has_seconds():
    assert {tick.kind for tick in time_ticks(1001, 1055, 6)} == {TickKind.SECOND}


@pytest.mark.parametrize(
    ("at", "expected"),
    [(-1.1, None), (-1, 0), (0.4, 0), (1.6, 2), (2.4, 2), (5, None), (9.9, 3), (12, None)],
)
def test_the_nearest_sample_within_reach(at, expected):
    assert nearest([0, 1, 2, 10], at, 1) == expected
    assert nearest([], at, 1) is None


def test_a_view_places_samples_and_finds_them_again():
    view = view_of(samples("iiiddd"), 1000, 1005, 500)
    assert view.xs == (0, 100, 200, 300, 400, 500)
    assert view.at(250) == 1002.5
    assert view.index_at(1002.9) == 3
    assert view.inside(900) == 0
    assert view.inside(9000) == 500
    assert list(view.shown()) == [0, 1, 2, 3, 4, 5]


def test_the_sample_before_the_window_is_there_for_the_line_only():
    view = view_of(samples("iiiddd"), 1001.5, 1005, 350)
    assert list(view.shown()) == [2, 3, 4, 5]
    assert view.xs[1] == -50
