"""The placement search on cases that anyone can write.

``python benchmarks/placement.py --cases CASES.jsonl [--machines DIR] [--models DIR]``

A case is a JSON line ``{"machine": NAME, "model": NAME, "mix": MIX, "ctx": N, "profile": "safe"}``;
``ctx`` and ``profile`` may be left out, and ``kv``, ``parallel``, ``ngl`` and ``n_cpu_moe`` given.
A machine is ``DIR/NAME.json`` as ``doctor --json`` writes it, a model's file ``DIR/MODEL.MIX.gguf``
(only headers are read). Without the two options they are looked for in folders ``machines`` and
``models`` beside the cases, then in the folder itself; what is not there is taken from this
project's test data, which has the headers of some forty models.
Prints one JSON object per case on stdout: flags, milliseconds, bytes per device, verdict and
sentences; a summary on stderr.
"""

from __future__ import annotations

import argparse
import glob
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.case_lines import Row, maybe_whole, run_lines, whole, word
from kimi_desktop.base.messages import Language
from kimi_desktop.machine.machine_file import read_machine_file
from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.gguf import read_file
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Plan, Profile, Sibling, Wishes
from kimi_desktop.planner.profiles import CACHE_TYPES
from kimi_desktop.planner.report import missing_sentences, plan_object, plan_speed, sentence
from tests.support.measured import DATA, model_facts, model_names

LEAST = -(2**31)
"""Numbers that no engine takes are for the planner to refuse."""
RUNS = 5
"""The first is reported beside the median: caches are cold then."""


class Bench:
    """Reads models and machines once."""

    def __init__(self, machines: list[Path], models: list[Path]) -> None:
        self.machines, self.models = machines, models
        self._facts: dict[str, ModelFacts] = {}

    def facts(self, name: str) -> ModelFacts:
        """The header of a model."""
        if name not in self._facts:
            files = self._files(name)
            if not files and name in model_names():
                self._facts[name] = model_facts(name)
            else:
                paths = files or [self.models[0] / f"{name}.gguf"]
                headers = [read_file(path) for path in paths]
                self._facts[name] = facts_of(headers, paths[0].name, kv_bytes_per_token)
        return self._facts[name]

    def _files(self, name: str) -> list[Path]:
        for folder in self.models:
            if (folder / f"{name}.gguf").exists():
                return [folder / f"{name}.gguf"]
            if parts := sorted(folder.glob(f"{name}-*-of-*.gguf")):
                return parts
        return []

    def siblings(self, model: str, mix: str) -> list[Sibling]:
        """Other quantizations that lie beside a model."""
        names = set(self._beside(model, mix)) - {f"{model}.{mix}"}
        names = {name for name in names if "." not in name.removeprefix(f"{model}.")}
        found = [(name.removeprefix(f"{model}."), self.facts(name)) for name in sorted(names)]
        return [Sibling(mix, facts.weights_bytes, shape_of(facts)) for mix, facts in found]

    def _beside(self, model: str, mix: str) -> Iterator[str]:
        if not self._files(f"{model}.{mix}"):
            yield from (name for name in model_names() if name.startswith(f"{model}."))
        for folder in self.models:
            for file in folder.glob(f"{glob.escape(model)}.*.gguf"):
                yield file.name.removesuffix(".gguf")

    def run(self, case: Row) -> tuple[dict[str, Any], float]:
        """The line of one case, and how long its first search took, in ms."""
        name, model, mix = (word(case, key, None) for key in ("machine", "model", "mix"))
        places = [folder / f"{name}.json" for folder in (*self.machines, DATA / "machines")]
        machine = read_machine_file(next(filter(Path.exists, places), places[0]))
        wishes = Wishes(
            profile=Profile(word(case, "profile", Profile.SAFE.value, list(Profile))),
            context=maybe_whole(case, "ctx", LEAST),
            cache_type=None if case.get("kv") is None else word(case, "kv", None, CACHE_TYPES),
            n_parallel=whole(case, "parallel", 1, LEAST),
            n_gpu_layers=maybe_whole(case, "ngl", LEAST),
            n_cpu_moe=maybe_whole(case, "n_cpu_moe", LEAST),
        )
        facts = self.facts(f"{model}.{mix}")
        siblings = self.siblings(model, mix)
        took: list[float] = []
        plan: Plan | None = None
        for _ in range(RUNS):
            began = time.perf_counter()
            plan = find_plan(shape_of(facts), machine, wishes, siblings=siblings)
            took.append((time.perf_counter() - began) * 1e3)
        assert plan is not None
        row = {key: case[key] for key in ("id", "machine", "model", "mix") if key in case}
        row |= {"ms": round(sorted(took)[RUNS // 2], 2), "first_ms": round(took[0], 2)}
        speed = plan_speed(shape_of(facts), plan, machine)
        row |= plan_object(plan, machine, Language.EN, speed=speed)
        row["sentences"] = [
            *missing_sentences(plan, Language.EN),
            *(sentence(decision, Language.EN) for decision in plan.decisions),
        ]
        return row, took[0]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--machines", type=Path)
    parser.add_argument("--models", type=Path)
    arguments = parser.parse_args()
    beside = arguments.cases.resolve().parent
    bench = Bench(
        [arguments.machines] if arguments.machines else [beside / "machines", beside],
        [arguments.models] if arguments.models else [beside / "models", beside],
    )
    times: list[float] = []

    def show(case: Row) -> None:
        row, took = bench.run(case)
        times.append(took)
        print(json.dumps(row, ensure_ascii=False))

    failed = run_lines(arguments.cases, show)
    longest = max(times, default=0.0)
    text = f"{len(times)} plans, the longest search {longest:.1f} ms, {failed} failed"
    print(text, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
