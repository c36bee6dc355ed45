"""The one engine behind the window and the terminal: ``ui.bridge.EngineService`` for real.

Commands come from any thread and return at once; everything else happens on the IO thread. Starting
ends an older engine first. The settings that a model was last started with are remembered.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil

from kimi_desktop.backends.attached.client import AttachedClient
from kimi_desktop.backends.client import EngineClient
from kimi_desktop.backends.command import Listening
from kimi_desktop.backends.defaults import plain_settings
from kimi_desktop.backends.engine_gpus import known_gpus
from kimi_desktop.backends.engines.choose import PYTHON_TITLES, engines_of
from kimi_desktop.backends.engines.interface import KEY_NAME
from kimi_desktop.backends.launch import GRACE_S
from kimi_desktop.backends.leftovers import end_leftovers, find_leftovers
from kimi_desktop.backends.load_planner import LoadPlanner
from kimi_desktop.backends.probe import embedded_build
from kimi_desktop.backends.run import EngineRun, RunOrder
from kimi_desktop.backends.server_planner import ServerPlanner
from kimi_desktop.backends.state_machine import ANSWERING, RUNNING, EngineStateMachine
from kimi_desktop.backends.types import (
    SERVER_KINDS,
    Attachment,
    Endpoint,
    EngineKind,
    EngineMetrics,
    EngineState,
    EngineStateChanged,
    EngineStatus,
    Leftover,
    LoadSettings,
    LoadStep,
)
from kimi_desktop.base.errors import (
    BackendError,
    ErrorCode,
    KimiError,
    ModelError,
    SettingsError,
)
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.flags import RPC_FLAG
from kimi_desktop.planner.host_settings import threads_for
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.rpc import without_workers
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.types import ExactCheck, LoadForecast

log = logging.getLogger(__name__)

HTTP_LIBRARY = "httpx"
"""Takes 0.1 s to import, which neither the first window nor a start has to wait for."""
TAIL_LINES = 40


Connect = Callable[[], Awaitable[tuple[Attachment, Endpoint]]]
"""Asks a server that is not ours whether it has the model; fails with the reason."""
Begin = Callable[["asyncio.Future[EngineStatus]"], Coroutine[Any, Any, None]]


class Forecast(Protocol):
    """The planner's forecast of load settings (joined at the top)."""

    def __call__(
        self, settings: LoadSettings, model: LocalModel, machine: Machine, *, uses_gpus: bool
    ) -> LoadForecast:
        """Memory per device; ``uses_gpus`` False for an engine that was built without."""


class ExactChecker(Protocol):
    """Asks an engine build what a load would allocate (joined at the top)."""

    async def __call__(
        self, settings: LoadSettings, model: LocalModel, machine: Machine, forecast: LoadForecast
    ) -> ExactCheck | None:
        """The engine's own word beside the forecast; None where it cannot be asked."""


