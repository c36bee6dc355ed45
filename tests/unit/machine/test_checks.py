from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.messages import Language
from kimi_desktop.machine.checks import check_rows, count_results
from kimi_desktop.machine.types import CheckRow, DiskKind, Machine, Result
from tests.support.machines import GIB, cpu, disk, gpu, machine, memory

EN = Language.EN


def row(found: Machine, part: str, language: Language = EN) -> CheckRow:
    rows = [row for row in check_rows(found, language) if row.part == part]
    assert len(rows) == 1, rows
    return rows[0]


def test_the_workstation_of_the_picture() -> None:
    rows = check_rows(machine(), EN)
    assert [(row.result, row.part, row.seen, row.detail, row.expected) for row in rows] == [
        (
            Result.PASSED,
            "cpu",
            "AMD Ryzen Threadripper PRO 7975WX",
            "32 cores, 1 socket, 1 NUMA node · AVX2, AVX-512",
            "AVX2 and 4 cores or more",
        ),
        (
            Result.PASSED,
            "memory",
            "755.4 GiB, 745.4 GiB free",
            "No limit set for this process · no swap in use",
            "552 GiB with VRAM, for Kimi K2.6 in 4 bit",
        ),
        (
            Result.UNKNOWN,
            "memory_speed",
            "Not measured yet",
            "Read by all cores; sets the speed of answers from RAM",
            "70.0 GB/s, for 4 tok/s with Kimi K2.6",
        ),
        (
            Result.PASSED,
            "gpu",
            "NVIDIA GeForce RTX 5090, 31.8 GiB",
            "31.2 GiB free · driver 580.95 · compute capability 12.0",
            "16 GiB, driver 570 or newer",
        ),
        (
            Result.PASSED,
            "gpu_link",
            "PCIe 5.0 x16",
            "The most that card and slot allow",
            "PCIe 4.0 x16 or faster",
        ),
        (
            Result.PASSED,
            "disk",
            "2.02 TB free of 4.00 TB",
            "NVMe, ext4",
            "584 GB for Kimi K2.6 in 4 bit",
        ),
        (
            Result.UNKNOWN,
            "disk_speed",
            "Not measured yet",
            "Sets how long a model loads",
            "2.0 GB/s or more",
        ),
    ]


def test_the_same_in_chinese() -> None:
    seen = [(row.seen, row.detail, row.expected) for row in check_rows(machine(), Language.ZH_CN)]
    assert seen[1] == (
        "755.4 GiB，可用 745.4 GiB",
        "此进程没有内存上限 · 未使用交换空间",
        "运行 4 位量化的 Kimi K2.6，内存与显存合计需要 552 GiB",
    )
    assert seen[5][0] == "可用 2.02 TB，共 4.00 TB"


@pytest.mark.parametrize(
    ("found", "result", "words"),
    [
        (cpu(isa=("avx",)), Result.FAILED, "the built-in engine cannot run"),
        (cpu(isa=()), Result.UNKNOWN, "32 cores"),
        (cpu(physical_cores=2, usable_cores=2), Result.WARN, "2 cores"),
        (cpu(usable_cores=2), Result.WARN, "2 usable by this app"),
        (cpu(usable_cores=16), Result.PASSED, "16 usable by this app"),
        (cpu(isa=("neon", "sve")), Result.PASSED, "NEON, SVE"),
        (cpu(sockets=2, numa_nodes=2), Result.PASSED, "2 sockets, 2 NUMA nodes"),
    ],
)
def test_cpu(found: object, result: Result, words: str) -> None:
    seen = row(machine(cpu=found), "cpu")
    assert seen.result is result
    assert words in seen.detail


def test_on_arm_nobody_asks_for_avx2() -> None:
    assert row(machine(cpu=cpu(isa=("neon",))), "cpu").expected == "4 cores or more"


