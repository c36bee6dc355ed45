"""The notebook on disk, and what differs between two runs."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from kimi_desktop.monitor import runs
from kimi_desktop.monitor.run_types import (
    Band,
    Difference,
    Outcome,
    RunFacts,
    RunForecast,
    RunMeasures,
    RunRecord,
    differences,
)
from kimi_desktop.monitor.runs import RunStore

RUN = RunRecord(
    id=0,
    started_at=100.0,
    ended_at=None,
    model_path="/m/k 月.gguf",
    title="Kimi",
    quantization="Q4_K_M",
    engine="llama.cpp b1",
    settings={"context": 8192, "gpus": [0, 1], "binary": "/x"},
    forecast=RunForecast(Band(1, 2, 3), Band(4, 5, 6), {"gpu:0": 7}),
    measured=RunMeasures(),
    outcome=Outcome.RUNNING,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "runs.sqlite3"


def test_a_run_is_read_back_as_it_was_kept(file: Path) -> None:
    store = RunStore(file)
    number = store.add(RUN)
    assert store.get(number) == dataclasses.replace(RUN, id=number)
    measured = RunMeasures(1.5, 2, 30, 12.5, 300.0, 0.4, {"gpu:0": 9})
    ended = dataclasses.replace(
        RUN, id=number, ended_at=9.0, measured=measured, outcome=Outcome.STOPPED
    )
    store.update(ended)
    store.annotate(number, note="quiet fan", starred=True)
    store.close()
    again = RunStore(file)
    assert again.list() == (dataclasses.replace(ended, note="quiet fan", starred=True),)
    again.delete(number)
    assert again.list() == ()
    assert again.get(number) is None
    again.close()


def test_a_run_that_the_app_did_not_survive_is_lost(file: Path) -> None:
    store = RunStore(file)
    store.add(RUN)
    store.close()
    again = RunStore(file)
    assert again.list()[0].outcome is Outcome.LOST
    again.close()


def test_the_newest_come_first_and_old_ones_go(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "MOST_RUNS", 3)
    store = RunStore(file)
    numbers = [store.add(dataclasses.replace(RUN, started_at=float(n))) for n in range(2)]
    store.annotate(numbers[0], starred=True)
    numbers += [store.add(dataclasses.replace(RUN, started_at=float(n))) for n in range(2, 6)]
    kept = [run.id for run in store.list()]
    assert kept == [*reversed(numbers[-3:]), numbers[0]]
    assert len(store.list(limit=2)) == 2
    store.close()


def test_what_only_stands_in_the_way_sets_nothing_aside(file: Path) -> None:
    store = RunStore(file)
    store.close()
    with closing(sqlite3.connect(file)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            RunStore(file)
    assert not list(file.parent.glob("*damaged*"))


@pytest.mark.parametrize("damage", [b"this is no database" * 99, b""])
def test_a_damaged_notebook_is_kept_aside(file: Path, damage: bytes) -> None:
    file.parent.mkdir(parents=True)
    file.write_bytes(damage)
    store = RunStore(file)
    assert store.list() == ()
    store.add(RUN)
    store.close()
    assert bool(list(file.parent.glob("*damaged*"))) is bool(damage)


def test_a_notebook_of_a_newer_version_is_not_written(file: Path) -> None:
    file.parent.mkdir(parents=True)
    with sqlite3.connect(file) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    RunStore(file).close()
    (kept,) = file.parent.glob("*damaged*.sqlite3")
    with sqlite3.connect(kept) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (99,)
    db.close()


def test_facts_are_kept_with_their_run_and_go_with_it(file: Path) -> None:
    store = RunStore(file)
    number = store.add(RUN)
    store.add_facts(number, RunFacts(5.0, '{"log": "月"}'))
    store.add_facts(number + 9, RunFacts(6.0, "of no run"))
    store.close()
    again = RunStore(file)
    assert again.facts(number) == (RunFacts(5.0, '{"log": "月"}'),)
    assert [run.n_facts for run in again.list()] == [1]
    again.delete(number)
    assert again.facts(number) == ()
    again.close()


def test_old_facts_go_but_not_those_of_starred_runs(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_FACTS", 3)
    store = RunStore(file)
    numbers = [store.add(RUN) for _ in range(6)]
    store.annotate(numbers[0], starred=True)
    store.annotate(numbers[1], note="why?")
    for number in numbers:
        store.add_facts(number, RunFacts(float(number), "x"))
    kept = [len(store.facts(number)) for number in numbers]
    assert kept == [1, 1, 0, 1, 1, 1]
    store.close()


def test_a_run_keeps_its_first_facts_and_the_newest(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_FACTS_OF_A_RUN", 3)
    store = RunStore(file)
    number, other = store.add(RUN), store.add(RUN)
    store.add_facts(other, RunFacts(0.0, "other"))
    for at in range(6):
        store.add_facts(number, RunFacts(float(at), str(at)))
    assert [one.text for one in store.facts(number)] == ["0", "4", "5"]
    assert len(store.facts(other)) == 1
    store.close()


def test_who_only_reads_ends_no_run(file: Path) -> None:
    store = RunStore(file)
    store.add(RUN)
    reader = RunStore(file, is_owner=False)
    assert reader.list()[0].outcome is Outcome.RUNNING
    reader.close()
    store.close()


def test_a_notebook_of_an_older_version_gets_what_it_lacks(file: Path) -> None:
    RunStore(file).close()
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE facts")
        db.execute("PRAGMA user_version = 2")
    db.close()
    store = RunStore(file)
    number = store.add(RUN)
    store.add_facts(number, RunFacts(1.0, "x"))
    assert len(store.facts(number)) == 1
    store.close()
    assert not list(file.parent.glob("*damaged*"))


def test_two_runs_differ_in_what_was_set() -> None:
    other = dataclasses.replace(RUN, engine="llama.cpp b2", settings={"context": 4096, "x": 1})
    assert differences(RUN, other) == (
        Difference("engine", "llama.cpp b1", "llama.cpp b2"),
        Difference("binary", "/x", "auto"),
        Difference("context", "8192", "4096"),
        Difference("gpus", "0, 1", "auto"),
        Difference("x", "", "1"),
    )
    assert differences(RUN, RUN) == ()


@pytest.mark.parametrize(
    ("name", "set_to", "plain"),
    [
        ("cache_type", "q8_0", "f16"),
        ("n_batch", 4096, "2048"),
        ("n_ubatch", 1024, "512"),
        ("n_parallel", 4, "1"),
        ("context", 8192, "4096"),
        ("n_gpu_layers", 7, "0"),
        ("n_threads", 8, "auto"),
        ("load_mode", "mlock", "auto"),
        ("repack", False, "True"),
    ],
)
def test_what_a_run_does_not_say_is_what_held(name: str, set_to: object, plain: str) -> None:
    first = dataclasses.replace(RUN, settings={})
    second = dataclasses.replace(RUN, settings={name: set_to})
    assert differences(first, second) == (Difference(name, plain, str(set_to)),)


def test_nested_settings_are_compared_one_by_one() -> None:
    other = dataclasses.replace(RUN, settings={**RUN.settings, "options": {"lora": "a.gguf"}})
    assert differences(RUN, other) == (Difference("options.lora", "", "a.gguf"),)


def test_a_server_engine_has_no_layers_and_its_own_context() -> None:
    server = {"context": 32768, "cache": "fp8", "n_sequences": None, "memory_share": 0.9}
    vllm = {
        "kind": "vllm",
        "context": 0,
        "server": {"server": server, "wishes": {"users": 2}},
    }
    found = {
        row.name: (row.first, row.second)
        for row in differences(
            dataclasses.replace(RUN, settings={"n_gpu_layers": 62}),
            dataclasses.replace(RUN, settings=vllm),
        )
    }
    assert found["context"] == ("4096", "32768")
    assert found["cache_type"] == ("f16", "fp8")
    assert found["n_parallel"] == ("1", "auto")
    assert found["n_gpu_layers"] == ("62", "")
    assert found["server.server.memory_share"] == ("", "0.9")
    assert not [name for name in found if "wishes" in name]
