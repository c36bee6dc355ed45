"""Keeps every run: plan, forecast, measured, outcome, cause. ``ui.bridge.RunService`` for real.

Listens on the bus; writes in the pool, in order. Callable from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kimi_desktop.backends.types import (
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.monitor.experiment_types import Experiment
from kimi_desktop.monitor.export import export_csv
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_samples import RunSamples
from kimi_desktop.monitor.run_settings import changed_settings, settings_from
from kimi_desktop.monitor.run_types import (
    Outcome,
    RunFacts,
    RunForecast,
    RunMeasures,
    RunRecord,
    RunsChanged,
)
from kimi_desktop.monitor.runs import RunStore
from kimi_desktop.monitor.types import Sample, SampleTaken

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_S = 5.0
ROWS_AT_ONCE = 12
"""A minute of five-second rows: one write for all of them."""


@dataclasses.dataclass(frozen=True, slots=True)
class RunIntent:
    """What is known of a run when it begins (joined at the top: model and forecast)."""

    title: str
    quantization: str
    forecast: RunForecast


class Notebook:
    """The runs of this profile. ``close`` it after the engine has ended."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        file: Path,
        *,
        intent: Callable[[LoadSettings], RunIntent],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Join it.

        Args:
            io: its pool.
            bus: where engines change their state and samples are told.
            file: the database.
            intent: model and forecast of some load settings; runs in the pool.
            clock: time.time().
        """
        self._io = io
        self._bus = bus
        self._intent = intent
        self._clock = clock
        self._file = file
        self._lock = threading.RLock()
        self._store: RunStore | None = None
        self._current: RunRecord | None = None
        self._samples = RunSamples(0.0)
        self._turn = asyncio.Lock()
        self._is_closed = False
        self._leave_bus = bus.subscribe(self._on_event)

    # what is kept

    def runs(self, limit: int = 200) -> Operation[tuple[RunRecord, ...]]:
        """The newest first."""
        return self._io.pool(lambda: self._opened().list(limit))

    def annotate(
        self, run_id: int, *, note: str | None = None, starred: bool | None = None
    ) -> Operation[None]:
        """The user's own words, and the star."""
        return self._io.pool(self._annotate, run_id, note, starred)

    def delete(self, run_id: int) -> Operation[None]:
        """Forget a run."""
        return self._io.pool(self._delete, run_id)

    def samples(self, run_id: int) -> Operation[tuple[Row, ...]]:
        """What the machine did during a run, oldest first.

        The run that goes on is a minute behind.
        """
        return self._io.pool(lambda: self._opened().samples(run_id))

    def export_csv(self, run_id: int, file: Path) -> Operation[Path]:
        """Write a run's samples. Ends with MonitorError when that is not possible."""
        return self._io.pool(lambda: export_csv(self._opened().samples(run_id), file))

    def experiments(self) -> Operation[tuple[Experiment, ...]]:
        """Curves that were measured, the newest first."""
        return self._io.pool(lambda: self._opened().experiments())

    def add_experiment(self, experiment: Experiment) -> Experiment:
        """Keep a curve; blocking.

        Raises:
            sqlite3.Error: the disk is full, and the like.
        """
        return replace(experiment, id=self._opened().add_experiment(experiment))

    def settings_of(self, run: RunRecord) -> LoadSettings | None:
        """Its load settings, as far as this version understands them; None when it does not."""
        return settings_from(Path(run.model_path), run.settings)

    def close(self) -> None:
        """What has happened is written; the run that still goes on ends with the app.

        Not on the IO thread.
        """
        self._leave_bus()
        with contextlib.suppress(TimeoutError, RuntimeError):
            self._io.submit(lambda: self._after_states(lambda: None)).result(CLOSE_TIMEOUT_S)
        with self._lock:
            if self._current is not None:
                self._end(Outcome.STOPPED)
            self._is_closed = True
            if self._store is not None:
                self._store.close()
                self._store = None

    # what happens

    def note_answer(
        self,
        tokens: int,
        decode_tps: float,
        prefill_tps: float | None,
        first_token_s: float | None,
    ) -> None:
        """An answer has ended well."""
        with self._lock:
            run = self._current
            if run is None or tokens <= 0:
                return
            before = run.measured
            total = before.tokens + tokens
            mean = ((before.decode_tps or 0.0) * before.tokens + decode_tps * tokens) / total
            self._measure(
                answers=before.answers + 1,
                tokens=total,
                decode_tps=mean,
                prefill_tps=prefill_tps if prefill_tps is not None else before.prefill_tps,
                first_token_s=first_token_s,
            )

    def note_cause(
        self, started_at: float | None, cause: str, facts: RunFacts | None = None
    ) -> Operation[None]:
        """The run that began then failed, was slow or wrote nonsense, for this cause.

        Args:
            started_at: of the run.
            cause: an id of ``base/messages/causes``; "" = unknown.
            facts: what was seen; they are kept with the run.
        """
        return self._io.submit(
            lambda: self._after_states(lambda: self._note_cause(started_at, cause, facts))
        )

    def facts(self, run_id: int) -> Operation[tuple[RunFacts, ...]]:
        """What was seen of a run when it failed, was slow or wrote nonsense, oldest first."""
        return self._io.pool(self.facts_now, run_id)

    def facts_now(self, run_id: int) -> tuple[RunFacts, ...]:
        """The same; blocking."""
        return self._opened().facts(run_id)

    def _note_cause(self, started_at: float | None, cause: str, facts: RunFacts | None) -> None:
        store, run = self._opened(), self._current
        if run is None or run.started_at != started_at:
            run = next((row for row in store.list(5) if row.started_at == started_at), None)
        if run is None:
            return
        if cause:
            noted = replace(run, cause=cause)
            if run is self._current:
                self._current = noted
            store.update(noted)
        if facts is not None:
            store.add_facts(run.id, facts)
        self._bus.publish(RunsChanged())

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SampleTaken):
            self._take_sample(event.sample)
        elif isinstance(event, EngineStateChanged):
            status = event.status
            if status.state in (
                EngineState.LOADING,
                EngineState.READY,
                EngineState.FAILED,
                EngineState.STOPPED,
            ):
                at = self._clock()
                self._io.submit(lambda: self._after_states(lambda: self._step(status, at)))

    async def _after_states(self, note: Callable[[], None]) -> None:
        """One after another, in the order in which it happened: the pool keeps none."""
        async with self._turn:
            await self._io.in_pool(self._write, note)

    def _write(self, note: Callable[[], None]) -> None:
        try:
            with self._lock:
                if not self._is_closed:
                    note()
        except sqlite3.Error:  # the notebook must never be in the engine's way
            log.exception("a run could not be noted")

    def _step(self, status: EngineStatus, at: float) -> None:
        if status.state in (EngineState.LOADING, EngineState.FAILED):
            self._begin(status, at)
        run = self._current
        if run is None:
            return
        if status.state is EngineState.READY and run.measured.load_s is None:
            self._current = replace(run, engine=status.engine_name)
            self._measure(load_s=max(at - run.started_at, 0.0))
        elif status.state is EngineState.FAILED:
            cause = status.error.code.value if status.error is not None else ""
            self._current = replace(run, cause=cause, engine=status.engine_name)
            self._end(Outcome.FAILED, at)
        elif status.state is EngineState.STOPPED:
            self._end(Outcome.STOPPED, at)

    def _begin(self, status: EngineStatus, at: float) -> None:
        started = status.started_at or at
        run = self._current
        if status.settings is None or (run is not None and run.started_at == started):
            return
        self._end(Outcome.STOPPED, at)
        intent = self._intent(status.settings)
        record = RunRecord(
            id=0,
            started_at=started,
            ended_at=None,
            model_path=str(status.settings.model_path),
            title=intent.title,
            quantization=intent.quantization,
            engine=status.engine_name,
            settings=changed_settings(status.settings),
            forecast=intent.forecast,
            measured=RunMeasures(),
            outcome=Outcome.RUNNING,
        )
        self._current = replace(record, id=self._opened().add(record))
        self._samples = RunSamples(started)
        self._bus.publish(RunsChanged())

    def _measure(self, **measures: Any) -> None:  # noqa: ANN401 - fields of the measures
        run = self._current
        if run is not None:
            self._current = replace(run, measured=replace(run.measured, **measures))
            self._opened().update(self._current)

    def _end(self, outcome: Outcome, at: float | None = None) -> None:
        run, self._current = self._current, None
        if run is not None:
            self._opened().add_samples(run.id, self._samples.take(to_the_end=True))
            ended = replace(run, outcome=outcome, ended_at=at or self._clock())
            self._opened().update(ended)
            self._bus.publish(RunsChanged())

    def _take_sample(self, sample: Sample) -> None:
        held = {
            f"gpu:{gpu.index}": gpu.engine_vram_bytes
            for gpu in sample.gpus
            if gpu.engine_vram_bytes
        }
        if sample.engine_rss_bytes:
            held["host"] = sample.engine_rss_bytes
        with self._lock:
            run = self._current
            if run is None:
                return
            self._samples.add(sample)
            if self._samples.waiting >= ROWS_AT_ONCE:
                self._io.pool(self._keep_samples)
            if not held:
                return
            peaks = dict(run.measured.device_bytes)
            for device, size in held.items():
                peaks[device] = max(peaks.get(device, 0), size)
            # On disk with the next answer or the end: a write a second would be for nothing.
            self._current = replace(run, measured=replace(run.measured, device_bytes=peaks))

    def _keep_samples(self) -> None:
        with self._lock:
            if self._current is None or self._is_closed:
                return
            store, run, rows = self._opened(), self._current.id, self._samples.take()
        try:  # without the lock: the next sample need not wait for the disk
            store.add_samples(run, rows)
        except sqlite3.Error:
            log.exception("samples of a run could not be kept")

    def _opened(self) -> RunStore:
        with self._lock:
            if self._store is None:
                self._store = RunStore(self._file)
            return self._store

    def _annotate(self, run_id: int, note: str | None, starred: bool | None) -> None:
        self._opened().annotate(run_id, note=note, starred=starred)
        self._bus.publish(RunsChanged())

    def _delete(self, run_id: int) -> None:
        self._opened().delete(run_id)
        self._bus.publish(RunsChanged())
