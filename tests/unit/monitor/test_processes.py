from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.monitor import processes
from kimi_desktop.monitor.processes import (
    MAX_GAP_S,
    LinuxProcesses,
    ProcessReading,
    PsutilProcesses,
    TreeMeter,
    process_reader,
)
from tests.support.machine_trees import plant

KIB = 2**10
UPTIME_S = 10_000.0

STATUS = """\
Name:\tllama-server
Umask:\t0022
VmLck:\t     1000 kB
VmRSS:\t  5000000 kB
RssAnon:\t  800000 kB
RssFile:\t 4199000 kB
RssShmem:\t    1000 kB
Threads:\t3
"""


def process(
    pid: int,
    *,
    children: tuple[int, ...] = (),
    name: str = "llama-server",
    state: str = "S",
    started_s: float = 9_000.0,
    cpu_ticks: tuple[int, int] = (150, 50),
    read_bytes: int | None = 4096,
    status: str = STATUS,
) -> dict[str, str]:
    """/proc of one process; its second thread made the children."""
    fields = [state, "1", *["0"] * 9, *map(str, cpu_ticks), *["0"] * 6, str(int(started_s * 100))]
    files = {
        f"proc/{pid}/stat": f"{pid} ({name}) {' '.join(fields)} 0 0\n",
        f"proc/{pid}/status": status,
        f"proc/{pid}/task/{pid}/children": "",
        f"proc/{pid}/task/{pid + 1}/children": " ".join(map(str, children)),
    }
    if read_bytes is not None:
        files[f"proc/{pid}/io"] = f"rchar: 1\nwchar: 2\nread_bytes: {read_bytes}\nwrite_bytes: 9\n"
    return files


def reader(root: Path) -> LinuxProcesses:
    return LinuxProcesses(root, lambda: UPTIME_S, 100)


def test_one_process(tmp_path: Path) -> None:
    plant(tmp_path, process(100))
    assert reader(tmp_path).read(100) == (
        ProcessReading(
            pid=100,
            age_s=1000.0,
            rss_bytes=5_000_000 * KIB,
            anonymous_bytes=801_000 * KIB,
            droppable_bytes=4_198_000 * KIB,
            read_bytes=4096,
            cpu_s=2.0,
        ),
    )


def test_the_whole_tree(tmp_path: Path) -> None:
    plant(
        tmp_path,
        process(100, children=(200, 300))
        | process(200, children=(400,), name="a (b) c")
        | process(400)
        | process(500),
    )
    found = reader(tmp_path).read(100)
    assert sorted(reading.pid for reading in found) == [100, 200, 400]  # 300 ended meanwhile


def test_a_tree_in_a_circle_ends(tmp_path: Path) -> None:
    plant(tmp_path, process(100, children=(200,)) | process(200, children=(100,)))
    assert len(reader(tmp_path).read(100)) == 2


@pytest.mark.parametrize("files", [{}, process(100, state="Z"), {"proc/100/stat": "100 (x) S"}])
def test_a_process_that_is_gone(tmp_path: Path, files: dict[str, str]) -> None:
    plant(tmp_path, files)
    assert reader(tmp_path).read(100) == ()


def test_old_kernels_and_other_users(tmp_path: Path) -> None:
    plant(tmp_path, process(100, read_bytes=None, status="Name:\tx\nVmRSS:\t 100 kB\n"))
    (found,) = reader(tmp_path).read(100)
    assert found.anonymous_bytes is None
    assert found.read_bytes is None
    assert found.droppable_bytes == 0


def test_an_io_file_without_the_line(tmp_path: Path) -> None:
    plant(tmp_path, process(100, read_bytes=None) | {"proc/100/io": "rchar: 1\n"})
    assert reader(tmp_path).read(100)[0].read_bytes is None


def test_a_locked_file_is_not_droppable(tmp_path: Path) -> None:
    locked = STATUS.replace("VmLck:\t     1000", "VmLck:\t  9000000")
    plant(tmp_path, process(100, status=locked))
    assert reader(tmp_path).read(100)[0].droppable_bytes == 0


def test_whether_a_process_is_to_be_seen(tmp_path: Path) -> None:
    plant(tmp_path, process(100))
    assert reader(tmp_path).exists(100)
    assert not reader(tmp_path).exists(101)


def reading(pid: int = 1, **changes: object) -> ProcessReading:
    values: dict[str, object] = {
        "age_s": 1000.0,
        "rss_bytes": 100,
        "anonymous_bytes": 40,
        "droppable_bytes": 60,
        "read_bytes": 0,
        "cpu_s": 0.0,
    }
    return ProcessReading(pid=pid, **(values | changes))  # type: ignore[arg-type]


def test_rates_need_two_readings() -> None:
    meter = TreeMeter()
    first = meter.measure([reading(cpu_s=5, read_bytes=10**9)], 10.0)
    assert first is not None
    assert (first.cpu_percent, first.read_bytes_per_s) == (None, None)
    assert (first.rss_bytes, first.anonymous_bytes, first.droppable_bytes) == (100, 40, 60)
    second = meter.measure([reading(age_s=1002, cpu_s=8, read_bytes=3 * 10**9)], 12.0)
    assert second is not None
    assert (second.cpu_percent, second.read_bytes_per_s) == (150.0, 10**9)