@pytest.mark.parametrize(
    ("found", "result", "words"),
    [
        (memory(1.5, 1.0), Result.FAILED, "No limit"),
        (memory(64), Result.WARN, "No limit"),
        (memory(755, 100), Result.WARN, "No limit"),  # others use it now
        (memory(755, swap_used_bytes=GIB), Result.PASSED, "1.00 GiB of swap in use"),
        (
            memory(755, 16, limit_bytes=16 * GIB, limit_source="cgroup"),
            Result.WARN,
            "Limited by the container or service; the machine has 755.0 GiB",
        ),
        (
            memory(31.2, 20, limit_bytes=int(31.2 * GIB), limit_source="wsl"),
            Result.WARN,
            ".wslconfig",
        ),
    ],
)
def test_memory(found: object, result: Result, words: str) -> None:
    seen = row(machine(memory=found), "memory")
    assert seen.result is result
    assert words in seen.detail


def test_a_limit_is_what_counts_as_memory() -> None:
    found = machine(memory=memory(755, 15, limit_bytes=16 * GIB, limit_source="cgroup"))
    assert row(found, "memory").seen == "16.0 GiB, 15.0 GiB free"


def test_without_a_gpu_the_memory_row_does_not_speak_of_vram() -> None:
    found = machine(gpus=(), gpu_note="no_gpu")
    assert row(found, "memory").expected == "552 GiB for Kimi K2.6 in 4 bit"


@pytest.mark.parametrize(
    ("gpus", "result", "seen"),
    [
        ((gpu(),), Result.PASSED, "NVIDIA GeForce RTX 5090, 31.8 GiB"),
        ((gpu(vram_gib=15.9),), Result.PASSED, "NVIDIA GeForce RTX 5090, 15.9 GiB"),
        ((gpu(vram_gib=11.9),), Result.WARN, "NVIDIA GeForce RTX 5090, 11.9 GiB"),
        ((gpu(driver="535.54"),), Result.WARN, "NVIDIA GeForce RTX 5090, 31.8 GiB"),
        ((gpu(driver=""),), Result.WARN, "NVIDIA GeForce RTX 5090, 31.8 GiB"),
        ((gpu(vram_gib=0),), Result.UNKNOWN, "NVIDIA GeForce RTX 5090"),
        ((gpu(0), gpu(1)), Result.PASSED, "2 × NVIDIA GeForce RTX 5090, 63.7 GiB in all"),
    ],
)
def test_gpu(gpus: tuple[object, ...], result: Result, seen: str) -> None:
    found = row(machine(gpus=gpus), "gpu")
    assert (found.result, found.seen) == (result, seen)


def test_unlike_cards_have_a_row_each() -> None:
    found = machine(gpus=(gpu(0), gpu(1, 23.5, name="NVIDIA GeForce RTX 3090"), gpu(2)))
    rows = [row for row in check_rows(found, EN) if row.part == "gpu"]
    assert [row.seen for row in rows] == [
        "2 × NVIDIA GeForce RTX 5090, 63.7 GiB in all",
        "NVIDIA GeForce RTX 3090, 23.5 GiB",
    ]


def test_a_card_that_does_not_say_its_capability() -> None:
    found = row(machine(gpus=(gpu(compute_capability=None),)), "gpu")
    assert found.detail == "31.2 GiB free · driver 580.95"


@pytest.mark.parametrize(
    ("note", "result", "seen"),
    [
        ("no_gpu", Result.WARN, "No NVIDIA GPU"),
        ("no_driver", Result.WARN, "An NVIDIA GPU without a driver"),
        ("apple", Result.PASSED, "Apple GPU"),
        ("failed", Result.FAILED, "A GPU does not answer"),
    ],
)
def test_without_a_gpu(note: str, result: Result, seen: str) -> None:
    found = machine(gpus=(), gpu_note=note, gpu_failures=("GPU 0: GPU is lost",))
    rows = check_rows(found, EN)
    assert (row(found, "gpu").result, row(found, "gpu").seen) == (result, seen)
    assert not [row for row in rows if row.part == "gpu_link"]  # nobody looked


