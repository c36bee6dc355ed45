"""All the figures of `make bench`, one script after the other. Prints JSON lines."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SCRIPTS = ("start.py", "engine_start.py", "stream.py", "transcript.py", "graphs.py", "monitor.py")


def main() -> int:
    worst = 0
    for script in SCRIPTS:
        print(f"# {script}", flush=True)
        done = subprocess.run([sys.executable, FOLDER / script, *sys.argv[1:]], check=False)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    raise SystemExit(main())
