"""Every failure has its two sentences, and whoever needs a text brings what fills it."""

from __future__ import annotations

import ast
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import kimi_desktop
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.messages import TOPICS

SOURCES = Path(kimi_desktop.__file__).parent


class Raised(NamedTuple):
    """One place that makes an error with facts written out."""

    where: str
    code: ErrorCode
    facts: frozenset[str]


def sentences(code: ErrorCode) -> list[str]:
    texts = TOPICS[code.value.partition(".")[0]]
    return [words for key in (code.value, f"{code.value}.next") for words in texts[key]]


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def raised() -> Iterator[Raised]:
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            code = node.args[0]
            if not (
                name.endswith("Error")
                and isinstance(code, ast.Attribute)
                and isinstance(code.value, ast.Name)
                and code.value.id == "ErrorCode"
            ):
                continue
            facts = node.args[1] if len(node.args) > 1 else ast.Dict([], [])
            if isinstance(facts, ast.Dict) and all(
                isinstance(key, ast.Constant) for key in facts.keys
            ):
                names = frozenset(str(key.value) for key in facts.keys if key)  # type: ignore[attr-defined]
                where = f"{file.relative_to(SOURCES.parent)}:{node.lineno}"
                yield Raised(where, ErrorCode[code.attr], names)


class Said(NamedTuple):
    """One place that asks for a text whose key is written out."""

    where: str
    key: str
    filled: frozenset[str] | None
    """None: not written out."""


def said() -> Iterator[Said]:
    for file in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "message"
                and isinstance(node.args[0], ast.Constant)
            ):
                names = [keyword.arg for keyword in node.keywords]
                filled = None if None in names else frozenset(name for name in names if name)
                where = f"{file.relative_to(SOURCES.parent)}:{node.lineno}"
                yield Said(where, str(node.args[0].value), filled)


ALL_RAISED = list(raised())
ALL_SAID = list(said())


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_has_what_happened_and_what_to_do(code: ErrorCode) -> None:
    texts = TOPICS[code.value.partition(".")[0]]
    assert code.value in texts
    assert f"{code.value}.next" in texts


@pytest.mark.parametrize("place", ALL_RAISED, ids=[place.where for place in ALL_RAISED])
def test_who_raises_brings_the_facts(place: Raised) -> None:
    needed = set[str]().union(*map(fields, sentences(place.code)))
    if "wait_s" in place.facts:
        needed.discard("wait")  # ``message`` puts it in words
    assert needed <= place.facts, f"{place.where} lacks {needed - place.facts}"


@pytest.mark.parametrize("place", ALL_SAID, ids=[place.where for place in ALL_SAID])
def test_who_asks_for_a_text_gets_it_filled(place: Said) -> None:
    text = TOPICS[place.key.partition(".")[0]][place.key]
    if place.filled is not None:
        assert fields(text.en) <= place.filled


def test_the_search_finds_something() -> None:
    assert len(ALL_RAISED) > 20
    assert len(ALL_SAID) > 20