def test_a_lost_card_stands_beside_the_healthy_one() -> None:
    found = machine(gpu_note="failed", gpu_failures=("GPU 1: GPU is lost",))
    rows = [row for row in check_rows(found, EN) if row.part == "gpu"]
    assert [row.result for row in rows] == [Result.PASSED, Result.FAILED]
    assert "GPU 1: GPU is lost" in rows[1].detail


@pytest.mark.parametrize(
    ("links", "result", "seen"),
    [
        ([(4, 16)], Result.PASSED, "PCIe 4.0 x16"),
        ([(5, 8)], Result.PASSED, "PCIe 5.0 x8"),  # as fast as 4.0 x16
        ([(3, 16)], Result.WARN, "PCIe 3.0 x16"),
        ([(4, 8)], Result.WARN, "PCIe 4.0 x8"),
        ([(7, 16)], Result.PASSED, "PCIe 7.0 x16"),
        ([(5, 16), (4, 4)], Result.WARN, "PCIe 4.0 x4, the slowest of 2"),
        ([(None, 16)], Result.UNKNOWN, "The driver does not say"),
        ([(5, 16), (5, None)], Result.UNKNOWN, "The driver does not say"),
    ],
)
def test_link(links: list[tuple[int | None, int | None]], result: Result, seen: str) -> None:
    gpus = tuple(
        gpu(index, pcie_gen=generation, pcie_width=width)
        for index, (generation, width) in enumerate(links)
    )
    found = row(machine(gpus=gpus), "gpu_link")
    assert (found.result, found.seen) == (result, seen)


@pytest.mark.parametrize(
    ("found", "result", "detail"),
    [
        (disk(kind=DiskKind.SSD), Result.PASSED, "SSD, ext4"),
        (disk(kind=DiskKind.UNKNOWN), Result.PASSED, "Virtual disk or unknown kind, ext4"),
        (disk(kind=DiskKind.ROTATIONAL), Result.WARN, "Hard disk, slow to load from, ext4"),
        (disk(kind=DiskKind.NETWORK, file_system="nfs4"), Result.WARN, "Network drive, nfs4"),
        (disk(free_gb=583), Result.WARN, "NVMe, ext4"),
        (disk(free_gb=584), Result.PASSED, "NVMe, ext4"),
        (disk(free_gb=0.5), Result.FAILED, "NVMe, ext4"),
        (disk(file_system="tmpfs"), Result.WARN, "In RAM, lost at a restart, tmpfs"),
        (disk(file_system=""), Result.PASSED, "NVMe"),
        (
            disk(writable=False),
            Result.FAILED,
            "NVMe, ext4 · cannot be written by this user · /models",
        ),
    ],
)
def test_disk(found: object, result: Result, detail: str) -> None:
    seen = row(machine(disks=(found,)), "disk")
    assert (seen.result, seen.detail) == (result, detail)


def test_several_disks_name_their_folders() -> None:
    found = machine(disks=(disk(), disk(path="/mnt/more")))
    rows = [row for row in check_rows(found, EN) if row.part == "disk"]
    assert [row.detail for row in rows] == ["NVMe, ext4 · /models", "NVMe, ext4 · /mnt/more"]


def test_the_rows_are_counted() -> None:
    rows = check_rows(machine(cpu=cpu(isa=()), disks=(disk(free_gb=100),)), EN)
    assert count_results(rows, EN) == "3 passed, 1 warning, 3 unknown, 0 failed."
    assert count_results(rows, Language.ZH_CN) == "3 项通过，1 项注意，3 项未知，0 项不通过。"


