"""Text in a terminal: what of it may be shown, how wide it is, and whether it may be coloured.

Names, versions and errors that come from files, engines and other computers may hold anything. The
catalogue of texts (``base.messages``) takes the control characters out of what it fills in; a verb
that writes such words without it uses ``printable`` or ``one_line``, and ``json_text`` for JSON.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, TextIO

DEFAULT_COLUMNS = 100
COLUMN_GAP = "  "
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks that turn the direction of text around."""
_CONTROL = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}]")
_UNESCAPED = re.compile(rf"[\x7f-\x9f{_BIDI}]")
"""What ``json.dumps`` leaves as it is."""


class Colour(StrEnum):
    """SGR parameters of the terminal's own palette, so that its theme decides the shade."""

    GREEN = "32"
    YELLOW = "33"
    RED = "31"
    BOLD = "1"
    MUTED = "2"


def printable(text: str) -> str:
    """Without control characters and marks that reverse text; line ends and tabs stay."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """The same for a name: its line ends are blanks, so that it cannot pass for another line."""
    return printable(" ".join(text.split()))


def json_text(value: Any, *, indent: int | None = None) -> str:  # noqa: ANN401 - what JSON holds
    """JSON that a terminal shows and never obeys; programs read the same value out of it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


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


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells, each column as wide as its widest cell."""
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return [
        COLUMN_GAP.join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


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
