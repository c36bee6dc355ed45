"""A diagnosis in words and as JSON. Pure; the caller prints."""

from __future__ import annotations

from typing import Any

from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, cause_sentences, message
from kimi_desktop.base.redaction import redact
from kimi_desktop.base.units import format_percent
from kimi_desktop.diagnosis.case import case_line
from kimi_desktop.diagnosis.types import UNKNOWN_BELOW, Diagnosis, Figure, Finding

MOST_OTHERS = 2
"""So many further causes are told."""


def diagnosis_object(found: Diagnosis, language: Language) -> dict[str, Any]:
    """One JSON object. The keys are a promise to other programs: add, never rename."""
    best = found.cause
    whole: dict[str, Any] = {
        name: value for name, value in case_line("", found).items() if name != "id"
    }
    whole["evidence_line"] = redact(whole["evidence_line"])
    if best is not None:
        what, why, do = cause_sentences(best.cause, language)
        whole |= {"what": what, "why": why, "do": do}
        if best.line_number is not None:
            whole["line_number"] = best.line_number + 1
    whole["others"] = [
        {"cause": other.cause, "confidence": other.confidence, "evidence_line": redact(other.line)}
        for other in _others(found)
    ]
    return whole


def diagnosis_lines(found: Diagnosis, language: Language) -> list[str]:
    """For a terminal."""
    best = found.cause
    if best is None:
        return [message("diagnosis.unknown", language), message("diagnosis.unknown.do", language)]
    what, why, do = cause_sentences(best.cause, language)
    lines = [what, why, "", message("diagnosis.do", language, text=do)]
    if best.fix.value:
        lines.append(message("diagnosis.fix", language, text=best.fix.value))
    if best.line:
        key = "diagnosis.line" if best.line_number is not None else "diagnosis.facts"
        number = (best.line_number or 0) + 1
        lines += ["", message(key, language, number=number), f"  {redact(best.line)}"]
    lines += ["", message("diagnosis.sure", language, share=format_percent(best.confidence))]
    others = _others(found)
    if others:
        lines.append(message("diagnosis.others", language))
        lines += [f"- {message(f'cause.{other.cause}.what', language)}" for other in others]
    return lines


def slow_sentence(figure: Figure, language: Language) -> str:
    """What is slower than it should be, with both figures."""
    params: dict[str, Param] = {"measured": figure.measured}
    if figure.expected is not None:
        params |= {"low": figure.expected.low, "high": figure.expected.high}
    return message(f"diagnosis.slow.{figure.aspect.value}", language, **params)


def _others(found: Diagnosis) -> tuple[Finding, ...]:
    rest = found.findings[1:] if found.cause is not None else ()
    return tuple(other for other in rest if other.confidence >= UNKNOWN_BELOW)[:MOST_OTHERS]
