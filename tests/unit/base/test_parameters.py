"""The size of a model in words."""

from __future__ import annotations

import pytest

from kimi_desktop.base.units import format_parameters


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999_999, "999,999"),
        (1_000_000, "1.0 M"),
        (268_098_176, "268 M"),
        (7_615_616_512, "7.62 B"),
        (70_553_706_560, "70.6 B"),
        (480_154_875_392, "480 B"),
        (1_026_408_232_448, "1.03 T"),
        (2_780_000_000_000, "2.78 T"),
    ],
)
def test_parameters(count: int, text: str) -> None:
    assert format_parameters(count) == text
