"""The monitor on a real child that allocates, maps, reads and works."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.machine.linux_disks import LinuxVolumes
from kimi_desktop.monitor.processes import LinuxProcesses, PsutilProcesses
from kimi_desktop.monitor.service import MonitorService
from kimi_desktop.monitor.types import Phase, Sample, SampleTaken, ram_split

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

MIB = 2**20
FILE_BYTES = 64 * MIB

# An engine in small: a parent (the supervisor) with a child that holds the memory. Each line on
# stdin is one order; both end when stdin closes.
CHILD = """
import mmap, os, sys
held = []
print(os.getpid(), flush=True)
for line in sys.stdin:
    order, _, argument = line.strip().partition(" ")
    if order == "allocate":
        held.append(bytearray(os.urandom(1)) * int(argument))
    elif order == "map":
        descriptor = os.open(argument, os.O_RDONLY)
        view = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ)
        held.append(view)
        sum(view[offset] for offset in range(0, len(view), 4096))
    elif order == "read":
        descriptor = os.open(argument, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        while os.read(descriptor, 1 << 20):
            pass
        os.close(descriptor)
    elif order == "work":
        sum(range(int(argument)))
    print("done", flush=True)
"""
PARENT = f"""
import subprocess, sys
sys.exit(subprocess.call([sys.executable, "-c", {CHILD!r}]))
"""


class Engine:
    """The process tree and its orders."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT], stdin=pipe, stdout=pipe, text=True
        )
        self.child_pid = int(self._line())

    @property
    def pid(self) -> int:
        return self.process.pid

    def order(self, words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{words}\n")
        self.process.stdin.flush()
        assert self._line() == "done"

    def end(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@pytest.fixture
def engine() -> Iterator[Engine]:
    tree = Engine()
    yield tree
    tree.end()


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    file = tmp_path / "weights.bin"
    with file.open("wb") as out:
        out.write(os.urandom(MIB) * (FILE_BYTES // MIB))
        out.flush()
        os.fsync(out.fileno())
    return file


def held(pid: int) -> tuple[int, int, int]:
    """RSS, anonymous and file bytes of the tree."""
    readings = LinuxProcesses().read(pid)
    return (
        sum(reading.rss_bytes for reading in readings),
        sum(reading.anonymous_bytes or 0 for reading in readings),
        sum(reading.droppable_bytes for reading in readings),
    )


def test_the_tree_is_the_parent_and_its_child(engine: Engine) -> None:
    expected = [engine.pid, engine.child_pid]
    assert sorted(entry.pid for entry in LinuxProcesses().read(engine.pid)) == sorted(expected)
    assert sorted(entry.pid for entry in PsutilProcesses().read(engine.pid)) == sorted(expected)


def test_allocated_and_mapped_memory_are_told_apart(engine: Engine, weights: Path) -> None:
    rss, anonymous, files = held(engine.pid)
    engine.order(f"allocate {FILE_BYTES}")
    assert FILE_BYTES * 0.95 < held(engine.pid)[1] - anonymous < FILE_BYTES * 1.2
    rss, anonymous, files = held(engine.pid)
    engine.order(f"map {weights}")
    now = held(engine.pid)
    assert FILE_BYTES * 0.95 < now[2] - files < FILE_BYTES * 1.2
    assert now[0] - rss >= FILE_BYTES * 0.95
    assert now[1] - anonymous < FILE_BYTES * 0.2


def test_work_is_cpu_time(engine: Engine) -> None:
    before = sum(reading.cpu_s for reading in LinuxProcesses().read(engine.pid))
    engine.order("work 20000000")
    after = sum(reading.cpu_s for reading in LinuxProcesses().read(engine.pid))
    other = sum(reading.cpu_s for reading in PsutilProcesses().read(engine.pid))
    assert after > before
    assert other == pytest.approx(after, abs=0.05)


def test_reading_from_the_disk_is_counted(engine: Engine, weights: Path) -> None:
    volume = LinuxVolumes().find(weights.parent.resolve())
    if volume.file_system in ("tmpfs", "ramfs", "overlay", "9p"):
        pytest.skip(f"{volume.file_system} has no disk to read from")
    before = [reading.read_bytes for reading in LinuxProcesses().read(engine.pid)]
    engine.order(f"read {weights}")
    after = [reading.read_bytes for reading in LinuxProcesses().read(engine.pid)]
    assert sum(map(int, filter(None, after))) - sum(map(int, filter(None, before))) >= FILE_BYTES


def test_a_tree_that_ended_is_empty() -> None:
    engine = Engine()
    engine.end()
    assert LinuxProcesses().read(engine.pid) == ()


class Watch:
    """Waits for a sample of a kind."""

    def __init__(self, bus: EventBus) -> None:
        self._samples: list[Sample] = []
        self._changed = threading.Condition()
        bus.subscribe(self._on)

    def _on(self, event: Event) -> None:
        if isinstance(event, SampleTaken):
            with self._changed:
                self._samples.append(event.sample)
                self._changed.notify_all()

    def wait_for(self, fits: Callable[[Sample], bool]) -> Sample:
        with self._changed:
            self._samples.clear()
            assert self._changed.wait_for(lambda: any(map(fits, self._samples)), 30)
            return next(filter(fits, self._samples))


def test_the_monitor_watches_an_engine_come_work_and_go(weights: Path, tmp_path: Path) -> None:
    io, bus = IoLoop(), EventBus()
    watch = Watch(bus)
    monitor = MonitorService(io, bus, period_s=0.05)
    monitor.start()
    assert watch.wait_for(lambda sample: True).engine_rss_bytes is None
    engine = Engine()
    try:
        bus.publish(EngineStateChanged(EngineStatus(EngineState.LOADING, pid=engine.pid)))
        seen = watch.wait_for(lambda sample: sample.engine_rss_bytes is not None)
        assert seen.phase is Phase.LOAD
        small = seen.engine_rss_bytes or 0
        engine.order(f"map {weights}")
        seen = watch.wait_for(
            lambda sample: (sample.engine_rss_bytes or 0) > small + FILE_BYTES * 0.9
        )
        split = ram_split(seen)
        assert split.engine_bytes == seen.engine_rss_bytes
        assert split.others_bytes > 0
        bus.publish(EngineStateChanged(EngineStatus(EngineState.GENERATING, pid=engine.pid)))
        monitor.note_tokens_per_s(18.4)
        seen = watch.wait_for(lambda sample: sample.tokens_per_s == 18.4)
        assert seen.phase is Phase.DECODE
    finally:
        engine.end()
    # It died without a word: the numbers stop, the samples go on.
    assert watch.wait_for(lambda sample: sample.engine_rss_bytes is None).ram_used_bytes > 0
    file = monitor.export_csv(tmp_path / "session.csv").result(30)
    phases = {line.split(",")[2] for line in file.read_text(encoding="utf-8").splitlines()[1:]}
    assert {"load", "decode"} <= phases
    monitor.close()
    io.close()
