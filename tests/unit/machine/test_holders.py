"""Who holds a GPU's memory, with real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import psutil
import pytest

from kimi_desktop.base.errors import ErrorCode, HardwareError
from kimi_desktop.machine import holders
from kimi_desktop.machine.holders import Holder, end_program, holders_of
from kimi_desktop.machine.types import GpuReading
from tests.support import scripted_data as data

GIB = 2**30
IGNORES = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True)"


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield child
    child.kill()
    child.wait()


def reading(processes: dict[int, int | None] | None) -> GpuReading:
    return GpuReading(data.two_gpu_box().gpus[0], processes)


def holder_of(child: subprocess.Popen[bytes]) -> Holder:
    return Holder(child.pid, psutil.Process(child.pid).create_time(), "python", 0, GIB)


def test_the_largest_first_without_ourselves_and_those_that_are_gone(other):
    gone = 2**22 - 3
    sizes = {other.pid: 5 * GIB, os.getpid(): 9 * GIB, gone: 7 * GIB, os.getppid(): 6 * GIB}
    found = holders_of((reading(sizes), reading(None)), own_pids=())
    assert [holder.pid for holder in found] == [os.getppid(), other.pid]
    assert found[1].vram_bytes == 5 * GIB
    assert "python" in found[1].name
    assert holders_of((reading(sizes),), own_pids=(other.pid, os.getppid())) == ()


def test_it_ends(other):
    end_program(holder_of(other))
    assert not psutil.pid_exists(other.pid)
    end_program(Holder(other.pid, 1.0, "python", 0, None))  # once more harms nobody


def test_another_program_with_its_number_is_left_alone(other):
    end_program(Holder(other.pid, time.time() - 5000, "python", 0, None))
    assert other.poll() is None


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM cannot be ignored there")
def test_one_that_does_not_listen_is_told(monkeypatch):
    monkeypatch.setattr(holders, "END_TIMEOUT_S", 0.2)
    child = subprocess.Popen(
        [sys.executable, "-c", f"{IGNORES}; time.sleep(600)"], stdout=subprocess.PIPE
    )
    try:
        child.stdout.readline()
        with pytest.raises(HardwareError) as caught:
            end_program(holder_of(child))
        assert caught.value.code is ErrorCode.PROGRAM_STAYS
    finally:
        child.kill()
        child.communicate()
