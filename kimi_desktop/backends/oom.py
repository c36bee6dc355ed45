"""How often the system has killed a process for its memory: tells that SIGKILL from any other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

# The first counts the whole machine; the others this container (cgroup v2, v1).
COUNTERS = (
    Path("/proc/vmstat"),
    Path("/sys/fs/cgroup/memory.events"),
    Path("/sys/fs/cgroup/memory/memory.oom_control"),
)

_COUNT = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)


def oom_kills(counters: Sequence[Path] = COUNTERS) -> int:
    """The sum of the system's counters; 0 where it has none (macOS, Windows)."""
    total = 0
    for file in counters:
        try:
            text = file.read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        total += sum(int(count) for count in _COUNT.findall(text))
    return total
