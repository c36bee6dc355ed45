"""The readers on the computer that runs the tests, against what other sources say about it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.machine.checks import check_rows
from kimi_desktop.machine.cpu import look_cpu
from kimi_desktop.machine.doctor import doctor
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.machine.memory import memory_reader
from kimi_desktop.machine.probe import look
from kimi_desktop.planner.tiers import machine_verdict

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_the_cpu_agrees_with_psutil() -> None:
    cpu = look_cpu()
    assert cpu.logical_cores == psutil.cpu_count()
    assert 1 <= cpu.usable_cores <= cpu.logical_cores
    assert 1 <= cpu.physical_cores <= cpu.logical_cores
    assert cpu.sockets >= 1
    assert cpu.numa_nodes >= 1
    assert cpu.model


@linux_only
def test_a_process_bound_to_one_core_may_use_one() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from kimi_desktop.machine.cpu import look_cpu; print(look_cpu().usable_cores)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_memory_agrees_with_psutil() -> None:
    memory = memory_reader().read()
    assert memory.total_bytes == psutil.virtual_memory().total
    assert 0 < memory.available_bytes <= memory.usable_total_bytes
    assert memory.swap_total_bytes == psutil.swap_memory().total


def test_the_whole_look(tmp_path: Path) -> None:
    gpus = GpuReader()
    machine = look([tmp_path / "models"], gpus)
    gpus.close()
    (disk,) = machine.disks
    assert disk.path == str(tmp_path / "models")
    assert disk.total_bytes == shutil.disk_usage(tmp_path).total
    assert disk.writable
    # In a chroot the mount that everything lies on cannot be seen.
    if any(part.mountpoint == "/" for part in psutil.disk_partitions(all=True)):
        assert disk.file_system
    assert machine.system
    assert bool(machine.gpus) or machine.gpu_note
    for language in Language:
        assert all(row.seen and row.expected for row in check_rows(machine, language))
        assert machine_verdict(machine, language).headline


def test_doctor_prints_what_was_looked_at(tmp_path: Path) -> None:
    out = io.StringIO()
    assert (
        doctor(
            json_output=True,
            language=Language.EN,
            folders=[tmp_path],
            out=out,
            judge=machine_verdict,
        )
        == 0
    )
    written = json.loads(out.getvalue())
    assert written["cpu"]["physical_cores"] == look_cpu().physical_cores
    assert written["memory"]["total_gib"] == round(psutil.virtual_memory().total / 2**30, 2)


@linux_only
@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    gpus = GpuReader()
    assert not look([folder], gpus).disks[0].writable


def test_looking_needs_neither_psutil_nor_nvml_at_import() -> None:
    """Both would slow the start of the window."""
    code = (
        "import sys, kimi_desktop.machine.service, kimi_desktop.monitor.service;"
        "print([name for name in ('psutil', 'pynvml', 'PySide6', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
