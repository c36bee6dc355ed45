"""One life of one engine: from the command to the last byte of its log. IO thread only."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.backends.client import EngineClient
from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.end_facts import ModelFileBefore, facts_of_end, facts_of_refusal
from kimi_desktop.backends.engine_folder import make_engine_folder, remove_engine_folder
from kimi_desktop.backends.engine_log import EngineLog
from kimi_desktop.backends.engines.interface import (
    CONFIG_NAME,
    KEY_NAME,
    Engine,
    LoadReader,
    RunPlace,
)
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.failures import EngineEnd
from kimi_desktop.backends.launch import EngineProcess, LaunchOrder, launch
from kimi_desktop.backends.leftovers import EngineRecord, process_started, write_record
from kimi_desktop.backends.load_progress import STATE_PREFIX, arrived_bytes, model_bytes
from kimi_desktop.backends.oom import oom_kills
from kimi_desktop.backends.ports import free_port, owns_port
from kimi_desktop.backends.probe import WHEEL
from kimi_desktop.backends.sandbox import sandboxed
from kimi_desktop.backends.surroundings import Before, Subject, own_kernel_lines, surroundings
from kimi_desktop.backends.types import Endpoint, EngineFacts, EngineKind, LoadSettings, LoadStep
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.machine.types import Gpu

log = logging.getLogger(__name__)

PROGRESS_EVERY_S = 0.25
ASK_AGAIN_S = 0.05
PROOF_TIMEOUT_S = 30.0
"""After it says that it is ready, an engine must soon answer to its key."""
LOG_FILE = "engine.log"
SOCKET_NAME = "e.sock"


OnProgress = Callable[[float | None, LoadStep | None], None]
"""How far a load is, and what the engine does."""


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What to run."""

    engine: Engine
    build: EngineBuild
    settings: LoadSettings
    n_threads: int
    grace_s: float
    gpus: tuple[Gpu, ...] | None = None
    """As in ``RunPlace``."""


