"""Runs the measuring process and passes on what it says. On the IO thread."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.machine.disks import nearest_existing
from kimi_desktop.machine.measured import Measured, keep_measured, with_measured
from kimi_desktop.machine.types import Machine, MeasuredPart

log = logging.getLogger(__name__)

COMMAND = (sys.executable, "-m", "kimi_desktop.machine.bandwidth")
PART_TIMEOUT_S = 15.0
"""A part takes three seconds; a disk or a driver that hangs is given up."""
STOP_TIMEOUT_S = 3.0
NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
"""Keeps Windows from opening a console beside the app's window; 0 elsewhere."""
OWN_FILES = ".kimi-desktop-speed-*"
MOST_FILES = 8


@dataclass(frozen=True, slots=True)
class MeasureJob:
    """One part to measure."""

    part: MeasuredPart
    disk: str = ""
    """What the disk is called by."""
    folder: str = ""
    """On that disk; a file may be written there and is removed again."""
    files: tuple[str, ...] = ()
    """Large files on that disk, which spare the writing."""


Progress = Callable[[MeasuredPart, float], None]
"""(part, 0 ... 1)"""
Measure = Callable[
    [MeasureJob, Progress], Coroutine[Any, Any, tuple[Measured, dict[MeasuredPart, str]]]
]


def jobs_for(machine: Machine, model_files: Sequence[Path]) -> tuple[MeasureJob, ...]:
    """What can be measured on a machine: its memory, each disk, the links of its GPUs."""
    jobs = [MeasureJob(MeasuredPart.RAM)]
    for disk in machine.disks:
        folder = nearest_existing(Path(disk.path))
        files = tuple(str(file) for file in model_files if _same_volume(file, folder))
        if disk.writable or files:
            jobs.append(MeasureJob(MeasuredPart.DISK, disk.path, str(folder), files[:MOST_FILES]))
    if any(gpu.vram_total_bytes for gpu in machine.gpus):
        jobs.append(MeasureJob(MeasuredPart.PCIE))
    return tuple(jobs)


async def measure(
    job: MeasureJob, progress: Progress, *, command: Sequence[str] = COMMAND
) -> tuple[Measured, dict[MeasuredPart, str]]:
    """Measure one part in a child process.

    Args:
        job: what.
        progress: told as it goes.
        command: the measuring program.

    Returns:
        what was measured, and why it was not.
    """
    wish = {"parts": [job.part.value], "folder": job.folder, "files": list(job.files)}
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Ctrl+C in a terminal is ours to handle, by the lifeline
        creationflags=NO_WINDOW,
    )
    assert process.stdin and process.stdout  # noqa: PT018
    found = _Answers(job)
    try:
        process.stdin.write(json.dumps(wish).encode() + b"\n")
        while line := await asyncio.wait_for(process.stdout.readline(), PART_TIMEOUT_S):
            found.take(line, progress)
    except TimeoutError:
        found.give_up("time")
    finally:
        await _stop(process)
        if job.folder:
            _tidy(Path(job.folder))
    if found.current is not None:
        found.give_up(f"exit {process.returncode}")
    return found.measured, found.failed


def measure_all(
    machine: Machine,
    file: Path,
    progress: Progress,
    model_files: Sequence[Path] = (),
    *,
    measure_with: Measure | None = None,
) -> Machine:
    """Measure everything and keep it: the terminal's way. Blocking, on the main thread.

    Returns:
        the machine with what was measured.
    """

    async def run() -> Machine:
        found = machine
        jobs = jobs_for(machine, model_files)
        for number, job in enumerate(jobs):

            def tell(part: MeasuredPart, share: float, number: int = number) -> None:
                progress(part, (number + share) / len(jobs))

            measured, _ = await (measure_with or measure)(job, tell)
            found = with_measured(found, measured)
            if not measured.is_empty:
                try:
                    keep_measured(file, machine, measured)
                except OSError as error:
                    log.warning("measured bandwidths were not kept: %s", error)
        return found

    return asyncio.run(run())


class _Answers:
    """The lines of the child, put together."""

    def __init__(self, job: MeasureJob) -> None:
        self._disk_name = job.disk
        self.measured = Measured()
        self.failed: dict[MeasuredPart, str] = {}
        self.current: MeasuredPart | None = job.part
        """Not answered yet, from the start: a child that never speaks has failed, too."""

    def take(self, line: bytes, progress: Progress) -> None:
        facts: dict[str, Any] = json.loads(line)
        part = MeasuredPart(facts["part"])
        match facts["event"]:
            case "began":
                progress(part, 0.0)
            case "progress":
                progress(part, float(facts["share"]))
            case "failed":
                self.current = None
                self.failed[part] = str(facts["detail"])[:200]
                log.info("%s was not measured: %s", part.value, facts["detail"])
            case "measured":
                self.current = None
                self.measured = self.measured.merged(self._of(part, facts["value"]))
                progress(part, 1.0)  # also when its time was up before all rounds

    def give_up(self, detail: str) -> None:
        if self.current is not None:
            self.failed[self.current] = detail
            log.warning("%s was not measured: %s", self.current.value, detail)
            self.current = None

    def _of(self, part: MeasuredPart, value: Any) -> Measured:  # noqa: ANN401
        if part is MeasuredPart.RAM:
            return Measured(ram=float(value))
        if part is MeasuredPart.DISK:
            return Measured(disks={self._disk_name: float(value)})
        return Measured(links={str(name): float(rate) for name, rate in value.items()})


async def _stop(process: asyncio.subprocess.Process) -> None:
    """End the child by its lifeline; by force when it does not listen."""
    if process.returncode is not None:
        return
    if process.stdin:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), STOP_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def _same_volume(file: Path, folder: Path) -> bool:
    try:
        return file.stat().st_dev == folder.stat().st_dev
    except OSError:
        return False


def _tidy(folder: Path) -> None:
    """What a child that was ended has left."""
    try:
        for file in folder.glob(OWN_FILES):
            file.unlink(missing_ok=True)
    except OSError as error:
        log.warning("a file of the measurement stays in %s: %s", folder, error)
