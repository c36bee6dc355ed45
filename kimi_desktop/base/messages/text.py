"""One text in both languages, side by side so that neither is forgotten."""

from __future__ import annotations

from typing import NamedTuple


class Text(NamedTuple):
    """``str.format`` templates; both must use the same fields (tested)."""

    en: str
    zh: str
    one: str = ""
    """English for a ``count`` of 1, where ``en`` would read wrongly. Chinese has no plural."""
