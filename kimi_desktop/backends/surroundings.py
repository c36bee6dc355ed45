"""What stands around an engine before it starts and when it has ended. Pool threads.

Memory, disks, the control group's counters, the kernel's words, libraries, who holds its port: for
people who read a failure later, on another machine. What a system does not tell is left out,
and nothing here raises. Nested under one name each, so that no rule takes an old reading for one of
now.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from kimi_desktop.backends.ports import port_holder
from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.machine.cgroup import NO_LIMIT_BYTES, find_cgroup

KMSG = Path("/dev/kmsg")
"""Readable for root, and for everybody where the kernel does not restrict it."""
SHARED_MEMORY = Path("/dev/shm")
MOST_KERNEL_BYTES = 4 * 2**20
MOST_KERNEL_LINES = 20
LOOK_S = 0.3
"""Between two looks at a process that still runs."""
LIBRARIES = (
    "xllamacpp", "llama-cpp-python", "vllm", "sglang", "torch", "transformers", "triton", "numpy",
    "flashinfer-python", "ray",
)  # fmt: skip
STATES = {
    psutil.STATUS_RUNNING: "R (running)",
    psutil.STATUS_SLEEPING: "S (sleeping)",
    psutil.STATUS_DISK_SLEEP: "D (disk sleep)",
    psutil.STATUS_STOPPED: "T (stopped)",
    psutil.STATUS_TRACING_STOP: "T (traced)",
    psutil.STATUS_ZOMBIE: "Z (ended)",
}
"""As /proc names them, which is how rules and people know them."""

_TELLING = re.compile(
    r"out of memory|oom-kill|oom_reaper|killed process|segfault|general protection|traps: "
    r"|\bXid\b|amdgpu.*(?:reset|fault|timeout)|I/O error|hardware error"
    r"|EXT4-fs error|nvme.*timeout",
    re.IGNORECASE,
)
_RECORD = re.compile(r"^\d+,\d+,(\d+),[^;]*;(.*)$")


@dataclass(frozen=True, slots=True)
class Before:
    """The surroundings when the engine was started."""

    memory: Mapping[str, Any] = field(default_factory=dict)
    uptime_s: float = 0.0
    """Of the kernel's clock, by which its words are dated."""

    @classmethod
    def look(cls, model: Path) -> Before:
        """Now."""
        return cls(memory_and_disks(model), time.monotonic())


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose surroundings."""

    model: Path
    program: str = ""
    """That was started; "" or this interpreter's for the embedded engine."""
    pid: int | None = None
    port: int | None = None
    """That it was told to listen on."""
    is_alive: bool = False


def surroundings(subject: Subject, before: Before) -> dict[str, Any]:
    """All of it, at the end. Takes ``LOOK_S`` for an engine that still runs."""
    facts: dict[str, Any] = {
        "before": dict(before.memory),
        "at_end": memory_and_disks(subject.model),
        "cgroup": cgroup_counters(),
        "kernel": list(kernel_lines(before.uptime_s)) if before.uptime_s else [],
        "libraries": library_versions(subject.program),
        "process": "ended",
    }
    if subject.is_alive and subject.pid is not None:
        facts |= process_facts(subject.pid)
    elif subject.port and (holder := port_holder(subject.port)):
        facts["port_owner"] = holder
    return {name: value for name, value in facts.items() if value not in ({}, [])}


def own_kernel_lines(facts: Mapping[str, Any], pid: int | None) -> tuple[str, ...]:
    """Those of the kernel's words that are of this engine or of a GPU, as lines of its log."""
    own = re.compile(rf"\b{pid}\b" if pid else r"(?!)")
    return tuple(
        f"kernel: {line}" for line in facts.get("kernel", ()) if own.search(line) or "Xid" in line
    )


def memory_and_disks(model: Path) -> dict[str, Any]:
    """Free memory, swap, shared memory, and what is free on the disks that an engine uses."""
    facts: dict[str, Any] = {}
    with contextlib.suppress(psutil.Error, OSError):
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
        facts["mem_available_gib"] = round(memory.available / GIB, 2)
        facts["swap_free_gib"] = round(swap.free / GIB, 2)
    for name, folder in (("model", model.parent), ("temporary", Path(tempfile.gettempdir()))):
        with contextlib.suppress(OSError):
            facts[f"{name}_disk_free_gib"] = round(shutil.disk_usage(folder).free / GIB, 2)
    with contextlib.suppress(OSError):
        facts["shared_memory_free_mib"] = shutil.disk_usage(SHARED_MEMORY).free // MIB
    return facts


