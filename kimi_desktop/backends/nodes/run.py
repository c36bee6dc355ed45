"""One model over several machines, from the first start to the last end. IO thread."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

from kimi_desktop.backends.nodes.scripts import ENDED, INTERRUPT_S, TERMINATE_S, leashed
from kimi_desktop.backends.nodes.shell import last_line, name_of, shell_words, spawn
from kimi_desktop.backends.nodes.types import Node
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.planner.vllm_nodes import NodeCommand

READY = "Application startup complete"
KEPT_LINES = 40
GRACE_S = INTERRUPT_S + TERMINATE_S + 10.0
"""Longer than the script on the other side takes at most."""


class NodesRun:
    """Starts a command on every machine; when one ends, all end."""

    def __init__(
        self,
        io: IoLoop,
        nodes: Sequence[Node],
        commands: Sequence[NodeCommand],
        logs: Path,
        port: int,
    ) -> None:
        """Join it.

        Args:
            io: where it runs.
            nodes: the machines.
            commands: one each, in the same order.
            logs: a folder: ``vllm-node-0.log`` and so on.
            port: of the API on the first one.
        """
        self._io = io
        self._nodes = tuple(nodes)
        self._commands = tuple(commands)
        self._logs = logs
        self._port = port
        self.key = secrets.token_urlsafe(24)
        """Of the API; a fresh one per start."""
        self.on_line: Callable[[int, str], None] = lambda node, line: None
        self._processes: list[asyncio.subprocess.Process] = []
        self._readers: list[asyncio.Task[None]] = []
        self._ready = asyncio.Event()
        self._last: dict[int, deque[str]] = {}

    async def begin(self) -> None:
        """Start all of them and wait until the first one answers requests.

        Raises:
            BackendError: NODE_ENDED, NODE_NO_SSH; nothing runs any more then.
        """
        try:
            for number, (node, command) in enumerate(zip(self._nodes, self._commands, strict=True)):
                forwarded = (self._port,) if number == 0 else ()
                process = await spawn(shell_words(node, leashed(command), forwarded))
                self._processes.append(process)
                reader = self._read(number, process)
                self._readers.append(self._io.spawn(reader, name=f"node {number}"))
                with contextlib.suppress(OSError):  # it has ended: its reader says why
                    assert process.stdin is not None
                    process.stdin.write(f"{self.key}\n".encode())
                    await process.stdin.drain()
            await self._until(self._ready)
        except BaseException:
            await self.end()
            raise

    async def wait(self) -> BackendError:
        """Until one of them ends by itself, and why."""
        try:
            await self._until(asyncio.Event())
        except BackendError as error:
            return error
        raise AssertionError  # nobody sets it

    async def end(self) -> None:
        """Let go of all leashes, then wait for the scripts behind them."""
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await asyncio.gather(*(process.wait() for process in self._processes))
        for process in self._processes:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)

    async def _until(self, wanted: asyncio.Event) -> None:
        """Wait for what is wanted, or fail with the first machine that ends."""
        waiting = self._io.spawn(wanted.wait(), name="nodes wait")
        try:
            await asyncio.wait([waiting, *self._readers], return_when=asyncio.FIRST_COMPLETED)
            for number, reader in enumerate(self._readers):
                if reader.done():
                    raise self._ended(number)
        finally:
            waiting.cancel()

    def _ended(self, number: int) -> BackendError:
        said = [line for line in self._last.get(number, ()) if not line.startswith(ENDED)]
        detail = last_line("\n".join(said)).replace(self.key, "***")
        params = {"node": name_of(self._nodes[number]), "detail": detail}
        return BackendError(ErrorCode.NODE_ENDED, params)

    async def _read(self, number: int, process: asyncio.subprocess.Process) -> None:
        last = self._last[number] = deque(maxlen=KEPT_LINES)
        assert process.stdout is not None
        with (self._logs / f"vllm-node-{number}.log").open("wb") as log:
            while raw := await _line(process.stdout):
                _write(log, raw, self.key)
                line = raw.decode("utf-8", "replace").rstrip()
                last.append(line)
                self.on_line(number, line)
                if number == 0 and READY in line:
                    self._ready.set()
        await process.wait()


async def _line(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await stream.read(error.consumed)


def _write(log: BinaryIO, raw: bytes, key: str) -> None:
    log.write(raw.replace(key.encode(), b"***"))
    log.flush()
