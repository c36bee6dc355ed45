"""Reads every failure of the engine and remembers what was tried. ``ui.bridge.DiagnosisService``.

Listens on the bus; the reading itself runs in the pool. Callable from any thread.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
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
from kimi_desktop.chat.types import AnswerFinished, AnswerStats
from kimi_desktop.diagnosis.bundle import bundle_text
from kimi_desktop.diagnosis.collect import answer_facts, course_facts
from kimi_desktop.diagnosis.failure import Pricing, Tried, read_failure, ways_out
from kimi_desktop.diagnosis.kept import kept_failure
from kimi_desktop.diagnosis.types import FailureRead, FailureReading, KeptFailure, WayOut
from kimi_desktop.machine.holders import Holder, end_program
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.monitor.run_settings import settings_from
from kimi_desktop.monitor.run_types import RunFacts, RunRecord
from kimi_desktop.monitor.types import Sample

MOST_ANSWERS = 5
LEAD_S = 10.0
"""Before the start, for what was free then."""
CLOSE_TIMEOUT_S = 10.0


class Diagnoses:
    """The last failure, read. ``close`` it before the bus goes."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        *,
        models: Callable[[], Iterable[LocalModel]],
        machine: Callable[[], Machine | None],
        pricing: Pricing,
        steps_down: Callable[[], bool],
        start: Callable[[LoadSettings], object],
        holders: Callable[[], tuple[Holder, ...]] = lambda: (),
        samples: Callable[[float], tuple[Sample, ...]] = lambda _seconds: (),
        kept: Callable[[int], tuple[RunFacts, ...]] = lambda _run: (),
    ) -> None:
        """Join it.

        Args:
            io: its pool.
            bus: where engines fail.
            models: of the library.
            machine: None before the first look.
            pricing: the planner.
            steps_down: whether the user wants the next step to be taken by itself.
            start: starts the engine with other settings.
            holders: other programs that hold VRAM now; runs in the pool.
            samples: of the machine, of the last so many seconds.
            kept: facts of a run of the notebook; runs in the pool.
        """
        self._io = io
        self._bus = bus
        self._models = models
        self._machine = machine
        self._pricing = pricing
        self._steps_down = steps_down
        self._start = start
        self._holders = holders
        self._samples = samples
        self._kept = kept
        self._answers: deque[AnswerStats] = deque(maxlen=MOST_ANSWERS)
        self._reading: Operation[None] | None = None
        self._is_closed = False
        self._lock = threading.Lock()
        self._tried: set[Tried] = set()
        self._latest: FailureReading | None = None
        self._leave_bus = bus.subscribe(self._on_event)

    @property
    def latest(self) -> FailureReading | None:
        """Of the engine that has failed last; None after a good start."""
        with self._lock:
            return self._latest

    def note_tried(self, way: WayOut) -> None:
        """This way is being taken: it is not offered again before a good start."""
        with self._lock:
            self._tried.add((way.key, way.settings))

    def end_program(self, holder: Holder) -> Operation[None]:
        """End a program that holds VRAM; the user has said so.

        Raises (from the operation):
            HardwareError: PROGRAM_STAYS.
        """
        return self._io.pool(end_program, holder)

    def bundle_text(self) -> str:
        """The last failure as JSON for a report, private things removed; "" without one."""
        reading = self.latest
        return "" if reading is None else bundle_text(reading.evidence, reading.diagnosis)

    def of_run(self, run: RunRecord) -> Operation[tuple[KeptFailure, ...]]:
        """What was seen of a run when it failed, was slow or wrote nonsense, oldest first.

        With the ways out as they are priced now, where its model is still in the library.
        """
        return self._io.pool(self._of_run, run)

    def close(self) -> None:
        """Stop listening; a failure that is being read is read to its end. Not on the IO thread."""
        self._leave_bus()
        with self._lock:
            self._is_closed, reading = True, self._reading
        if reading is not None:
            with contextlib.suppress(Exception):  # told by the pool
                reading.result(CLOSE_TIMEOUT_S)

    def _of_run(self, run: RunRecord) -> tuple[KeptFailure, ...]:
        facts = (kept_failure(one, run.started_at) for one in self._kept(run.id))
        settings = settings_from(Path(run.model_path), run.settings)
        model = self._model(run.model_path)
        return tuple(
            self._with_ways(one, settings, model) if settings and model else one
            for one in facts
            if one is not None
        )

    def _with_ways(
        self, kept: KeptFailure, settings: LoadSettings, model: LocalModel
    ) -> KeptFailure:
        best = kept.reading.diagnosis.cause
        if best is None:
            return kept
        ways = ways_out(best.cause, settings, model, self._pricing)
        return replace(kept, reading=replace(kept.reading, ways=ways))

    def _model(self, path: str | Path | None) -> LocalModel | None:
        return next((model for model in self._models() if path and model.path == Path(path)), None)

    def _around(self, status: EngineStatus) -> dict[str, Any]:
        since = time.time() - status.started_at if status.started_at else 0.0
        with self._lock:
            answers = tuple(self._answers)
        samples = self._samples(max(since, 0.0) + LEAD_S)
        return course_facts(samples, status.started_at) | answer_facts(answers)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, AnswerFinished) and event.message.stats is not None:
            with self._lock:
                self._answers.append(event.message.stats)
        if not isinstance(event, EngineStateChanged):
            return
        state = event.status.state
        if state is EngineState.READY:
            with self._lock:
                self._tried.clear()
                self._latest = None
        elif state is EngineState.STARTING:
            with self._lock:
                self._latest = None
                self._answers.clear()
        elif state is EngineState.FAILED and event.status.attached is None:
            self._reading = self._io.pool(self._read, event.status)

    def _read(self, status: EngineStatus) -> None:
        model = self._model(status.settings.model_path if status.settings else None)
        with self._lock:
            tried = frozenset(self._tried)
        holders = self._holders()
        reading = read_failure(
            status,
            model,
            self._machine(),
            self._pricing,
            tried,
            holders=holders,
            around=self._around(status),
        )
        with self._lock:
            self._latest = reading
        way = next((way for way in reading.ways if not way.needs_consent), None)
        takes_it = way is not None and self._steps_down() and not self._is_closed
        self._bus.publish(FailureRead(reading, stepped_down=way if takes_it else None))
        if way is not None and takes_it:
            self.note_tried(way)  # the ladder has an end: no step is taken twice
            self._start(way.settings)