@pytest.mark.parametrize(
    ("rate", "theory", "result", "words"),
    [
        (262e9, 358.4e9, Result.PASSED, "262.0 GB/s measured, 73 % of 358.4 GB/s"),
        (150e9, 358.4e9, Result.WARN, "150.0 GB/s measured, 42 % of 358.4 GB/s"),
        (40e9, None, Result.WARN, "40.0 GB/s measured"),
        (75e9, None, Result.PASSED, "75.0 GB/s measured"),
    ],
)
def test_memory_speed(rate: float, theory: float | None, result: Result, words: str) -> None:
    found = memory(755.4, read_bytes_per_s_measured=rate, read_bytes_per_s_theoretical=theory)
    seen = row(machine(memory=found), "memory_speed")
    assert (seen.result, seen.seen) == (result, words)


@pytest.mark.parametrize(
    ("rate", "result", "detail"),
    [
        (6.4e9, Result.PASSED, "Loads 584 GB in about 1 min 31 s"),
        (0.2e9, Result.WARN, "Loads 584 GB in about 48 min 40 s"),
    ],
)
def test_disk_speed(rate: float, result: Result, detail: str) -> None:
    seen = row(machine(disks=(disk(read_bytes_per_s_measured=rate),)), "disk_speed")
    assert (seen.result, seen.detail) == (result, detail)


@pytest.mark.parametrize(
    ("changes", "rate", "result", "seen"),
    [
        ({}, 53e9, Result.PASSED, "PCIe 5.0 x16"),
        ({}, 12e9, Result.WARN, "PCIe 5.0 x16"),
        ({"pcie_gen": None}, 53e9, Result.PASSED, "53.0 GB/s measured"),
        ({"pcie_gen": None}, 3e9, Result.WARN, "3.0 GB/s measured"),
    ],
)
def test_a_measured_link_decides(
    changes: dict[str, object], rate: float, result: Result, seen: str
) -> None:
    card = gpu(pcie_bytes_per_s_measured=rate, **changes)
    found = row(machine(gpus=(card,)), "gpu_link")
    assert (found.result, found.seen) == (result, seen)
    assert "GB/s measured" in found.seen + found.detail


def some_gpus() -> st.SearchStrategy[tuple[object, ...]]:
    one = st.builds(
        gpu,
        st.integers(0, 7),
        st.sampled_from([0, 7.6, 15.9, 31.84, 140.4]),
        name=st.sampled_from(["A", "B"]),
        driver=st.sampled_from(["", "535.1", "580.95"]),
        compute_capability=st.sampled_from([None, "9.0"]),
        pcie_gen=st.sampled_from([None, 3, 5]),
        pcie_width=st.sampled_from([None, 4, 16]),
    )
    return st.lists(one, max_size=4).map(tuple)


some_machines = st.builds(
    machine,
    cpu=st.builds(
        cpu,
        physical_cores=st.integers(1, 128),
        usable_cores=st.integers(1, 256),
        sockets=st.integers(1, 2),
        isa=st.sampled_from([(), ("avx",), ("avx2",), ("neon",)]),
    ),
    memory=st.builds(
        memory,
        st.floats(0.5, 2000),
        st.floats(0, 2000),
        swap_used_bytes=st.integers(0, GIB),
        limit_source=st.sampled_from(["", "cgroup", "wsl"]),
    ),
    gpus=some_gpus(),
    disks=st.lists(
        st.builds(
            disk,
            free_gb=st.floats(0, 4000),
            kind=st.sampled_from(DiskKind),
            file_system=st.sampled_from(["", "tmpfs", "ext4"]),
            writable=st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    gpu_note=st.sampled_from(["", "no_driver", "no_gpu", "apple", "failed"]),
)


@given(some_machines, st.sampled_from(Language))
def test_every_machine_has_whole_rows(found: Machine, language: Language) -> None:
    rows = check_rows(found, language)
    assert [row.part for row in rows][:2] == ["cpu", "memory"]
    for row in rows:
        for text in (row.seen, row.detail, row.expected):
            assert text.strip()
            assert not re.search(r"[{}]", text)
    counted = count_results(rows, language)
    assert sum(map(int, re.findall(r"\d+", counted))) == len(rows)
