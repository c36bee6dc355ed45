"""The three scripts that anyone can point at data of their own: a bad line ends no run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.measured import model_header_bytes

ROOT = Path(__file__).parents[2]
MODEL = {"model": "lfm2-1.2b", "mix": "q8_0"}
PLAN = MODEL | {"machine": "workstation-5090-768"}
POINT = {"model": "Kimi-K2", "quant": "Q4", "file_gib": 540, "ram_bw_theoretical_gbs": 600}


def run(name: str, option: str, tmp_path: Path, rows: list[Any], *more: str) -> tuple[Any, str]:
    """The lines on stdout as objects, and stderr."""
    cases = tmp_path / "cases.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    cases.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / name), option, str(cases), *more],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.returncode == 1  # some lines failed
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def check(found: list[dict[str, Any]], bad: list[Any], words: list[str]) -> None:
    """Every bad line has its object; the good one after them is done."""
    assert len(found) == len(bad) + 1
    for row, word in zip(found, words, strict=False):
        assert word in row["error"], row
    assert "error" not in found[-1]


@pytest.mark.parametrize("text", ["{", "[1]", "null", '"x"'])
def test_a_line_that_is_no_object(tmp_path: Path, text: str) -> None:
    found, _ = run("speed.py", "--points", tmp_path, [text, "", POINT])
    assert found[0]["id"] == "line 1"
    check(found, [text], ["not"])


def test_speed(tmp_path: Path) -> None:
    bad = [
        POINT | {"file_gib": "abc"},
        POINT | {"ram_bw_measured_gbs": -5},
        POINT | {"numa_sockets": 1.5},
        POINT | {"cpu": 7},
    ]
    found, _ = run("speed.py", "--points", tmp_path, [*bad, POINT])
    check(found, bad, ["file_gib", "ram_bw_measured_gbs", "numa_sockets", "cpu"])


def test_placement_needs_no_models_of_its_own(tmp_path: Path) -> None:
    bad = [
        PLAN | {"ctx": "abc"},
        PLAN | {"profile": "turbo"},
        PLAN | {"ngl": 99},
        PLAN | {"mix": "none"},
        {"machine": "workstation-5090-768"},
    ]
    found, summary = run("placement.py", "--cases", tmp_path, [*bad, PLAN])
    check(found, bad, ["ctx", "profile", "--ngl 99", "lfm2-1.2b.none", "model"])
    assert found[-1]["verdict"] == "in_vram"
    assert "1 plans" in summary
    assert "5 failed" in summary


def test_planner_says_what_a_search_and_a_remote_header_cost(tmp_path: Path) -> None:
    name = "{model}.{mix}".format(**MODEL)
    (tmp_path / f"{name}.gguf").write_bytes(model_header_bytes(name))
    settings: list[tuple[str, Any]] = [
        ("fa", "maybe"), ("ot", "x"), ("ot", "(=CPU"), ("type_k", "q9"), ("ubatch", 0),
        ("ctx", -1), ("tensor_split", [0]),
    ]  # fmt: skip
    bad = [MODEL | {"case": {key: value}} for key, value in settings]
    good = MODEL | {"id": "good", "case": {"ctx": 0, "type_k": None}}
    rows = [*bad, "", good]
    found, summary = run("planner.py", "--cases", tmp_path, rows, "--models", str(tmp_path))
    words = ["fa is", "ot is", "no pattern", "type_k", "ubatch", "ctx", "all of them 0"]
    check(found, bad, words)
    assert found[-1]["id"] == "good"
    assert "one search on eight unequal GPUs" in summary
    assert "29 requests" in summary
