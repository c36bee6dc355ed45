"""The machine for the window: the last look, looking again, and what it means.

Looks run in the pool; MachineProbed is published on the IO thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.machine import checks
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.probe import look
from kimi_desktop.machine.types import CheckRow, JudgeMachine, Machine, MachineProbed, Verdict

Look = Callable[[Sequence[Path], GpuReader], Machine]


class MachineService:
    """What this computer is (``ui.bridge.MachineService``)."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        folders: Callable[[], Sequence[Path]],
        gpus: GpuReader | None = None,
        look_at: Look = look,
        *,
        judge: JudgeMachine,
    ) -> None:
        """``folders``: whose volumes to look at. ``gpus``: shared with the monitor."""
        self._io = io
        self._bus = bus
        self._folders = folders
        self._gpus = gpus or GpuReader()
        self._look = look_at
        self._judge = judge
        self._lock = threading.Lock()
        self._machine: Machine | None = None
        self._running: Operation[Machine] | None = None

    @property
    def machine(self) -> Machine | None:
        """The last look, None before the first."""
        return self._machine

    def probe(self) -> Operation[Machine]:
        """Look again; while a look is under way, that one."""
        with self._lock:
            if self._running is None or self._running.done:
                self._running = self._io.submit(self._probe)
            return self._running

    def check_rows(self, machine: Machine, language: Language) -> tuple[CheckRow, ...]:
        """The rows of the hardware check, in words."""
        return checks.check_rows(machine, language)

    def verdict(self, machine: Machine, language: Language) -> Verdict:
        """What the machine is good for: tier, one sentence, how the rows came out."""
        return self._judge(machine, language)

    async def _probe(self) -> Machine:
        started = time.perf_counter()
        machine = await self._io.in_pool(self._look, self._folders(), self._gpus)
        self._machine = machine
        self._bus.publish(MachineProbed(machine, time.perf_counter() - started))
        return machine
