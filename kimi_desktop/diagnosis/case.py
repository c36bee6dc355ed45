"""Cases on disk: one JSON object each, as evidence, and a diagnosis as one JSON object. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kimi_desktop.diagnosis.types import UNKNOWN_BELOW, Diagnosis, EngineExit, Evidence

UNKNOWN = "unknown"


def evidence_of(case: Mapping[str, Any]) -> Evidence:
    """What of ``case`` a diagnosis may look at; the rest (its cause, its source) is not touched."""
    end = _object(case.get("exit"))
    return Evidence(
        log=_text(case.get("log")) or "",
        exit=EngineExit(
            code=_whole(end.get("code")),
            signal=_text(end.get("signal")),
            is_alive=bool(end.get("alive")),
            spawn_errno=_text(end.get("spawn_errno")),
        ),
        engine=_text(case.get("engine")) or "",
        engine_version=_text(case.get("engine_version")) or "",
        phase=_text(case.get("phase")) or "",
        machine=_object(case.get("machine")),
        settings=_object(case.get("settings")),
    )


def _object(value: object) -> Mapping[str, Any]:
    """Others wrote the file: a field of another kind says nothing."""
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def case_line(name: str, found: Diagnosis) -> dict[str, Any]:
    """The answer for one case. The keys are a promise to other programs: add, never rename."""
    best = found.findings[0] if found.findings else None
    known = best is not None and best.confidence >= UNKNOWN_BELOW
    fix = best.fix if best is not None and known else None
    return {
        "id": name,
        "cause": best.cause if best is not None and known else UNKNOWN,
        "confidence": round(best.confidence, 3) if best is not None else 0.0,
        "evidence_line": best.line if best is not None and known else "",
        "fix": None
        if fix is None
        else {
            "setting": fix.setting or fix.action,
            "action": fix.action,
            "direction": fix.direction,
            "value": fix.value,
        },
    }
