"""How often the diagnosis is right, what unseen wordings would do to it, and what a big log costs.

``--cases FILE.jsonl ...`` prints one JSON line per case on stdout (id, cause, confidence,
evidence_line, fix), looking only at engine, engine_version, exit, log, machine, settings and phase,
and figures on stderr when the cases name their causes. ``--seen FILE.jsonl ...`` names cases of
another source, whose wordings count as known. ``--big`` times a log of 10 MB.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kimi_desktop.diagnosis.case import case_line, evidence_of
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.log_text import LogText
from kimi_desktop.diagnosis.rules import Rule, RuleBook, shipped_rules
from kimi_desktop.diagnosis.types import CONFIDENT, Evidence

DEFAULT_CASES = Path(__file__).parent.parent / "tests" / "data" / "failures.jsonl"
MEGABYTES = 10


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, nargs="+", default=[DEFAULT_CASES])
    parser.add_argument("--seen", type=Path, nargs="+", default=[], help="cases that all know")
    parser.add_argument("--big", action="store_true", help="time a log of 10 MB instead")
    options = parser.parse_args(arguments)
    if options.big:
        _time_a_big_log()
        return 0
    cases, also_seen = _cases_of(options.cases), _cases_of(options.seen)
    for case in cases:
        line = case_line(str(case.get("id", "")), diagnose(evidence_of(case)))
        print(json.dumps(line, ensure_ascii=False))
    if all("cause" in case for case in cases):
        _report("all rules", cases, shipped_rules())
        _report_unseen(cases, also_seen)
    return 0


def _cases_of(files: Iterable[Path]) -> list[Mapping[str, Any]]:
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def _report(title: str, cases: Iterable[Mapping[str, Any]], book: RuleBook) -> None:
    right, wrong, confident, count = Counter[str](), 0, 0, 0
    totals = Counter[str]()
    families = {rule.cause: rule.family for rule in book.rules}
    for case in cases:
        count += 1
        family = families.get(case["cause"], "?")
        totals[family] += 1
        found = diagnose(evidence_of(case), book).cause
        if found is not None and found.cause == case["cause"]:
            right[family] += 1
        elif found is not None:
            wrong += 1
            confident += found.confidence >= CONFIDENT
    share = sum(right.values()) / max(count, 1)
    print(
        f"{title}: {sum(right.values())} of {count} right ({share:.1%}), {wrong} wrong, "
        f"{confident} of them confident",
        file=sys.stderr,
    )
    for family, total in totals.items():
        print(f"  {family:8} {right[family]:3} of {total:3}", file=sys.stderr)


def _report_unseen(
    cases: Sequence[Mapping[str, Any]], also_seen: Sequence[Mapping[str, Any]]
) -> None:
    """Rules drawn from one half of a cause's wordings, tested on the other half.

    A wording (one pattern) that no case of the first half supports, but one of the second does, is
    taken out, as if nobody had seen it; so is a rule of facts alone that only the second half
    supports. What matches in neither half was not drawn from these cases and stays. ``also_seen``
    are cases of another source: what they support was known without any of these.
    """
    by_cause: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for case in cases:
        by_cause[case["cause"]].append(case)
    results: list[tuple[str, bool, bool]] = []
    families = {rule.cause: rule.family for rule in shipped_rules().rules}
    for turn in (0, 1):
        unseen: list[Mapping[str, Any]] = []
        seen = list(also_seen)
        for group in by_cause.values():
            for number, wording in enumerate(_wordings(group)):
                (unseen if number % 2 == turn and len(group) > 1 else seen).extend(wording)
        book = _drawn_from(seen, unseen)
        for case in unseen:
            found = diagnose(evidence_of(case), book).cause
            right = found is not None and found.cause == case["cause"]
            confident = found is not None and found.confidence >= CONFIDENT
            results.append((families[case["cause"]], right, confident and not right))
    total = Counter(family for family, _, _ in results)
    right = Counter(family for family, is_right, _ in results if is_right)
    wrong = sum(is_wrong for _, _, is_wrong in results)
    share = sum(right.values()) / max(len(results), 1)
    print(
        f"unseen wordings: {sum(right.values())} of {len(results)} right ({share:.1%}), "
        f"{wrong} confident and wrong",
        file=sys.stderr,
    )
    for family, count in total.items():
        print(f"  {family:8} {right[family]:3} of {count:3}", file=sys.stderr)


def _wordings(group: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Cases of one cause by what their logs say, numbers and paths left out."""
    found: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for case in group:
        words = re.sub(r"/\S+|\d[\d.]*|'[^']*'|[^A-Za-z\s]", "", case["log"]).lower().split()
        found[" ".join(words[:60])].append(case)
    return list(found.values())


