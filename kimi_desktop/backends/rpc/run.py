"""One life of one worker on this machine, below the same supervisor as engines. IO thread."""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass

from kimi_desktop.backends.engine_folder import make_engine_folder
from kimi_desktop.backends.engine_log import EngineLog
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.launch import EngineProcess, LaunchOrder, launch
from kimi_desktop.backends.ports import owns_port
from kimi_desktop.backends.rpc.addresses import WorkerAddress
from kimi_desktop.backends.rpc.types import WorkerFacts
from kimi_desktop.backends.rpc.wire import ask_worker
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.paths import AppPaths

LOG_FILE = "worker.log"
GRACE_S = 5.0
ASK_AGAIN_S = 0.1
CONNECTED = "Accepted client connection"
LEFT = "Client connection closed"

_DEVICE = re.compile(r"^ {2}(\w+): (.+) \(\d+ MiB, \d+ MiB free\)$")


@dataclass(frozen=True, slots=True)
class LentDevice:
    """A device as llama.cpp names it."""

    name: str
    """"CUDA0", "CPU"."""
    description: str
    """"NVIDIA GeForce RTX 4090"."""


class WorkerRun:
    """Start it with ``begin``, wait for its end with ``wait``, bring it about with ``end``."""

    def __init__(
        self, io: IoLoop, paths: AppPaths, address: WorkerAddress, argv: tuple[str, ...]
    ) -> None:
        self._io = io
        self._paths = paths
        self._address = address
        self._argv = argv
        self.log = EngineLog(paths.logs / LOG_FILE)
        self.devices: list[LentDevice] = []
        """What it lends, once it has begun."""
        self.on_guest: Callable[[bool], None] = lambda _: None
        """An engine has come (True) or gone."""
        self._process: EngineProcess | None = None
        self._own = {CONNECTED, LEFT}
        """What is still to come of our own question."""

    @property
    def pid(self) -> int:
        """Of the worker itself."""
        return self._process.pid if self._process is not None else 0

    async def begin(self) -> WorkerFacts:
        """Start it; returns what it says of itself when it listens.

        Raises:
            BackendError: WORKER_PORT_TAKEN, WORKER_ENDED, or the program cannot be run.
        """
        await self._io.in_pool(self._check_port)
        try:
            parent = await self._io.in_pool(self._paths.socket_folder)
            folder = await self._io.in_pool(make_engine_folder, parent)
        except OSError as error:
            detail = error.strerror or str(error)
            raise BackendError(ErrorCode.WORKER_ENDED, {"detail": detail}, cause=error) from error
        order = LaunchOrder(self._argv, engine_environment(os.environ), folder, GRACE_S)
        self._process = await launch(
            self._io, order, self.log, on_output=self._on_output, on_log=lambda _: None
        )
        exited = self._io.spawn(self._process.wait(), name="worker exit")
        asking = self._io.spawn(self._until_it_answers(), name="worker ready")
        await asyncio.wait({exited, asking}, return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            asking.cancel()
            raise self._why(await exited)
        facts = asking.result()
        if not await self._io.in_pool(owns_port, self.pid, self._address.port):
            await self.end()
            raise self._port_taken()
        return facts

    async def wait(self) -> BackendError:
        """Until it ends by itself; returns why."""
        assert self._process is not None
        return self._why(await self._process.wait())

    async def end(self) -> None:
        """End it; returns when nothing of it is left."""
        if self._process is not None:
            await self._process.end()

    def _check_port(self) -> None:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._address.host, self._address.port))
            except OSError as error:
                raise self._port_taken() from error

    def _port_taken(self) -> BackendError:
        return BackendError(ErrorCode.WORKER_PORT_TAKEN, {"address": str(self._address)})

    async def _until_it_answers(self) -> WorkerFacts:
        while True:
            try:
                return await ask_worker(self._address)
            except BackendError as error:
                if error.code is not ErrorCode.WORKER_UNREACHABLE:
                    raise
            await asyncio.sleep(ASK_AGAIN_S)

    def _on_output(self, line: str) -> None:
        """Its stdout; it is buffered until the first connection, our own question."""
        self.log.feed_line(line)
        if match := _DEVICE.match(line):
            self.devices.append(LentDevice(match[1], match[2]))
        elif line in (CONNECTED, LEFT):
            if line in self._own:
                self._own.remove(line)
            else:
                self.on_guest(line == CONNECTED)

    def _why(self, code: int | None) -> BackendError:
        last = next((line for line in reversed(self.log.tail(20)) if line.strip()), "")
        return BackendError(ErrorCode.WORKER_ENDED, {"detail": last or f"exit code {code}"})
