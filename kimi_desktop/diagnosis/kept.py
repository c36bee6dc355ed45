"""What the notebook keeps of a failure, and the way back from it. Pure.

Kept is the bundle that a user could post: redacted and bounded. A failure is diagnosed anew when it
is read, so that rules that have come since then help.
"""

from __future__ import annotations

import json
from typing import Any

from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.diagnosis.bundle import bounded, bundle_text
from kimi_desktop.diagnosis.case import evidence_of
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.slow import reason_in
from kimi_desktop.diagnosis.types import (
    Aspect,
    Diagnosis,
    FailureReading,
    Figure,
    KeptFailure,
    OddAnswer,
    Slowness,
)
from kimi_desktop.monitor.run_types import RunFacts
from kimi_desktop.planner.speed_types import Band, Resource

LOG = "engine_log"
"""Of an engine that ran well but slowly: beside the evidence, since it decided nothing."""


def failure_text(reading: FailureReading) -> str:
    """Of an engine that has ended or did not start."""
    error = reading.error
    told = None if error is None else {"code": error.code.value, "params": dict(error.params)}
    return bundle_text(reading.evidence, reading.diagnosis, {"error": told} if told else None)


def slowness_text(slowness: Slowness, log: str) -> str:
    """Of an engine that does less than was forecast; ``log`` is its log so far."""
    band = slowness.figure.expected
    slow: dict[str, Any] = {
        "aspect": slowness.figure.aspect.value,
        "measured": slowness.figure.measured,
    }
    if band is not None:
        slow["expected"] = [band.low, band.likely, band.high, band.bottleneck.value]
    found = _alone(slowness)
    return bundle_text(slowness.evidence, found, {"slow": slow, LOG: bounded(log)})


def odd_text(answer: OddAnswer, log: str) -> str:
    """Of an answer that is none; ``log`` is the engine's log so far."""
    more = {"odd_answer": answer.code.value, LOG: bounded(log)}
    return bundle_text(answer.evidence, answer.diagnosis, more)


def _alone(slowness: Slowness) -> Diagnosis:
    return Diagnosis((slowness.finding,) if slowness.finding is not None else (), ())


def kept_failure(facts: RunFacts, started_at: float) -> KeptFailure | None:
    """The reverse; None for what this version does not understand.

    Args:
        facts: of the notebook.
        started_at: of the run.
    """
    try:
        whole: dict[str, Any] = json.loads(facts.text)
        evidence = evidence_of(whole)
        figure = _figure(whole.get("slow"))
        odd = ErrorCode(whole["odd_answer"]) if "odd_answer" in whole else None
        error = _error(whole.get("error"))
        log = str(whole.get(LOG) or evidence.log)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
        return None
    if figure is not None:
        reason = reason_in(evidence)
        found = Diagnosis((reason,) if reason is not None else (), ())
    else:
        found = diagnose(evidence)
    reading = FailureReading(found, evidence, (), started_at, error=error)
    return KeptFailure(facts.at, reading, facts.text, log, figure, odd)


def _figure(slow: dict[str, Any] | None) -> Figure | None:
    if slow is None:
        return None
    band = slow.get("expected")
    expected = None
    if band is not None:
        low, likely, high, bottleneck = band
        expected = Band(float(low), float(likely), float(high), Resource(bottleneck))
    return Figure(Aspect(slow["aspect"]), float(slow["measured"]), expected)


def _error(told: dict[str, Any] | None) -> KimiError | None:
    return None if told is None else KimiError(ErrorCode(told["code"]), told["params"])
