from __future__ import annotations

from pathlib import Path

import pytest

from kimi_desktop.machine.cgroup import (
    CgroupMemory,
    find_cgroup,
    read_cpu_quota,
    read_memory_limit,
)
from tests.support.machine_trees import plant

GIB = 2**30
V2_MOUNT = "35 24 0:30 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1_MOUNTS = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "37 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)


def v2(tmp_path: Path, files: dict[str, str], path: str = "/user.slice/app.scope") -> Path:
    tree = {"proc/self/cgroup": f"0::{path}\n", "proc/self/mountinfo": V2_MOUNT}
    base = "sys/fs/cgroup/"
    return plant(tmp_path, tree | {base + name: text for name, text in files.items()})


def test_without_cgroups_there_is_no_limit(tmp_path: Path) -> None:
    assert find_cgroup(tmp_path, "memory") is None
    assert read_memory_limit(None) is None
    assert read_cpu_quota(None) is None


def test_version_2_without_a_limit(tmp_path: Path) -> None:
    root = v2(tmp_path, {"user.slice/app.scope/memory.max": "max\n"})
    assert read_memory_limit(find_cgroup(root, "memory")) is None
    assert read_cpu_quota(find_cgroup(root, "cpu")) is None


def test_the_tightest_limit_of_all_groups_above_holds(tmp_path: Path) -> None:
    root = v2(
        tmp_path,
        {
            "user.slice/memory.max": f"{8 * GIB}\n",
            "user.slice/memory.current": f"{7 * GIB}\n",
            "user.slice/memory.stat": f"anon 1\ninactive_file {GIB}\nactive_file {GIB}\n",
            "user.slice/app.scope/memory.max": f"{6 * GIB}\n",
            "user.slice/app.scope/memory.high": "max\n",
            "user.slice/app.scope/memory.current": f"{GIB}\n",
        },
    )
    # 6 GiB is the least limit, but its neighbours leave only 8 - (7 - 2) = 3.
    assert read_memory_limit(find_cgroup(root, "memory")) == CgroupMemory(6 * GIB, 3 * GIB)


def test_memory_high_is_a_limit_too(tmp_path: Path) -> None:
    root = v2(
        tmp_path,
        {
            "user.slice/app.scope/memory.max": f"{6 * GIB}\n",
            "user.slice/app.scope/memory.high": f"{4 * GIB}\n",
        },
    )
    assert read_memory_limit(find_cgroup(root, "memory")) == CgroupMemory(4 * GIB, 4 * GIB)


def test_version_1_beside_version_2(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "9:cpu,cpuacct:/box\n4:memory:/box\n0::/\n",
            "proc/self/mountinfo": V1_MOUNTS,
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/box/memory.limit_in_bytes": f"{2 * GIB}\n",
            "sys/fs/cgroup/memory/box/memory.usage_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/box/memory.stat": (
                f"inactive_file 5\ntotal_inactive_file {GIB // 2}\ntotal_active_file 0\n"
            ),
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        },
    )
    memory = find_cgroup(root, "memory")
    assert memory is not None
    assert memory.version == 1
    assert read_memory_limit(memory) == CgroupMemory(2 * GIB, GIB + GIB // 2)
    assert read_cpu_quota(find_cgroup(root, "cpu")) == pytest.approx(1.5)


def test_in_a_container_the_mount_point_is_the_own_group(tmp_path: Path) -> None:
    """The path names the host's tree, the mount shows only the container's part of it."""
    mount = "35 24 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
    root = plant(
        tmp_path,
        {
            "proc/self/cgroup": "0::/docker/abc\n",
            "proc/self/mountinfo": mount,
            "sys/fs/cgroup/memory.max": f"{GIB}\n",
            "sys/fs/cgroup/memory.current": f"{4 * GIB}\n",
            "sys/fs/cgroup/cpu.max": "250000 100000\n",
        },
    )
    cgroup = find_cgroup(root, "memory")
    assert cgroup is not None
    assert cgroup.folders == (root / "sys/fs/cgroup",)
    assert read_memory_limit(cgroup) == CgroupMemory(GIB, 0)  # never below nothing
    assert read_cpu_quota(cgroup) == pytest.approx(2.5)


@pytest.mark.parametrize("path", ["/../outside", "/vanished", "/elsewhere"])
def test_a_group_outside_the_view_falls_back_to_the_top(tmp_path: Path, path: str) -> None:
    root = v2(tmp_path, {"memory.max": f"{GIB}\n"}, path)
    cgroup = find_cgroup(root, "memory")
    assert cgroup is not None
    assert cgroup.folders == (root / "sys/fs/cgroup",)


@pytest.mark.parametrize("text", ["max 100000\n", "\n", "150000\n", "150000 0\n"])
def test_cpu_max_without_a_quota(tmp_path: Path, text: str) -> None:
    root = v2(tmp_path, {"user.slice/app.scope/cpu.max": text})
    assert read_cpu_quota(find_cgroup(root, "cpu")) is None
