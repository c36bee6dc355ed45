"""What a process tree holds and does: memory, disk reads, CPU time. Pool threads.

``LinuxProcesses`` reads /proc (``root`` is "/" or a recorded tree), ``PsutilProcesses`` serves
macOS and Windows. ``TreeMeter`` turns two readings into rates.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kimi_desktop.base.units import KIB

# A gap this long (a suspended laptop) makes a rate over it meaningless.
MAX_GAP_S = 5.0
# Start times have a resolution of 10 ms; a process is new when it is younger than the last
# reading is old, give or take.
AGE_SLACK_S = 0.1


@dataclass(frozen=True, slots=True)
class ProcessReading:
    """One process at one moment. None = the system does not tell."""

    pid: int
    age_s: float
    rss_bytes: int
    anonymous_bytes: int | None
    """Without pages of files."""
    droppable_bytes: int
    """Pages of files that the system counts as available, since it may drop them."""
    read_bytes: int | None
    """From storage, since its start."""
    cpu_s: float
    """User and system time, since its start."""


@dataclass(frozen=True, slots=True)
class TreeUsage:
    """A process tree at one moment."""

    pids: frozenset[int]
    rss_bytes: int
    anonymous_bytes: int | None
    droppable_bytes: int
    read_bytes_per_s: float | None
    """None at the first reading, and where the system does not tell."""
    cpu_percent: float | None


class ProcessReader(Protocol):
    """Reads process trees."""

    def read(self, root_pid: int) -> tuple[ProcessReading, ...]:
        """The process and all below it; empty when it is gone."""

    def exists(self, pid: int) -> bool:
        """Whether such a process is to be seen from here."""


class TreeMeter:
    """Remembers the last reading of one tree."""

    def __init__(self) -> None:
        self._last: Mapping[int, ProcessReading] = {}
        self._last_at: float | None = None

    def measure(self, readings: Iterable[ProcessReading], now_s: float) -> TreeUsage | None:
        """The usage now, with rates since the last call. None when there is no process."""
        current = {reading.pid: reading for reading in readings}
        elapsed = None if self._last_at is None else now_s - self._last_at
        before, self._last, self._last_at = self._last, current, now_s
        if not current:
            return None
        anonymous = [reading.anonymous_bytes for reading in current.values()]
        read_rate = cpu_percent = None
        if elapsed is not None and 0 < elapsed <= MAX_GAP_S:
            deltas = [_delta(reading, before, elapsed) for reading in current.values()]
            cpu_percent = 100 * sum(cpu for cpu, _ in deltas) / elapsed
            if all(read is not None for _, read in deltas):
                read_rate = sum(read or 0 for _, read in deltas) / elapsed
        return TreeUsage(
            pids=frozenset(current),
            rss_bytes=sum(reading.rss_bytes for reading in current.values()),
            anonymous_bytes=None if None in anonymous else sum(part or 0 for part in anonymous),
            droppable_bytes=sum(reading.droppable_bytes for reading in current.values()),
            read_bytes_per_s=read_rate,
            cpu_percent=cpu_percent,
        )


def _delta(
    reading: ProcessReading, before: Mapping[int, ProcessReading], elapsed_s: float
) -> tuple[float, int | None]:
    """CPU seconds and bytes read since the last reading.

    A process that started since counts from zero; an older one that was not there before (another
    tree was watched) from now. A number that was given to another process starts anew.
    """
    old = before.get(reading.pid)
    if old is not None and reading.age_s < old.age_s:
        old = None
    if old is None:
        is_new = reading.age_s <= elapsed_s + AGE_SLACK_S
        return (reading.cpu_s, reading.read_bytes) if is_new else (0.0, _zero(reading))
    if reading.read_bytes is None or old.read_bytes is None:
        return max(reading.cpu_s - old.cpu_s, 0.0), None
    return max(reading.cpu_s - old.cpu_s, 0.0), max(reading.read_bytes - old.read_bytes, 0)


def _zero(reading: ProcessReading) -> int | None:
    return None if reading.read_bytes is None else 0


def process_reader() -> ProcessReader:
    """The reader for this system."""
    return LinuxProcesses() if platform.system() == "Linux" else PsutilProcesses()


class LinuxProcesses:
    """From /proc: about 0.1 ms for a process."""

    def __init__(
        self,
        root: Path = Path("/"),
        uptime_s: Callable[[], float] | None = None,
        ticks_per_s: int | None = None,
    ) -> None:
        self._proc = root / "proc"
        # Start times count from the boot, suspends included.
        self._uptime_s = uptime_s or _uptime_s
        self._ticks_per_s = ticks_per_s or os.sysconf("SC_CLK_TCK")

    def read(self, root_pid: int) -> tuple[ProcessReading, ...]:
        """The process and all below it; empty when it is gone."""
        readings: dict[int, ProcessReading] = {}
        waiting = [root_pid]
        while waiting:
            pid = waiting.pop()
            if pid in readings or (reading := self._read_one(pid)) is None:
                continue
            readings[pid] = reading
            waiting.extend(self._children(pid))
        return tuple(readings.values())

    def exists(self, pid: int) -> bool:
        """Whether /proc shows it."""
        return (self._proc / str(pid)).exists()

    def _children(self, pid: int) -> list[int]:
        """Each thread lists the children that it made."""
        found: list[int] = []
        folder = f"{self._proc}/{pid}/task"
        try:
            threads = os.listdir(folder)  # noqa: PTH208 - as in _read
        except OSError:
            return []
        for thread in threads:
            text = _read(f"{folder}/{thread}/children")
            found.extend(int(number) for number in (text or "").split())
        return found

    def _read_one(self, pid: int) -> ProcessReading | None:
        folder = f"{self._proc}/{pid}"
        stat = _read(f"{folder}/stat")
        status = _read(f"{folder}/status")
        if not stat or not status:
            return None
        # The name may hold blanks and brackets: fields count from the last bracket (proc(5)).
        fields = stat.rpartition(")")[2].split()
        if len(fields) < 20 or fields[0] in ("Z", "X"):
            return None
        sizes = _sizes(status)
        anonymous = None
        if "RssAnon" in sizes:
            anonymous = sizes["RssAnon"] + sizes.get("RssShmem", 0)
        return ProcessReading(
            pid=pid,
            age_s=max(self._uptime_s() - int(fields[19]) / self._ticks_per_s, 0.0),
            rss_bytes=sizes.get("VmRSS", 0),
            anonymous_bytes=anonymous,
            # Pages that mlock holds are not available to others.
            droppable_bytes=max(sizes.get("RssFile", 0) - sizes.get("VmLck", 0), 0),
            read_bytes=_read_bytes(_read(f"{folder}/io")),
            cpu_s=(int(fields[11]) + int(fields[12])) / self._ticks_per_s,
        )


class PsutilProcesses:
    """macOS and Windows."""

    def read(self, root_pid: int) -> tuple[ProcessReading, ...]:
        """The process and all below it; empty when it is gone."""
        import psutil  # noqa: PLC0415 - 35 ms that the window's start should not pay

        try:
            root = psutil.Process(root_pid)
            processes = [root, *root.children(recursive=True)]
        except psutil.Error:
            return ()
        readings = []
        for process in processes:
            try:
                readings.append(_reading_of(process))
            except psutil.Error:  # it ended meanwhile
                continue
        return tuple(readings)

    def exists(self, pid: int) -> bool:
        """Whether psutil knows it."""
        import psutil  # noqa: PLC0415

        return bool(psutil.pid_exists(pid))


def _reading_of(process: Any) -> ProcessReading:  # noqa: ANN401 - psutil has no types
    """One psutil process.

    Raises:
        psutil.Error: it ended.
    """
    with process.oneshot():
        memory, times = process.memory_info(), process.cpu_times()
        # Windows counts what only this process has; macOS does not tell.
        private = getattr(memory, "private", None)
        anonymous = None if private is None else min(private, memory.rss)
        counters = process.io_counters() if hasattr(process, "io_counters") else None
        return ProcessReading(
            pid=process.pid,
            age_s=max(time.time() - process.create_time(), 0.0),
            rss_bytes=memory.rss,
            anonymous_bytes=anonymous,
            droppable_bytes=0 if anonymous is None else memory.rss - anonymous,
            read_bytes=None if counters is None else counters.read_bytes,
            cpu_s=times.user + times.system,
        )


def _uptime_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _read(path: str) -> str | None:
    """Plain open: pathlib would double the cost of a sample."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return None


def _sizes(status: str) -> dict[str, int]:
    """The lines of status that end in kB."""
    sizes: dict[str, int] = {}
    for line in status.splitlines():
        if line.endswith(" kB"):
            name, _, rest = line.partition(":")
            sizes[name] = int(rest[:-3]) * KIB
    return sizes


def _read_bytes(text: str | None) -> int | None:
    """None: the file is for the same user alone."""
    for line in (text or "").splitlines():
        name, _, value = line.partition(": ")
        if name == "read_bytes":
            return int(value)
    return None
