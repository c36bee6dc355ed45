"""What watching costs: CPU time of one sample a second, in percent of a core.

    python -m benchmarks.monitor [SECONDS]

Watches a real child with threads, a child of its own and 200 MB of memory, like an engine.
"""

from __future__ import annotations

import subprocess
import sys
import time

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.machine.gpus import GpuReader
from kimi_desktop.monitor.service import MonitorService

# Both processes end when the pipe to their maker closes.
CHILD = "import sys; sys.stdin.read()"
ENGINE = f"""
import subprocess, sys, threading, time
block = bytearray(200_000_000)
for _ in range(32):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE)
print("up", flush=True)
sys.stdin.read()
"""


def measure(seconds: float, pid: int | None) -> tuple[float, int]:
    """CPU seconds spent in ``seconds`` of sampling, and the number of samples."""
    io, bus = IoLoop(), EventBus()
    gpus = GpuReader()
    gpus.sample()  # opening the library is not part of a sample
    monitor = MonitorService(io, bus, gpus)
    monitor.start()
    state = EngineState.READY if pid else EngineState.STOPPED
    bus.publish(EngineStateChanged(EngineStatus(state, pid=pid)))
    time.sleep(1.5)
    count = len(monitor.history(600))
    before = time.process_time()
    time.sleep(seconds)
    used = time.process_time() - before
    count = len(monitor.history(600)) - count
    monitor.close()
    io.close()
    return used, count


def main() -> None:
    """Print both figures."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 15.0
    used, count = measure(seconds, None)
    print(f"no engine:          {100 * used / seconds:.2f} % of a core ({count} samples)")
    command = [sys.executable, "-c", ENGINE]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as engine:
        assert engine.stdout is not None
        engine.stdout.readline()
        used, count = measure(seconds, engine.pid)
        print(f"engine, 33 threads: {100 * used / seconds:.2f} % of a core ({count} samples)")
        engine.communicate()


if __name__ == "__main__":
    main()
