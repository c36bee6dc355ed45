"""Engines that outlived the app: one small file per running engine, read again at the next start.

A file names the process and when it started; only a living process that matches both is ours, and
what lives on in its session only while it works in the engine's own folder. The
owner is named the same way: an engine whose owner lives (a second program with the same profile)
is not left over. Blocking calls into /proc; run them in the pool.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from kimi_desktop.backends.engine_folder import remove_engine_folder
from kimi_desktop.backends.types import Leftover

SUFFIX = ".engine.json"
SAME_START_S = 0.5
"""Start times are read in clock ticks of 10 ms and shift with the wall clock's corrections."""


@dataclass(frozen=True, slots=True)
class EngineRecord:
    """What the file says."""

    pid: int
    process_started: float
    """time.time() at which the system says that the process began."""
    owner_pid: int
    owner_started: float
    model_path: str
    folder: str
    """The engine's own folder, removed with it."""


def process_started(pid: int) -> float | None:
    """When the process began; None when there is none, or it is only waiting to be collected."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return float(process.create_time())
    except (psutil.Error, OSError):
        return None


def is_alive(pid: int, started: float) -> bool:
    """A process with this number lives and began then."""
    now = process_started(pid)
    return now is not None and abs(now - started) < SAME_START_S


def session_members(
    leader: int, started: float, folder: Path | None = None
) -> list[psutil.Process]:
    """What an engine left in its session: workers outlive a killed program (vLLM's: minutes).

    The system gives a session's number to nobody else while one of its processes lives; later it
    may, so that a record of long ago is not enough.

    Args:
        leader: the engine's number.
        started: when it began.
        folder: its own, in which its workers work; None for an engine that lived a moment ago.
    """
    if not hasattr(os, "getsid"):
        return []
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            is_member = process.pid != leader and os.getsid(process.pid) == leader
            living = is_member and process.status() != psutil.STATUS_ZOMBIE
            is_ours = folder is None or _works_in(process, folder)
            if living and is_ours and process.create_time() > started - SAME_START_S:
                found.append(process)
    return found


def _works_in(process: psutil.Process, folder: Path) -> bool:
    where: str = process.cwd()
    return where.removesuffix(" (deleted)") == str(folder)


def write_record(runtime: Path, name: str, record: EngineRecord) -> Path:
    """Keep the record; returns its file.

    Raises:
        OSError: the runtime folder is full or read-only.
    """
    file = runtime / f"{name}{SUFFIX}"
    temporary = file.with_suffix(".new")
    temporary.write_text(json.dumps(dataclasses.asdict(record)), encoding="utf-8")
    temporary.replace(file)
    return file


def find_leftovers(runtime: Path) -> tuple[Leftover, ...]:
    """Living engines whose owner is gone. Files of engines that are gone are removed."""
    found = []
    for file, record in _records(runtime):
        if is_alive(record.owner_pid, record.owner_started):
            continue
        pid, started = record.pid, record.process_started
        folder = Path(record.folder)
        if is_alive(pid, started) or session_members(pid, started, folder):
            found.append(Leftover(record.pid, record.model_path, record.process_started))
        else:
            _forget(file, record)
    return tuple(found)


def end_leftovers(runtime: Path, leftovers: Iterable[Leftover], grace_s: float) -> None:
    """End these engines with all their children: TERM, ``grace_s``, KILL."""
    wanted = {(leftover.pid, leftover.started_at) for leftover in leftovers}
    for file, record in _records(runtime):
        if (record.pid, record.process_started) in wanted:
            end_tree(record.pid, record.process_started, grace_s, Path(record.folder))
            _forget(file, record)


def end_tree(pid: int, started: float, grace_s: float, folder: Path | None = None) -> None:
    """End one process, if it is still the one that began then, its descendants and its session.

    Args:
        pid: its number.
        started: when it began.
        grace_s: between TERM and KILL.
        folder: see ``session_members``.
    """
    tree: list[psutil.Process] = []
    if is_alive(pid, started):
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            tree = [process, *process.children(recursive=True)]
    tree += [member for member in session_members(pid, started, folder) if member not in tree]
    for member in tree:
        with contextlib.suppress(psutil.Error):
            member.terminate()
    _, stubborn = psutil.wait_procs(tree, timeout=grace_s)
    members = session_members(pid, started, folder)
    stubborn += [member for member in members if member not in stubborn]
    for member in stubborn:
        with contextlib.suppress(psutil.Error):
            member.kill()
    psutil.wait_procs(stubborn, timeout=grace_s)


def _records(runtime: Path) -> Iterator[tuple[Path, EngineRecord]]:
    for file in sorted(runtime.glob(f"*{SUFFIX}")):
        try:
            yield file, EngineRecord(**json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):  # cut off by a crash
            with contextlib.suppress(OSError):
                file.unlink()


def _forget(file: Path, record: EngineRecord) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
    remove_engine_folder(Path(record.folder))
