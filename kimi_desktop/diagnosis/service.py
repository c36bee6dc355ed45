"""Reads every failure of the engine and remembers what was tried. ``ui.bridge.DiagnosisService``.

Listens on the bus; the reading itself runs in the pool. Callable from any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from kimi_desktop.backends.types import (
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.diagnosis.bundle import bundle_text
from kimi_desktop.diagnosis.failure import Pricing, Tried, read_failure
from kimi_desktop.diagnosis.types import FailureRead, FailureReading, WayOut
from kimi_desktop.machine.holders import Holder, end_program
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel


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
        """
        self._io = io
        self._bus = bus
        self._models = models
        self._machine = machine
        self._pricing = pricing
        self._steps_down = steps_down
        self._start = start
        self._holders = holders
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

    def close(self) -> None:
        """Stop listening."""
        self._leave_bus()

    def _on_event(self, event: Event) -> None:
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
        elif state is EngineState.FAILED and event.status.attached is None:
            self._io.pool(self._read, event.status)

    def _read(self, status: EngineStatus) -> None:
        path = status.settings.model_path if status.settings else None
        model = next((model for model in self._models() if model.path == path), None)
        with self._lock:
            tried = frozenset(self._tried)
        holders = self._holders()
        reading = read_failure(
            status, model, self._machine(), self._pricing, tried, holders=holders
        )
        with self._lock:
            self._latest = reading
        way = next((way for way in reading.ways if not way.needs_consent), None)
        takes_it = way is not None and self._steps_down()
        self._bus.publish(FailureRead(reading, stepped_down=way if takes_it else None))
        if way is not None and takes_it:
            self.note_tried(way)  # the ladder has an end: no step is taken twice
            self._start(way.settings)
