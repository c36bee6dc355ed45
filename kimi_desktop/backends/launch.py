"""The app's end of an engine: starts the supervisor with the engine below it, and hears both.

IO thread only. The supervisor holds one end of a pipe and this object the other: whatever happens
to the app, the pipe closes and the engine ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.backends.engine_log import EngineLog
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.leftovers import end_tree, process_started
from kimi_desktop.backends.probe import not_startable, python_command, python_path
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop

SUPERVISOR_MODULE = "kimi_desktop.backends.supervisor"
GRACE_S = 10.0
"""llama.cpp gets this long after SIGTERM."""
READ_BYTES = 65_536
LONGEST_EVENT_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class LaunchOrder:
    """What to start and where."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    """Made by ``make_engine_folder``. The engine works in it; the supervisor removes it."""
    grace_s: float = GRACE_S
    farewell: str = ""
    """A line for its stdin before it is asked to end."""
    interrupts: bool = False
    """It is asked by SIGINT, and alone."""
    clears_shared_memory: bool = False
    """What it leaves in /dev/shm is removed."""


class EngineProcess:
    """A running engine. Made by ``launch``."""

    def __init__(
        self,
        supervisor: asyncio.subprocess.Process,
        log: EngineLog,
        on_output: Callable[[str], None],
        on_log: Callable[[str], None],
    ) -> None:
        self._supervisor = supervisor
        self._log = log
        self._on_output = on_output
        self._on_log = on_log
        self._started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
        self.pid = 0
        self.process_started = 0.0
        """time.time() of its beginning, as the system counts."""

    async def wait(self) -> int | None:
        """The exit code once nothing of the engine is left; None if its supervisor was lost."""
        return await asyncio.shield(self._ended)

    async def end(self) -> None:
        """Ask it to end, then end it. Returns when nothing is left."""
        await self._say("end")
        await self.wait()

    async def abandon(self) -> None:
        """Close the pipe: the same for a process of which nothing is known yet."""
        if self._supervisor.stdin is not None:
            self._supervisor.stdin.close()
        await self.wait()

    async def begin(self, io: IoLoop, order: LaunchOrder) -> None:
        """Give the supervisor its order. Once.

        Raises:
            OSError: the system does not run the program.
            BackendError: the supervisor itself failed.
        """
        io.spawn(self._follow(io, order.grace_s), name="engine events")
        message = {
            "argv": list(order.argv),
            "env": dict(order.environment),
            "folder": str(order.folder),
            "owner": os.getpid(),
            "grace_s": order.grace_s,
            "farewell": order.farewell,
            "interrupts": order.interrupts,
            "clears_shared_memory": order.clears_shared_memory,
        }
        await self._say(json.dumps(message))
        self.pid = await self._started
        self.process_started = process_started(self.pid) or 0.0

    async def _say(self, line: str) -> None:
        stdin = self._supervisor.stdin
        if stdin is not None:
            try:
                stdin.write(line.encode() + b"\n")
                await stdin.drain()
            except (ConnectionError, RuntimeError):
                return  # it is gone, and says so through wait()

    async def _follow(self, io: IoLoop, grace_s: float) -> None:
        """Read both pipes to their ends; cancelled (the loop closes), end the engine first."""
        code: int | None = None
        reading = io.spawn(self._read_log(), name="engine log")
        stdout = self._supervisor.stdout
        assert stdout is not None
        try:
            async for line in stdout:
                event = json.loads(line)
                if event["event"] == "exited":
                    code = event["code"]
                self._take(event)
            # Its supervisor was lost: first end what it kept, since workers that live on hold the
            # pipes open, and asyncio's wait() waits for those, too (unless it comes late).
            if code is None and self.pid:
                await io.in_pool(end_tree, self.pid, self.process_started, grace_s)
            await reading
            await self._supervisor.wait()
        except asyncio.CancelledError:
            if self._supervisor.stdin is not None:
                self._supervisor.stdin.close()
            await self._supervisor.wait()
            raise
        finally:
            reading.cancel()
            self._log.close()
            if not self._started.done():
                lost = BackendError(ErrorCode.ENGINE_NOT_BEGUN, {"detail": self._last_line()})
                self._started.set_exception(lost)
            if not self._ended.done():
                self._ended.set_result(code)

    def _take(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "started":
            self._started.set_result(event["pid"])
        elif event["event"] == "failed":
            self._started.set_exception(_system_error(event["errno"], event["detail"]))
        elif event["event"] == "line":
            self._on_output(event["text"])

    async def _read_log(self) -> None:
        stderr = self._supervisor.stderr
        assert stderr is not None
        while chunk := await stderr.read(READ_BYTES):
            for line in self._log.feed(chunk):
                self._on_log(line)

    def _last_line(self) -> str:
        return (self._log.tail(1) or ("supervisor",))[0]


async def launch(
    io: IoLoop,
    order: LaunchOrder,
    log: EngineLog,
    *,
    on_output: Callable[[str], None],
    on_log: Callable[[str], None],
) -> EngineProcess:
    """Start an engine below a supervisor of its own.

    Args:
        io: the IO thread's loop.
        order: what to start.
        log: where its stderr goes.
        on_output: called with each line of its stdout.
        on_log: called with each line of its log, keys removed.

    Raises:
        BackendError: ENGINE_NOT_FOUND, ENGINE_NOT_EXECUTABLE, ENGINE_NOT_BEGUN.
    """
    supervisor = await _start_supervisor(order.folder.parent)
    process = EngineProcess(supervisor, log, on_output, on_log)
    try:
        await process.begin(io, order)
    except OSError as error:
        await process.wait()
        raise not_startable(Path(order.argv[0]), error) from error
    except asyncio.CancelledError:
        await process.abandon()
        raise
    return process


async def _start_supervisor(work_folder: Path) -> asyncio.subprocess.Process:
    command: Sequence[str] = python_command(SUPERVISOR_MODULE, "-S")
    options: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        options = {"creationflags": subprocess.CREATE_NO_WINDOW}
    try:
        return await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=LONGEST_EVENT_BYTES,
            cwd=work_folder,
            env=engine_environment(os.environ, {"PYTHONPATH": python_path()}),
            **options,
        )
    except OSError as error:
        raise not_startable(Path(command[0]), error) from error


def _system_error(number: int | None, detail: str) -> OSError:
    return OSError(number, os.strerror(number)) if number else OSError(detail)
