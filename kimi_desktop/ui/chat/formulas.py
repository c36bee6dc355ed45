"""LaTeX in answers as readable runs of Unicode text. Pure: no Qt, no layout engine.

What a line of text can show (letters, Greek, operators, scripts, simple fractions and roots) is
converted; anything else (matrices, nested scripts, unknown commands) is left as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kimi_desktop.ui.chat.formula_symbols import (
    ACCENTS,
    BLACKBOARD,
    DROPPED,
    FRACTIONS,
    FUNCTIONS,
    OPERATORS,
    SLANTED,
    SPACES,
    SYMBOLS,
    UPRIGHT,
)

_MAX_SOURCE = 400
_CODE = re.compile(
    r"(?ms)^[ \t>*+\-\d.]*(?:`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t>]*(?:`{3,}|~{3,})[ \t]*$|\Z)"
    r"|(?P<ticks>`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)(?P=ticks)(?!`)"
)
_FORMULA = re.compile(
    r"(?s)(?<!\\)\$\$(?P<display>[^$]+?)\$\$"
    r"|(?<![\\$\w])\$(?P<inline>[^\s$](?:[^$\n]*?[^\s$\\])?)\$(?![\d$])"
    r"|\\\[(?P<bracket>.+?)\\\]"
    r"|\\\((?P<paren>[^\n]+?)\\\)"
)
_TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}_^&~]|\s+|.", re.DOTALL)
_LOOSER = frozenset("+−=<>≈≠≤≥±∓/")
"""What binds less than a fraction's bar."""
_RELATIONS = frozenset("=<>+−×·÷±∓≈≠≤≥≡∼≃≅∝→←⇒⇐↔⇔↦∈∉⊂⊆⊃⊇∪∩∧∨≪≫≔∗/")
_OPENING = frozenset("([{|,⟨⌈⌊")
_BEFORE_FUNCTION = _OPENING | frozenset(" \u2009\u2003\u2005")


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of a formula in one style."""

    text: str
    italic: bool = False
    script: int = 0
    """1 = superscript, -1 = subscript."""


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula found in Markdown: where, what it says, and how to show it."""

    start: int
    end: int
    source: str
    """With its delimiters."""
    display: bool
    """On a line of its own."""
    runs: tuple[Run, ...] | None
    """None = show the source."""


class _NotConvertibleError(ValueError):
    pass


def find_formulas(markdown: str) -> list[Formula]:
    """The formulas outside code, in order."""
    if "$" not in markdown and "\\(" not in markdown and "\\[" not in markdown:
        return []
    found = []
    offset = 0
    for text, is_code in split_code(markdown):
        for match in () if is_code else _FORMULA.finditer(text):
            body = next(group for group in match.groups() if group is not None)
            if len(body) > _MAX_SOURCE and match["inline"] is not None:
                continue
            start, end = offset + match.start(), offset + match.end()
            display = match["display"] is not None or match["bracket"] is not None
            found.append(Formula(start, end, match.group(), display, to_runs(body)))
        offset += len(text)
    return found


def to_runs(latex: str) -> tuple[Run, ...] | None:
    """The formula (without delimiters) as runs, or None when a line of text cannot show it."""
    if len(latex) > _MAX_SOURCE:
        return None
    try:
        runs = _Reader(latex).read()
    except _NotConvertibleError:
        return None
    merged = _merged(runs)
    return merged or None


def plain(runs: tuple[Run, ...]) -> str:
    """Without styles."""
    return "".join(run.text for run in runs)


def split_code(markdown: str) -> Iterator[tuple[str, bool]]:
    """The text in order, in stretches that are code (fences, code spans) or are not."""
    start = 0
    for code in _CODE.finditer(markdown):
        yield markdown[start : code.start()], False
        yield code.group(), True
        start = code.end()
    yield markdown[start:], False


def _merged(runs: list[Run]) -> tuple[Run, ...]:
    merged: list[Run] = []
    for run in runs:
        if merged and (merged[-1].italic, merged[-1].script) == (run.italic, run.script):
            merged[-1] = Run(merged[-1].text + run.text, run.italic, run.script)
        else:
            merged.append(run)
    if merged:
        merged[0] = Run(merged[0].text.lstrip(), merged[0].italic, merged[0].script)
        merged[-1] = Run(merged[-1].text.rstrip(), merged[-1].italic, merged[-1].script)
    return tuple(run for run in merged if run.text)


