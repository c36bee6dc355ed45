"""Files in /dev/shm that engines of several processes leave behind when they are killed. Linux.

Python's multiprocessing names them psm_* (shared memory, 160 MiB each with vLLM) and sem.mp-*
(semaphores). Which are ours is read from the memory maps of the engine's own processes, so that
nobody else's are touched. Standard library only: the supervisor uses it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = "/dev/shm/"
_OURS = re.compile(r"(?:psm_|sem\.mp-)[A-Za-z0-9_-]+")


def mapped_by(pids: Iterable[int], proc: Path = Path("/proc")) -> set[str]:
    """Names in /dev/shm that these processes have mapped; processes that are gone have none."""
    names: set[str] = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            text = (proc / str(pid) / "maps").read_text(encoding="utf-8", errors="replace")
            for line in text.splitlines():
                place = line.partition(FOLDER)[2]
                if place and _OURS.fullmatch(place):
                    names.add(place)
    return names


def remove(names: Iterable[str], folder: Path = Path(FOLDER)) -> None:
    """Remove those that are still there; anything with another kind of name stays."""
    for name in names:
        if _OURS.fullmatch(name):
            with contextlib.suppress(OSError):
                (folder / name).unlink()
