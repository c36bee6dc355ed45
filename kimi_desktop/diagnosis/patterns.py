"""Regular expressions that know literals without which they cannot match. Pure.

Hundreds of patterns over megabytes of log would be slow in Python; looking for a plain substring
is not. A pattern is tried only on lines that hold one of its literals.
"""

from __future__ import annotations

import re
from functools import lru_cache

SHORTEST = 3
"""Characters of a literal; shorter ones are everywhere."""

_NO_TEXT = frozenset("wWdDsSbBAZ0123456789")
"""Escapes that stand for no character of their own."""


class PatternError(ValueError):
    """A pattern of a rule file that cannot be used."""


class Pattern:
    """A compiled pattern, case-insensitive, and its literals in lower case."""

    __slots__ = ("_regex", "literals", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        try:
            self._regex = re.compile(source, re.IGNORECASE)
        except re.error as error:
            raise PatternError(f"{source!r}: {error}") from error
        self.literals = literals_of(source)
        if not self.literals:
            raise PatternError(f"{source!r} can match without a text of {SHORTEST} characters")

    def search(self, line: str) -> re.Match[str] | None:
        """Where it holds in ``line``."""
        return self._regex.search(line)


@lru_cache(maxsize=4096)
def pattern(source: str) -> Pattern:
    """The pattern for ``source``, made once.

    Raises:
        PatternError: not a regular expression, or one that needs no literal.
    """
    return Pattern(source)


def literals_of(source: str) -> tuple[str, ...]:
    """Lower-case texts, one of which every match of ``source`` holds; () = there are none.

    Of all that a match must hold the choice with the longest shortest text is taken. ``source``
    must compile.
    """
    found, _ = _alternatives(source, 0)
    return tuple(sorted(found)) if _quality(found) >= SHORTEST else ()


def _alternatives(source: str, at: int) -> tuple[frozenset[str], int]:
    """Of ``a|b|c`` up to a closing bracket or the end; and where that is."""
    every: frozenset[str] = frozenset()
    complete = True
    while True:
        found, at = _sequence(source, at)
        complete = complete and bool(found)
        every |= found
        if source[at : at + 1] != "|":
            return (every if complete else frozenset()), at
        at += 1


def _sequence(source: str, at: int) -> tuple[frozenset[str], int]:
    best: frozenset[str] = frozenset()
    run = ""

    def closed(candidate: frozenset[str]) -> frozenset[str]:
        return candidate if _quality(candidate) > _quality(best) else best

    while at < len(source) and source[at] not in "|)":
        text, group, at = _atom(source, at)
        optional, repeated, at = _quantifier(source, at)
        if text and not optional:
            run += text
            if not repeated:
                continue
        best, run = closed(frozenset({run}) if run else frozenset()), ""
        if group and not optional:
            best = closed(group)
    return closed(frozenset({run}) if run else frozenset()), at


def _atom(source: str, at: int) -> tuple[str, frozenset[str], int]:
    """One element: its own character or the literals of a group; and where the next begins."""
    character = source[at]
    if character == "\\":
        escaped = source[at + 1]
        return ("" if escaped in _NO_TEXT else escaped.lower()), frozenset(), at + 2
    if character == "[":
        return "", frozenset(), _class_end(source, at)
    if character != "(":
        return ("" if character in ".^$" else character.lower()), frozenset(), at + 1
    inside, looks_around = _group_start(source, at)
    found, at = _alternatives(source, inside)
    return "", (frozenset() if looks_around else found), at + 1


def _group_start(source: str, at: int) -> tuple[int, bool]:
    """Where a group's own text begins, and whether it is no part of the match."""
    for mark in ("(?=", "(?!", "(?<=", "(?<!", "(?P="):
        if source.startswith(mark, at):
            return at + len(mark), True
    if source.startswith("(?P<", at):
        return source.index(">", at) + 1, False
    return (at + 3 if source.startswith("(?:", at) else at + 1), False


def _quantifier(source: str, at: int) -> tuple[bool, bool, int]:
    """(may be left out, may come more than once, where the next element begins)."""
    mark = source[at : at + 1]
    if not mark or mark not in "?*+{":
        return False, False, at
    optional = mark in "?*"
    if mark == "{":
        end = source.index("}", at)
        optional = source[at + 1] in "0,"
        at = end
    at += 1
    return optional, True, at + (source[at : at + 1] in ("?", "+"))


def _class_end(source: str, at: int) -> int:
    """Index behind the ``]`` of the class that begins at ``at``."""
    at += 2 if source[at + 1 : at + 2] == "^" else 1
    at += source[at : at + 1] == "]"
    while source[at] != "]":
        at += 2 if source[at] == "\\" else 1
    return at + 1


def _quality(literals: frozenset[str]) -> int:
    return min(map(len, literals), default=0)
