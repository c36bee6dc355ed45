"""An environment with a "llama-cpp-python" in it: a real venv, recorded help, and a small server.

``make_llama_environment(folder)`` makes it. Its ``python -m llama_cpp.server`` prints what the
real one prints around a load, listens on ``--port``, insists on API_KEY and answers a chat in the
frames of 0.3.36. Every start is a line of ``starts.jsonl`` in its folder: words and environment.
"""

from __future__ import annotations

import json
import sys
import venv
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "data" / "llama_cpp_python"
VERSION = "0.3.36"

SERVER = """\
import http.server, json, os, pathlib, sys
HERE = pathlib.Path(__file__).parent
if "--help" in sys.argv:
    print((HERE / "help.txt").read_text())
    sys.exit(0)
with (pathlib.Path(sys.prefix) / "starts.jsonl").open("a") as starts:
    starts.write(json.dumps({"argv": sys.argv[1:], "env": dict(os.environ)}) + "\\n")
given = dict(zip(sys.argv, sys.argv[1:]))


def tell(*lines):
    for line in lines:
        print(line, file=sys.stderr, flush=True)


tell("llama_context: n_ctx         = " + given["--n_ctx"],
     "load_tensors:   CPU_Mapped model buffer size =     0.92 MiB")
KEY = "Bearer " + os.environ["API_KEY"]


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

    def _is_let_in(self):
        if self.headers.get("Authorization") == KEY:
            return True
        self._say(401, '{"detail": "Invalid API key"}')
        return False

    def do_GET(self):
        if self.path != "/v1/models":
            self._say(404, '{"detail": "Not Found"}')
        elif self._is_let_in():
            self._say(200, json.dumps({"data": [{"id": given["--model_alias"]}]}))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._is_let_in():
            return
        frames = [({"role": "assistant"}, None), ({"content": "Hel"}, None),
                  ({"content": "lo"}, None), ({}, "stop")]
        chunks = [{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [
            {"index": 0, "delta": delta, "logprobs": None, "finish_reason": why}]}
            for delta, why in frames]
        lines = "".join("data: " + json.dumps(chunk) + "\\r\\n\\r\\n" for chunk in chunks)
        lines = ": ping\\r\\n\\r\\n" + lines + "data: [DONE]\\r\\n\\r\\n"
        self._say(200, lines, "text/event-stream")


server = http.server.ThreadingHTTPServer((given["--host"], int(given["--port"])), Handler)
tell("INFO:     Application startup complete.",
     "INFO:     Uvicorn running on http://127.0.0.1:" + given["--port"] + " (Press CTRL+C to quit)")
server.serve_forever()
"""


def make_llama_environment(folder: Path) -> Path:
    """Make it; returns the folder."""
    venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
    (site,) = folder.glob("lib/python*/site-packages")
    package = site / "llama_cpp"
    (package / "server").mkdir(parents=True)
    (package / "lib").mkdir()
    (package / "__init__.py").write_text(f'__version__ = "{VERSION}"\n')
    (package / "server" / "__init__.py").touch()
    (package / "server" / "__main__.py").write_text(SERVER)
    help_text = (DATA / f"help-{VERSION}.txt").read_text(encoding="utf-8")
    (package / "server" / "help.txt").write_text(help_text, encoding="utf-8")
    return folder


def starts(folder: Path) -> list[dict[str, Any]]:
    """What its server was started with."""
    return [json.loads(line) for line in (folder / "starts.jsonl").read_text().splitlines()]
