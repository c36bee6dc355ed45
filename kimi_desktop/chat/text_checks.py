"""What an answer looks like: empty, looping, leaking a template, mixed beyond sense. Pure."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

LEAST_REPEATS = 4
"""So often in a row a piece is a loop and no figure of speech."""
LONGEST_PIECE = 200
SHORTEST_RUN = 20
"""Characters."""
SCRIPTS_OF_NONSENSE = 4
"""Latin, Han, Cyrillic, Arabic, ... in a text this short: no language mixes so many."""

TEMPLATE_TOKEN = re.compile(
    r"<\|(?:im_(?:start|end|middle|user|assistant|system)|start_header_id|end_header_id|eot_id"
    r"|end_of_text|endoftext|assistant|user|system|tool_calls?_\w+|end|begin_of_text)\|>"
    r"|</?(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|<｜(?:User|Assistant|end▁of▁sentence)｜>"
)


@dataclass(frozen=True, slots=True)
class TextLook:
    """What stands out."""

    is_empty: bool = False
    repeats: bool = False
    leaks_template: bool = False
    is_gibberish: bool = False


def look_at(text: str) -> TextLook:
    """Judge one answer (plain text, reasoning left out)."""
    stripped = text.strip()
    if not stripped:
        return TextLook(is_empty=True)
    return TextLook(
        repeats=is_looping(stripped),
        leaks_template=TEMPLATE_TOKEN.search(stripped) is not None,
        is_gibberish=_is_gibberish(stripped),
    )


def is_looping(text: str) -> bool:
    """The end of ``text`` is one piece again and again ("!!!!!!", a phrase, a paragraph).

    A text with period p equals itself shifted by p, wherever in the piece it breaks off.
    """
    tail = text.rstrip()[-LONGEST_PIECE * LEAST_REPEATS :]
    for period in range(1, LONGEST_PIECE + 1):
        run = max((LEAST_REPEATS - 1) * period, SHORTEST_RUN)
        if len(tail) < run + period:
            return False
        if tail[-run:] == tail[-run - period : -period]:
            return not _is_rule(tail[-run:], tail[-period:])
    return False


def _is_rule(run: str, piece: str) -> bool:
    """A drawn line or a table's edge of ordinary length."""
    return set(piece) <= set("-=_*#~. |+") and len(run) < 200


def _is_gibberish(text: str) -> bool:
    scripts: set[str] = set()
    for character in text[:2000]:
        if not character.isalpha():
            continue
        name = unicodedata.name(character, "").partition(" ")[0]
        scripts.add("HAN" if name in ("CJK", "HIRAGANA", "KATAKANA") else name)
    return len(scripts) >= SCRIPTS_OF_NONSENSE
