"""The template for models that bring none: base models, which only continue a text.

As data in ``assets/engines/plain-chat.json``: per architecture, with ``*`` for all others. A turn
template with special tokens makes a base model repeat itself; questions and answers as plain text,
with stops and two examples in front, make it answer briefly and end (tried with Gemma 3 270M, which
without the examples filled every second answer with repetitions).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from kimi_desktop.base.assets import asset

ANY_ARCHITECTURE = "*"


@dataclass(frozen=True, slots=True)
class PlainChat:
    """A Jinja template and what ends an answer."""

    template: str
    stop: tuple[str, ...]


def plain_chat_for(architecture: str) -> PlainChat:
    """The template for a model of this architecture that has none."""
    known = _read()
    return known.get(architecture, known[ANY_ARCHITECTURE])


@cache
def _read() -> dict[str, PlainChat]:
    raw = json.loads(asset("engines/plain-chat.json").read_text(encoding="utf-8"))
    return {name: PlainChat(entry["template"], tuple(entry["stop"])) for name, entry in raw.items()}