def _drawn_from(seen: Sequence[Mapping[str, Any]], unseen: Sequence[Mapping[str, Any]]) -> RuleBook:
    book = shipped_rules()
    known, hidden = list(_read(seen)), list(_read(unseen))
    rules: list[Rule] = []
    for rule in book.rules:
        if rule.log:
            kept = tuple(
                wording
                for wording in rule.log
                if _says(wording, known, rule) or not _says(wording, hidden, rule)
            )
            if kept:
                rules.append(replace(rule, log=kept))
        else:
            mine = [
                any(found.rule == rule.name for found in diagnose(evidence, book).findings)
                for evidence, cause in ((e, c) for half in (known, hidden) for _, c, e in half)
                if cause == rule.cause
            ]
            count = sum(cause == rule.cause for _, cause, _ in known)
            if any(mine[:count]) or not any(mine[count:]):
                rules.append(rule)
    return replace(book, rules=tuple(rules))


def _read(cases: Iterable[Mapping[str, Any]]) -> Iterator[tuple[LogText, str, Evidence]]:
    for case in cases:
        evidence = evidence_of(case)
        yield LogText(evidence.log, shipped_rules().decoys), case["cause"], evidence


def _says(wording: Any, cases: Sequence[tuple[LogText, str, Evidence]], rule: Rule) -> bool:  # noqa: ANN401
    return any(
        log.find(wording, rule.never, with_info=rule.info) is not None
        for log, cause, _ in cases
        if cause == rule.cause
    )


def _time_a_big_log() -> None:
    """Against one combined regular expression over the same bytes, in the same run."""
    lines = [
        f"I slot print_timing: id {n % 8} | task {n} | prompt eval time = {n * 7 % 9973} ms / "
        f"{n % 4096} tokens, error budget {n % 13}, buffer {n % 17}, request {n}"
        for n in range(MEGABYTES * 2**20 // 130)
    ]
    lines.insert(
        len(lines) // 2, "E llama_init_from_model: V cache quantization requires flash_attn"
    )
    text = "\n".join(lines)
    wordings = {wording.source for rule in shipped_rules().rules for wording in rule.log}
    named = re.compile(r"\(\?P<\w+>")
    back = [source for source in wordings if "(?P=" not in source]
    combined = re.compile("|".join(f"(?:{named.sub('(?:', source)})" for source in back), re.I)
    began = time.perf_counter()
    hits = sum(1 for line in lines if combined.search(line))
    one_pass_s = time.perf_counter() - began
    began = time.perf_counter()
    found = diagnose(Evidence(log=text, engine="llama.cpp", phase="load")).cause
    ours_s = time.perf_counter() - began
    print(
        json.dumps(
            {
                "megabytes": round(len(text) / 2**20, 1),
                "patterns": len(wordings),
                "one_combined_pass_s": round(one_pass_s, 3),
                "lines_it_hit": hits,
                "diagnosis_s": round(ours_s, 3),
                "ratio": round(ours_s / one_pass_s, 3),
                "cause": found.cause if found else None,
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
