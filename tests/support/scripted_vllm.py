"""An environment with a "vLLM" in it: a real venv, recorded help, and a server that follows orders.

``make_environment(folder)`` makes it; its ``vllm serve`` prints the recorded lines of a start,
listens on ``--uds`` (or ``--port``), insists on VLLM_API_KEY and answers a chat whose longest
answer fits, as vLLM does. The orders are a JSON file beside it, read at every start:

    lines        the log of a start, printed to stdout as vLLM does
    shards       how many, on stderr with carriage returns
    last         what it prints before it exits instead of serving
    code         with which exit code
    worker       start a child that outlives it
    deaf         SIGINT is ignored
    shared       a block of shared memory is made and left
"""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "vllm"

PROGRAM = """\
#!{python}
import http.server, json, os, signal, socket, socketserver, subprocess, sys, time
from pathlib import Path

HERE = Path({folder!r})
if "--help=all" in sys.argv:
    print((HERE / "help.txt").read_text())
    sys.exit(0)
with (HERE / "starts.jsonl").open("a") as starts:
    kept = {{k: v for k, v in os.environ.items() if k != "VLLM_API_KEY"}}
    row = {{"argv": sys.argv[1:], "env": kept, "pid": os.getpid()}}
    starts.write(json.dumps(row) + "\\n")
orders = json.loads((HERE / "orders.json").read_text())
if orders.get("deaf"):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if orders.get("worker"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (HERE / "worker.pid").write_text(str(child.pid))
if orders.get("shared"):
    code = ("from multiprocessing import resource_tracker, shared_memory as s; import time; "
            "b = s.SharedMemory(create=True, size=4096); "
            "resource_tracker.unregister(b._name, 'shared_memory'); "
            "print(b.name, flush=True); time.sleep(600)")
    maker = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    (HERE / "shared.name").write_text(maker.stdout.readline().strip())
for line in orders.get("lines", []):
    print(line, flush=True)
for number in range(orders.get("shards", 0) + 1 if orders.get("shards") else 0):
    total = orders["shards"]
    percent = number * 100 // total
    sys.stderr.write("\\rLoading safetensors checkpoint shards: %3d%% Completed | %d/%d [00:01]"
                     % (percent, number, total))
    sys.stderr.flush()
    time.sleep(0.3)
if "code" in orders:
    print(orders.get("last", ""), flush=True)
    sys.exit(orders["code"])
CONTEXT, PROMPT = 2048, 12
KEY = "Bearer " + os.environ["VLLM_API_KEY"]


class Handler(http.server.BaseHTTPRequestHandler):
    def address_string(self):
        return "client"

    def log_message(self, *_):
        pass

    def _say(self, status, body, kind="application/json"):
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            return self._say(200, "")
        if self.path == "/metrics":
            return self._say(200, (HERE / "metrics.txt").read_text(), "text/plain")
        if self.headers.get("Authorization") != KEY:
            return self._say(401, '{{"error": "Unauthorized"}}')
        self._say(200, json.dumps({{"data": [{{"id": "scripted", "max_model_len": CONTEXT}}]}}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.path == "/tokenize":
            return self._say(200, json.dumps({{"count": PROMPT, "max_model_len": CONTEXT}}))
        if self.path != "/v1/chat/completions":
            return self._say(404, '{{"detail": "Not Found"}}')
        if self.headers.get("Authorization") != KEY:
            return self._say(401, '{{"error": "Unauthorized"}}')
        if body.get("max_tokens", 0) > CONTEXT - PROMPT:
            said = "max_tokens=%d does not fit max_model_len=%d" % (body["max_tokens"], CONTEXT)
            return self._say(400, json.dumps({{"error": {{"message": said, "code": 400}}}}))
        chunks = [
            {{"choices": [{{"index": 0, "delta": {{"role": "assistant", "content": ""}}}}]}},
            {{"choices": [{{"index": 0, "delta": {{"reasoning": "Hm."}}}}]}},
            {{"choices": [{{"index": 0, "delta": {{"content": "Hello"}}}}]}},
            {{"choices": [{{"index": 0, "delta": {{}}, "finish_reason": "stop"}}]}},
        ]
        lines = "".join("data: " + json.dumps(c) + "\\n\\n" for c in chunks)
        self._say(200, lines + "data: [DONE]\\n\\n", "text/event-stream")


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True


class UnixServer(Server):
    address_family = socket.AF_UNIX


given = dict(zip(sys.argv, sys.argv[1:]))
if "--uds" in given:
    server = UnixServer(given["--uds"], Handler)
    print("INFO Starting vLLM server on unix:" + given["--uds"], flush=True)
else:
    server = Server(("127.0.0.1", int(given["--port"])), Handler)
    print("INFO Starting vLLM server on http://127.0.0.1:" + given["--port"], flush=True)
sys.stderr.write("INFO:     Application startup complete.\\n")
sys.stderr.flush()
try:
    server.serve_forever()
except KeyboardInterrupt:
    if orders.get("worker"):
        child.kill()
    sys.exit(0)
"""


class Environment:
    """The made environment."""

    def __init__(self, folder: Path, orders: dict[str, Any]) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.program = folder / "bin" / "vllm"
        self.order(**orders)

    def order(self, **orders: Any) -> None:
        """What the next start does."""
        (self.folder / "orders.json").write_text(json.dumps(orders))

    @property
    def starts(self) -> list[dict[str, Any]]:
        """Arguments and environment (without the key) of every start."""
        file = self.folder / "starts.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]


def make_environment(
    folder: Path, *, version: str = "0.32.0+cpu", help_text: str | None = None, **orders: Any
) -> Environment:
    """A venv whose site-packages have a vllm of that version and whose bin has its program."""
    venv.create(folder, with_pip=False, symlinks=True)
    library = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / library / "site-packages"
    (packages / "vllm").mkdir(parents=True)
    (packages / "vllm" / "__init__.py").write_text("")
    facts = packages / f"vllm-{version.partition('+')[0]}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n")
    (folder / "help.txt").write_text(help_text or (DATA / "help-0.32.txt").read_text())
    (folder / "metrics.txt").write_text((DATA / "metrics-busy.txt").read_text())
    made = Environment(folder, orders)
    made.program.write_text(PROGRAM.format(python=made.python, folder=str(folder)))
    made.program.chmod(0o755)
    return made
