"""The seams of the process tree: /proc lines, kqueue and Job Objects as other systems have them."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import types
from typing import Any

import pytest

from kimi_desktop.backends.process_tree import (
    JOB_EXTENDED_LIMITS,
    JOB_KILL_ON_CLOSE,
    PosixTree,
    WindowsTree,
    parse_stat,
    process_tree,
    wait_by_kqueue,
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"42 (python) S 7 42 42 0 -1 4194304", ("S", 7)),
        (b"42 (a b) c) (x) Z 1 1 1 0", ("Z", 1)),
    ],
)
def test_a_stat_line_whatever_the_name(line: bytes, expected: tuple[str, int]) -> None:
    assert parse_stat(line) == expected


class Kernel32:
    """Records the calls; hands out handles."""

    def __init__(self, *, opens: bool = True) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.flags = 0
        self._opens = opens

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            self.calls.append((name, arguments))
            if name == "SetInformationJobObject":
                pointer, size = arguments[2], arguments[3]
                raw = ctypes.string_at(ctypes.addressof(pointer._obj), size)
                self.flags = int.from_bytes(raw[16:20], "little")
            return {"CreateJobObjectW": 11, "GetCurrentProcess": -1}.get(
                name, 22 if self._opens else 0
            )

        return call


def test_the_windows_supervisor_sits_in_a_job_that_kills_when_it_closes() -> None:
    kernel32 = Kernel32()
    WindowsTree(kernel32)
    names = [name for name, _ in kernel32.calls]
    assert names == [
        "CreateJobObjectW",
        "SetInformationJobObject",
        "GetCurrentProcess",
        "AssignProcessToJobObject",
    ]
    assert kernel32.flags == JOB_KILL_ON_CLOSE
    assert kernel32.calls[1][1][:2] == (11, JOB_EXTENDED_LIMITS)
    assert kernel32.calls[1][1][3] == (144 if ctypes.sizeof(ctypes.c_void_p) == 8 else 112)
    assert kernel32.calls[3][1] == (11, -1)


def test_the_windows_supervisor_waits_for_its_owner() -> None:
    kernel32 = Kernel32()
    WindowsTree(kernel32).wait_for_owner(4711)
    assert [name for name, _ in kernel32.calls[-3:]] == [
        "OpenProcess",
        "WaitForSingleObject",
        "CloseHandle",
    ]
    assert kernel32.calls[-3][1][2] == 4711
    gone = Kernel32(opens=False)
    WindowsTree(gone).wait_for_owner(4711)
    assert gone.calls[-1][0] == "OpenProcess"


def test_windows_asks_by_closing_stdin_and_kills_outright() -> None:
    """The same code, run here on a real child that ends when its stdin closes."""
    tree = WindowsTree(Kernel32())
    code = "import sys; sys.stdin.read(); sys.exit(5)"
    with tree.spawn([sys.executable, "-c", code], {}, "/") as process:
        tree.ask_to_end(process, "")
        tree.ask_to_end(process, "again")
        assert process.wait(60) == 5
    with tree.spawn([sys.executable, "-c", "import time; time.sleep(600)"], {}, "/") as process:
        tree.kill(process)
        assert process.poll() is not None


class KqueueModule(types.SimpleNamespace):
    """``select`` as macOS has it."""

    def __init__(self, *, gone: bool) -> None:
        super().__init__(KQ_FILTER_PROC=-5, KQ_EV_ADD=1, KQ_EV_ONESHOT=16, KQ_NOTE_EXIT=0x80000000)
        self.asked: list[Any] = []
        self.closed = False
        self._gone = gone

    def kevent(self, ident: int, **fields: int) -> tuple[int, dict[str, int]]:
        return ident, fields

    def kqueue(self) -> KqueueModule:
        return self

    def control(self, events: list[Any], count: int, timeout_s: float | None) -> list[Any]:
        self.asked.append((events, count, timeout_s))
        if self._gone:
            raise ProcessLookupError
        return events

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("gone", [False, True])
def test_macos_waits_for_the_owner_by_kqueue(gone: bool) -> None:
    module = KqueueModule(gone=gone)
    wait_by_kqueue(4711, module)
    [(events, count, timeout_s)] = module.asked
    fields = {"filter": -5, "flags": 17, "fflags": 0x80000000}
    assert events == [(4711, fields)]
    assert (count, timeout_s) == (1, None)
    assert module.closed


@pytest.mark.skipif(sys.platform != "linux", reason="pidfd")
def test_linux_waits_for_the_owner_by_pidfd() -> None:
    tree = process_tree()
    assert isinstance(tree, PosixTree)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.1)"]) as owner:
        tree.wait_for_owner(owner.pid)
        assert owner.wait(60) == 0
    tree.wait_for_owner(owner.pid)
