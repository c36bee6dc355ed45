"""One variable value by value: what is started, measured, kept, and brought back."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest

from kimi_desktop.backends.types import (
    ChatRequest,
    Delta,
    EngineState,
    EngineStatus,
    LoadSettings,
    Usage,
)
from kimi_desktop.base.errors import BackendError, ErrorCode, MonitorError, PlanError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.monitor.experiment_types import (
    ExperimentProgressed,
    ExperimentWish,
    Variable,
    experiment_of,
    experiment_text,
)
from kimi_desktop.monitor.experiments import Experiments, changed, for_users
from kimi_desktop.monitor.notebook import Notebook, RunIntent
from kimi_desktop.monitor.run_types import RunForecast
from tests.support import scripted_data as data

SETTINGS = LoadSettings(Path("/m/k.gguf"), context=8192, overrides=(("x", "CPU"),))


class Client:
    async def count_tokens(self, request: ChatRequest) -> int:
        return 64

    async def stream_chat(self, request: ChatRequest) -> AsyncIterator[Delta]:
        for _ in range(4):
            yield Delta(content="x")
        yield Delta(usage=Usage(prompt_tokens=512, completion_tokens=64))


class Engine:
    """Starts at once, but for the settings that a test holds or lets fail."""

    def __init__(self) -> None:
        self.status = EngineStatus(EngineState.READY, settings=SETTINGS, engine_name="llama.cpp")
        self.started: list[tuple[LoadSettings, bool]] = []
        self.stopped = 0
        self.fails: set[int | None] = set()
        self.holds: set[int | None] = set()
        self.held = threading.Event()

    def start(self, settings: LoadSettings, *, remember: bool = True) -> Operation[EngineStatus]:
        self.started.append((settings, remember))
        future: Future[EngineStatus] = Future()
        if settings.n_threads in self.fails:
            future.set_exception(BackendError(ErrorCode.ENGINE_EXITED, {"code": 1}))
        elif settings.n_threads in self.holds:
            self.held.set()
        else:
            future.set_result(self.status)
        return Operation(future)

    def stop(self) -> Operation[EngineStatus]:
        self.stopped += 1
        future: Future[EngineStatus] = Future()
        future.set_result(self.status)
        return Operation(future)

    def client(self) -> Client:
        return Client()


class Desk:
    def __init__(self, file: Path) -> None:
        self.io, self.bus, self.engine = IoLoop(), EventBus(), Engine()
        self.book = Notebook(
            self.io, self.bus, file, intent=lambda _: RunIntent("Kimi", "Q4", RunForecast())
        )
        self.said: list[str] = []
        self.bus.subscribe(self.hear)
        self.lab = Experiments(self.io, self.bus, self.engine, self.book, clock=lambda: 7.0)

    def hear(self, event: object) -> None:
        if isinstance(event, ExperimentProgressed):
            self.said.append(event.now)

    def run(self, variable: Variable, *values: str):
        return self.lab.run(ExperimentWish(SETTINGS, "Kimi", variable, values))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "runs.sqlite3")
    yield made
    made.book.close()
    made.io.close()


def test_value_by_value_and_back_again(desk: Desk) -> None:
    desk.engine.fails.add(2)
    found = desk.run(Variable.THREADS, "1", "2", "4").result(10)
    tried = [(settings.n_threads, remember) for settings, remember in desk.engine.started]
    assert tried == [(1, False), (2, False), (4, False), (None, True)]
    assert [point.error is None for point in found.points] == [True, False, True]
    assert all(point.prefill_tps and point.load_s is not None for point in found.points[::2])
    assert desk.said == ["1", "2", "4", ""]
    (kept,) = desk.lab.kept().result(10)
    assert (kept.id, kept.points[0], kept.points[2]) == (found.id, found.points[0], found.points[2])


def test_an_engine_that_was_not_running_is_stopped(desk: Desk) -> None:
    desk.engine.status = EngineStatus(EngineState.STOPPED)
    desk.run(Variable.CACHE, "q8_0").result(10)
    assert desk.engine.stopped == 1


def test_cancelled_it_keeps_what_was_measured(desk: Desk) -> None:
    desk.engine.holds.add(2)
    operation = desk.run(Variable.THREADS, "1", "2")
    assert desk.engine.held.wait(10)
    operation.cancel()
    with pytest.raises(CancelledError):
        operation.result(10)
    while not (kept := desk.lab.kept().result(10)):
        pass
    assert [point.value for point in kept[0].points] == ["1"]
    assert desk.engine.started[-1] == (SETTINGS, True)


def test_one_at_a_time(desk: Desk) -> None:
    desk.engine.holds.add(2)
    first = desk.run(Variable.THREADS, "2")
    assert desk.engine.held.wait(10)
    with pytest.raises(MonitorError) as caught:
        desk.run(Variable.THREADS, "1").result(10)
    assert caught.value.code is ErrorCode.EXPERIMENT_RUNNING
    first.cancel()


def test_users_have_a_slot_and_their_context_each(desk: Desk) -> None:
    found = desk.run(Variable.USERS, "1", "3").result(10)
    (settings, remember), *_ = desk.engine.started
    assert (settings.n_parallel, settings.context, remember) == (3, 3 * 8192, False)
    assert all(point.total_tps for point in found.points)
    assert for_users(SETTINGS, 2).context == 2 * 8192


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        (Variable.THREADS, "0"),
        (Variable.THREADS, "many"),
        (Variable.CONTEXT, "٣"),
        (Variable.CACHE, "q3"),
        (Variable.USERS, "9999"),
    ],
)
def test_what_cannot_be_starts_nothing(desk: Desk, variable: Variable, value: str) -> None:
    with pytest.raises(PlanError):
        desk.run(variable, value).result(10)
    assert desk.engine.started == []


def test_layers_by_number_win_over_a_found_placement() -> None:
    assert changed(SETTINGS, Variable.EXPERTS, "3").overrides == ()
    assert changed(SETTINGS, Variable.UBATCH, "4096").n_batch == 4096


def test_a_kept_curve_reads_back_as_it_was() -> None:
    for one in data.experiments("Kimi"):
        back = experiment_of(one.id, one.at, experiment_text(one))
        assert back is not None
        assert [point.value for point in back.points] == [point.value for point in one.points]
        assert back.points[0] == one.points[0]
    failed = back.points[-1].error
    assert failed is not None
    assert (failed.code, failed.params) == (ErrorCode.ENGINE_EXITED, {"code": 1})
    assert experiment_of(1, 0.0, "{}") is None
