"""How one engine and everything it starts is kept together and ended, by each system's means.

Used by the supervisor process alone; standard library only, so that it starts in some 20 ms.

* Linux: own session, parent-death signal, the supervisor adopts orphaned grandchildren (subreaper)
  and finds them in /proc.
* macOS: own session, its process group.
* Windows: a Job Object that ends everything in it when its last handle closes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SWEEP_PAUSE_S = 0.01
SWEEPS = 100

JOB_EXTENDED_LIMITS = 9
JOB_KILL_ON_CLOSE = 0x2000
WINDOWS_SYNCHRONIZE = 0x0010_0000
WINDOWS_INFINITE = 0xFFFF_FFFF


class ProcessTree(Protocol):
    """The engine and its descendants, seen from the supervisor's main thread."""

    def spawn(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> EngineProcess:
        """Start the engine: stdin and stdout are pipes, stderr is the supervisor's own.

        Raises:
            OSError: it cannot be started.
        """

    def ask_to_end(
        self, process: EngineProcess, farewell: str, *, interrupts: bool = False
    ) -> None:
        """The polite way: ``farewell`` on its stdin, and what the system has. Returns at once.

        ``interrupts``: as Ctrl+C does, but only to the engine itself; it ends its own children.
        """

    def members(self) -> list[int]:
        """The engine and its descendants that live, where the system tells."""

    def kill(self, process: EngineProcess) -> None:
        """The engine and every descendant, without asking. Returns when they are gone."""

    def wait_for_owner(self, pid: int) -> None:
        """Block until the process ``pid`` has ended (at once when there is none)."""


EngineProcess = subprocess.Popen[bytes]


class PosixTree:
    """Session, process group, and on Linux more."""

    def __init__(self) -> None:
        self._linux = sys.platform == "linux"
        if self._linux:
            self._prctl = ctypes.CDLL(None, use_errno=True).prctl
            self._prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def spawn(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> EngineProcess:
        """See ProcessTree. Call on the main thread: the parent-death signal is tied to it."""
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr.fileno(),
            start_new_session=True,
            # Safe here: no other thread runs yet, and what it calls is loaded.
            preexec_fn=self._before_exec(os.getpid()),  # noqa: PLW1509
        )

    def ask_to_end(
        self, process: EngineProcess, farewell: str, *, interrupts: bool = False
    ) -> None:
        """SIGTERM to the group, between the farewell and the end of stdin."""
        _say(process, farewell)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if interrupts:
                os.kill(process.pid, signal.SIGINT)
            else:
                os.killpg(process.pid, signal.SIGTERM)
        _close_stdin(process)

    def members(self) -> list[int]:
        """Read from /proc; macOS keeps no files in /dev/shm that would need it."""
        return list(self._descendants()) if self._linux else []

    def kill(self, process: EngineProcess) -> None:
        """SIGKILL to the group, then to every descendant that left it."""
        for _ in range(SWEEPS):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            remaining = list(self._descendants()) if self._linux else []
            for pid in remaining:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if process.poll() is not None and not remaining:
                return
            time.sleep(SWEEP_PAUSE_S)
            self._reap_adopted(process)

    def wait_for_owner(self, pid: int) -> None:
        """By pidfd (Linux) or kqueue (macOS); a pipe that someone else inherited cannot hide it."""
        if hasattr(os, "pidfd_open"):
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                return
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
            os.close(descriptor)
        elif hasattr(select, "kqueue"):
            wait_by_kqueue(pid, select)

    def _before_exec(self, supervisor: int) -> Callable[[], None]:
        import resource  # noqa: PLC0415 - POSIX only

        def prepare() -> None:
            os.umask(0o077)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            if self._linux:
                self._prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() != supervisor:  # it ended before the signal was armed
                    os._exit(1)

        return prepare

    def _descendants(self) -> Iterator[int]:
        """Living processes below this one, by the parent field of /proc/PID/stat."""
        parents: dict[int, int] = {}
        for entry in os.listdir("/proc"):  # noqa: PTH208 - names only, 10x cheaper than Path
            if entry.isdecimal():
                with contextlib.suppress(OSError):
                    state, parent = parse_stat(Path("/proc", entry, "stat").read_bytes())
                    if state != "Z":
                        parents[int(entry)] = parent
        own = os.getpid()
        for pid in parents:
            above = pid
            while above in parents and above != own:
                above = parents[above]
            if above == own and pid != own:
                yield pid

    def _reap_adopted(self, process: EngineProcess) -> None:
        process.poll()
        if process.returncode is None:
            return
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def parse_stat(line: bytes) -> tuple[str, int]:
    """State letter and parent of a /proc/PID/stat line; the name may hold spaces and brackets."""
    fields = line[line.rindex(b")") + 2 :].split()
    return fields[0].decode(), int(fields[1])


def wait_by_kqueue(pid: int, module: Any) -> None:  # noqa: ANN401 - select, as macOS has it
    """Block until ``pid`` exits. ``module`` is ``select`` (given, so that Linux can test this)."""
    queue = module.kqueue()
    event = module.kevent(
        pid,
        filter=module.KQ_FILTER_PROC,
        flags=module.KQ_EV_ADD | module.KQ_EV_ONESHOT,
        fflags=module.KQ_NOTE_EXIT,
    )
    with contextlib.suppress(ProcessLookupError):
        queue.control([event], 1, None)
    queue.close()


class WindowsTree:
    """The supervisor puts itself into a Job Object; whatever it starts is in it by inheritance."""

    def __init__(self, kernel32: Any) -> None:  # noqa: ANN401 - a ctypes library
        self._kernel32 = kernel32
        self._job = kernel32.CreateJobObjectW(None, None)
        limits = _ExtendedLimits()
        limits.basic.flags = JOB_KILL_ON_CLOSE
        kernel32.SetInformationJobObject(
            self._job, JOB_EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        )
        kernel32.AssignProcessToJobObject(self._job, kernel32.GetCurrentProcess())

    def spawn(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> EngineProcess:
        """See ProcessTree. No console window."""
        return subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=sys.stderr.fileno(),
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )

    def ask_to_end(
        self, process: EngineProcess, farewell: str, *, interrupts: bool = False
    ) -> None:
        """Windows has no SIGTERM: llama.cpp ends when its stdin closes (measured on Linux)."""
        del interrupts  # no engine that wants one runs there
        _say(process, farewell)
        _close_stdin(process)

    def members(self) -> list[int]:
        """Nothing here needs them."""
        return []

    def kill(self, process: EngineProcess) -> None:
        """The engine now; its descendants when the supervisor ends and the job closes."""
        process.kill()
        process.wait()

    def wait_for_owner(self, pid: int) -> None:
        """WaitForSingleObject on the owner's handle."""
        handle = self._kernel32.OpenProcess(WINDOWS_SYNCHRONIZE, False, pid)
        if handle:
            self._kernel32.WaitForSingleObject(handle, WINDOWS_INFINITE)
            self._kernel32.CloseHandle(handle)


def _say(process: EngineProcess, text: str) -> None:
    if text and process.stdin is not None:
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(text.encode() + b"\n")
            process.stdin.flush()


def _close_stdin(process: EngineProcess) -> None:
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("per_process_time", ctypes.c_int64),
        ("per_job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("min_working_set", ctypes.c_size_t),
        ("max_working_set", ctypes.c_size_t),
        ("active_processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority_class", ctypes.c_uint32),
        ("scheduling_class", ctypes.c_uint32),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


def process_tree() -> ProcessTree:
    """This system's."""
    if sys.platform == "win32":
        kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel32.CreateJobObjectW.restype = ctypes.c_void_p
        kernel32.GetCurrentProcess.restype = ctypes.c_void_p
        kernel32.OpenProcess.restype = ctypes.c_void_p
        kernel32.SetInformationJobObject.argtypes = [
            ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32,
        ]  # fmt: skip
        kernel32.AssignProcessToJobObject.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        kernel32.WaitForSingleObject.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        kernel32.CloseHandle.argtypes = [ctypes.c_void_p]
        return WindowsTree(kernel32)
    return PosixTree()
