"""The machine for the window: the last look, looking again, measuring, and what it means.

Looks run in the pool, measurements in a child process; events are published on the IO thread.
"""

from __future__ import annotations

import logging
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
from kimi_desktop.machine.measured import (
    Measured,
    keep_measured,
    read_measured,
    with_measured,
)
from kimi_desktop.machine.measuring import Measure, jobs_for, measure
from kimi_desktop.machine.probe import look
from kimi_desktop.machine.types import (
    CheckRow,
    JudgeMachine,
    Machine,
    MachineProbed,
    MeasuredPart,
    MeasureProgressed,
    Verdict,
)

log = logging.getLogger(__name__)

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
        measured_file: Path | None = None,
        model_files: Callable[[], Sequence[Path]] = tuple,
        measure_with: Measure = measure,
    ) -> None:
        """The machine.

        Args:
            io: where looks and measurements run.
            bus: where they are published.
            folders: whose volumes to look at.
            gpus: shared with the monitor.
            look_at: one look.
            judge: what a machine is good for.
            measured_file: keeps measured bandwidths between starts; None = nowhere.
            model_files: large files that a disk can be measured with, the largest first.
            measure_with: measures one part in a child process.
        """
        self._io = io
        self._bus = bus
        self._folders = folders
        self._gpus = gpus or GpuReader()
        self._look = look_at
        self._judge = judge
        self._measured_file = measured_file
        self._model_files = model_files
        self._measure_with = measure_with
        self._took_s = 0.0
        self._measuring: Operation[Machine] | None = None
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

    def measure(self) -> Operation[Machine]:
        """Measure RAM, disks and GPU links, some three seconds each; while it runs, that one.

        Publishes MeasureProgressed, and MachineProbed after every part: what was measured holds
        when the rest is cancelled. A part that cannot be measured is passed over.
        """
        with self._lock:
            if self._measuring is None or self._measuring.done:
                self._measuring = self._io.submit(self._measure)
            return self._measuring

    def lacks_measures(self, machine: Machine) -> bool:
        """Main memory of this machine was never measured."""
        return machine.memory.read_bytes_per_s_measured is None

    def check_rows(self, machine: Machine, language: Language) -> tuple[CheckRow, ...]:
        """The rows of the hardware check, in words."""
        return checks.check_rows(machine, language)

    def verdict(self, machine: Machine, language: Language) -> Verdict:
        """What the machine is good for: tier, one sentence, how the rows came out."""
        return self._judge(machine, language)

    async def _probe(self) -> Machine:
        started = time.perf_counter()
        machine = await self._io.in_pool(self._look_once)
        self._machine = machine
        self._took_s = time.perf_counter() - started
        self._bus.publish(MachineProbed(machine, self._took_s))
        return machine

    def _look_once(self) -> Machine:
        machine = self._look(self._folders(), self._gpus)
        if self._measured_file is None:
            return machine
        return with_measured(machine, read_measured(self._measured_file, machine))

    async def _measure(self) -> Machine:
        machine = self._machine or await self._probe()
        jobs = await self._io.in_pool(jobs_for, machine, self._model_files())
        for number, job in enumerate(jobs):

            def tell(part: MeasuredPart, share: float, number: int = number) -> None:
                self._bus.publish(MeasureProgressed(part, (number + share) / len(jobs)))

            measured, _ = await self._measure_with(job, tell)
            if measured.is_empty:
                continue
            machine = with_measured(self._machine or machine, measured)
            self._machine = machine
            await self._io.in_pool(self._keep, machine, measured)
            self._bus.publish(MachineProbed(machine, self._took_s))
        return machine

    def _keep(self, machine: Machine, measured: Measured) -> None:
        if self._measured_file is not None:
            try:
                keep_measured(self._measured_file, machine, measured)
            except OSError as error:  # it holds until the app ends
                log.warning("measured bandwidths were not kept: %s", error)
