"""What watching costs: CPU time of one sample a second, in percent of a core.

    python -m benchmarks.monitor [SECONDS]

Watches a real child with threads, a child of its own and 200 MB of memory, like an engine; then
the same with the counters of a busy vLLM (a recorded page) asked for over a Unix socket.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kimi_desktop.backends.client import EngineClient
from kimi_desktop.backends.engines.vllm import Vllm
from kimi_desktop.backends.types import (
    Endpoint,
    EngineMetrics,
    EngineState,
    EngineStateChanged,
    EngineStatus,
)
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
PAGE = Path(__file__).parent.parent / "tests" / "data" / "vllm" / "metrics-busy.txt"
SERVER = f"""
import http.server, socketserver, sys
page = open({str(PAGE)!r}, "rb").read()
class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self):
        return ""
    def log_message(self, *_):
        pass
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)
server = socketserver.ThreadingUnixStreamServer(sys.argv[1], Handler)
print("up", flush=True)
server.serve_forever()
"""


def measure(seconds: float, pid: int | None, socket: Path | None = None) -> tuple[float, int]:
    """CPU seconds spent in ``seconds`` of sampling, and the number of samples.

    Args:
        seconds: to watch.
        pid: of the engine.
        socket: where it serves its counters.
    """
    io, bus = IoLoop(), EventBus()
    gpus = GpuReader()
    gpus.sample()  # opening the library is not part of a sample
    clients: list[EngineClient] = []

    async def metrics() -> EngineMetrics | None:
        if socket is None:
            return None
        if not clients:
            clients.append(EngineClient(Endpoint(socket, None, "key")))
        return Vllm().read_metrics(await clients[0].metrics_page())

    monitor = MonitorService(io, bus, gpus, metrics=metrics)
    monitor.start()
    state = EngineState.READY if pid else EngineState.STOPPED
    bus.publish(EngineStateChanged(EngineStatus(state, pid=pid)))
    time.sleep(1.5)
    count = len(monitor.history(600))
    before = time.process_time()
    time.sleep(seconds)
    used = time.process_time() - before
    samples = monitor.history(600)
    assert socket is None or samples[-1].requests_running is not None
    count = len(samples) - count
    monitor.close()
    for client in clients:
        io.submit(client.close).result()
    io.close()
    return used, count


def main() -> None:
    """Print the figures."""
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
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "engine.sock"
            with subprocess.Popen([sys.executable, "-c", SERVER, str(place)], stdout=pipe) as page:
                assert page.stdout is not None
                page.stdout.readline()
                used, count = measure(seconds, engine.pid, place)
                page.terminate()
            share = 100 * used / seconds
            print(f"with its counters:  {share:.2f} % of a core ({count} samples)")
        engine.communicate()


if __name__ == "__main__":
    main()
