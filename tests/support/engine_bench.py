"""The real engine service in a folder of its own, with its events recorded and no window."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from kimi_desktop.backends.service import Forecast, LlamaEngineService
from kimi_desktop.backends.types import (
    EngineKind,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.types import LoadForecast
from tests.support.engine_programs import short_folder

WAIT_S = 60.0


class EngineBench:
    """A service, what it published, and the processes it should have ended."""

    def __init__(
        self,
        home: Path,
        *,
        machine: Machine | None = None,
        forecast: Forecast | None = None,
        grace_s: float | None = 10.0,
    ) -> None:
        self.paths = AppPaths.under(home)
        self.paths.make()
        self.bus = EventBus()
        self.statuses: list[EngineStatus] = []
        self._changed = threading.Condition()
        self.bus.subscribe(self._on_event)
        self.io = IoLoop()
        self.store = SettingsStore(self.paths.settings_file)
        self.service = LlamaEngineService(
            self.io,
            self.bus,
            self.store,
            self.paths,
            machine=lambda: machine,
            forecast=forecast or nothing_is_known,
            grace_s=grace_s,
        )

    @property
    def states(self) -> list[EngineState]:
        """The states it went through, repeats left out."""
        states: list[EngineState] = []
        for status in self.statuses:
            if not states or states[-1] is not status.state:
                states.append(status.state)
        return states

    def wait_for(self, state: EngineState) -> EngineStatus:
        """The status once it is in that state."""
        with self._changed:
            reached = self._changed.wait_for(
                lambda: self.service.status.state is state, timeout=WAIT_S
            )
        assert reached, f"still {self.service.status}"
        return self.service.status

    def close(self) -> None:
        """End the engine and the IO thread."""
        self.service.close()
        self.io.close()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            with self._changed:
                self.statuses.append(event.status)
                self._changed.notify_all()


@contextlib.contextmanager
def engine_bench(**options: Any) -> Iterator[EngineBench]:
    """A bench that is closed at the end; no engine and no file of one may be left."""
    with short_folder() as home:
        bench = EngineBench(home, **options)
        try:
            yield bench
        finally:
            bench.close()
        assert list(bench.paths.runtime.iterdir()) == []
        for pid in {status.pid for status in bench.statuses if status.pid is not None}:
            assert not is_running(pid)


def nothing_is_known(
    settings: LoadSettings, model: LocalModel, machine: Machine, *, uses_gpus: bool
) -> LoadForecast:
    """A forecast without devices: everything fits."""
    del settings, model, machine, uses_gpus
    return LoadForecast(())


def scripted(model: Path, binary: Path, **changes: Any) -> LoadSettings:
    """Load a scripted "model" with the misbehaving binary."""
    return LoadSettings(model, kind=EngineKind.LLAMA_SERVER, binary=binary, **changes)


def embedded(model: Path, **changes: Any) -> LoadSettings:
    """Load with the embedded engine, on one thread (others test at the same time)."""
    return LoadSettings(model, **{"n_threads": 1, "context": 2048, **changes})


def is_running(pid: int) -> bool:
    """A process with this number lives (a zombie does not)."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], what: str = "it never came true") -> None:
    """Poll until it holds."""
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
