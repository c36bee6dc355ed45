"""A run from its start to its end, as the events tell it."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import (
    EngineKind,
    EngineOptions,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
    VllmSettings,
)
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.monitor.notebook import Notebook, RunIntent
from kimi_desktop.monitor.run_settings import changed_settings, settings_from
from kimi_desktop.monitor.run_types import Band, Outcome, RunFacts, RunForecast, RunRecord
from kimi_desktop.monitor.types import SampleTaken
from kimi_desktop.planner.plan_types import LoadMode, RpcDevice
from kimi_desktop.planner.vllm_types import ServerSettings, ServerWishes, Split
from tests.support.samples import gpu_sample, sample

SETTINGS = LoadSettings(Path("/m/k.gguf"), context=8192, gpus=(0,), load_mode=LoadMode.MMAP)
FORECAST = RunForecast(Band(1, 2, 3), None, {"gpu:0": 5})


class Desk:
    """A notebook, the bus that feeds it, and its rows once they are there."""

    def __init__(self, file: Path) -> None:
        self.io, self.bus, self.now = IoLoop(), EventBus(), 100.0
        self.book = Notebook(
            self.io,
            self.bus,
            file,
            intent=lambda _settings: RunIntent("Kimi", "Q4", FORECAST),
            clock=lambda: self.now,
        )

    def move(self, state: EngineState, after_s: float = 0.0, **fields: object) -> None:
        self.now += after_s
        status = EngineStatus(state, settings=SETTINGS, started_at=100.0, engine_name="llama.cpp")
        self.bus.publish(EngineStateChanged(dataclasses.replace(status, **fields)))

    def wait(self, good: Callable[[RunRecord], bool]) -> RunRecord:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            rows = self.book.runs().result(10)
            if rows and good(rows[0]):
                return rows[0]
            time.sleep(0.005)
        raise AssertionError(self.book.runs().result(10))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "runs.sqlite3")
    yield made
    made.book.close()
    made.io.close()


def test_a_good_run(desk: Desk) -> None:
    desk.move(EngineState.LOADING)
    desk.move(EngineState.READY, after_s=7.5)
    run = desk.wait(lambda run: run.measured.load_s is not None)
    assert (run.title, run.quantization, run.engine) == ("Kimi", "Q4", "llama.cpp")
    assert run.forecast == FORECAST
    assert run.settings == {"context": 8192, "gpus": [0], "load_mode": "mmap"}
    assert run.measured.load_s == 7.5
    desk.bus.publish(SampleTaken(sample(gpus=(gpu_sample(engine_vram_bytes=5_000),))))
    desk.bus.publish(SampleTaken(sample(gpus=(gpu_sample(engine_vram_bytes=4_000),))))
    desk.book.note_answer(10, 20.0, 300.0, 0.5)
    desk.book.note_answer(30, 40.0, None, 0.7)
    desk.book.note_answer(0, 99.0, None, None)
    desk.move(EngineState.STOPPED, after_s=60)
    run = desk.wait(lambda run: run.outcome is Outcome.STOPPED)
    assert (run.measured.answers, run.measured.tokens) == (2, 40)
    assert run.measured.decode_tps == 35.0
    assert (run.measured.prefill_tps, run.measured.first_token_s) == (300.0, 0.7)
    assert run.measured.device_bytes["gpu:0"] == 5_000
    assert run.ended_at == 167.5


def test_a_run_that_fails_has_a_cause_that_the_diagnosis_betters(desk: Desk) -> None:
    desk.move(EngineState.LOADING)
    desk.move(EngineState.FAILED, error=BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY))
    run = desk.wait(lambda run: run.outcome is Outcome.FAILED)
    assert run.cause == "engine.out_of_memory"
    desk.book.note_cause(100.0, "kv_cache_oom")
    assert desk.wait(lambda run: run.cause == "kv_cache_oom").outcome is Outcome.FAILED
    desk.book.note_cause(55.0, "of no run")


def test_facts_are_kept_with_the_run_that_failed(desk: Desk) -> None:
    desk.move(EngineState.FAILED, error=BackendError(ErrorCode.ENGINE_NOT_FOUND))
    desk.book.note_cause(100.0, "", RunFacts(101.0, "why"))  # at once: the row may not be there yet
    run = desk.wait(lambda run: run.n_facts == 1)
    assert (run.outcome, run.cause) == (Outcome.FAILED, "engine.not_found")
    assert desk.book.facts(run.id).result(10) == (RunFacts(101.0, "why"),)


def test_what_has_happened_is_written_when_the_app_closes(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "runs.sqlite3")
    desk.move(EngineState.LOADING)
    desk.move(EngineState.FAILED, error=BackendError(ErrorCode.ENGINE_KILLED))
    desk.book.note_cause(100.0, "killed_from_outside", RunFacts(101.0, "why"))
    desk.book.close()
    desk.io.close()
    again = Desk(tmp_path / "runs.sqlite3")
    (run,) = again.book.runs().result(10)
    assert (run.outcome, run.cause, run.n_facts) == (Outcome.FAILED, "killed_from_outside", 1)
    again.book.close()
    again.io.close()


def test_one_that_never_began_to_load_is_noted_too(desk: Desk) -> None:
    desk.move(EngineState.FAILED, error=BackendError(ErrorCode.ENGINE_NOT_FOUND))
    run = desk.wait(lambda run: run.outcome is Outcome.FAILED)
    assert run.cause == "engine.not_found"


def test_the_next_start_ends_the_one_before(desk: Desk) -> None:
    desk.move(EngineState.LOADING)
    desk.wait(lambda run: run.started_at == 100.0)
    desk.move(EngineState.LOADING, started_at=200.0)
    desk.wait(lambda run: run.started_at == 200.0)
    assert [run.outcome for run in desk.book.runs().result(10)] == [
        Outcome.RUNNING,
        Outcome.STOPPED,
    ]


def test_words_and_star_stay(desk: Desk) -> None:
    desk.move(EngineState.LOADING)
    run = desk.wait(lambda run: True)
    desk.book.annotate(run.id, note="quiet").result(10)
    desk.book.annotate(run.id, starred=True).result(10)
    desk.move(EngineState.STOPPED)
    run = desk.wait(lambda run: run.outcome is Outcome.STOPPED)
    assert (run.note, run.starred) == ("quiet", True)
    desk.book.delete(run.id).result(10)
    assert desk.book.runs().result(10) == ()


def test_the_app_ends_what_still_runs(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "runs.sqlite3")
    desk.move(EngineState.LOADING)
    desk.wait(lambda run: True)
    desk.book.close()
    desk.io.close()
    again = Desk(tmp_path / "runs.sqlite3")
    assert again.book.runs().result(10)[0].outcome is Outcome.STOPPED
    again.book.close()
    again.io.close()


@pytest.mark.parametrize(
    "settings",
    [
        LoadSettings(Path("/m/hf"), kind=EngineKind.VLLM, server=VllmSettings(ServerSettings())),
        LoadSettings(Path("/m/k.gguf"), options=EngineOptions(lora="/a.gguf")),
        LoadSettings(Path("/m/k.gguf"), workers=(RpcDevice(1, "10.0.0.2:50052", 0),)),
    ],
)
def test_runs_with_nested_settings_are_noted_too(desk: Desk, settings: LoadSettings) -> None:
    desk.move(EngineState.LOADING, settings=settings)
    run = desk.wait(lambda run: run.outcome is Outcome.RUNNING)
    assert desk.book.settings_of(run) == settings


def test_plain_settings_are_left_out() -> None:
    assert changed_settings(LoadSettings(Path("/x"))) == {}
    binary = LoadSettings(Path("/x"), binary=Path("/b"), overrides=(("a", -1),), stop=("x",))
    assert changed_settings(binary) == {"binary": "/b", "overrides": [["a", -1]]}


@given(
    st.builds(
        LoadSettings,
        model_path=st.just(Path("/x")),
        n_gpu_layers=st.integers(0, 99),
        gpus=st.none() | st.lists(st.integers(0, 7), max_size=3).map(tuple),
        tensor_split=st.lists(st.floats(0, 9), max_size=3).map(tuple),
        overrides=st.lists(st.tuples(st.text(max_size=5), st.integers(-1, 7)), max_size=2).map(
            tuple
        ),
        load_mode=st.none() | st.sampled_from(LoadMode),
        kind=st.sampled_from(EngineKind),
        binary=st.none() | st.just(Path("/bin/llama-server")),
        n_threads=st.none() | st.integers(1, 64),
        repack=st.booleans(),
        extra=st.lists(st.text(max_size=5), max_size=2).map(tuple),
        workers=st.lists(
            st.builds(RpcDevice, st.integers(0, 9), st.text(max_size=9), st.integers(0, 7)),
            max_size=2,
        ).map(tuple),
        options=st.builds(EngineOptions, lora=st.text(max_size=5), draft_tokens=st.integers(0, 9)),
        server=st.none()
        | st.builds(
            VllmSettings,
            server=st.none()
            | st.builds(
                ServerSettings,
                split=st.builds(Split, tensor=st.integers(1, 8), experts=st.booleans()),
                context=st.integers(0, 10**6),
                memory_share=st.none() | st.floats(0.1, 1),
            ),
            wishes=st.builds(ServerWishes, split=st.none() | st.just(Split(2, 2))),
            needs=st.lists(st.text(max_size=5), max_size=2).map(tuple),
        ),
    )
)
def test_settings_come_back_from_json(settings: LoadSettings) -> None:
    kept = json.loads(json.dumps(changed_settings(settings)))
    assert settings_from(Path("/x"), kept) == settings


@pytest.mark.parametrize("kept", [{"of_tomorrow": 1}, {"load_mode": "dream"}])
def test_settings_of_another_version_are_not_guessed(kept: dict[str, object]) -> None:
    assert settings_from(Path("/x"), kept) is None


def test_what_the_machine_did_is_kept_with_the_run(desk: Desk, tmp_path: Path) -> None:
    desk.move(EngineState.LOADING)
    desk.wait(lambda run: run.outcome is Outcome.RUNNING)
    for second in range(100):
        desk.bus.publish(SampleTaken(sample(100.0 + second, tokens_per_s=7.0)))
    desk.move(EngineState.STOPPED)
    run = desk.wait(lambda run: run.outcome is Outcome.STOPPED)
    rows = desk.book.samples(run.id).result(10)
    assert len(rows) == 20
    assert {row.sample.tokens_per_s for row in rows} == {7.0}
    file = desk.book.export_csv(run.id, tmp_path / "run.csv").result(10)
    assert len(file.read_text(encoding="utf-8").splitlines()) == 21
