"""Tops and sums against plain lists."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.ui.chat.height_index import HeightIndex

heights = st.lists(st.integers(0, 500), max_size=60)


@given(heights, st.lists(st.tuples(st.integers(0, 59), st.integers(0, 500)), max_size=30))
def test_tops_are_sums_after_any_changes(start, changes):
    index = HeightIndex(start)
    plain = list(start)
    for place, height in changes:
        if place < len(plain):
            index[place] = height
            plain[place] = height
    assert [index.top(i) for i in range(len(plain) + 1)] == [
        sum(plain[:i]) for i in range(len(plain) + 1)
    ]
    assert index.total == sum(plain)


@given(heights, st.integers(0, 70), heights)
def test_truncating_and_appending(start, keep, more):
    index = HeightIndex(start)
    index.truncate(min(keep, len(start)))
    plain = start[:keep]
    for height in more:
        index.append(height)
        plain.append(height)
    assert len(index) == len(plain)
    assert index.total == sum(plain)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(-50, 20_000))
def test_find_names_the_entry_that_covers_a_height(plain, y):
    entry, rest = HeightIndex(plain).find(y)
    if y < 0:
        assert (entry, rest) == (0, 0)
    elif y >= sum(plain):
        assert (entry, rest) == (len(plain) - 1, plain[-1])
    else:
        assert sum(plain[:entry]) + rest == y
        assert 0 <= rest < plain[entry]


def test_an_entry_without_height_is_not_found():
    assert HeightIndex([10, 0, 0, 10]).find(10) == (3, 0)


def test_nothing_can_be_found_in_nothing():
    with pytest.raises(IndexError):
        HeightIndex().find(0)