def test_a_process_born_since_counts_from_zero_and_an_older_one_from_now() -> None:
    meter = TreeMeter()
    meter.measure([], 10.0)
    born = reading(1, age_s=0.5, cpu_s=0.4, read_bytes=500)
    older = reading(2, age_s=100.0, cpu_s=50.0, read_bytes=10**9)
    usage = meter.measure([born, older], 11.0)
    assert usage is not None
    assert usage.cpu_percent == pytest.approx(40.0)
    assert usage.read_bytes_per_s == 500
    assert usage.pids == {1, 2}


def test_a_number_given_to_another_process_starts_anew() -> None:
    meter = TreeMeter()
    meter.measure([reading(1, age_s=100.0, cpu_s=50.0, read_bytes=10**9)], 10.0)
    usage = meter.measure([reading(1, age_s=0.5, cpu_s=0.1, read_bytes=300)], 11.0)
    assert usage is not None
    assert usage.read_bytes_per_s == 300


def test_no_process_no_usage() -> None:
    meter = TreeMeter()
    meter.measure([reading()], 10.0)
    assert meter.measure([], 11.0) is None


def test_one_silent_process_hides_the_sum() -> None:
    meter = TreeMeter()
    silent = reading(2, anonymous_bytes=None, read_bytes=None)
    meter.measure([reading(), silent], 10.0)
    usage = meter.measure([reading(), silent], 11.0)
    assert usage is not None
    assert usage.anonymous_bytes is None
    assert usage.read_bytes_per_s is None
    assert usage.cpu_percent == 0.0


@pytest.mark.parametrize("elapsed", [0.0, MAX_GAP_S + 1, -1.0])
def test_a_gap_gives_no_rate_but_the_next_second_does(elapsed: float) -> None:
    meter = TreeMeter()
    meter.measure([reading(cpu_s=1)], 10.0)
    usage = meter.measure([reading(cpu_s=2)], 10.0 + elapsed)
    assert usage is not None
    assert (usage.cpu_percent, usage.read_bytes_per_s) == (None, None)
    usage = meter.measure([reading(cpu_s=3)], 11.0 + elapsed)
    assert usage is not None
    assert usage.cpu_percent == pytest.approx(100.0)


@given(
    st.lists(
        st.lists(
            st.builds(
                reading,
                st.integers(1, 4),
                age_s=st.floats(0, 1e6),
                cpu_s=st.floats(0, 1e6),
                read_bytes=st.none() | st.integers(0, 2**60),
            ),
            max_size=4,
        ),
        max_size=6,
    )
)
def test_rates_are_never_negative(seconds: list[list[ProcessReading]]) -> None:
    meter = TreeMeter()
    for now, readings in enumerate(seconds):
        usage = meter.measure(readings, float(now))
        if usage is not None:
            assert usage.cpu_percent is None or usage.cpu_percent >= 0
            assert usage.read_bytes_per_s is None or usage.read_bytes_per_s >= 0


def test_each_system_has_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    for system, kind in (
        ("Linux", LinuxProcesses),
        ("Darwin", PsutilProcesses),
        ("Windows", PsutilProcesses),
    ):
        monkeypatch.setattr(processes.platform, "system", lambda name=system: name)
        assert isinstance(process_reader(), kind)


class TestPsutil:
    """The reader of macOS and Windows, here on this process and on recorded ones."""

    def test_this_process(self) -> None:
        found = PsutilProcesses().read(os.getpid())
        (own,) = [entry for entry in found if entry.pid == os.getpid()]
        assert own.rss_bytes > 10**6
        assert own.cpu_s > 0
        assert PsutilProcesses().exists(os.getpid())

    def test_a_process_that_is_gone(self) -> None:
        assert PsutilProcesses().read(2**22 + 1) == ()

    def test_windows_tells_what_is_private(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.play(monkeypatch, SimpleNamespace(rss=1000, private=300), io_counters=True)
        (found,) = PsutilProcesses().read(5)
        assert (found.anonymous_bytes, found.droppable_bytes) == (300, 700)
        assert found.read_bytes == 77

    def test_macos_tells_less(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.play(monkeypatch, SimpleNamespace(rss=1000), io_counters=False)
        (found,) = PsutilProcesses().read(5)
        assert (found.anonymous_bytes, found.droppable_bytes) == (None, 0)
        assert found.read_bytes is None

    def test_a_child_that_ends_meanwhile(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def gone() -> None:
            raise psutil.NoSuchProcess(6)

        self.play(monkeypatch, SimpleNamespace(rss=1), io_counters=False, create_time=gone)
        assert PsutilProcesses().read(5) == ()

    def play(
        self,
        monkeypatch: pytest.MonkeyPatch,
        memory: SimpleNamespace,
        *,
        io_counters: bool,
        **changes: object,
    ) -> None:
        attributes: dict[str, object] = {
            "pid": 5,
            "oneshot": nullcontext,
            "children": lambda recursive: [],
            "memory_info": lambda: memory,
            "cpu_times": lambda: SimpleNamespace(user=1.0, system=0.5),
            "create_time": lambda: 0.0,
        }
        if io_counters:
            attributes["io_counters"] = lambda: SimpleNamespace(read_bytes=77)
        monkeypatch.setattr(
            psutil, "Process", lambda pid: SimpleNamespace(**(attributes | changes))
        )
