"""Kills the app's engine side with kill -9 again and again, and counts the engines left behind.

    python benchmarks/engine_orphans.py [--runs 20]

Each run starts the real embedded engine with a tiny model, lets it get to another state (loading,
ready, in the middle of an answer) and kills the app there. One JSON line; exit code 1 when an
engine or a supervisor is alive 20 s later, or a socket is left.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil

from tests.support.engine_bench import is_running
from tests.support.engine_programs import REPOSITORY
from tests.support.tiny_kimi import make_tiny_kimi

STATES = ("loading", "ready", "generating")
PATIENCE_S = 20.0


def kill_one(home: Path, model: Path, state: str) -> float | None:
    """Milliseconds from the kill to the end of the engine's last process; None when never."""
    more = ["--generate"] if state == "generating" else []
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.app_until_killed", str(home), str(model), *more],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as app:
        assert app.stdout is not None
        for line in app.stdout:
            told = json.loads(line)
            if told["state"] == state:
                break
        pids = [told["pid"], psutil.Process(told["pid"]).ppid()]
        app.kill()
        killed = time.monotonic()
        while any(map(is_running, pids)):
            if time.monotonic() - killed > PATIENCE_S:
                return None
            time.sleep(0.001)
        return (time.monotonic() - killed) * 1000


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    gone_ms: list[float] = []
    orphans = 0
    sockets = 0
    with tempfile.TemporaryDirectory(prefix="kd-") as folder:
        model = make_tiny_kimi(Path(folder) / "tiny.gguf")
        for number in range(runs):
            home = Path(folder) / str(number)
            took_ms = kill_one(home, model, STATES[number % len(STATES)])
            orphans += took_ms is None
            gone_ms += [took_ms] if took_ms is not None else []
            sockets += len(list(home.rglob("*.sock")))
    print(
        json.dumps(
            {
                "name": "engine_orphans",
                "runs": runs,
                "orphans": orphans,
                "sockets_left": sockets,
                "gone_after_ms_median": round(statistics.median(gone_ms), 1) if gone_ms else None,
                "gone_after_ms_max": round(max(gone_ms), 1) if gone_ms else None,
            }
        )
    )
    return 1 if orphans or sockets else 0


if __name__ == "__main__":
    raise SystemExit(main())