class LlamaEngineService:
    """Owns the engine. Call ``close`` before the IO loop closes."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        store: SettingsStore,
        paths: AppPaths,
        *,
        machine: Callable[[], Machine | None],
        forecast: Forecast,
        checker: ExactChecker | None = None,
        grace_s: float | None = None,
        factors: Callable[[], Factors | None] = lambda: None,
    ) -> None:
        self._io = io
        self._store = store
        self._paths = paths
        self._machine = machine
        self._forecast = forecast
        self._checker = checker
        self._grace_s = grace_s
        self._states = EngineStateMachine(lambda status: bus.publish(EngineStateChanged(status)))
        self.engines = engines_of(paths, store)
        self.servers = ServerPlanner(
            io,
            machine=self._machine_alone,
            catalogue=shipped_catalogue,
            probe=self.engines.build,
        )
        self.plans = LoadPlanner(
            io,
            store,
            machine=machine,
            begin=self._begin_with,
            uses_gpus=self.uses_gpus,
            factors=factors,
        )
        self._run: EngineRun | None = None
        self._link: tuple[Endpoint, AttachedClient] | None = None
        """To a server that is not ours; None while an engine of ours is meant."""
        self._beginning: asyncio.Task[None] | None = None
        self._driving: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        """Starts and stops take turns."""

    # what it is

    @property
    def status(self) -> EngineStatus:
        """Now."""
        return self._states.status

    @property
    def endpoint(self) -> Endpoint | None:
        """Where the ready engine listens; None while there is none."""
        if self.status.state not in ANSWERING:
            return None
        if self._link is not None:
            return self._link[0]
        return self._run.endpoint if self._run is not None else None

    def client(self) -> EngineClient | None:
        """How to ask the ready engine, on the IO thread; None while there is none."""
        if self.status.state not in ANSWERING:
            return None
        if self._link is not None:
            return self._link[1]
        return self._run.client if self._run is not None else None

    async def metrics(self) -> EngineMetrics | None:
        """What the ready engine counts; None while there is none. On the IO thread.

        Raises:
            ChatError: it does not answer, or has no such page.
        """
        run, client, attached = self._run, self.client(), self.status.attached
        if client is None:
            return None
        engine = run.engine if run is not None else None
        if attached is not None:
            engine = self.engines.behind(attached.program)
        return engine.read_metrics(await client.metrics_page()) if engine is not None else None

    def set_generating(self, generating: bool) -> None:
        """An answer begins or ends; counted. On the IO thread."""
        if generating:
            self._states.begin_stream()
        else:
            self._states.end_stream()

    @contextlib.contextmanager
    def generating(self) -> Iterator[None]:
        """The same around a stream."""
        self._states.begin_stream()
        try:
            yield
        finally:
            self._states.end_stream()

    def log_text(self) -> str:
        """The log of the last start, keys removed."""
        run = self._run if self.status.attached is None else None
        return "\n".join(run.log.lines()) if run is not None else ""

    # what to load

    def settings_for(self, model: LocalModel) -> LoadSettings:
        """What the user last chose for this model, else what the planner finds."""
        return self.plans.settings_for(model)

    def forecast(self, settings: LoadSettings, model: LocalModel) -> LoadForecast:
        """What the header and the machine say about these settings; empty before the first look."""
        machine = self._machine()
        if machine is None:
            return LoadForecast(())
        return self._forecast(settings, model, machine, uses_gpus=self.uses_gpus(settings))

    def check(self, settings: LoadSettings, model: LocalModel) -> Operation[ExactCheck | None]:
        """Ask the engine itself what these settings would allocate; None where it cannot be."""
        return self._io.submit(lambda: self._check(settings, model))

    def uses_gpus(self, settings: LoadSettings) -> bool:
        """The engine of these settings was built for GPUs; taken for true before it was asked."""
        known = self.engines.known(settings)
        if settings.kind is EngineKind.EMBEDDED or settings.binary is None:
            return known is not None and bool(known.devices)
        return known is None or bool(known.devices)

    def name_of(self, settings: LoadSettings) -> str:
        """The engine of these settings: "llama.cpp b11549", a program's name before it was asked.

        "" when it is not installed.
        """
        known = self.engines.known(settings)
        if known is not None:
            return known.name
        if settings.kind in PYTHON_TITLES:
            return PYTHON_TITLES[settings.kind] if settings.binary is not None else ""
        return settings.binary.name if settings.binary is not None else ""

    def command_line(self, settings: LoadSettings) -> tuple[str, ...]:
        """The command, for showing and copying: no key and no address in it."""
        build = self.engines.shown(settings)
        engine = self.engines.engine(settings)
        return engine.command(build, settings, listening=None, n_threads=self._n_threads())

    def problem_of(self, settings: LoadSettings) -> BackendError | None:
        """Why a start with these settings would be refused at once; None when it would not be."""
        listening = Listening(None, Path(KEY_NAME))
        try:
            build = self.engines.shown(settings)
            engine = self.engines.engine(settings)
            engine.command(build, settings, listening=listening, n_threads=self._n_threads())
        except BackendError as error:
            return error
        return None

    # starting and ending

    def start(self, settings: LoadSettings, *, remember: bool = True) -> Operation[EngineStatus]:
        """Start it and remember the settings. Ends READY, or STOPPED when stopped meanwhile.

        Args:
            settings: what to load, and how.
            remember: False for settings that are only tried.

        Raises (from the operation):
            KimiError: why it did not become ready; the status has it, too.
        """
        return self._io.submit(
            lambda: self._start(lambda ready: self._begin(settings, ready, remember=remember))
        )

    def attach(self, wanted: Attachment, connect: Connect) -> Operation[EngineStatus]:
        """Use a model of a server that is not ours; ends an engine that runs first.

        Ends READY, or STOPPED when detached (``stop``) meanwhile.

        Raises (from the operation):
            KimiError: why it cannot be used; the status has it, too.
        """
        return self._io.submit(
            lambda: self._start(lambda ready: self._begin_attached(wanted, connect, ready))
        )

    def stop(self) -> Operation[EngineStatus]:
        """End it: term, wait, kill, the whole tree. A server that is not ours is only left."""
        return self._io.submit(self._stop)

    def find_leftovers(self) -> Operation[tuple[Leftover, ...]]:
        """Engines of a crashed run of the app."""
        return self._io.pool(find_leftovers, self._paths.runtime)

    def end_leftovers(self, leftovers: Sequence[Leftover]) -> Operation[None]:
        """End them."""
        return self._io.pool(
            end_leftovers, self._paths.runtime, tuple(leftovers), self._grace_s or GRACE_S
        )

    def prepare(self) -> Operation[None]:
        """Do early what a start would wait for: ask a llama-server what it can do, and so on."""
        return self._io.submit(self._prepare)

    def close(self) -> None:
        """End the engine and wait for it. Not on the IO thread."""
        self.stop().result()

    async def _check(self, settings: LoadSettings, model: LocalModel) -> ExactCheck | None:
        machine = self._machine()
        if self._checker is None or machine is None:
            return None
        forecast = self.forecast(settings, model)
        return await self._checker(settings, model, machine, forecast)

    async def _start(self, begin: Begin) -> EngineStatus:
        ready: asyncio.Future[EngineStatus] = asyncio.get_running_loop().create_future()
        ready.add_done_callback(_retrieve)
        await self._turn.acquire()  # here, so that a stop that comes later waits behind it
        self._beginning = self._io.spawn(begin(ready), name="engine start")
        self._beginning.add_done_callback(lambda _: self._turn.release())
        try:
            return await asyncio.shield(ready)
        except asyncio.CancelledError:
            self._io.spawn(self._stop(), name="engine stop")
            raise

    async def _begin(
        self, settings: LoadSettings, ready: asyncio.Future[EngineStatus], *, remember: bool
    ) -> None:
        """Start the process; ``ready`` ends with the status or the error."""
        await self._end_current()
        self._states.move(EngineState.STARTING, settings=settings)
        try:
            run = await self._launched(settings)
        except KimiError as error:
            self._fail(error)
            ready.set_exception(error)
            return
        except asyncio.CancelledError:  # ``stop``, or the loop closes
            self._states.move(EngineState.STOPPING)
            ready.set_result(self._stopped())
            return
        if remember:
            self._remember(settings)
        self._states.move(EngineState.LOADING, pid=run.pid)
        self._driving = self._io.spawn(self._drive(run, ready), name="engine")

    async def _begin_attached(
        self, wanted: Attachment, connect: Connect, ready: asyncio.Future[EngineStatus]
    ) -> None:
        await self._end_current()
        self._states.move(EngineState.STARTING, attached=wanted, engine_name=wanted.server)
        try:
            attachment, endpoint = await connect()
        except KimiError as error:
            self._fail(error)
            ready.set_exception(error)
            return
        except asyncio.CancelledError:
            self._states.move(EngineState.STOPPING)
            ready.set_result(self._stopped())
            return
        client = AttachedClient(attachment, endpoint, self._on_lost)
        self._link = (endpoint, client)
        ready.set_result(self._states.move(EngineState.READY, attached=attachment))

    def _on_lost(self, error: BackendError) -> None:
        """The server that was attached is gone: it may come back, so nothing is forgotten."""
        if self._link is not None and self.status.state in ANSWERING:
            self._fail(error)

    async def _launched(self, settings: LoadSettings) -> EngineRun:
        self._io.pool(importlib.import_module, HTTP_LIBRARY)  # while the process starts
        serves = settings.kind in SERVER_KINDS
        is_there = settings.model_path.is_dir if serves else settings.model_path.is_file
        if not await self._io.in_pool(is_there):
            raise ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": str(settings.model_path)})
        engine = self.engines.engine(settings)
        build = await self.engines.build(settings)
        if serves:
            settings = await self.servers.settled(settings, build)
            self._states.update(settings=settings)
            if missing := self.servers.lacking(settings, build):
                log.warning("%s does not have %s", build.name, ", ".join(missing))
        grace_s = engine.stopping.grace_s if self._grace_s is None else self._grace_s
        gpus = known_gpus(self._machine())
        order = RunOrder(engine, build, settings, self._n_threads(), grace_s, gpus)
        run = self._run = EngineRun(self._io, self._paths, order)
        self._states.update(engine_name=build.name, started_at=run.started_at)
        await run.begin()
        return run

    async def _drive(self, run: EngineRun, ready: asyncio.Future[EngineStatus]) -> None:
        """Follow one engine to its end and publish what happens to it."""

        def on_progress(fraction: float | None, step: LoadStep | None) -> None:
            if self.status.state is EngineState.LOADING:
                self._states.update(load_fraction=fraction, load_step=step)

        def on_ready() -> None:
            if self.status.state is EngineState.LOADING:
                status = self._states.move(EngineState.READY, load_fraction=None, load_step=None)
                ready.set_result(status)

        error = await run.drive(on_progress, on_ready)
        if self.status.state is EngineState.STOPPING:
            self._stopped()
        elif error is not None:
            self._fail(error)
            if not ready.done():
                ready.set_exception(error)
        if not ready.done():
            ready.set_result(self.status)

    async def _stop(self) -> EngineStatus:
        if self._beginning is not None and self.status.state is EngineState.STARTING:
            self._beginning.cancel()  # it may wait long for a program to print its help
        async with self._turn:
            await self._end_current()
            return self.status

    async def _end_current(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            if self.status.state in ANSWERING:
                self._states.move(EngineState.STOPPING)
                self._stopped()
            await link[1].close()
            return
        run, driving = self._run, self._driving
        if run is None or driving is None or self.status.state not in RUNNING:
            return
        self._states.move(EngineState.STOPPING)
        await run.end()
        await asyncio.wait({driving})

    def _stopped(self) -> EngineStatus:
        return self._states.move(
            EngineState.STOPPED,
            pid=None,
            load_fraction=None,
            load_step=None,
            started_at=None,
            engine_name="",
            attached=None,
        )

    def _fail(self, error: KimiError) -> None:
        run = self._run if self.status.attached is None else None
        self._states.move(
            EngineState.FAILED,
            error=error,
            log_tail=run.log.tail(TAIL_LINES) if run is not None else (),
            facts=run.facts if run is not None else None,
            pid=None,
            load_fraction=None,
            load_step=None,
        )

    # engines

    def _begin_with(self, model: LocalModel) -> LoadSettings:
        kind, binary = self.engines.chosen(model)
        return plain_settings(model, kind, binary)

    async def _prepare(self) -> None:
        await self._io.in_pool(importlib.import_module, HTTP_LIBRARY)
        with contextlib.suppress(BackendError):
            await self._io.in_pool(embedded_build)
        with contextlib.suppress(BackendError):  # said when it is started
            await self.engines.chosen_build()

    def takes_workers(self) -> bool:
        """The engine of GGUF files can use RPC workers; taken for true before it was asked."""
        kind, binary = self.engines.chosen()
        known = self.engines.known(LoadSettings(Path(), kind=kind, binary=binary))
        return known is None or RPC_FLAG in known.flags

    def _machine_alone(self) -> Machine | None:
        machine = self._machine()
        return None if machine is None else without_workers(machine)

    def _n_threads(self) -> int:
        """The planner's count: more threads than physical cores collapse the speed."""
        machine = self._machine()
        if machine is not None:
            return threads_for(machine, Wishes())[0]
        return psutil.cpu_count(logical=False) or 1

    def _remember(self, settings: LoadSettings) -> None:
        try:
            self.plans.note_start(settings)
        except SettingsError:
            log.warning("the load settings hold, but could not be saved", exc_info=True)


def _retrieve(future: asyncio.Future[EngineStatus]) -> None:
    """Nobody may be left to look at the result; asyncio would complain in the log."""
    if not future.cancelled():
        future.exception()
