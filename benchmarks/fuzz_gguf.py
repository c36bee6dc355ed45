"""Feeds the header reader hostile files and reports the slowest, the largest and any crash.

    python benchmarks/fuzz_gguf.py [--inputs 200000] [--seed 1]

One JSON object on stdout; exit code 1 when anything but a ModelError came out.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import sys
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimi_desktop.base.errors import ModelError
from kimi_desktop.models.gguf import read_header
from tests.support.gguf_files import BytesSource
from tests.support.gguf_mutations import mutated


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    outcomes: collections.Counter[str] = collections.Counter()
    crashes: list[str] = []
    slowest_s = 0.0
    peak_bytes = 0
    tracemalloc.start()
    began = time.monotonic()
    for number in range(arguments.inputs):
        content = mutated(chance)
        before = time.perf_counter()
        tracemalloc.reset_peak()
        try:
            read_header(BytesSource(content), label="fuzz")
            outcomes["read"] += 1
        except ModelError as error:
            outcomes[error.code.value] += 1
        except Exception as error:  # noqa: BLE001 - this is what the run is looking for
            outcomes["crash"] += 1
            crashes.append(f"{number}: {type(error).__name__}: {error}")
        slowest_s = max(slowest_s, time.perf_counter() - before)
        peak_bytes = max(peak_bytes, tracemalloc.get_traced_memory()[1])
    print(
        json.dumps(
            {
                "inputs": arguments.inputs,
                "seed": arguments.seed,
                "seconds": round(time.monotonic() - began, 1),
                "slowest_ms": round(slowest_s * 1e3, 2),
                "peak_mib": round(peak_bytes / 2**20, 2),
                "outcomes": dict(outcomes.most_common()),
                "crashes": crashes[:10],
            }
        )
    )
    return 1 if crashes else 0


if __name__ == "__main__":
    raise SystemExit(main())
