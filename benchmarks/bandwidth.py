"""The bandwidths that forecasts use, measured as the app does it: memory, disk, GPU links.

    python benchmarks/bandwidth.py [--folder FOLDER] [--file FILE ...] [--rounds 3]

One JSON object per round on stdout: GB/s of memory read by all cores, of the disk that holds FOLDER
(nothing is written when FILE is a large model on it), and of main memory to each GPU by its UUID;
null and the reason where a part cannot be measured. The seconds of each part stand beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimi_desktop.machine.cpu import look_cpu
from kimi_desktop.machine.memory import memory_reader
from kimi_desktop.machine.read_disk import disk_bandwidth
from kimi_desktop.machine.read_link import CudaError, link_bandwidths
from kimi_desktop.machine.read_memory import read_bandwidth


def timed(measure: Callable[[], Any]) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        value = measure()
    except (OSError, MemoryError, CudaError) as error:
        return {"gb_s": None, "why": str(error)}
    seconds = round(time.perf_counter() - began, 2)
    if isinstance(value, dict):
        return {"gb_s": {name: round(rate / 1e9, 2) for name, rate in value.items()}, "s": seconds}
    return {"gb_s": round(value / 1e9, 2), "s": seconds}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--file", type=Path, action="append", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    threads = look_cpu().usable_physical_cores
    for _ in range(arguments.rounds):
        available = memory_reader().read().available_bytes
        found = {
            "threads": threads,
            "ram": timed(lambda available=available: read_bandwidth(threads, available)),
            "disk": timed(lambda: disk_bandwidth(arguments.folder, files=arguments.file)),
            "pcie": timed(link_bandwidths),
        }
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
