from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from kimi_desktop.base.errors import ErrorCode, HardwareError
from kimi_desktop.machine import memory
from kimi_desktop.machine.memory import LinuxMemory, PsutilMemory, memory_reader
from tests.support.machine_trees import MEMINFO, plant

KIB = 2**10
GIB = 2**30


def test_meminfo(tmp_path: Path) -> None:
    seen = LinuxMemory(plant(tmp_path, {"proc/meminfo": MEMINFO})).read()
    assert seen.total_bytes == 65831280 * KIB
    assert seen.available_bytes == 54321000 * KIB
    assert seen.limit_bytes is None
    assert seen.limit_source == ""
    assert seen.swap_total_bytes == 8388604 * KIB
    assert seen.swap_used_bytes == (8388604 - 7340028) * KIB
    assert seen.usable_total_bytes == seen.total_bytes


def test_old_kernels_without_available(tmp_path: Path) -> None:
    text = "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 20 kB\nCached: 300 kB\n"
    seen = LinuxMemory(plant(tmp_path, {"proc/meminfo": text})).read()
    assert seen.available_bytes == 420 * KIB
    assert seen.swap_used_bytes == 0


def test_a_cgroup_below_the_total_is_the_limit(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/memory.max": f"{16 * GIB}\n",
            "sys/fs/cgroup/memory.current": f"{6 * GIB}\n",
        },
    )
    seen = LinuxMemory(root).read()
    assert (seen.limit_bytes, seen.limit_source) == (16 * GIB, "cgroup")
    assert seen.available_bytes == 10 * GIB
    assert seen.usable_total_bytes == 16 * GIB


def test_a_cgroup_above_the_total_is_none(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/meminfo": MEMINFO,
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/memory.max": f"{512 * GIB}\n",
        },
    )
    assert LinuxMemory(root).read().limit_bytes is None


def test_wsl_says_who_set_the_total(tmp_path: Path) -> None:
    kernel = "5.15.153.1-microsoft-standard-WSL2\n"
    root = plant(tmp_path, {"proc/meminfo": MEMINFO, "proc/sys/kernel/osrelease": kernel})
    seen = LinuxMemory(root).read()
    assert (seen.limit_bytes, seen.limit_source) == (seen.total_bytes, "wsl")


@pytest.mark.parametrize("text", [None, "", "Total: x kB\n"])
def test_no_meminfo_is_an_error_with_a_code(tmp_path: Path, text: str | None) -> None:
    root = plant(tmp_path, {} if text is None else {"proc/meminfo": text})
    with pytest.raises(HardwareError) as failure:
        LinuxMemory(root).read()
    assert failure.value.code is ErrorCode.MACHINE_PROBE_FAILED


def test_psutil_for_the_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = SimpleNamespace(total=36 * GIB, available=20 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: recorded)
    monkeypatch.setattr(psutil, "swap_memory", lambda: SimpleNamespace(total=GIB, used=5))
    seen = PsutilMemory().read()
    assert (seen.total_bytes, seen.available_bytes) == (36 * GIB, 20 * GIB)
    assert (seen.swap_total_bytes, seen.swap_used_bytes) == (GIB, 5)


def test_psutil_that_fails_is_an_error_with_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("sysctl")

    monkeypatch.setattr(psutil, "virtual_memory", refuse)
    with pytest.raises(HardwareError):
        PsutilMemory().read()


@pytest.mark.parametrize(
    ("system", "kind"),
    [("Linux", LinuxMemory), ("Darwin", PsutilMemory), ("Windows", PsutilMemory)],
)
def test_each_system_has_its_reader(
    monkeypatch: pytest.MonkeyPatch, system: str, kind: type
) -> None:
    monkeypatch.setattr(memory.platform, "system", lambda: system)
    assert isinstance(memory_reader(), kind)
