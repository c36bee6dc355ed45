"""What a look at the machine means: rows with a result. Pure, any thread.

The yardstick is Kimi K2.6: a file must fit into RAM and VRAM together, since reading it from disk
while it answers gives less than one token a second. The machine in one sentence: ``planner.tiers``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import (
    GB,
    GIB,
    format_duration,
    format_file_size,
    format_gib,
    format_rate,
)
from kimi_desktop.machine.types import (
    CheckRow,
    Cpu,
    Disk,
    DiskKind,
    Gpu,
    Machine,
    Memory,
    Result,
)

# Kimi K2.6 UD-Q4_K_XL: 584 GB = 544 GiB. The 8 GiB on top: 2.1 GiB of KV at 32K tokens, 3 to 4 GiB
# of compute buffers, the rest for the system.
K26_4BIT_FILE_BYTES = 584 * GB
K26_4BIT_BYTES = 552 * GIB
K26_4BIT_TEXT = f"{K26_4BIT_BYTES // GIB} GiB"
# The always-on part of K2.6 (12.1 GiB) with 32K tokens of KV takes a card of 16 GB; such cards
# report a little less than 16 GiB.
USEFUL_VRAM_BYTES = 15.5 * GIB
# CUDA 12.8, which today's builds of vLLM ask for, came with driver 570.
MIN_DRIVER = 570
MIN_CORES = 4
MIN_MEMORY_BYTES = 2 * GIB
MIN_DISK_BYTES = 1 * GB

# GB/s per lane and direction, PCIe 1.0 ... 6.0.
LANE_GB_S = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
EXPECTED_LINK_GB_S = 16 * LANE_GB_S[4]
LINK_SHARE = 0.7
"""Of a link's rate, what a copy from pinned memory reaches at least when nothing is wrong."""
# A token of K2.6 in 4 bit reads 11.9 GB of experts, at 0.7 of the bandwidth: 4 tokens per second.
EXPECTED_RAM = 70 * GB
RAM_SHARE = 0.6
"""Of the data sheet; less is often a slot without a module."""
EXPECTED_DISK = 2 * GB

ISA_LABELS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "amx_int8": "AMX",
    "neon": "NEON",
    "sve": "SVE",
    "sme": "SME",
}
RAM_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})


def check_rows(machine: Machine, language: Language) -> tuple[CheckRow, ...]:
    """The rows of the hardware check; only what was looked at gets a row."""
    return tuple(
        itertools.chain(
            (_cpu_row(machine.cpu, language), _memory_row(machine, language)),
            (_memory_speed_row(machine.memory, language),),
            _gpu_rows(machine, language),
            _link_rows(machine.gpus, language),
            _disk_rows(machine.disks, language),
            _disk_speed_rows(machine.disks, language),
        )
    )


def count_results(rows: Iterable[CheckRow], language: Language) -> str:
    """How the rows came out, in one sentence."""
    results = [row.result for row in rows]
    return message(
        "machine.verdict.detail",
        language,
        passed=results.count(Result.PASSED),
        warnings=_counted("warning", results.count(Result.WARN), language),
        unknown=results.count(Result.UNKNOWN),
        failed=results.count(Result.FAILED),
    )


def _cpu_row(cpu: Cpu, language: Language) -> CheckRow:
    is_arm = "neon" in cpu.isa
    no_avx2 = not is_arm and "avx2" not in cpu.isa
    if not cpu.isa:
        result = Result.UNKNOWN
    elif no_avx2:
        result = Result.FAILED
    else:
        result = Result.PASSED if cpu.usable_physical_cores >= MIN_CORES else Result.WARN
    counts = (
        _counted("core", cpu.physical_cores, language),
        _counted("socket", cpu.sockets, language),
        _counted("numa", cpu.numa_nodes, language),
    )
    details = [message("machine.comma", language).join(counts)]
    if cpu.usable_physical_cores < cpu.physical_cores:
        details.append(message("machine.cpu.usable", language, count=cpu.usable_physical_cores))
    if result is Result.FAILED:
        details.append(message("machine.cpu.no_avx2", language))
    labels = [label for name, label in ISA_LABELS.items() if name in cpu.isa]
    if labels:
        details.append(", ".join(labels))
    return CheckRow(
        result,
        "cpu",
        seen=cpu.model,
        detail=_dotted(details),
        expected=message(f"machine.cpu.expected_{'other' if is_arm else 'x86'}", language),
    )


