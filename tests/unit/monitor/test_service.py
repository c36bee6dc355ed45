from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus
from kimi_desktop.base.errors import ErrorCode, HardwareError, MonitorError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.monitor.activity import Doing
from kimi_desktop.monitor.service import MonitorService
from kimi_desktop.monitor.types import Phase, Sample, SampleTaken
from tests.support.samples import sample


class Scripted:
    """A sampler that remembers what it was told."""

    def __init__(self) -> None:
        self.asked: list[tuple[int | None, Doing, float]] = []
        self.errors: list[Exception] = []

    async def take(self, engine_pid: int | None, doing: Doing, at: float) -> Sample:
        self.asked.append((engine_pid, doing, at))
        if self.errors:
            raise self.errors.pop(0)
        return sample(at, phase=doing.phase, tokens_per_s=doing.tokens_per_s)


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


class Watch:
    """Collects samples; ``wait`` for so many."""

    def __init__(self, bus: EventBus) -> None:
        self.samples: list[Sample] = []
        self.threads: set[str] = set()
        self._changed = threading.Condition()
        bus.subscribe(self._on)

    def _on(self, event: Event) -> None:
        if isinstance(event, SampleTaken):
            with self._changed:
                self.samples.append(event.sample)
                self.threads.add(threading.current_thread().name)
                self._changed.notify_all()

    def wait(self, count: int) -> list[Sample]:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.samples) >= count, 30)
            return list(self.samples)


def make(
    io: IoLoop, bus: EventBus, sampler: Scripted, times: Iterator[float] | None = None
) -> MonitorService:
    clock = times or itertools.count(1000.0)
    return MonitorService(
        io,
        bus,
        sampler=sampler,  # type: ignore[arg-type]
        wall_clock=lambda: next(clock),
        period_s=0.005,
    )


def test_samples_are_published_and_kept(io: IoLoop) -> None:
    bus = EventBus()
    watch, monitor = Watch(bus), make(io, bus, Scripted())
    assert monitor.history(300) == ()
    monitor.start()
    monitor.start()  # a second start changes nothing
    seen = watch.wait(3)
    monitor.close()
    assert watch.threads == {"kimi-io"}
    assert [entry.at for entry in seen[:3]] == [1000.0, 1001.0, 1002.0]
    assert monitor.history(300)[:3] == tuple(seen[:3])


def test_close_ends_it_and_a_start_goes_on(io: IoLoop) -> None:
    bus = EventBus()
    watch, monitor = Watch(bus), make(io, bus, Scripted())
    monitor.close()  # not yet started
    monitor.start()
    watch.wait(1)
    monitor.close()
    before = len(monitor.history(300))
    monitor.start()
    watch.wait(before + 2)
    monitor.close()
    assert len(monitor.history(300)) > before


def test_the_engine_is_listened_to(io: IoLoop) -> None:
    bus, sampler = EventBus(), Scripted()
    watch, monitor = Watch(bus), make(io, bus, sampler)
    monitor.start()
    bus.publish(EngineStateChanged(EngineStatus(EngineState.LOADING, pid=77)))
    watch.wait(len(watch.samples) + 2)
    assert sampler.asked[-1][:2] == (77, Doing(Phase.LOAD, None, None))
    monitor.close()
    bus.publish(EngineStateChanged(EngineStatus(EngineState.STOPPED)))
    monitor.start()
    watch.wait(len(watch.samples) + 2)
    assert sampler.asked[-1][0] == 77  # nobody listened while it was closed
    monitor.close()


def test_the_chat_tells_the_speed(io: IoLoop) -> None:
    bus = EventBus()
    watch, monitor = Watch(bus), make(io, bus, Scripted())
    monitor.note_prefill(10, 100)
    monitor.note_tokens_per_s(18.4, prefill=300.0)
    monitor.start()
    (first, *_) = watch.wait(1)
    assert (first.phase, first.tokens_per_s) == (Phase.DECODE, 18.4)
    monitor.note_phase(Phase.IDLE)
    seen = watch.wait(len(watch.samples) + 3)
    monitor.close()
    assert (seen[-1].phase, seen[-1].tokens_per_s) == (Phase.IDLE, None)


def test_a_second_that_fails_is_skipped_and_said_once(
    io: IoLoop, caplog: pytest.LogCaptureFixture
) -> None:
    bus, sampler = EventBus(), Scripted()
    error = HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "RAM"})
    sampler.errors = [error, error, RuntimeError("odd")]
    watch, monitor = Watch(bus), make(io, bus, sampler)
    monitor.start()
    watch.wait(2)
    monitor.close()
    assert caplog.text.count("no sample") == 2


def test_a_clock_that_is_set_back(io: IoLoop) -> None:
    """Times in the history keep their order, and the newest are those of the wall clock."""
    bus = EventBus()
    times = itertools.chain([5000.0, 5001.0, 1000.0, 1001.0], itertools.count(1002.0))
    watch, monitor = Watch(bus), make(io, bus, Scripted(), times)
    monitor.start()
    watch.wait(4)
    monitor.close()
    shown = [entry.at for entry in monitor.history(300)]
    assert shown == sorted(set(shown))
    assert shown[2:4] == [1000.0, 1001.0]
    assert shown[1] < 1000.0


def test_a_clock_that_trembles(io: IoLoop) -> None:
    bus = EventBus()
    times = itertools.chain([100.0, 99.999, 100.0], itertools.count(101.0))
    watch, monitor = Watch(bus), make(io, bus, Scripted(), times)
    monitor.start()
    watch.wait(4)
    monitor.close()
    shown = [entry.at for entry in monitor.history(300)][:4]
    assert shown == pytest.approx([100.0, 100.001, 100.002, 101.0])


def test_export(io: IoLoop, tmp_path: Path) -> None:
    bus = EventBus()
    watch, monitor = Watch(bus), make(io, bus, Scripted())
    monitor.start()
    watch.wait(3)
    monitor.close()
    file = monitor.export_csv(tmp_path / "samples.csv").result(30)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + len(monitor.history(300))
    with pytest.raises(MonitorError):
        monitor.export_csv(tmp_path / "missing" / "samples.csv").result(30)
