"""Measures bandwidths in a process of its own, so that the crash of a driver harms nothing.

``python -m kimi_desktop.machine.bandwidth``: one JSON object on the first line of stdin (which
parts, of which folders), one JSON object per line on stdout while it works. Its stdin is also its
lifeline: when that ends (cancel, or the app is gone in whatever way) the process ends at once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kimi_desktop.machine.cpu import look_cpu
from kimi_desktop.machine.memory import memory_reader
from kimi_desktop.machine.read_disk import disk_bandwidth
from kimi_desktop.machine.read_link import CudaError, link_bandwidths
from kimi_desktop.machine.read_memory import read_bandwidth

CANCELLED_EXIT = 3


def main() -> int:
    """Measure what stdin asks for. 0, whatever could be measured: each part says how it went."""
    wish: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_watch, daemon=True).start()
    measures: Mapping[str, Callable[[Callable[[float], None]], Any]] = {
        "ram": _ram,
        "disk": lambda tell: _disk(wish, tell),
        "pcie": lambda tell: link_bandwidths(progress=tell),
    }
    for part in wish["parts"]:
        _say(event="began", part=part)

        def tell(share: float, part: str = part) -> None:
            _say(event="progress", part=part, share=round(share, 3))

        try:
            value = measures[part](tell)
        except (OSError, MemoryError, CudaError, ValueError) as error:
            _say(event="failed", part=part, detail=str(error) or type(error).__name__)
        else:
            _say(event="measured", part=part, value=value)
    return 0


def _ram(tell: Callable[[float], None]) -> float:
    threads = look_cpu().usable_physical_cores
    return read_bandwidth(threads, memory_reader().read().available_bytes, tell)


def _disk(wish: Mapping[str, Any], tell: Callable[[float], None]) -> float:
    files = [Path(name) for name in wish.get("files", ())]
    return disk_bandwidth(Path(wish["folder"]), tell, files=files)


def _watch() -> None:
    while sys.stdin.readline():
        pass
    os._exit(CANCELLED_EXIT)  # a temporary file is removed by the one who waits


def _say(**facts: Any) -> None:  # noqa: ANN401
    try:
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
    except OSError:  # nobody listens any more; the lifeline ends us
        pass


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the watching thread still waits for the lifeline
