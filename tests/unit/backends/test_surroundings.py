"""What is seen around an engine that ends, on this machine and in files that stand for another."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.ports import port_holder
from kimi_desktop.backends.surroundings import (
    Before,
    Subject,
    cgroup_counters,
    kernel_lines,
    library_versions,
    own_kernel_lines,
    process_facts,
    surroundings,
)

KERNEL = """\
6,1,900000,-;Out of memory: Killed process 11 (before)
4,2,1500000,-;Out of memory: Killed process 4242 (llama-server) total-vm:1kB
 SUBSYSTEM=memory
6,3,1600000,-;usb 1-1: new device
3,4,1700000,-;NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.
not a record
"""


def test_before_and_at_the_end_stand_apart(tmp_path: Path) -> None:
    model = tmp_path / "k.gguf"
    facts = surroundings(Subject(model), Before.look(model))
    for moment in ("before", "at_end"):
        assert facts[moment]["mem_available_gib"] > 0
        assert facts[moment]["model_disk_free_gib"] >= 0
    assert facts["process"] == "ended"
    assert "python" in facts["libraries"]
    assert "proc_state" not in facts


def test_the_kernels_words_since_the_start(tmp_path: Path) -> None:
    file = tmp_path / "kmsg"
    file.write_text(KERNEL, encoding="utf-8")
    lines = kernel_lines(1.0, file)
    assert [line.split()[0] for line in lines] == ["Out", "NVRM:"]
    facts = {"kernel": list(lines)}
    assert len(own_kernel_lines(facts, 4242)) == 2
    (card,) = own_kernel_lines(facts, 424)
    assert card.startswith("kernel: NVRM: Xid")
    assert kernel_lines(1.0, tmp_path / "none") == ()


@pytest.mark.parametrize("version", [1, 2])
def test_the_counters_of_the_control_group(tmp_path: Path, version: int) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    kind, name = ("cgroup2 rw", "0::/x") if version == 2 else ("cgroup rw,memory", "4:memory:/x")
    file_system, options = kind.split()
    (tmp_path / "proc/self/cgroup").write_text(f"{name}\n", encoding="utf-8")
    (tmp_path / "proc/self/mountinfo").write_text(
        f"30 23 0:26 / /sys/fs/cgroup rw - {file_system} none {options}\n", encoding="utf-8"
    )
    folder = tmp_path / "sys/fs/cgroup/x"
    folder.mkdir(parents=True)
    if version == 2:
        files = {"memory.events": "low 0\noom 3\noom_kill 2", "memory.peak": str(5 << 20)}
        files["memory.max"] = "max"
    else:
        files = {"memory.failcnt": "7", "memory.max_usage_in_bytes": str(5 << 20)}
        files["memory.limit_in_bytes"] = str(2**63 - 4096)
    for file, text in files.items():
        (folder / file).write_text(text, encoding="ascii")
    found = cgroup_counters(tmp_path)
    if version == 2:
        assert found == {"low": 0, "oom": 3, "oom_kill": 2, "memory.peak_mib": 5,
                         "memory.max": "max"}  # fmt: skip
    else:
        assert found == {"memory.failcnt": 7, "memory.max_usage_in_bytes_mib": 5,
                         "memory.limit_in_bytes": "max"}  # fmt: skip
    assert cgroup_counters(tmp_path / "nowhere") == {}


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    code = "import time\nwhile True: time.sleep(1)"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        yield process
        process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_process_that_is_frozen_or_waits(
    sleeper: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    deadline = time.monotonic() + 20
    while process_facts(sleeper.pid)["process"] != "waiting" and time.monotonic() < deadline:
        pass  # it imports what it needs first
    subject = Subject(tmp_path / "k", pid=sleeper.pid, is_alive=True)
    facts = surroundings(subject, Before())
    assert (facts["process"], facts["cpu_time_grows"]) == ("waiting", False)
    assert facts["open_files"] > 0
    os.kill(sleeper.pid, signal.SIGSTOP)
    facts = process_facts(sleeper.pid)
    assert facts["proc_state"].startswith("T")
    assert facts["process"] == "frozen"


def test_a_process_that_computes() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        try:
            deadline = time.monotonic() + 20
            while process_facts(busy.pid)["process"] != "computing":
                assert time.monotonic() < deadline
        finally:
            busy.kill()
    assert process_facts(2**22 + 1) == {}


def test_who_holds_the_port_of_an_engine_that_has_ended(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert port_holder(port).endswith(f"({os.getpid()})")
        facts = surroundings(Subject(tmp_path / "k", port=port), Before())
        assert facts["port_owner"] == port_holder(port)
    assert port_holder(port) == ""
    assert "port_owner" not in surroundings(Subject(tmp_path / "k", port=port), Before())


def test_libraries_of_an_environment(tmp_path: Path) -> None:
    packages = tmp_path / "lib/python3.12/site-packages"
    for name, version in (("vllm", "0.24.0"), ("torch", "2.9.1"), ("other", "1")):
        info = packages / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
        )
    found = library_versions(str(tmp_path / "bin/python"))
    assert (found["vllm"], found["torch"]) == ("0.24.0", "2.9.1")
    assert "other" not in found
    assert "python" not in found
