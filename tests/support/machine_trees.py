"""Small copies of /proc and /sys in a folder, for the readers that take a root."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Make ``files`` (path -> text) under ``root``. A text "-> TARGET" makes a relative link."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text.removeprefix("-> "))
        else:
            path.write_text(text, encoding="utf-8")
    return root


MEMINFO = """\
MemTotal:       65831280 kB
MemFree:        12345678 kB
MemAvailable:   54321000 kB
Buffers:          500000 kB
Cached:         40000000 kB
SwapTotal:       8388604 kB
SwapFree:        7340028 kB
HugePages_Total:       0
Hugepagesize:       2048 kB
"""


def topology(cores: int, *, sockets: int = 1, threads: int = 2) -> dict[str, str]:
    """/sys of a machine with ``cores`` physical cores in all, siblings numbered as Linux does."""
    logical = cores * threads
    files = {"sys/devices/system/cpu/online": f"0-{logical - 1}\n"}
    for number in range(logical):
        core = number % cores
        siblings = ",".join(str(core + cores * thread) for thread in range(threads))
        folder = f"sys/devices/system/cpu/cpu{number}/topology"
        files[f"{folder}/core_cpus_list"] = f"{siblings}\n"
        files[f"{folder}/physical_package_id"] = f"{core * sockets // cores}\n"
    return files


def cpuinfo(model: str, flags: str, count: int) -> str:
    """/proc/cpuinfo of an x86 machine."""
    block = "processor\t: {}\nvendor_id\t: x\nmodel name\t: {}\nflags\t\t: {}\n"
    return "\n".join(block.format(number, model, flags) for number in range(count))
