"""The verb ``worker``: lends this machine's devices to another one. Main thread."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TextIO

from kimi_desktop.backends.rpc.addresses import WorkerAddress, address_here
from kimi_desktop.backends.rpc.program import (
    find_worker_program,
    probe_worker_program,
    worker_command,
)
from kimi_desktop.backends.rpc.run import WorkerRun
from kimi_desktop.backends.rpc.types import WorkerFacts
from kimi_desktop.base.errors import BackendError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.terminal import json_text
from kimi_desktop.base.units import GIB

POLL_S = 0.2


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What to lend, and where."""

    address: str
    """Of this machine; "" = the user has not said."""
    port: int
    devices: tuple[str, ...] = ()
    """llama.cpp's names; none = all."""


def run_worker(
    paths: AppPaths,
    options: WorkerOptions,
    llama_server: str,
    language: Language,
    *,
    json_output: bool,
    out: TextIO = sys.stdout,
    error_out: TextIO = sys.stderr,
) -> int:
    """Start the worker and hold it until Ctrl+C or SIGTERM.

    Args:
        paths: of the profile.
        options: what to lend, and where.
        llama_server: the binary that was chosen in the settings; "" = none.
        language: of the sentences.
        json_output: one object per event.
        out: where to tell.
        error_out: for the warning.

    Raises:
        BackendError: it cannot be started, or ended by itself.
    """
    address = WorkerAddress(address_here(options.address), options.port)
    path = find_worker_program(llama_server)
    teller = _Teller(out, language, json_output=json_output)
    io = IoLoop()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)
    run: WorkerRun | None = None
    try:
        program = io.submit(lambda: probe_worker_program(path)).result()
        run = WorkerRun(io, paths, address, worker_command(program, address, options.devices))
        run.on_guest = teller.guest
        error_out.write(message("workers.warning", language, address=str(address)) + "\n")
        error_out.flush()
        teller.ready(io.submit(run.begin).result(), run)
        raise _end_of(io, run)
    finally:
        if run is not None:
            io.submit(run.end).result()
        io.close()


def _end_of(io: IoLoop, run: WorkerRun) -> BackendError:
    """Wait in steps, so that Ctrl+C is heard."""
    waiting = io.submit(run.wait)
    never = threading.Event()
    while not waiting.done:
        never.wait(POLL_S)
    return waiting.result()


def _interrupt(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise KeyboardInterrupt


class _Teller:
    """Lines for people, or one object per event."""

    def __init__(self, out: TextIO, language: Language, *, json_output: bool) -> None:
        self._out = out
        self._language = language
        self._json = json_output

    def ready(self, facts: WorkerFacts, run: WorkerRun) -> None:
        """It listens: what it lends, and what to type on the first machine."""
        names = [device.description for device in run.devices]
        command = add_command(facts, names)
        if self._json:
            self._say(
                event="ready",
                address=str(facts.address),
                protocol=facts.version_text,
                pid=run.pid,
                devices=[
                    {"name": name, "total": memory.total_bytes, "free": memory.free_bytes}
                    for name, memory in zip(
                        names or [""] * len(facts.devices), facts.devices, strict=False
                    )
                ],
                command=command,
            )
            return
        self._line("workers.ready", address=str(facts.address), version=facts.version_text)
        for number, memory in enumerate(facts.devices):
            name = names[number] if number < len(names) else str(number)
            self._line(
                "workers.device",
                name=name,
                total=f"{memory.total_bytes / GIB:.1f}",
                free=f"{memory.free_bytes / GIB:.1f}",
            )
        self._line("workers.type_there", command=command)
        self._line("workers.end")

    def guest(self, came: bool) -> None:
        """An engine has come or gone."""
        if self._json:
            self._say(event="connected" if came else "left")
        else:
            self._line("workers.connected" if came else "workers.left")

    def _line(self, key: str, **params: str) -> None:
        self._out.write(message(key, self._language, **params) + "\n")
        self._out.flush()

    def _say(self, **event: object) -> None:
        self._out.write(json_text(event) + "\n")
        self._out.flush()


def add_command(facts: WorkerFacts, names: Sequence[str]) -> str:
    """What to type on the first machine."""
    name = next(iter(names), "").replace('"', "")
    named = f' --device "{name}"' if name else ""
    return f"kimi-desktop workers add {facts.address}{named}"