def cgroup_counters(root: Path = Path("/")) -> dict[str, Any]:
    """What the own control group has counted; bytes as MiB, "max" where there is no limit."""
    try:
        group = find_cgroup(root, "memory")
    except (OSError, ValueError):
        return {}
    if group is None:
        return {}
    folder = group.folders[0]
    names = (
        ("memory.current", "memory.peak", "memory.max", "memory.swap.current", "memory.events")
        if group.version == 2
        else (
            "memory.usage_in_bytes",
            "memory.max_usage_in_bytes",
            "memory.limit_in_bytes",
            "memory.failcnt",
            "memory.oom_control",
        )
    )
    facts: dict[str, Any] = {}
    for name in names:
        with contextlib.suppress(OSError):
            facts |= _counted(name, (folder / name).read_text(encoding="ascii", errors="replace"))
    return facts


def _counted(name: str, text: str) -> dict[str, Any]:
    """One file: a number, or rows of a word and a number."""
    text = text.strip()
    if "\n" in text or " " in text:
        rows = (line.split() for line in text.splitlines())
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
    if not text.isdigit() or int(text) >= NO_LIMIT_BYTES:
        return {name: "max"}
    if name.endswith("failcnt"):
        return {name: int(text)}
    return {f"{name}_mib": int(text) // MIB}


def kernel_lines(since_s: float, file: Path = KMSG) -> tuple[str, ...]:
    """What the kernel has said of memory, crashes, GPUs and disks since then; the last ones.

    Args:
        since_s: seconds of the monotonic clock.
        file: records "priority,number,microseconds,flags;text".
    """
    found = []
    for line in _records(file):
        record = _RECORD.match(line)
        if record is None or int(record[1]) / 1e6 < since_s:
            continue
        if _TELLING.search(record[2]):
            found.append(record[2][:500])
    return tuple(found[-MOST_KERNEL_LINES:])


def _records(file: Path) -> list[str]:
    read = bytearray()
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return []
    try:
        while len(read) < MOST_KERNEL_BYTES:
            try:
                chunk = os.read(handle, 8192)
            except BrokenPipeError:  # overwritten while it was read: the next one is there
                continue
            if not chunk:
                break
            read += chunk
    except OSError:  # BlockingIOError: that was all
        pass
    finally:
        os.close(handle)
    return read.decode("utf-8", "replace").splitlines()


def process_facts(pid: int) -> dict[str, Any]:
    """What a process does that still runs: frozen, reading, computing or waiting."""
    try:
        process = psutil.Process(pid)
        cpu, read = _work(process)
        time.sleep(LOOK_S)
        cpu_later, read_later = _work(process)
        state = STATES.get(process.status(), process.status())
        facts: dict[str, Any] = {"proc_state": state}
    except psutil.Error:
        return {}
    computes = cpu_later - cpu > LOOK_S / 10
    facts["cpu_time_grows"] = computes
    reads = None
    if read is not None and read_later is not None:
        facts["read_bytes_grow"] = reads = read_later > read
    with contextlib.suppress(psutil.Error, AttributeError):
        facts["open_files"] = process.num_fds()
    facts["process"] = _doing(state, computes=computes, reads=bool(reads))
    return facts


def _doing(state: str, *, computes: bool, reads: bool) -> str:
    if state.startswith("T"):
        return "frozen"
    if reads or state.startswith("D"):
        return "reading"
    return "computing" if computes else "waiting"


def _work(process: psutil.Process) -> tuple[float, int | None]:
    times = process.cpu_times()
    read: int | None = None
    with contextlib.suppress(psutil.Error, AttributeError, OSError):
        read = process.io_counters().read_bytes
    return times.user + times.system, read


def library_versions(program: str = "") -> dict[str, str]:
    """Versions of what an engine is made of: of its environment, or of this interpreter's.

    Args:
        program: path of the environment's interpreter or script; "" or one without an
            environment for the embedded engine.
    """
    found = {"system": f"{platform.system()} {platform.release()}"}
    name, version = platform.libc_ver()
    if name:
        found["libc"] = f"{name} {version}"
    folders = _site_packages(Path(program)) if program else []
    if not folders:
        found["python"] = platform.python_version()
    places = [str(folder) for folder in folders] or sys.path
    with contextlib.suppress(Exception):  # what others have installed may be half there
        for package in importlib.metadata.distributions(path=places):
            wanted = (package.name or "").lower().replace("_", "-")
            if wanted in LIBRARIES:
                found.setdefault(wanted, package.version)
    return found


def _site_packages(program: Path) -> list[Path]:
    home = program.parent.parent
    return [*home.glob("lib/python3*/site-packages"), *home.glob("Lib/site-packages")]
