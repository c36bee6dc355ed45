"""Programs that hold a GPU's memory: who they are, and ending one when the user says so.

Pool threads. A process id may be given to another program; the time of its beginning tells.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass

from kimi_desktop.base.errors import ErrorCode, HardwareError, Param
from kimi_desktop.machine.types import GpuReading

log = logging.getLogger(__name__)

END_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class Holder:
    """A program that holds memory of a GPU."""

    pid: int
    created_at: float
    """time.time() of its beginning."""
    name: str
    """"python3.11", "llama-server"."""
    gpu: int
    vram_bytes: int | None
    """None: the system does not say (Windows)."""


def holders_of(readings: Iterable[GpuReading], own_pids: Iterable[int] = ()) -> tuple[Holder, ...]:
    """The programs of other people and windows, the largest first.

    Args:
        readings: of this moment.
        own_pids: ours; they are left out, and so is this process.
    """
    import psutil  # noqa: PLC0415 - 35 ms that the window's start should not pay

    own = {*own_pids, os.getpid()}
    found: list[Holder] = []
    for reading in readings:
        for pid, size in (reading.process_bytes or {}).items():
            if pid in own:
                continue
            try:
                process = psutil.Process(pid)
                begun, name = process.create_time(), process.name()
            except psutil.Error:  # it has just ended, or lives outside this container
                continue
            found.append(Holder(pid, begun, name, reading.gpu.index, size))
    return tuple(sorted(found, key=lambda holder: -(holder.vram_bytes or 0)))


def end_program(holder: Holder) -> None:
    """Ask it to end, and wait. Blocking.

    Raises:
        HardwareError: PROGRAM_STAYS, it may not be ended or does not end.
    """
    import psutil  # noqa: PLC0415

    params: dict[str, Param] = {"name": holder.name, "pid": holder.pid}
    try:
        process = psutil.Process(holder.pid)
        if abs(process.create_time() - holder.created_at) > 1:
            return  # another program has its number by now
        process.terminate()
        process.wait(END_TIMEOUT_S)
    except psutil.NoSuchProcess:
        return
    except (psutil.AccessDenied, psutil.TimeoutExpired) as error:
        raise HardwareError(ErrorCode.PROGRAM_STAYS, params, cause=error) from error
