"""Evidence as one JSON object that a user can post: everything private removed. Pure."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import kimi_desktop
from kimi_desktop.base.redaction import REMOVED, is_harmless, names_a_secret, redact
from kimi_desktop.diagnosis.case import case_line
from kimi_desktop.diagnosis.read import BUNDLE, BUNDLE_VERSION
from kimi_desktop.diagnosis.types import Diagnosis, Evidence

LONGEST_LOG = 400_000
"""Characters; of a longer log the first and the last half."""


def bundle_of(
    evidence: Evidence,
    found: Diagnosis,
    *,
    more: Mapping[str, Any] | None = None,
    home: str | None = None,
    user: str | None = None,
) -> dict[str, Any]:
    """The object, readable by ``kimi-desktop diagnose`` on any computer.

    Args:
        evidence: what was collected.
        found: what it was taken for.
        more: what else belongs to it, as JSON has it.
        home: as in ``redact``.
        user: as in ``redact``.
    """
    end = {
        "code": evidence.exit.code,
        "signal": evidence.exit.signal,
        "alive": evidence.exit.is_alive,
        "spawn_errno": evidence.exit.spawn_errno,
    }
    whole = {
        BUNDLE: BUNDLE_VERSION,
        "kimi_desktop": kimi_desktop.__version__,
        **{
            name: value
            for name, value in dataclasses.asdict(evidence).items()
            if name not in ("log", "exit")
        },
        "exit": {name: value for name, value in end.items() if value is not None},
        "diagnosis": case_line("", found),
        **(more or {}),
        "log": bounded(evidence.log),
    }
    return {name: _clean(value, home, user) for name, value in whole.items()}


def bounded(log: str) -> str:
    """A log as it is kept: of a long one the beginning and the end."""
    if len(log) <= LONGEST_LOG:
        return log
    return f"{log[: LONGEST_LOG // 2]}\n[...]\n{log[-LONGEST_LOG // 2 :]}"


def bundle_text(evidence: Evidence, found: Diagnosis, more: Mapping[str, Any] | None = None) -> str:
    """The bundle as it is copied or saved."""
    return json.dumps(bundle_of(evidence, found, more=more), ensure_ascii=False, indent=1)


def cleaned(value: Any) -> Any:  # noqa: ANN401
    """Settings and facts without keys, names and addresses."""
    return _clean(value, None, None)


def _named(name: str, value: Any, home: str | None, user: str | None) -> Any:  # noqa: ANN401
    """What a name says of its value is no longer there when the value is looked at alone."""
    if names_a_secret(name) and isinstance(value, (str, list, tuple)):
        if isinstance(value, str) and (is_harmless(value) or value.startswith("-")):
            return value
        return REMOVED if value else value
    return _clean(value, home, user)


def _clean(value: Any, home: str | None, user: str | None) -> Any:  # noqa: ANN401
    """Text by text, so that what is removed cannot break the JSON around it."""
    if isinstance(value, str):
        return redact(value, home=home, user=user)
    if isinstance(value, dict):
        return {
            redact(str(name), home=home, user=user): _named(str(name), inner, home, user)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):  # of arguments, a key follows its flag
        names = ["", *(inner if isinstance(inner, str) else "" for inner in value)]
        return [_named(name, inner, home, user) for name, inner in zip(names, value, strict=False)]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return redact(str(value), home=home, user=user)
