"""Weighs the rules against the evidence. Pure; a 10 MB log costs about one pass over it.

Every rule that holds speaks for its cause with its own certainty. A rule may rule other causes out
(a clear refusal before a crash). Among equals the one whose line comes first wins: what follows a
first error is mostly its echo. A cause out of its time is less sure (``priors.toml``), and a first
cause with a near rival is likely, not proven.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from kimi_desktop.diagnosis.facts import facts_of
from kimi_desktop.diagnosis.log_text import LogText
from kimi_desktop.diagnosis.patterns import Pattern
from kimi_desktop.diagnosis.rules import Rule, RuleBook, shipped_rules
from kimi_desktop.diagnosis.types import Diagnosis, Evidence, Finding, Fix

LONGEST_LINE = 400
CONTESTED = 0.79
RIVAL = 0.7
RIVAL_GAP = 0.25
"""A second cause at least this sure, and this near, takes the confidence from the first: of the
confident errors on threads that no rule had seen, 7 of 11 had such a rival, of the confident right
answers 26 of 175."""
HINT = 0.7
REACH = 0.12
"""A rule below ``HINT`` rules out only what is at most this much surer: no hint outdoes proof."""
NO_LINE = 1 << 60
"""Facts without a line come after lines of equal certainty."""


def diagnose(evidence: Evidence, book: RuleBook | None = None) -> Diagnosis:
    """What the evidence speaks for, the most likely cause first. Never raises for any log."""
    book = book or shipped_rules()
    log = LogText(evidence.log, book.decoys)
    facts = facts_of(evidence, log)
    priors = book.priors_under(facts)
    best: dict[str, tuple[Rule, int | None, Pattern | None]] = {}
    ruled_out: dict[str, float] = {}
    for rule in book.rules:
        found = rule.match(log, facts)
        if found is None:
            continue
        doubt = math.prod(prior.times for prior in priors if prior.speaks_of(rule))
        if doubt == 1:
            reach = 1.0 if rule.sure >= HINT else rule.sure + REACH
            for cause in rule.over - {rule.cause}:
                ruled_out[cause] = max(reach, ruled_out.get(cause, 0.0))
        else:
            rule = replace(rule, sure=round(rule.sure * doubt, 2))  # noqa: PLW2901
        known = best.get(rule.cause)
        if known is None or _weight(rule, found[0]) > _weight(known[0], known[1]):
            best[rule.cause] = (rule, *found)
    findings = [
        _finding(rule, number, wording, log, facts)
        for cause, (rule, number, wording) in best.items()
        if rule.sure > ruled_out.get(cause, 0.0)
    ]
    if not findings:  # they have ruled one another out: the surest speaks
        findings = [_finding(*entry, log, facts) for entry in best.values()]
    findings.sort(key=lambda found: (-found.confidence, _place(found.line_number)))
    if _contested(findings):
        findings = [
            replace(found, confidence=min(found.confidence, CONTESTED)) for found in findings
        ]
    return Diagnosis(tuple(findings), tuple(sorted(log.decoys)))


def _contested(findings: Sequence[Finding]) -> bool:
    """Whether another cause has good evidence, too: then the first is likely, and not proven."""
    if len(findings) < 2:
        return False
    first, second = findings[0].confidence, findings[1].confidence
    return second >= RIVAL and first - second <= RIVAL_GAP + 1e-9


def _weight(rule: Rule, number: int | None) -> tuple[float, int]:
    return rule.sure, -_place(number)


def _place(number: int | None) -> int:
    return NO_LINE if number is None else number


def _finding(
    rule: Rule,
    number: int | None,
    wording: Pattern | None,
    log: LogText,
    facts: Mapping[str, Any],
) -> Finding:
    line = "" if number is None else log.lines[number].strip()[:LONGEST_LINE]
    if number is None:
        line = ", ".join(_told(text, facts) for text in rule.facts)
    return Finding(
        cause=rule.cause,
        confidence=rule.sure,
        line_number=number,
        line=line,
        fix=_filled(rule.fix, wording, line),
        rule=rule.name,
    )


def _told(text: str, facts: Mapping[str, Any]) -> str:
    """A condition with the value that fulfilled it: ``machine.ram_gib=16``."""
    path = text.removeprefix("!").split()[0]
    return f"{path}={facts.get(path)}"


def _filled(fix: Fix, wording: Pattern | None, line: str) -> Fix:
    """The fix with what the line names (``{limit}``) put in; without it, the plain words."""
    named: dict[str, str] = {}
    if wording is not None and (match := wording.search(line)) is not None:
        named = {name: text for name, text in match.groupdict().items() if text}
    return replace(
        fix, setting=_put(fix.setting, named, "arguments"), value=_put(fix.value, named, "")
    )


def _put(template: str, named: Mapping[str, str], otherwise: str) -> str:
    if "{" not in template:
        return template
    try:
        return template.format_map(named)
    except KeyError:
        return otherwise