def _memory_row(machine: Machine, language: Language) -> CheckRow:
    memory = machine.memory
    vram_free = sum(gpu.vram_free_bytes for gpu in machine.gpus)
    if memory.usable_total_bytes < MIN_MEMORY_BYTES:
        result = Result.FAILED
    elif memory.available_bytes + vram_free < K26_4BIT_BYTES:
        result = Result.WARN
    else:
        result = Result.PASSED
    if memory.limit_source == "cgroup":
        limit = message("machine.memory.cgroup", language, total=format_gib(memory.total_bytes))
    else:
        limit = message(f"machine.memory.{memory.limit_source or 'no_limit'}", language)
    swap = message("machine.memory.no_swap", language)
    if memory.swap_used_bytes:
        swap = message("machine.memory.swap", language, used=format_gib(memory.swap_used_bytes))
    return CheckRow(
        result,
        "memory",
        seen=message(
            "machine.memory.seen",
            language,
            total=format_gib(memory.usable_total_bytes),
            free=format_gib(memory.available_bytes),
        ),
        detail=_dotted([limit, swap]),
        expected=message(
            f"machine.memory.expected{'_both' if machine.vram_total_bytes else ''}",
            language,
            need=K26_4BIT_TEXT,
        ),
    )


def _memory_speed_row(memory: Memory, language: Language) -> CheckRow:
    rate, theory = memory.read_bytes_per_s_measured, memory.read_bytes_per_s_theoretical
    expected = message("machine.memory_speed.expected", language, rate=format_rate(EXPECTED_RAM))
    if rate is None:
        return CheckRow(
            Result.UNKNOWN,
            "memory_speed",
            seen=message("machine.not_measured", language),
            detail=message("machine.memory_speed.detail", language),
            expected=expected,
        )
    is_slow = rate < EXPECTED_RAM or (theory is not None and rate < RAM_SHARE * theory)
    seen = message("machine.measured", language, rate=format_rate(rate))
    if theory:
        seen = message(
            "machine.memory_speed.share",
            language,
            rate=format_rate(rate),
            percent=round(100 * rate / theory),
            theory=format_rate(theory),
        )
    return CheckRow(
        Result.WARN if is_slow else Result.PASSED,
        "memory_speed",
        seen=seen,
        detail=message("machine.memory_speed.detail", language),
        expected=expected,
    )


def _gpu_rows(machine: Machine, language: Language) -> Iterable[CheckRow]:
    """One row per kind of card; then one for what does not answer or is not there."""
    expected = message("machine.gpu.expected", language, driver=MIN_DRIVER)
    by_name: dict[str, list[Gpu]] = {}
    for gpu in machine.gpus:
        by_name.setdefault(gpu.name, []).append(gpu)
    for name, gpus in by_name.items():
        yield _card_row(name, gpus, expected, language)
    note = machine.gpu_note
    if note == "apple":
        yield CheckRow(
            Result.PASSED,
            "gpu",
            seen=message("machine.gpu.apple", language),
            detail=message("machine.gpu.apple_detail", language),
            expected=message("machine.gpu.apple_expected", language),
        )
    elif note == "failed":
        said = message("machine.comma", language).join(machine.gpu_failures)
        yield CheckRow(
            Result.FAILED,
            "gpu",
            seen=message("machine.gpu.failed", language),
            detail=message("machine.gpu.failed_detail", language, said=said),
            expected=message("machine.gpu.failed_expected", language),
        )
    elif note:
        keys = {"no_driver": "machine.gpu.no_driver", "hidden": "machine.gpu.hidden"}
        key = keys.get(note, "machine.gpu.none")
        yield CheckRow(
            Result.WARN,
            "gpu",
            seen=message(key, language),
            detail=message(f"{key}_detail", language),
            expected=expected,
        )


def _card_row(name: str, gpus: Sequence[Gpu], expected: str, language: Language) -> CheckRow:
    first = gpus[0]
    vram = sum(gpu.vram_total_bytes for gpu in gpus)
    details = []
    if not vram:
        result, seen = Result.UNKNOWN, name
        details.append(message("machine.gpu.shares_memory", language))
    else:
        enough = min(gpu.vram_total_bytes for gpu in gpus) >= USEFUL_VRAM_BYTES
        result = Result.PASSED if enough and _major(first.driver) >= MIN_DRIVER else Result.WARN
        seen = message(
            f"machine.gpu.seen_{'many' if len(gpus) > 1 else 'one'}",
            language,
            count=len(gpus),
            name=name,
            vram=format_gib(vram),
        )
        free = sum(gpu.vram_free_bytes for gpu in gpus)
        details.append(message("machine.gpu.free", language, free=format_gib(free)))
    details.append(message("machine.gpu.driver", language, driver=first.driver))
    if first.compute_capability:
        details.append(
            message("machine.gpu.capability", language, capability=first.compute_capability)
        )
    return CheckRow(result, "gpu", seen=seen, detail=_dotted(details), expected=expected)