class _Reader:
    """Reads one formula from left to right, by recursive descent."""

    def __init__(self, latex: str) -> None:
        self._tokens = _TOKEN.findall(latex)
        self._next = 0
        self._after_symbol = False
        """The atom before was a letter, a digit or a closing bracket."""

    def read(self) -> list[Run]:
        runs = self._sequence(script=0)
        if self._next < len(self._tokens):
            raise _NotConvertibleError("a brace too many")
        return runs

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        if not token:
            raise _NotConvertibleError("ends too early")
        self._next += 1
        return token

    def _skip_blanks(self) -> None:
        while self._peek().isspace():
            self._next += 1

    def _sequence(self, script: int) -> list[Run]:
        runs: list[Run] = []
        while (token := self._peek()) and token != "}":
            if token.isspace():
                self._next += 1
            elif token in "_^":
                self._next += 1
                if script:
                    raise _NotConvertibleError("a script in a script")
                runs += self._script(1 if token == "^" else -1)
            else:
                self._after_symbol = bool(runs) and runs[-1].text[-1:] not in _BEFORE_FUNCTION
                runs += self._spaced(self._atom(script), runs, script)
        return runs

    def _spaced(self, atom: list[Run], before: list[Run], script: int) -> list[Run]:
        """Space around relations and binary operators, none around a sign."""
        if script or len(atom) != 1 or atom[0].text not in _RELATIONS:
            return atom
        last = before[-1].text.rstrip()[-1:] if before else ""
        if atom[0].text in "+−" and (not last or last in _OPENING or last in _RELATIONS):
            return atom
        lead = "" if not before or before[-1].text.endswith(" ") else " "
        return [Run(f"{lead}{atom[0].text} ")]

    def _script(self, script: int) -> list[Run]:
        if script == 1 and self._peek() == "\\prime":
            self._next += 1
            return [Run("′")]
        return self._argument(script)

    def _argument(self, script: int) -> list[Run]:
        """One group in braces, or one atom."""
        self._skip_blanks()
        if self._peek() != "{":
            return self._atom(script)
        self._next += 1
        runs = self._sequence(script)
        if self._take() != "}":
            raise _NotConvertibleError("an open brace")
        return runs

    def _raw_argument(self) -> str:
        """The text of a group as written, for what stands upright."""
        self._skip_blanks()
        if self._peek() != "{":
            return self._take()
        self._next += 1
        text = ""
        while (token := self._take()) != "}":
            if token == "{" or (token[0] == "\\" and token[1:] not in SPACES | {"_": "", "%": ""}):
                raise _NotConvertibleError(token)
            text += SPACES.get(token[1:], token[1:]) if token[0] == "\\" else token
        return text

    def _atom(self, script: int) -> list[Run]:
        token = self._take()
        if token == "{":
            self._next -= 1
            return self._argument(script)
        if token in "&}_^":
            raise _NotConvertibleError(token)
        if token[0] == "\\":
            return self._command(token[1:], script)
        if token == "'":
            return [Run("′", script=script)]
        if token == "~":
            return [Run(" ", script=script)]
        text = {"-": "−", "*": "∗"}.get(token, token)
        return [Run(text, italic=token.isalpha() and token.isascii(), script=script)]

    def _command(self, name: str, script: int) -> list[Run]:
        if name in SYMBOLS:
            symbol = SYMBOLS[name]
            return [Run(symbol, italic="α" <= symbol <= "ω", script=script)]
        if name in OPERATORS or name in SPACES:
            return [Run(OPERATORS.get(name) or SPACES[name], script=script)]
        if name in FUNCTIONS:
            lead = "\u2009" if self._after_symbol else ""
            return [Run(lead + name, script=script), *self._gap(script)]
        if name in DROPPED:
            if self._peek() == "." and name in ("left", "right"):
                self._next += 1
            return []
        return self._structure(name, script)

    def _structure(self, name: str, script: int) -> list[Run]:
        """A command with arguments."""
        if name in UPRIGHT:
            return [Run(self._raw_argument(), script=script)]
        if name in SLANTED:
            return self._argument(script)
        if name in FRACTIONS:
            top, bottom = self._argument(script), self._argument(script)
            if any(mark in _depth_zero(top) for mark in _LOOSER):
                top = _grouped(top)
            return [*top, Run("/", script=script), *_grouped(bottom)]
        if name == "sqrt":
            return self._root(script)
        if name in ACCENTS:
            (run,) = self._single(self._argument(script))
            return [Run(run.text + ACCENTS[name], run.italic, run.script)]
        if name == "mathbb" and (letter := self._raw_argument()) in BLACKBOARD:
            return [Run(BLACKBOARD[letter], script=script)]
        raise _NotConvertibleError(name)

    @staticmethod
    def _single(runs: list[Run]) -> list[Run]:
        if len(runs) != 1 or len(runs[0].text) != 1:
            raise _NotConvertibleError("more than one letter")
        return runs

    def _gap(self, script: int) -> list[Run]:
        """A thin space between a function's name and what it is applied to."""
        follows = next((t for t in self._tokens[self._next :] if not t.isspace()), "")
        wanted = follows.isalnum() or (follows.startswith("\\") and follows[1:] in SYMBOLS)
        return [Run("\u2009", script=script)] if wanted else []

    def _root(self, script: int) -> list[Run]:
        sign = "√"
        self._skip_blanks()
        if self._peek() == "[":
            self._next += 1
            degree = self._take()
            if degree not in "34" or self._take() != "]":
                raise _NotConvertibleError("root")
            sign = {"3": "∛", "4": "∜"}[degree]
        return [Run(sign, script=script), *_grouped(self._argument(script))]


def _depth_zero(runs: list[Run]) -> str:
    """The text on the line that stands in no parentheses."""
    depth = 0
    kept = ""
    for character in "".join(run.text for run in runs if not run.script):
        depth -= character in ")]}"
        kept += "" if depth else character
        depth += character in "([{"
    return kept


def _grouped(runs: list[Run]) -> list[Run]:
    """In parentheses, unless it is one number or one symbol (with its scripts)."""
    base = "".join(run.text for run in runs if not run.script).strip()
    if len(base) <= 1 or base.replace(".", "").isdigit() or (base.isalpha() and len(runs) == 1):
        return runs
    script = runs[0].script
    return [Run("(", script=script), *runs, Run(")", script=script)]
