"""The rules, read from ``assets/diagnosis/*.toml``, one file per family. Read once, then pure.

A rule names a cause, how sure it is, and what must be seen: one of several line patterns (``log``),
on that line none of some others (``never``), further patterns anywhere (``also``), others nowhere
(``absent``), and facts (``when``). Lines that the program calls information count with ``info``
only. ``over`` lists causes that the rule takes out. How to add one stands in
``docs/diagnosis.md``; no code is needed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kimi_desktop.base.assets import asset
from kimi_desktop.diagnosis.conditions import Condition, ConditionError, condition
from kimi_desktop.diagnosis.log_text import LogText
from kimi_desktop.diagnosis.patterns import Pattern, PatternError, pattern
from kimi_desktop.diagnosis.types import Fix

FAMILIES = ("start", "gpu", "files", "memory", "process", "serving", "speed", "quality")
DECOYS = "decoys"
PRIORS = "priors"
_KEYS = frozenset(
    {"cause", "sure", "log", "never", "also", "absent", "when", "info", "over", "source", "fix"}
)


class RuleError(ValueError):
    """A rule file is not as it should be; the message names file and position."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, compiled."""

    name: str
    """``memory.toml #3``"""
    family: str
    cause: str
    sure: float
    log: tuple[Pattern, ...]
    never: tuple[re.Pattern[str], ...]
    also: tuple[re.Pattern[str], ...]
    absent: tuple[re.Pattern[str], ...]
    when: tuple[Condition, ...]
    over: frozenset[str]
    fix: Fix
    info: bool = False
    """Lines of the level "information" count, too."""
    facts: tuple[str, ...] = field(default=())
    """The conditions as written: the evidence of a rule without a line."""

    def match(
        self, log: LogText, facts: Mapping[str, Any]
    ) -> tuple[int | None, Pattern | None] | None:
        """Line and pattern that prove it (None, None when facts alone do); None = not so."""
        if not all(holds(facts) for holds in self.when):
            return None
        best: tuple[int, Pattern] | None = None
        for wording in self.log:
            number = log.find(wording, self.never, with_info=self.info)
            if number is not None and (best is None or number < best[0]):
                best = number, wording
        if self.log and best is None:
            return None
        if self.also and not all(log.holds(regex) for regex in self.also):
            return None
        if any(log.holds(regex) for regex in self.absent):
            return None
        return best or (None, None)


@dataclass(frozen=True, slots=True)
class Prior:
    """Causes that seldom happen under some conditions, and how much less sure that makes them."""

    families: frozenset[str]
    causes: frozenset[str]
    but: frozenset[str]
    when: tuple[Condition, ...]
    times: float

    def speaks_of(self, rule: Rule) -> bool:
        """Whether the rule's cause is one of them."""
        named = rule.family in self.families or rule.cause in self.causes
        return named and rule.cause not in self.but


@dataclass(frozen=True, slots=True)
class RuleBook:
    """All rules, the decoys, and what is unlikely when."""

    rules: tuple[Rule, ...]
    decoys: tuple[Pattern, ...]
    priors: tuple[Prior, ...] = ()

    def priors_under(self, facts: Mapping[str, Any]) -> tuple[Prior, ...]:
        """Those whose conditions hold."""
        return tuple(prior for prior in self.priors if all(holds(facts) for holds in prior.when))

    @property
    def causes(self) -> tuple[str, ...]:
        """Every cause, in the order of the files."""
        return tuple(dict.fromkeys(rule.cause for rule in self.rules))


@cache
def shipped_rules() -> RuleBook:
    """The rules that ship.

    Raises:
        RuleError: one of them is broken (a test reads them all).
    """
    return read_rules(asset("diagnosis"))


def read_rules(folder: Path) -> RuleBook:
    """The rules of a folder.

    Raises:
        RuleError: a file is missing or a rule is not well formed.
    """
    rules: list[Rule] = []
    for family in FAMILIES:
        data = _read(folder / f"{family}.toml")
        for number, raw in enumerate(data.get("rules", []), start=1):
            rules.append(_rule(raw, family, f"{family}.toml #{number}"))
    decoys = []
    for raw in _read(folder / f"{DECOYS}.toml").get("decoys", []):
        try:
            decoys.append(pattern(raw["line"]))
        except (KeyError, PatternError) as error:
            raise RuleError(f"{DECOYS}.toml: {error}") from error
    file = folder / f"{PRIORS}.toml"
    raw_priors = _read(file).get("priors", []) if file.exists() else []
    priors = tuple(_prior(raw, f"{PRIORS}.toml #{n}") for n, raw in enumerate(raw_priors, 1))
    return RuleBook(tuple(rules), tuple(decoys), priors)


def _prior(raw: Mapping[str, Any], name: str) -> Prior:
    try:
        times = float(raw["times"])
        if not 0 < times < 1 or not raw["why"] or not raw["when"]:
            raise RuleError(f"{name}: times, why or when")
        return Prior(
            families=frozenset(raw.get("families", ())),
            causes=frozenset(raw.get("causes", ())),
            but=frozenset(raw.get("but", ())),
            when=tuple(condition(text) for text in raw["when"]),
            times=times,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RuleError(f"{name}: {error}") from error


def _read(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise RuleError(f"{file.name}: {error}") from error


def _rule(raw: Mapping[str, Any], family: str, name: str) -> Rule:
    unknown = set(raw) - _KEYS
    if unknown:
        raise RuleError(f"{name}: unknown keys {sorted(unknown)}")
    if not (raw.get("log") or raw.get("when")):
        raise RuleError(f"{name}: neither log nor when")
    if not raw.get("source"):
        raise RuleError(f"{name}: no source")
    try:
        sure = float(raw["sure"])
        if not 0 < sure < 1:
            raise RuleError(f"{name}: sure is {sure}")
        return Rule(
            name=name,
            family=family,
            cause=raw["cause"],
            sure=sure,
            log=tuple(pattern(text) for text in raw.get("log", ())),
            never=_regexes(raw.get("never", ())),
            also=_regexes(raw.get("also", ())),
            absent=_regexes(raw.get("absent", ())),
            when=tuple(condition(text) for text in raw.get("when", ())),
            over=frozenset(raw.get("over", ())),
            fix=Fix(**raw["fix"]),
            info=bool(raw.get("info", False)),
            facts=tuple(raw.get("when", ())),
        )
    except (KeyError, TypeError, PatternError, ConditionError, re.error) as error:
        raise RuleError(f"{name}: {error}") from error


def _regexes(texts: Sequence[str] | Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(text, re.IGNORECASE) for text in texts)
