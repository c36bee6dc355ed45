"""Axes: round steps, no reading above the top, texts that say what the ticks are."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kimi_desktop.ui.monitor.scale import (
    DECIMAL_STEPS,
    SMALLEST_TOP,
    Quantity,
    log_scale_for,
    nice_step,
    scale_for,
)

GIB = 2**30
MIB = 2**20
GB = 10**9

intervals = st.integers(1, 6)
readings = st.floats(0, 1e15, allow_nan=False)


def texts(scale):
    return [text for _, text in scale.ticks()]


@pytest.mark.parametrize(
    ("quantity", "largest", "top", "expected"),
    [
        (Quantity.TOKENS, 18.9, None, ["0", "10", "20"]),
        (Quantity.TOKENS, 2_130.0, None, ["0", "1,500", "3,000"]),
        (Quantity.TOKENS, 0.0, None, ["0", "5", "10"]),
        (Quantity.MEMORY, 87 * GIB, 95.6 * GIB, ["0", "48", "96 GiB"]),
        (Quantity.MEMORY, 5 * GIB, 24 * GIB, ["0", "12", "24 GiB"]),
        (Quantity.MEMORY, 0, 79.6 * GIB, ["0", "40", "80 GiB"]),
        (Quantity.MEMORY, 410 * GIB, 755.4 * GIB, ["0", "384", "768 GiB"]),
        (Quantity.MEMORY, 300 * MIB, None, ["0", "160", "320 MiB"]),
        (Quantity.MEMORY, 2.6 * GIB, None, ["0", "1.5", "3.0 GiB"]),
        (Quantity.RATE, 6.4 * GB, None, ["0", "4", "8 GB/s"]),
        (Quantity.RATE, 0, None, ["0", "50", "100 MB/s"]),
        (Quantity.PERCENT, 88, 100, ["0%", "50%", "100%"]),
        (Quantity.POWER, 410, 600, ["0", "300", "600 W"]),
        (Quantity.CORES, 7.8, 16, ["0", "8", "16"]),
    ],
)
def test_axes_that_people_meet(quantity, largest, top, expected):
    assert texts(scale_for(quantity, largest, top=top)) == expected


@given(st.sampled_from(Quantity), readings, intervals)
def test_everything_fits_and_little_is_wasted(quantity, largest, parts):
    scale = scale_for(quantity, largest, intervals=parts)
    wanted = max(largest, SMALLEST_TOP[quantity])
    assert scale.top >= wanted * (1 - 1e-9)
    assert scale.top <= wanted * 1.5 * (1 + 1e-9)


@given(st.sampled_from(Quantity), readings, intervals)
def test_ticks_rise_from_zero_and_differ(quantity, largest, parts):
    ticks = scale_for(quantity, largest, intervals=parts).ticks()
    assert len(ticks) == parts + 1
    assert ticks[0][0] == 0
    values = [value for value, _ in ticks]
    assert values == sorted(set(values))
    assert len({text for _, text in ticks}) == len(ticks)


@given(st.sampled_from(Quantity), readings, intervals)
def test_a_text_says_its_value(quantity, largest, parts):
    scale = scale_for(quantity, largest, intervals=parts)
    assume(quantity is not Quantity.PERCENT or 100 % parts == 0 or scale.top > 100)
    for value, text in scale.ticks():
        number = float(text.rstrip("%").split(" ")[0].replace(",", ""))
        assert number * scale.unit_size == pytest.approx(value, rel=1e-9)


@given(st.floats(1e-6, 1e15))
def test_decimal_steps_are_round(least):
    step = nice_step(least)
    assert least * (1 - 1e-9) <= step <= least * 1.5 * (1 + 1e-9)
    power = step
    while power >= 10:
        power /= 10
    while power < 1:
        power *= 10
    assert any(power == pytest.approx(known) for known in DECIMAL_STEPS)


@given(st.floats(1, 1e6))
def test_memory_steps_are_whole_from_four_on(least):
    step = nice_step(least, binary=True)
    assert least * (1 - 1e-9) <= step
    if step >= 4:
        assert step == int(step)
    else:
        assert step * 2 == int(step * 2)


def test_a_limit_that_is_passed_or_unknown_hides_nothing():
    assert scale_for(Quantity.POWER, 700, top=600).top >= 700
    assert scale_for(Quantity.MEMORY, 0, top=0) == scale_for(Quantity.MEMORY, 0)


@pytest.mark.parametrize(
    ("quantity", "value", "expected"),
    [
        (Quantity.RATE, 0.0, "0.0"),
        (Quantity.RATE, 5.84e9, "5.8"),
        (Quantity.RATE, 512e9, "512"),
        (Quantity.POWER, 212.4, "212"),
        (Quantity.CORES, 7.84, "7.8"),
        (Quantity.MEMORY, 87.06 * GIB, "87.1"),
        (Quantity.MEMORY, 600 * MIB, "0.59"),
    ],
)
def test_readings_are_as_exact_as_people_need(quantity, value, expected):
    largest = {Quantity.RATE: 6.4e9, Quantity.MEMORY: 90 * GIB}.get(quantity, 600)
    assert scale_for(quantity, largest).number(value) == expected


def test_lines_that_are_near_each_other_have_an_even_axis():
    assert log_scale_for(Quantity.TOKENS, [[10, 20], [3, 4]]) is None
    assert log_scale_for(Quantity.TOKENS, [[10, 20]]) is None
    assert log_scale_for(Quantity.TOKENS, [[], [0.0]]) is None


def test_lines_that_are_far_apart_have_a_logarithmic_one():
    scale = log_scale_for(Quantity.SECONDS, [[0.23, 0.8], [1.9, 43], [0.0]])
    assert scale is not None
    assert (scale.bottom, scale.top) == (0.2, 50)
    assert texts(scale) == ["0.3", "1", "3", "10", "30"]
    assert [round(scale.share(value), 2) for value in (0.0, 0.2, 50.0)] == [0, 0, 1]
    watts = log_scale_for(Quantity.POWER, [[1.0], [300.0]])
    assert watts is not None
    assert texts(watts)[-1] == "300 W"
    middle = (scale.bottom * scale.top) ** 0.5
    assert scale.share(middle) == pytest.approx(0.5)


@given(st.lists(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=6), min_size=2, max_size=4))
def test_every_reading_lies_on_a_logarithmic_axis(lines):
    scale = log_scale_for(Quantity.TOKENS, lines)
    assume(scale is not None)
    for line in lines:
        for value in line:
            assert -1e-9 <= scale.share(value) <= 1 + 1e-9
    ticks = scale.ticks()
    assert ticks
    assert all(-1e-9 <= scale.share(value) <= 1 + 1e-9 for value, _ in ticks)