def _link_rows(gpus: Sequence[Gpu], language: Language) -> Iterable[CheckRow]:
    """One row for all cards: the slowest link is the one that people wait for."""
    if not gpus:
        return
    links = [(gpu.pcie_gen, gpu.pcie_width) for gpu in gpus if gpu.pcie_gen and gpu.pcie_width]
    expected = message("machine.link.expected", language)
    rates = [rate for gpu in gpus if (rate := gpu.pcie_bytes_per_s_measured)]
    if len(links) < len(gpus) and not rates:
        yield CheckRow(
            Result.UNKNOWN,
            "gpu_link",
            seen=message("machine.link.unknown", language),
            detail=message("machine.link.unknown_detail", language),
            expected=expected,
        )
        return
    if len(links) < len(gpus):
        fast = min(rates) >= LINK_SHARE * EXPECTED_LINK_GB_S * GB
        yield CheckRow(
            Result.PASSED if fast else Result.WARN,
            "gpu_link",
            seen=message("machine.measured", language, rate=format_rate(min(rates))),
            detail=message("machine.link.unknown", language),
            expected=expected,
        )
        return
    speed, generation, width = min(
        (LANE_GB_S.get(generation or 0, LANE_GB_S[6]) * (width or 0), generation or 0, width or 0)
        for generation, width in links
    )
    seen = message(
        f"machine.link.seen{'_slowest' if len(gpus) > 1 else ''}",
        language,
        generation=generation,
        width=width,
        count=len(gpus),
    )
    detail = message("machine.link.detail", language)
    is_fast = speed >= EXPECTED_LINK_GB_S
    if rates:
        is_fast = min(rates) >= LINK_SHARE * EXPECTED_LINK_GB_S * GB
        detail = message("machine.measured", language, rate=format_rate(min(rates)))
    result = Result.PASSED if is_fast else Result.WARN
    yield CheckRow(result, "gpu_link", seen=seen, detail=detail, expected=expected)


def _disk_rows(disks: Sequence[Disk], language: Language) -> Iterable[CheckRow]:
    for disk in disks:
        in_ram = disk.file_system in RAM_FILE_SYSTEMS
        slow = in_ram or disk.kind in (DiskKind.ROTATIONAL, DiskKind.NETWORK)
        if not disk.writable or disk.free_bytes < MIN_DISK_BYTES:
            result = Result.FAILED
        elif slow or disk.free_bytes < K26_4BIT_FILE_BYTES:
            result = Result.WARN
        else:
            result = Result.PASSED
        kind = message(f"machine.disk.{'in_ram' if in_ram else disk.kind.value}", language)
        what = (kind, disk.file_system) if disk.file_system else (kind,)
        details = [message("machine.comma", language).join(what)]
        if not disk.writable:
            details.append(message("machine.disk.not_writable", language))
        if len(disks) > 1 or not disk.writable:
            details.append(disk.path)
        yield CheckRow(
            result,
            "disk",
            seen=message(
                "machine.disk.seen",
                language,
                free=format_file_size(disk.free_bytes),
                total=format_file_size(disk.total_bytes),
            ),
            detail=_dotted(details),
            expected=message(
                "machine.disk.expected", language, need=format_file_size(K26_4BIT_FILE_BYTES)
            ),
        )


def _disk_speed_rows(disks: Sequence[Disk], language: Language) -> Iterable[CheckRow]:
    expected = message("machine.disk_speed.expected", language, rate=format_rate(EXPECTED_DISK))
    for disk in disks:
        rate = disk.read_bytes_per_s_measured
        details = []
        if rate is None:
            result, seen = Result.UNKNOWN, message("machine.not_measured", language)
            details.append(message("machine.disk_speed.detail", language))
        else:
            result = Result.PASSED if rate >= EXPECTED_DISK else Result.WARN
            seen = message("machine.measured", language, rate=format_rate(rate))
            time = format_duration(K26_4BIT_FILE_BYTES / rate, language)
            size = format_file_size(K26_4BIT_FILE_BYTES)
            details.append(message("machine.disk_speed.loads", language, size=size, time=time))
        if len(disks) > 1:
            details.append(disk.path)
        yield CheckRow(result, "disk_speed", seen=seen, detail=_dotted(details), expected=expected)


def _counted(what: str, count: int, language: Language) -> str:
    return message(f"machine.{what}.{'one' if count == 1 else 'many'}", language, count=count)


def _dotted(parts: Iterable[str]) -> str:
    return " · ".join(parts)


def _major(driver: str) -> int:
    head = driver.partition(".")[0]
    return int(head) if head.isdecimal() else 0