class EngineRun:
    """Start it with ``begin``, then ``drive`` it; ``end`` it at any time."""

    def __init__(self, io: IoLoop, paths: AppPaths, order: RunOrder) -> None:
        self._io = io
        self._paths = paths
        self._order = order
        self._key = secrets.token_urlsafe(32)
        self.log = EngineLog(paths.logs / LOG_FILE, [self._key])
        self.started_at = time.time()
        self.client: EngineClient | None = None
        self.endpoint: Endpoint | None = None
        self._folder: Path | None = None
        self._process: EngineProcess | None = None
        self._progress: LoadReader | None = None
        self._record: Path | None = None
        self._listens = asyncio.Event()
        self.facts: EngineFacts | None = None
        """Of its end, once it has ended on its own or could not be started."""
        self._oom_kills = oom_kills()
        self._file_before = ModelFileBefore()
        self._before = Before()
        self._was_ready = False
        self._is_ending = False

    @property
    def engine(self) -> Engine:
        """What drives it."""
        return self._order.engine

    @property
    def pid(self) -> int | None:
        """Of the engine itself."""
        return self._process.pid if self._process is not None else None

    async def begin(self) -> None:
        """Make the folder, the key and the process.

        Raises:
            BackendError: it cannot be started; nothing is left of it.
        """
        try:
            await self._launch()
        except BaseException as error:
            await self._clean_up()
            if isinstance(error, BackendError):
                cause = error.__cause__ if isinstance(error.__cause__, OSError) else None
                self.facts = await self._io.in_pool(self._refusal, cause)
            raise

    async def drive(
        self, on_progress: OnProgress, on_ready: Callable[[], None]
    ) -> BackendError | None:
        """Follow it to its end; returns why it ended, None when it was asked to."""
        assert self._process is not None
        exited = self._io.spawn(self._process.wait(), name="engine exit")
        try:
            error = await self._load(exited, on_progress)
            if error is None and not exited.done():
                self._was_ready = True
                on_ready()
                await asyncio.wait({exited})
            if error is not None:
                self.facts = await self._io.in_pool(self._facts, None)
                await self._process.end()
            code = await exited
        finally:
            await self._clean_up()
        if error is not None or self._is_ending:
            return error
        return await self._io.in_pool(self._explain, code)

    async def end(self) -> None:
        """End it; returns when nothing is left."""
        self._is_ending = True
        if self._process is not None:
            if self.client is not None:  # an open stream would hold llama.cpp for the whole grace
                await self.client.close()
            await self._process.end()

    async def _launch(self) -> None:
        engine, build, settings = self._order.engine, self._order.build, self._order.settings
        folder = await self._make_folder()
        socket = folder / SOCKET_NAME if build.unix_sockets else None
        port = 0 if socket is not None or engine.picks_port else await self._io.in_pool(free_port)
        if socket is not None or port:
            self.endpoint = Endpoint(socket, port or None, self._key)
        argv = engine.command(
            build,
            settings,
            listening=Listening(socket, folder / KEY_NAME, port),
            n_threads=self._order.n_threads,
        )
        self._file_before = await self._io.in_pool(ModelFileBefore.look, settings.model_path)
        self._before = await self._io.in_pool(Before.look, settings.model_path)
        self._progress = engine.reader(
            settings,
            await self._io.in_pool(model_bytes, settings.model_path),
            lambda: arrived_bytes(self.pid) if self.pid else None,
        )
        if settings.server is not None and settings.server.sandbox:
            if socket is None:  # a port of its network would not be ours
                raise BackendError(ErrorCode.ENGINE_NO_SANDBOX)
            home = self._paths.sandbox_folder
            argv = await self._io.in_pool(sandboxed, argv, folder, home)
        place = RunPlace(folder, self._key, self._order.gpus)
        self._process = await launch(
            self._io,
            LaunchOrder(
                argv,
                engine_environment(os.environ, engine.environment(build, settings, place)),
                folder,
                self._order.grace_s,
                engine.farewell(build),
                interrupts=engine.stopping.interrupts,
                clears_shared_memory=engine.stopping.clears_shared_memory,
            ),
            self.log,
            on_output=self._on_output,
            on_log=self._on_log,
        )
        self._progress.fraction()  # what is mapped now is the program
        await self._io.in_pool(self._write_record, folder)

    async def _load(
        self, exited: asyncio.Task[int | None], on_progress: OnProgress
    ) -> BackendError | None:
        """Until it is ready or has ended; an error when it is neither and cannot be."""
        told: tuple[float | None, LoadStep | None] = (-1.0, None)
        while not exited.done():
            ready = self._io.spawn(self._is_ready(), name="engine ready")
            await asyncio.wait(
                {ready, exited},
                timeout=PROGRESS_EVERY_S,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if ready.done() and ready.result():
                return await self._prove(exited)
            ready.cancel()
            assert self._progress is not None  # made before the process
            now = self._progress.fraction(), self._progress.step
            if now != told:
                told = now
                on_progress(*now)
        return None

    async def _is_ready(self) -> bool:
        """It listens and has loaded: it says so, or /health does."""
        await self._listens.wait()
        if self._progress is not None and self._progress.is_ready:
            return True
        if self.client is None and self.endpoint is not None:
            self.client = EngineClient(self.endpoint)
        if self.client is not None and await self.client.is_healthy():
            return True
        await asyncio.sleep(ASK_AGAIN_S)
        return False

    async def _prove(self, exited: asyncio.Task[int | None]) -> BackendError | None:
        """What answers is the engine that was started.

        It knows our key and insists on it; and where others could listen, the port is its own.
        """
        assert self.endpoint is not None
        self.client = self.client or EngineClient(self.endpoint)
        port = self.endpoint.port
        deadline = time.monotonic() + PROOF_TIMEOUT_S
        while not (
            await self.client.proves_key(self._order.engine.proof)
            and (port is None or await self._io.in_pool(owns_port, self.pid or 0, port))
        ):
            if exited.done():
                return None
            if time.monotonic() > deadline:
                return BackendError(ErrorCode.ENGINE_NOT_READY, {"seconds": round(PROOF_TIMEOUT_S)})
            await asyncio.sleep(ASK_AGAIN_S)
        if self._folder is not None:
            for name in (KEY_NAME, CONFIG_NAME):
                with contextlib.suppress(OSError):
                    await self._io.in_pool((self._folder / name).unlink)
        return None

    def _on_output(self, line: str) -> None:
        if self._order.engine.logs_to_stdout:
            for cleaned in self.log.feed_line(line):
                self._on_log(cleaned)
            return
        if not line.startswith(STATE_PREFIX):  # a state is for us; other words may be the last
            self.log.feed_line(line)
        if self._progress is not None:
            self._progress.take_output(line)
            if self._progress.is_ready and self.endpoint is not None:
                self._listens.set()

    def _on_log(self, line: str) -> None:
        if self._listens.is_set():
            return
        if self._progress is not None:
            self._progress.take_log(line)
        heard = self._order.engine.heard(line)
        if heard is None:
            return
        if self.endpoint is None:
            if heard.port is None:
                return
            self.endpoint = Endpoint(None, heard.port, self._key)
        self._listens.set()

    async def _make_folder(self) -> Path:
        try:
            parent = await self._io.in_pool(self._paths.socket_folder)
            self._folder = await self._io.in_pool(make_engine_folder, parent)
            place = RunPlace(self._folder, self._key)
            await self._io.in_pool(self._order.engine.write_files, place)
        except OSError as error:
            detail = ": ".join(filter(None, [error.filename, error.strerror or str(error)]))
            raise BackendError(
                ErrorCode.ENGINE_NOT_BEGUN, {"detail": detail}, cause=error
            ) from error
        return self._folder

    def _write_record(self, folder: Path) -> None:
        process = self._process
        if process is None or not process.process_started:  # it has already ended
            return
        record = EngineRecord(
            pid=process.pid,
            process_started=process.process_started,
            owner_pid=os.getpid(),
            owner_started=process_started(os.getpid()) or 0.0,
            model_path=str(self._order.settings.model_path),
            folder=str(folder),
        )
        try:
            self._record = write_record(self._paths.runtime, folder.name, record)
        except OSError:
            log.warning("no record of engine %s", process.pid, exc_info=True)

    def _program(self) -> str:
        build = self._order.build
        return WHEEL if build.kind is EngineKind.EMBEDDED else build.program[0]

    def _refusal(self, cause: OSError | None) -> EngineFacts:
        around = self._surroundings(is_alive=False)
        return facts_of_refusal(cause, self.log.lines(), self._order.settings, around)

    def _facts(self, code: int | None) -> EngineFacts:
        is_alive = code is None and self._process is not None and not self._is_ending
        around = self._surroundings(is_alive=is_alive)
        return facts_of_end(
            code=code,
            phase="serve" if self._was_ready else "load",
            lines=(*self.log.lines(), *own_kernel_lines(around, self.pid)),
            oom_kills=oom_kills() - self._oom_kills,
            settings=self._order.settings,
            before=self._file_before,
            is_alive=is_alive,
            around=around,
        )

    def _surroundings(self, *, is_alive: bool) -> dict[str, Any]:
        build = self._order.build
        subject = Subject(
            model=self._order.settings.model_path,
            program="" if build.kind is EngineKind.EMBEDDED else build.program[0],
            pid=self.pid,
            port=self.endpoint.port if self.endpoint is not None else None,
            is_alive=is_alive,
        )
        return surroundings(subject, self._before)

    def _explain(self, code: int | None) -> BackendError:
        self.facts = self._facts(code)
        return self._order.engine.explain(
            EngineEnd(
                code=code,
                was_ready=self._was_ready,
                lines=self.log.lines(),
                oom_kills=oom_kills() - self._oom_kills,
                program=self._program(),
                model=str(self._order.settings.model_path),
            )
        )

    async def _clean_up(self) -> None:
        if self.client is not None:
            await self.client.close()
        await self._io.in_pool(self._remove_files)

    def _remove_files(self) -> None:
        if self._record is not None:
            self._record.unlink(missing_ok=True)
        if self._folder is not None:
            remove_engine_folder(self._folder)
