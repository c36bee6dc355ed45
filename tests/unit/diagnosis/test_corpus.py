"""Real failures: the right cause for nearly all, and never a confident wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.base.messages import TOPICS, Language, cause_sentences
from kimi_desktop.diagnosis.case import case_line, evidence_of
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.rules import shipped_rules
from kimi_desktop.diagnosis.types import CONFIDENT, Evidence

DATA = Path(__file__).parents[2] / "data"
WANTED_SHARE = 0.97


def read_cases(name: str) -> list[dict[str, Any]]:
    text = (DATA / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


CASES = read_cases("failures.jsonl")
FROM_THREADS = read_cases("failures_from_threads.jsonl")


@pytest.mark.parametrize("cases", [CASES, FROM_THREADS], ids=["corpus", "threads"])
def test_nearly_every_case_gets_its_cause_and_none_a_confident_wrong_one(
    cases: list[dict[str, Any]],
) -> None:
    right = 0
    confident_and_wrong = []
    for case in cases:
        best = diagnose(evidence_of(case)).cause
        if best is not None and best.cause == case["cause"]:
            right += 1
        elif best is not None and best.confidence >= CONFIDENT:
            confident_and_wrong.append((case["id"], best.cause))
    assert confident_and_wrong == []
    assert right / len(cases) >= WANTED_SHARE


def test_what_systems_and_drivers_say_is_known() -> None:
    """Error texts of CUDA, HIP, errno, Windows, Linux, systemd, NCCL, safetensors and the hub."""
    missed = []
    for line in (DATA / "system_texts.tsv").read_text(encoding="utf-8").splitlines():
        text, wanted, phase = line.split("\t")
        best = diagnose(Evidence(log=text, engine="llama.cpp", phase=phase)).cause
        if (best.cause if best else "unknown") != wanted:
            missed.append(text)
    assert missed == []


def test_every_cause_of_the_corpus_has_rules_and_every_rule_a_cause_with_texts() -> None:
    causes = set(shipped_rules().causes)
    assert causes >= {case["cause"] for case in CASES + FROM_THREADS}
    for cause in causes:
        for language in Language:
            assert all(cause_sentences(cause, language))
    told = {key.split(".")[1] for key in TOPICS["cause"]}
    assert told == causes


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case["id"])
def test_the_line_that_is_shown_is_of_the_log_and_is_no_decoy(case: dict[str, object]) -> None:
    found = diagnose(evidence_of(case))
    best = found.cause
    assert best is not None
    if best.line_number is not None:
        assert best.line_number not in found.decoys
        assert best.line[:60] in str(case["log"])


def test_nothing_but_the_allowed_fields_is_looked_at() -> None:
    case = CASES[0]
    plain = {
        name: case[name]
        for name in ("engine", "engine_version", "exit", "log", "machine", "settings", "phase")
    }
    assert diagnose(evidence_of(plain)) == diagnose(evidence_of(case))


def test_the_answer_for_a_program_has_its_five_keys() -> None:
    case = next(case for case in CASES if case["cause"] == "kv_cache_oom")
    line = case_line("x", diagnose(evidence_of(case)))
    assert set(line) == {"id", "cause", "confidence", "evidence_line", "fix"}
    assert line["cause"] == "kv_cache_oom"
    assert line["fix"]["setting"] == "ctx"
    assert line["fix"]["direction"] == "down"
    nothing = case_line("y", diagnose(evidence_of({"log": "all is well"})))
    assert (nothing["cause"], nothing["evidence_line"], nothing["fix"]) == ("unknown", "", None)
