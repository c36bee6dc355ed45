"""Measured bandwidths: kept by machine, merged, and never in the way when the file is damaged."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Cancelled
from kimi_desktop.machine import measuring
from kimi_desktop.machine.measured import (
    Measured,
    fingerprint,
    keep_measured,
    mount_of,
    read_measured,
    with_measured,
)
from kimi_desktop.machine.measuring import MeasureJob, jobs_for, measure
from kimi_desktop.machine.service import MachineService
from kimi_desktop.machine.types import (
    Machine,
    MachineProbed,
    MeasuredPart,
    MeasureProgressed,
)
from kimi_desktop.planner.hardware import gpu_speed, host_speed
from kimi_desktop.planner.tiers import machine_verdict
from tests.support.machines import cpu, disk, machine, memory

RAM, DISK, PCIE = MeasuredPart.RAM, MeasuredPart.DISK, MeasuredPart.PCIE
PATIENCE_S = 60


def test_what_was_measured_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "data" / "measured.json"
    here, there = machine(), machine(cpu=cpu(model="another"))
    folder = str(tmp_path / "not yet")
    mount = mount_of(folder)
    assert Path(mount).is_mount()
    keep_measured(file, here, Measured(ram=262e9, disks={folder: 6.4e9}))
    keep_measured(file, there, Measured(ram=40e9))
    whole = keep_measured(file, here, Measured(links={"GPU-0": 53e9}))
    assert whole == Measured(262e9, {mount: 6.4e9}, {"GPU-0": 53e9})
    # The same disk by another folder on it.
    found = with_measured(machine(disks=(disk(path=str(tmp_path)),)), whole)
    assert found.disks[0].read_bytes_per_s_measured == 6.4e9
    assert read_measured(file, here) == whole
    assert read_measured(file, there).ram == 40e9
    newer = keep_measured(file, here, Measured(ram=300e9))
    assert newer.ram == 300e9
    assert newer.disks == {mount: 6.4e9}


def test_it_goes_into_the_machine_and_from_there_into_forecasts() -> None:
    measured = Measured(262e9, {"/models": 6.4e9}, {"GPU-0": 53e9})
    found = with_measured(machine(disks=(disk(), disk(path="/other"))), measured)
    assert found.memory.read_bytes_per_s_measured == 262e9
    assert [one.read_bytes_per_s_measured for one in found.disks] == [6.4e9, None]
    assert host_speed(found).measured_bytes_per_s == 262e9
    assert gpu_speed(found.gpus[0]).pcie_bytes_per_s == 53e9
    assert with_measured(machine(), Measured()) == machine()


def test_the_fingerprint_is_of_processors_and_memory() -> None:
    busy = machine(memory=memory(755.4, 20), gpus=(), disks=())
    assert fingerprint(busy) == fingerprint(machine())
    assert fingerprint(machine(cpu=cpu(sockets=2))) != fingerprint(machine())
    assert fingerprint(machine(memory=memory(377))) != fingerprint(machine())


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"machines": 5}', b'{"machines": {"%s": 5}}', b"\xff\xfe", b"[" * 9000],
)
def test_a_damaged_file_is_no_measurement(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "measured.json"
    file.write_bytes(content)
    assert read_measured(file, machine()).is_empty
    assert keep_measured(file, machine(), Measured(ram=1e9)).ram == 1e9
    assert read_measured(file, machine()).ram == 1e9


@given(
    ram=st.none() | st.integers() | st.floats() | st.text() | st.booleans(),
    disks=st.none() | st.dictionaries(st.text(), st.floats() | st.text() | st.none()) | st.text(),
)
def test_absurd_values_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, ram: object, disks: object
) -> None:
    file = tmp_path_factory.mktemp("measured") / "measured.json"
    entry = {"ram": ram, "disks": disks, "links": None}
    file.write_text(json.dumps({"machines": {fingerprint(machine()): entry}}), encoding="utf-8")
    found = read_measured(file, machine())
    assert found.ram is None or 0 < found.ram < 1e15
    assert all(0 < rate < 1e15 for rate in found.disks.values())


# the jobs


def test_what_can_be_measured(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.touch()
    here = disk(path=str(tmp_path / "models" / "not yet"))
    locked = dataclasses.replace(disk(path="/"), writable=False)
    jobs = jobs_for(machine(disks=(here, locked)), [model, tmp_path / "gone.gguf"])
    assert [job.part for job in jobs][:2] == [RAM, DISK]
    assert jobs[1].disk == here.path
    assert jobs[1].folder == str(tmp_path)
    assert jobs[1].files == (str(model),)
    assert jobs[-1].part is PCIE
    assert [job.part for job in jobs_for(machine(gpus=(), disks=()), ())] == [RAM]


# the child


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


def child(tmp_path: Path, *lines: str) -> tuple[str, ...]:
    script = tmp_path / "child.py"
    script.write_text("\n".join(("import json, os, sys, time", *lines)), encoding="utf-8")
    return (sys.executable, str(script))


def run(io: IoLoop, job: MeasureJob, *command: str):
    heard: list[tuple[MeasuredPart, float]] = []
    operation = io.submit(
        lambda: (
            measure(job, lambda part, share: heard.append((part, share)), command=command)
            if command
            else measure(job, lambda part, share: heard.append((part, share)))
        )
    )
    return operation, heard


def test_the_real_child_measures_memory(io: IoLoop) -> None:
    operation, heard = run(io, MeasureJob(RAM))
    measured, failed = operation.result(PATIENCE_S)
    assert failed == {}
    assert measured.ram is not None
    assert measured.ram > 10**8
    assert heard[0] == (RAM, 0.0)
    assert heard[-1] == (RAM, 1.0)


def test_a_child_that_crashes_harms_nothing(io: IoLoop, tmp_path: Path) -> None:
    began = "print(json.dumps({'event': 'began', 'part': 'pcie'}), flush=True)"
    operation, _ = run(io, MeasureJob(PCIE), *child(tmp_path, began, "os.abort()"))
    measured, failed = operation.result(PATIENCE_S)
    assert measured.is_empty
    assert set(failed) == {PCIE}
    assert "exit" in failed[PCIE]


@pytest.mark.parametrize(
    "first", ["print(json.dumps({'event': 'began', 'part': 'disk'}), flush=True)", "pass"]
)
def test_a_child_that_hangs_is_given_up(
    io: IoLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(measuring, "PART_TIMEOUT_S", 0.5)
    monkeypatch.setattr(measuring, "STOP_TIMEOUT_S", 0.2)
    operation, _ = run(
        io, MeasureJob(DISK, "/d", str(tmp_path)), *child(tmp_path, first, "time.sleep(600)")
    )
    measured, failed = operation.result(PATIENCE_S)
    assert measured.is_empty
    assert failed == {DISK: "time"}


def test_a_child_that_never_speaks_has_failed(io: IoLoop, tmp_path: Path) -> None:
    operation, _ = run(io, MeasureJob(RAM), *child(tmp_path, "sys.exit(3)"))
    assert operation.result(PATIENCE_S)[1] == {RAM: "exit 3"}


def test_a_part_that_fails_says_why(io: IoLoop, tmp_path: Path) -> None:
    lines = (
        "print(json.dumps({'event': 'began', 'part': 'disk'}))",
        "print(json.dumps({'event': 'failed', 'part': 'disk', 'detail': 'no room'}))",
    )
    operation, _ = run(io, MeasureJob(DISK, "/d", str(tmp_path)), *child(tmp_path, *lines))
    assert operation.result(PATIENCE_S)[1] == {DISK: "no room"}


@pytest.mark.skipif(os.name != "posix", reason="process ids as files")
def test_cancelling_ends_the_child_and_tidies_up(io: IoLoop, tmp_path: Path) -> None:
    left = tmp_path / ".kimi-desktop-speed-abc"
    lines = (
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))",
        f"open({str(left)!r}, 'w').close()",
        "print(json.dumps({'event': 'began', 'part': 'disk'}), flush=True)",
        "sys.stdin.readline(); sys.stdin.read()",
    )
    operation, heard = run(io, MeasureJob(DISK, "/d", str(tmp_path)), *child(tmp_path, *lines))
    deadline = time.monotonic() + PATIENCE_S
    while not heard and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = int((tmp_path / "pid").read_text())
    operation.cancel()
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    while left.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not left.exists()


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_the_child_goes_when_its_parent_does(io: IoLoop, tmp_path: Path) -> None:
    """Killed in whatever way: the lifeline ends."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import json, subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-m', 'kimi_desktop.machine.bandwidth'],"
        " stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)\n"
        "wish = {'parts': ['ram'] * 500, 'folder': '.'}\n"
        "p.stdin.write(json.dumps(wish).encode() + b'\\n'); p.stdin.flush()\n"
        "print(p.pid, flush=True)\ntime.sleep(600)\n",
        encoding="utf-8",
    )

    async def kill_the_parent() -> int:
        parent = await asyncio.create_subprocess_exec(
            sys.executable, str(script), stdout=asyncio.subprocess.PIPE
        )
        assert parent.stdout
        pid = int(await parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
        return pid

    pid = io.submit(kill_the_parent).result(PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    status = ""
    while time.monotonic() < deadline:
        try:
            status = psutil.Process(pid).status()
        except psutil.NoSuchProcess:
            return
        if status == psutil.STATUS_ZOMBIE:  # over; whoever adopts it may take a while
            return
        time.sleep(0.02)
    raise AssertionError(f"still there: {status}")


# the service


class Played:
    """Measurements as played."""

    def __init__(self) -> None:
        self.jobs: list[MeasuredPart] = []
        self.go_on = threading.Event()
        self.go_on.set()

    async def __call__(self, job: MeasureJob, progress):
        self.jobs.append(job.part)
        progress(job.part, 0.5)
        await asyncio.to_thread(self.go_on.wait, PATIENCE_S)
        if job.part is DISK:
            return Measured(), {DISK: "no room"}
        values = {RAM: Measured(ram=50e9), PCIE: Measured(links={"GPU-0": 25e9})}
        return values[job.part], {}


def service_of(io: IoLoop, bus: EventBus, file: Path, played: Played) -> MachineService:
    return MachineService(
        io,
        bus,
        list,
        look_at=lambda _folders, _gpus: machine(),
        judge=machine_verdict,
        measured_file=file,
        measure_with=played,
    )


def test_measuring_part_by_part(io: IoLoop, tmp_path: Path) -> None:
    bus, seen = EventBus(), list[Event]()
    bus.subscribe(seen.append)
    file, played = tmp_path / "measured.json", Played()
    service = service_of(io, bus, file, played)
    before = service.probe().result(PATIENCE_S)
    assert service.lacks_measures(before)
    found = service.measure().result(PATIENCE_S)
    assert played.jobs == [RAM, DISK, PCIE]
    assert not service.lacks_measures(found)
    assert found.gpus[0].pcie_bytes_per_s_measured == 25e9
    assert found.disks[0].read_bytes_per_s_measured is None
    shares = [event.share for event in seen if isinstance(event, MeasureProgressed)]
    assert shares == [pytest.approx((n + 0.5) / 3) for n in range(3)]
    probed = [event.machine for event in seen if isinstance(event, MachineProbed)]
    assert [one.memory.read_bytes_per_s_measured for one in probed] == [None, 50e9, 50e9]
    # The next start knows it.
    again: Machine = service_of(io, EventBus(), file, Played()).probe().result(PATIENCE_S)
    assert again.memory.read_bytes_per_s_measured == 50e9


def test_one_measurement_at_a_time_and_what_is_measured_holds(io: IoLoop, tmp_path: Path) -> None:
    played = Played()
    service = service_of(io, EventBus(), tmp_path / "measured.json", played)
    service.probe().result(PATIENCE_S)
    played.go_on.clear()
    first = service.measure()
    assert service.measure() is first
    first.cancel()
    with pytest.raises(Cancelled):
        first.result(PATIENCE_S)
    played.go_on.set()
    assert service.measure() is not first


def test_a_folder_that_cannot_be_written_costs_only_the_memory_of_it(
    io: IoLoop, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    service = service_of(io, EventBus(), tmp_path / "file" / "measured.json", Played())
    assert service.measure().result(PATIENCE_S).memory.read_bytes_per_s_measured == 50e9
