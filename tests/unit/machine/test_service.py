from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, HardwareError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.service import MachineService
from kimi_desktop.machine.types import Machine, MachineProbed
from kimi_desktop.planner.tiers import machine_verdict
from tests.support.machines import machine
from tests.support.nvml_playback import PlaybackNvml


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


def test_a_look_is_published_and_kept(io: IoLoop, tmp_path: Path) -> None:
    bus, seen = EventBus(), list[tuple[Event, str]]()
    bus.subscribe(lambda event: seen.append((event, threading.current_thread().name)))
    folders = [tmp_path]
    gpus = GpuReader(PlaybackNvml("h200.json"), tmp_path)
    service = MachineService(io, bus, lambda: folders, gpus, judge=machine_verdict)
    assert service.machine is None
    found = service.probe().result(30)
    assert service.machine is found
    assert [disk.path for disk in found.disks] == [str(tmp_path)]
    assert found.gpus[0].name == "NVIDIA H200"
    ((event, thread),) = seen
    assert isinstance(event, MachineProbed)
    assert event.machine is found
    assert event.took_s > 0
    assert thread == "kimi-io"


def test_looking_happens_in_the_pool_and_not_twice_at_once(io: IoLoop) -> None:
    threads: list[str] = []
    go_on = threading.Event()

    def slowly(folders: Sequence[Path], gpus: GpuReader) -> Machine:
        threads.append(threading.current_thread().name)
        assert go_on.wait(30)
        return machine()

    service = MachineService(io, EventBus(), list, look_at=slowly, judge=machine_verdict)
    first = service.probe()
    assert service.probe() is first
    go_on.set()
    assert first.result(30) == machine()
    assert service.probe() is not first
    service.probe().result(30)
    assert all(name.startswith("kimi-pool") for name in threads)


def test_a_look_that_fails_keeps_the_last_one_and_can_be_repeated(io: IoLoop) -> None:
    results: list[Machine | Exception] = [
        machine(),
        HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "x"}),
        machine(gpus=()),
    ]

    def look(folders: Sequence[Path], gpus: GpuReader) -> Machine:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    service = MachineService(io, EventBus(), list, look_at=look, judge=machine_verdict)
    service.probe().result(30)
    with pytest.raises(HardwareError):
        service.probe().result(30)
    assert service.machine == machine()
    service.probe().result(30)
    assert service.machine == machine(gpus=())


def test_rows_and_verdict(io: IoLoop) -> None:
    service = MachineService(io, EventBus(), list, judge=machine_verdict)
    rows = service.check_rows(machine(), Language.EN)
    assert [row.part for row in rows] == [
        "cpu",
        "memory",
        "memory_speed",
        "gpu",
        "gpu_link",
        "disk",
        "disk_speed",
    ]
    assert service.verdict(machine(), Language.EN).tier_number == 4
