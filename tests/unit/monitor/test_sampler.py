from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.types import GpuReading, Memory
from kimi_desktop.monitor import sampler as sampler_module
from kimi_desktop.monitor.activity import Doing
from kimi_desktop.monitor.processes import ProcessReading, TreeUsage
from kimi_desktop.monitor.sampler import Sampler, ram_used_bytes
from kimi_desktop.monitor.types import Phase, Sample
from tests.support.machines import GIB, gpu, memory
from tests.support.nvml_playback import PlaybackNvml

DOING = Doing(Phase.DECODE, 18.4, None)


class FixedMemory:
    def __init__(self, seen: Memory) -> None:
        self.seen = seen

    def read(self) -> Memory:
        return self.seen


class Engine:
    """A process tree that works half the time and reads 1 GB a second."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.hidden: set[int] = set()

    def read(self, root_pid: int) -> tuple[ProcessReading, ...]:
        self.seconds += 1
        return (
            ProcessReading(
                pid=root_pid,
                age_s=100 + self.seconds,
                rss_bytes=30 * GIB,
                anonymous_bytes=2 * GIB,
                droppable_bytes=28 * GIB,
                read_bytes=int(self.seconds * 10**9),
                cpu_s=self.seconds / 2,
            ),
        )

    def exists(self, pid: int) -> bool:
        return pid not in self.hidden


class Gpus(GpuReader):
    """Readings as given; may hang or fail."""

    def __init__(self, *readings: GpuReading) -> None:
        super().__init__(PlaybackNvml())
        self.readings = readings
        self.hang: threading.Event | None = None
        self.error: Exception | None = None

    def sample(self) -> tuple[GpuReading, ...]:
        if self.hang is not None:
            self.hang.wait(30)
        if self.error is not None:
            raise self.error
        return self.readings


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


class Ticking:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def make(io: IoLoop, gpus: GpuReader, engine: Engine | None = None) -> Sampler:
    return Sampler(
        io,
        gpus,
        memory=FixedMemory(memory(64, 60)),
        processes=engine or Engine(),
        clock=Ticking(),
    )


def take(io: IoLoop, sampler: Sampler, pid: int | None = 42) -> Sample:
    return io.submit(lambda: sampler.take(pid, DOING, 5.0)).result(30)


def test_one_sample(io: IoLoop) -> None:
    holding = GpuReading(gpu(0), {42: 7 * GIB, 99: GIB})
    sampler = make(io, Gpus(holding))
    take(io, sampler)
    seen = take(io, sampler)
    assert (seen.at, seen.phase, seen.tokens_per_s) == (5.0, Phase.DECODE, 18.4)
    assert seen.ram_total_bytes == 64 * GIB
    assert seen.ram_used_bytes == (4 + 28) * GIB
    assert (seen.engine_rss_bytes, seen.engine_anonymous_bytes) == (30 * GIB, 2 * GIB)
    assert (seen.engine_read_bytes_per_s, seen.engine_cpu_percent) == (10**9, 50.0)
    (card,) = seen.gpus
    assert card.vram_used_bytes == gpu(0).vram_total_bytes - gpu(0).vram_free_bytes
    assert card.engine_vram_bytes == 7 * GIB
    assert (card.power_w, card.temperature_c, card.load_percent) == (30.0, 40, 0)


def test_without_an_engine(io: IoLoop) -> None:
    seen = take(io, make(io, Gpus(GpuReading(gpu(0), {}))), pid=None)
    assert seen.ram_used_bytes == 4 * GIB
    assert (seen.engine_rss_bytes, seen.engine_cpu_percent) == (None, None)
    assert seen.gpus[0].engine_vram_bytes is None


@pytest.mark.parametrize(
    ("processes", "hidden", "held"),
    [
        ({}, set(), 0),
        ({7: GIB}, set(), 0),
        ({42: None}, set(), None),  # Windows does not say
        (None, set(), None),
        ({7: GIB, 8: GIB}, {8}, None),  # the host's numbers, seen from a container
        ({42: GIB, 8: GIB}, {8}, GIB),
    ],
)
def test_vram_of_the_engine(
    io: IoLoop, processes: dict[int, int | None] | None, hidden: set[int], held: int | None
) -> None:
    engine = Engine()
    engine.hidden = hidden
    seen = take(io, make(io, Gpus(GpuReading(gpu(0), processes)), engine))
    assert seen.gpus[0].engine_vram_bytes == held


def test_a_driver_that_hangs_holds_up_nothing_but_the_gpus(
    io: IoLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sampler_module, "GPU_TIMEOUT_S", 0.05)
    gpus = Gpus(GpuReading(gpu(0), {}))
    gpus.hang = threading.Event()
    sampler = make(io, gpus)
    try:
        for _ in range(3):
            seen = take(io, sampler)
            assert seen.gpus == ()
            assert seen.engine_rss_bytes == 30 * GIB
        assert caplog.text.count("has not answered") == 1
    finally:
        gpus.hang.set()
    # The answer that was waited for is old news by now; what matters is that readings go on.
    assert any(take(io, sampler).gpus for _ in range(50))


def test_a_reader_that_raises_costs_only_the_gpus(
    io: IoLoop, caplog: pytest.LogCaptureFixture
) -> None:
    gpus = Gpus(GpuReading(gpu(0), {}))
    gpus.error = RuntimeError("driver bug")
    sampler = make(io, gpus)
    assert take(io, sampler).gpus == ()
    gpus.error = None
    assert len(take(io, sampler).gpus) == 1
    assert "driver bug" in caplog.text


def test_a_card_lost_while_sampling(io: IoLoop, tmp_path: Path) -> None:
    library = PlaybackNvml("h200.json")
    sampler = make(io, GpuReader(library, tmp_path))
    assert len(take(io, sampler).gpus) == 1
    library.lose(0)
    seen = take(io, sampler)
    assert seen.gpus == ()
    assert seen.ram_total_bytes == 64 * GIB


def tree(**changes: object) -> TreeUsage:
    values: dict[str, object] = {
        "pids": frozenset({1}),
        "rss_bytes": 30 * GIB,
        "anonymous_bytes": 2 * GIB,
        "droppable_bytes": 28 * GIB,
        "read_bytes_per_s": None,
        "cpu_percent": None,
    }
    return TreeUsage(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("available_gib", "usage", "used_gib"),
    [
        (60, None, 4),
        (60, tree(), 32),
        (60, tree(anonymous_bytes=None, droppable_bytes=0), 30),
        (20, tree(anonymous_bytes=None, droppable_bytes=0), 44),
        (10, tree(), 64),  # never more than there is
    ],
)
def test_used_memory_has_the_mapped_weights(
    available_gib: float, usage: TreeUsage | None, used_gib: float
) -> None:
    assert ram_used_bytes(memory(64, available_gib), usage) == used_gib * GIB


def test_a_limit_is_the_total(io: IoLoop) -> None:
    limited = memory(64, 10, limit_bytes=16 * GIB, limit_source="cgroup")
    sampler = Sampler(io, Gpus(), memory=FixedMemory(limited), processes=Engine())
    seen = take(io, sampler, pid=None)
    assert (seen.ram_total_bytes, seen.ram_used_bytes) == (16 * GIB, 6 * GIB)
