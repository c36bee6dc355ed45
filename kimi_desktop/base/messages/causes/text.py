"""The three sentences of a cause: what happened, why, what to do; each in English and Chinese."""

from __future__ import annotations

from kimi_desktop.base.messages.text import Text

Pair = tuple[str, str]


def cause(name: str, what: Pair, why: Pair, do: Pair) -> dict[str, Text]:
    """Texts of one cause under ``cause.NAME.what``, ``.why`` and ``.do``."""
    return {
        f"cause.{name}.{part}": Text(*pair)
        for part, pair in (("what", what), ("why", why), ("do", do))
    }
