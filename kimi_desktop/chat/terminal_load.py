"""Waiting in a terminal for an engine: how far it is, how fast, and when it stands still.

Main thread.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from kimi_desktop.backends.load_progress import model_bytes
from kimi_desktop.backends.load_watch import UNKNOWN, LoadWatch
from kimi_desktop.backends.types import (
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadRemarked,
)
from kimi_desktop.base.events import Event
from kimi_desktop.base.operation import Operation
from kimi_desktop.chat.terminal_output import Output

POLL_S = 0.1
ASK_EVERY_S = 1.0
"""For processor time, which costs a look at every process of the engine."""
LEAST_CPU_S = 0.5
"""A program that only waits for its first word uses less than that in half a minute."""
_COMING = (EngineState.STARTING, EngineState.LOADING)


def follow_load(
    starting: Operation[EngineStatus],
    name: str,
    events: queue.SimpleQueue[Event],
    out: Output,
    others: Callable[[Event], None] = lambda event: None,
) -> EngineStatus:
    """Show how the engine loads, until it is ready.

    Args:
        starting: what ``EngineService.start`` returned; cancelled by Ctrl+C.
        name: of the model.
        events: of the bus, from before the start.
        out: where to tell.
        others: takes the events that are not of the load.

    Raises:
        KimiError: it did not start.
        KeyboardInterrupt: Ctrl+C.
    """
    loading = _Loading(name, out)
    out.loading(name, None)
    try:
        while not starting.done:
            event: Event | None = None
            with contextlib.suppress(queue.Empty):
                event = events.get(timeout=POLL_S)
            if isinstance(event, EngineStateChanged):
                loading.take(event.status)
            elif isinstance(event, LoadRemarked):
                for remark in event.remarks:
                    out.remark(remark)
            elif event is not None:
                others(event)
            loading.tell()
        status = starting.result(0)
    except KeyboardInterrupt:
        starting.cancel()
        raise
    out.ready(name, status.engine_name)
    return status


class _Loading:
    """One load as it is told."""

    def __init__(self, name: str, out: Output) -> None:
        self._name = name
        self._out = out
        self._status: EngineStatus | None = None
        self._watch: LoadWatch | None = None

    def take(self, status: EngineStatus) -> None:
        """The engine has moved."""
        if status.state not in _COMING:
            return
        self._status = status
        if self._watch is None and status.pid is not None and status.settings is not None:
            total = _size_of(status.settings.model_path)
            self._watch = LoadWatch(total, _Activity(status.pid))

    def tell(self) -> None:
        """What is known now; the output leaves out what it has told."""
        status = self._status
        if status is None:
            return
        pace = UNKNOWN
        if self._watch is not None:
            pace = self._watch.note(status.load_fraction, status.load_step)
        self._out.loading(self._name, status.load_fraction, pace)


class _Activity:
    """Processor time and bytes of a process and its children, asked once a second."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._asked_at = 0.0
        self._value: float | None = None

    def __call__(self) -> float | None:
        """None where the system does not say."""
        now = time.monotonic()
        if now - self._asked_at >= ASK_EVERY_S:
            self._asked_at = now
            self._value = _work_of(self._pid)
        return self._value


def _work_of(pid: int) -> float | None:
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except (psutil.Error, OSError):
        return None
    work = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error, OSError):
            times = process.cpu_times()
            work += int((times.user + times.system) / LEAST_CPU_S)
            if hasattr(process, "io_counters"):
                work += process.io_counters().read_bytes
    return work


def _size_of(model: Path) -> int:
    try:
        return model_bytes(model)
    except OSError:
        return 0
