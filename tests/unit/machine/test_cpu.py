from __future__ import annotations

import platform
from pathlib import Path

import pytest

from kimi_desktop.machine.cpu import linux_cpu
from tests.support.machine_trees import cpuinfo, plant, topology

EPYC = "fpu sse2 fma f16c avx avx2 bmi2 avx512f avx512_bf16 avx512_vnni"


def test_two_sockets_with_threads(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        topology(64, sockets=2)
        | {
            "proc/cpuinfo": cpuinfo("AMD EPYC 9355 \t 32-Core", EPYC, 128),
            "sys/devices/system/node/has_cpu": "0-1\n",
            "sys/devices/system/node/online": "0-2\n",
        },
    )
    cpu = linux_cpu(root, range(128))
    assert cpu.model == "AMD EPYC 9355 32-Core"
    assert (cpu.physical_cores, cpu.logical_cores, cpu.usable_cores) == (64, 128, 128)
    assert (cpu.sockets, cpu.numa_nodes) == (2, 2)
    assert cpu.isa == (
        *("avx", "f16c", "fma", "bmi2", "avx2"),
        *("avx512f", "avx512_vnni", "avx512_bf16"),
    )
    assert cpu.usable_physical_cores == 64


def test_affinity_and_quota_bound_the_usable_cores(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        topology(8)
        | {
            "proc/cpuinfo": cpuinfo("x", "avx2", 16),
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/cpu.max": "350000 100000\n",
        },
    )
    assert linux_cpu(root, range(16)).usable_cores == 4  # 3.5, rounded up
    assert linux_cpu(root, {3, 4}).usable_cores == 2
    assert linux_cpu(root, {3, 4}).usable_physical_cores == 2


def test_a_tiny_quota_leaves_one_core(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        topology(4)
        | {
            "proc/self/cgroup": "0::/\n",
            "proc/self/mountinfo": "35 24 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            "sys/fs/cgroup/cpu.max": "5000 100000\n",
        },
    )
    assert linux_cpu(root, range(8)).usable_cores == 1


def test_older_kernels_name_the_siblings_otherwise(tmp_path: Path) -> None:
    files = {
        name.replace("core_cpus_list", "thread_siblings_list"): text
        for name, text in topology(6).items()
    }
    assert linux_cpu(plant(tmp_path, files), range(12)).physical_cores == 6


def test_arm_boards(tmp_path: Path) -> None:
    text = "processor\t: 0\nFeatures\t: fp asimd asimddp i8mm bf16 sve sve2\n\nprocessor\t: 1\n"
    files = topology(2, threads=1) | {
        "proc/cpuinfo": text,
        "sys/firmware/devicetree/base/model": "NVIDIA DGX Spark\0",
        "sys/devices/system/cpu/cpu0/topology/physical_package_id": "-1\n",
        "sys/devices/system/cpu/cpu1/topology/physical_package_id": "-1\n",
    }
    cpu = linux_cpu(plant(tmp_path, files), range(2))
    assert cpu.model == "NVIDIA DGX Spark"
    assert cpu.sockets == 1
    assert cpu.isa == ("neon", "dotprod", "i8mm", "bf16", "sve", "sve2")


def test_a_sandbox_without_sys(tmp_path: Path) -> None:
    """gVisor shows /proc/cpuinfo alone."""
    blocks = "\n".join(
        f"processor\t: {number}\nmodel name\t: X\nphysical id\t: {number // 4}\n"
        f"core id\t\t: {number // 2}\nflags\t\t: avx2\n"
        for number in range(8)
    )
    cpu = linux_cpu(plant(tmp_path, {"proc/cpuinfo": blocks}), range(8))
    assert (cpu.physical_cores, cpu.logical_cores, cpu.sockets) == (4, 8, 2)


def test_nothing_to_read_is_one_core_of_this_architecture(tmp_path: Path) -> None:
    cpu = linux_cpu(tmp_path, ())
    assert cpu.model == platform.machine()
    assert (cpu.physical_cores, cpu.logical_cores, cpu.usable_cores) == (1, 1, 1)
    assert (cpu.sockets, cpu.numa_nodes, cpu.isa) == (1, 1, ())


@pytest.mark.parametrize("flags", ["avx2", "avx2 unheard_of"])
def test_unknown_flags_are_left_out(tmp_path: Path, flags: str) -> None:
    root = plant(tmp_path, {"proc/cpuinfo": cpuinfo("x", flags, 1)})
    assert linux_cpu(root, {0}).isa == ("avx2",)
