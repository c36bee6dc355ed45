"""Text in a terminal: how wide it is, and whether it may be coloured. No escape codes elsewhere."""

from __future__ import annotations

import os
import shutil
import unicodedata
from enum import StrEnum
from typing import TextIO

DEFAULT_COLUMNS = 100


class Colour(StrEnum):
    """SGR parameters of the terminal's own palette, so that its theme decides the shade."""

    GREEN = "32"
    YELLOW = "33"
    RED = "31"
    BOLD = "1"
    MUTED = "2"


def display_width(text: str) -> int:
    """Columns that ``text`` takes: Chinese characters two, combining marks none."""
    width = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me"):
            continue
        width += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return width


def pad(text: str, columns: int) -> str:
    """The text with blanks up to ``columns`` (longer text stays as it is)."""
    return text + " " * max(columns - display_width(text), 0)


def paint(text: str, colour: Colour, *, allowed: bool) -> str:
    """The text in a colour where that is allowed."""
    return f"\x1b[{colour.value}m{text}\x1b[0m" if allowed else text


def colours_allowed(out: TextIO) -> bool:
    """On a terminal that is not dumb, unless NO_COLOR (no-color.org) is set to anything."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns_of(out: TextIO) -> int:
    """How wide ``out`` is; 100 where it is no terminal."""
    if not out.isatty():
        return DEFAULT_COLUMNS
    return shutil.get_terminal_size((DEFAULT_COLUMNS, 24)).columns
