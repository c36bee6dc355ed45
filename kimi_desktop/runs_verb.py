"""The verbs ``runs`` and ``diagnose``: the run notebook in a terminal. No Qt, no engine.

The notebook is read beside a window that may be writing it.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DiagnosisError, ErrorCode, Param
from kimi_desktop.base.messages import TOPICS, Language, cause_sentences, describe_error, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.terminal import json_text, one_line, printable, table_lines
from kimi_desktop.base.units import format_duration, format_tokens_per_s
from kimi_desktop.diagnosis.bundle import cleaned
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.kept import kept_failure
from kimi_desktop.diagnosis.read import evidence_from, read_evidence
from kimi_desktop.diagnosis.report import diagnosis_lines, diagnosis_object, slow_sentence
from kimi_desktop.diagnosis.types import KeptFailure
from kimi_desktop.monitor.run_types import Outcome, RunRecord
from kimi_desktop.monitor.runs import MOST_RUNS, RunStore

STANDARD_INPUT = "-"
RUN_MARK = "run:"
"""Before a number that is also the name of a file."""
NONE = "–"


def list_runs(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    """The newest runs, the newest first. Returns the exit code."""
    with _notebook(paths) as store:
        runs = store.list(options.limit) if store is not None else ()
    if options.json:
        sys.stdout.write(json_text([_run_object(run) for run in runs], indent=1) + "\n")
    elif not runs:
        sys.stdout.write(message("cli.runs.none", language) + "\n")
    else:
        head = message("cli.runs.columns", language).split("|")
        lines = table_lines([head, *(_row(run, language) for run in runs)])
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    return 0


def diagnose_what(options: argparse.Namespace, paths: AppPaths, language: Language) -> int:
    """A log, a bundle, a run, or the newest run that failed. Returns the exit code.

    Raises:
        DiagnosisError: no such run or log, nothing failed, or nothing is kept of the run.
    """
    wanted: str | None = options.log
    number = _run_number(wanted)
    if wanted is not None and number is None:
        if wanted == STANDARD_INPUT:
            evidence = evidence_from(sys.stdin.buffer)
        else:
            evidence = read_evidence(Path(wanted))
        found = diagnose(evidence)
        told = diagnosis_object(found, language)
        lines = diagnosis_lines(found, language)
    else:
        run, kept = _kept(paths, number, language)
        told = {"run": _run_object(run), **_kept_object(kept, language)}
        lines = [_run_line(run, language), *_kept_lines(kept, language)]
    if options.json:
        sys.stdout.write(json_text(told, indent=1) + "\n")
    else:
        sys.stdout.writelines(f"{printable(line)}\n" for line in lines)
    return 0


def _run_number(wanted: str | None) -> int | None:
    """Of a run; None for a file, which wins where one has such a name."""
    if wanted is None:
        return None
    text = wanted.removeprefix(RUN_MARK)
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return None if text == wanted and Path(wanted).exists() else int(text)


@contextmanager
def _notebook(paths: AppPaths) -> Iterator[RunStore | None]:
    """None where nothing was ever started."""
    if not paths.runs_file.exists():
        yield None
        return
    store = RunStore(paths.runs_file, is_owner=False)
    try:
        yield store
    finally:
        store.close()


def _kept(paths: AppPaths, number: int | None, language: Language) -> tuple[RunRecord, KeptFailure]:
    with _notebook(paths) as store:
        run = _find(store, number)
        facts = store.facts(run.id) if store is not None else ()
    rows = [kept_failure(one, run.started_at) for one in facts]
    known = [one for one in rows if one is not None]
    failures = [one for one in known if one.figure is None and one.odd is None]
    if not known:
        params: dict[str, Param] = {"run": run.id, "outcome": _outcome(run, language)}
        raise DiagnosisError(ErrorCode.DIAGNOSIS_NOTHING_KEPT, params)
    return run, (failures or known)[-1]


def _find(store: RunStore | None, number: int | None) -> RunRecord:
    if number is not None:
        run = store.get(number) if store is not None else None
        if run is None:
            raise DiagnosisError(ErrorCode.DIAGNOSIS_NO_RUN, {"run": number})
        return run
    runs = store.list(MOST_RUNS) if store is not None else ()
    failed = next((run for run in runs if run.outcome is Outcome.FAILED), None)
    if failed is None:
        raise DiagnosisError(ErrorCode.DIAGNOSIS_NO_FAILURE)
    return failed


def _run_object(run: RunRecord) -> dict[str, Any]:
    """The keys are a promise to other programs: add, never rename."""
    told = dataclasses.asdict(run)
    return {**told, "settings": cleaned(told["settings"]), "outcome": run.outcome.value}


def _kept_object(kept: KeptFailure, language: Language) -> dict[str, Any]:
    told = diagnosis_object(kept.reading.diagnosis, language)
    told["kind"] = "failure"
    if kept.figure is not None:
        band = kept.figure.expected
        told["kind"] = "slow"
        told["figure"] = {
            "aspect": kept.figure.aspect.value,
            "measured": kept.figure.measured,
            "low": band.low if band is not None else None,
            "high": band.high if band is not None else None,
        }
    elif kept.odd is not None:
        told |= {"kind": "odd_answer", "odd_answer": kept.odd.value}
    if (error := kept.reading.error) is not None:
        told["error"] = error.code.value
    return told


def _kept_lines(kept: KeptFailure, language: Language) -> list[str]:
    lines = []
    if kept.figure is not None:
        lines.append(slow_sentence(kept.figure, language))
    elif kept.odd is not None:
        lines.append(message("diagnosis.odd_answer", language))
    elif kept.reading.diagnosis.cause is None and kept.reading.error is not None:
        lines.append(describe_error(kept.reading.error, language)[0])
    return [*lines, *diagnosis_lines(kept.reading.diagnosis, language)]


def _run_line(run: RunRecord, language: Language) -> str:
    number = message("cli.runs.number", language, run=run.id)
    what = one_line(f"{run.title} {run.quantization}".strip())
    return " · ".join([number, _when(run.started_at), what, one_line(run.engine)])


def _row(run: RunRecord, language: Language) -> Sequence[str]:
    rate, load_s = run.measured.decode_tps, run.measured.load_s
    return (
        str(run.id),
        _when(run.started_at),
        one_line(f"{run.title} {run.quantization}".strip()),
        one_line(run.engine),
        NONE if rate is None else format_tokens_per_s(rate, language),
        NONE if load_s is None else format_duration(load_s, language),
        _outcome(run, language),
        one_line(run.note),
    )


def _outcome(run: RunRecord, language: Language) -> str:
    if run.outcome is Outcome.FAILED and f"cause.{run.cause}.what" in TOPICS["cause"]:
        return cause_sentences(run.cause, language)[0]
    return message(f"cli.runs.{run.outcome.value}", language)


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")
