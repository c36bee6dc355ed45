"""Files in /dev/shm that engines of several processes leave behind when they are killed. Linux.

Python's multiprocessing names them psm_* (shared memory, 160 MiB each with vLLM) and sem.mp-*
(semaphores). Which are ours is read from the memory maps of the engine's own processes, so that
nobody else's are touched; by inode, because whoever makes a semaphore has it mapped under a first
name that is gone (measured: vLLM killed while it answers). Standard library only: the supervisor
uses it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable
from pathlib import Path

FOLDER = Path("/dev/shm")
_OURS = re.compile(r"(?:psm_|sem\.mp-)[A-Za-z0-9_-]+")
_INODE = 4
"""Column of a line of /proc/PID/maps, before the path."""


def mapped_by(pids: Iterable[int], proc: Path = Path("/proc")) -> set[int]:
    """Inodes in /dev/shm that these processes have mapped; processes that are gone have none."""
    inodes: set[int] = set()
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            text = (proc / str(pid) / "maps").read_text(encoding="utf-8", errors="replace")
            for line in text.splitlines():
                if f" {FOLDER}/" in line:
                    inodes.add(int(line.split(maxsplit=_INODE + 1)[_INODE]))
    return inodes


def remove(inodes: Collection[int], folder: Path = FOLDER) -> None:
    """Remove the files of these inodes that multiprocessing has named; all others stay."""
    if not inodes:
        return
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            if _OURS.fullmatch(file.name):
                with contextlib.suppress(OSError):
                    if file.lstat().st_ino in inodes:
                        file.unlink()
