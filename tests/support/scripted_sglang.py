"""An environment with an "SGLang" in it: a real venv and a launcher module that follows orders.

What it reads (``--config`` as YAML), whom it lets in (everything but /health and /metrics wants the
key), how it words and ends follow the source of SGLang 0.5.23. Orders, a JSON file read at every
start:

    lines        the log of a start, printed to stderr as SGLang does
    last         what it prints before it exits instead of serving
    code         with which exit code; -9: it kills itself
    worker       start a child that outlives it
    deaf         SIGINT is ignored
"""

from __future__ import annotations

import sys
import venv
from pathlib import Path
from typing import Any

from tests.support.scripted_vllm import Environment

DATA = Path(__file__).parent.parent / "data" / "sglang"
LAUNCHER = """\
import http.server, json, os, signal, socketserver, subprocess, sys
from pathlib import Path

HERE = Path({folder!r})
if "--help" in sys.argv:
    print((HERE / "help.txt").read_text())
    sys.exit(0)
orders = json.loads((HERE / "orders.json").read_text())
given = dict(zip(sys.argv, sys.argv[1:]))
config = Path(given["--config"])
assert config.suffix in (".yaml", ".yml"), "Config file must be YAML format"
KEY = json.loads(config.read_text())["api-key"]
with (HERE / "starts.jsonl").open("a") as starts:
    row = {{"argv": sys.argv[1:], "env": dict(os.environ), "mode": oct(config.stat().st_mode),
            "pid": os.getpid(), "key": KEY}}
    starts.write(json.dumps(row) + "\\n")
if orders.get("deaf"):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if orders.get("worker"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (HERE / "worker.pid").write_text(str(child.pid))
for line in orders.get("lines", []):
    sys.stderr.write(line.replace("KEY", KEY) + "\\n")
sys.stderr.flush()
if "code" in orders:
    sys.stderr.write(orders.get("last", "") + "\\n")
    sys.stderr.flush()
    if orders["code"] == -9:
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(orders["code"])


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def _say(self, status, body, kind="application/json"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _let_in(self):
        if self.headers.get("Authorization") == "Bearer " + KEY:
            return True
        self._say(401, '{{"error":"Unauthorized"}}')
        return False

    def do_GET(self):
        if self.path == "/health":
            self._say(200, "")
        elif self.path == "/metrics":
            self._say(200, (HERE / "metrics.txt").read_text(), "text/plain")
        elif self._let_in():
            model = {{"id": given["--served-model-name"], "object": "model", "owned_by": "sglang"}}
            self._say(200, json.dumps({{"object": "list", "data": [model]}}))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._let_in():
            return
        chunks = [
            {{"choices": [{{"index": 0, "delta": {{"role": "assistant", "content": ""}}}}]}},
            {{"choices": [{{"index": 0, "delta": {{"reasoning_content": "Hm."}}}}]}},
            {{"choices": [{{"index": 0, "delta": {{"content": "Hello"}}}}]}},
            {{"choices": [{{"index": 0, "delta": {{}}, "finish_reason": "stop"}}]}},
        ]
        lines = "".join("data: " + json.dumps(c) + "\\n\\n" for c in chunks)
        self._say(200, lines + "data: [DONE]\\n\\n", "text/event-stream")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


server = Server((given["--host"], int(given["--port"])), Handler)
sys.stderr.write("[2026-11-30 12:50:17] The server is fired up and ready to roll!\\n")
sys.stderr.flush()
try:
    server.serve_forever()
except KeyboardInterrupt:
    if orders.get("worker"):
        child.kill()
    sys.exit(0)
"""


def make_sglang(folder: Path, *, version: str = "0.5.23", **orders: Any) -> Environment:
    """A venv whose site-packages have an sglang of that version, and a torch without CUDA."""
    venv.create(folder, with_pip=False, symlinks=True)
    library = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / library / "site-packages"
    (packages / "sglang").mkdir(parents=True)
    (packages / "sglang" / "__init__.py").write_text("")
    launcher = LAUNCHER.format(folder=str(folder))
    (packages / "sglang" / "launch_server.py").write_text(launcher)
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("")
    for name, number in (("sglang", version), ("torch", "2.13.0+cpu")):
        facts = packages / f"{name}-{number.partition('+')[0]}.dist-info"
        facts.mkdir()
        text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n"
        (facts / "METADATA").write_text(text)
    (folder / "help.txt").write_text((DATA / "help-0.5.23.txt").read_text())
    (folder / "metrics.txt").write_text((DATA / "metrics-busy.txt").read_text())
    return Environment(folder, orders)
