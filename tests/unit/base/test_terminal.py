from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.terminal import (
    DEFAULT_COLUMNS,
    Colour,
    colours_allowed,
    columns_of,
    display_width,
    pad,
    paint,
)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("显存", 4), ("Ａ", 2), ("é", 1), ("e\u0301", 1), ("✓ ·", 3), ("🚀", 2)],
)
def test_width(text: str, width: int) -> None:
    assert display_width(text) == width


@given(st.text(max_size=20), st.integers(0, 60))
def test_padding_reaches_the_column(text: str, columns: int) -> None:
    padded = pad(text, columns)
    assert padded.startswith(text)
    assert display_width(padded) == max(columns, display_width(text))


def test_paint() -> None:
    assert paint("x", Colour.RED, allowed=True) == "\x1b[31mx\x1b[0m"
    assert paint("x", Colour.RED, allowed=False) == "x"


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
        ({"TERM": "xterm", "NO_COLOR": ""}, True),
    ],
)
def test_colours(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], allowed: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert colours_allowed(Screen()) is allowed
    assert not colours_allowed(io.StringIO())


def test_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    assert columns_of(io.StringIO()) == DEFAULT_COLUMNS
    monkeypatch.setenv("COLUMNS", "73")
    assert columns_of(Screen()) == 73
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((0, 0)))
    assert columns_of(Screen()) == DEFAULT_COLUMNS
