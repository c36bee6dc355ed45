"""A figure with its likely range on a scale."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor

from kimi_desktop.ui.theme import tokens
from kimi_desktop.ui.widgets.band import Band, nice_top


@pytest.mark.parametrize(
    ("value", "top"), [(0, 1), (-3, 1), (0.5, 0.5), (17.8, 20), (101, 120), (1049, 1200), (9.1, 10)]
)
def test_scales_end_at_round_figures(value: float, top: float):
    assert nice_top(value) == pytest.approx(top)


@given(st.floats(1e-6, 1e9))
def test_there_is_always_room_and_never_too_much(value: float):
    assert value <= nice_top(value) * (1 + 1e-9) <= value * 1.5 * (1 + 1e-6)


def test_it_is_drawn_where_it_says(qtbot):
    band = Band()
    qtbot.addWidget(band)
    band.resize(400, band.height())
    band.show_band(5, 10, 15, 20, "Decode 10 tok/s, likely 5 – 15")
    assert band.range_of() == (0.25, 0.5, 0.75)
    assert band.accessibleName() == "Decode 10 tok/s, likely 5 – 15"
    picture = band.grab().toImage()
    middle = picture.height() // 2
    assert picture.pixelColor(200, 2) == QColor(tokens().text)  # the mark is higher than the track
    assert picture.pixelColor(50, middle) == QColor(tokens().spare)
    assert picture.pixelColor(150, middle) == picture.pixelColor(250, middle)
    assert picture.pixelColor(150, middle) != picture.pixelColor(50, middle)
    assert picture.pixelColor(350, middle) == QColor(tokens().spare)


def test_beyond_its_scale_it_stays_inside(qtbot):
    band = Band()
    qtbot.addWidget(band)
    band.resize(100, band.height())
    band.show_band(50, 100, 150, 20, "")
    assert not band.grab().isNull()
