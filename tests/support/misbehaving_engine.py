"""A llama-server that does what its "model" says: starts late, dies, drops, hangs, talks nonsense.

The model file is JSON written by ``script_file``; the program reads it where llama-server would
read a GGUF. Steps at the start and in an answer are objects with one key:

    {"log": "text"}      a line on stderr             {"print": "text"}    one on stdout
    {"progress": 0.5}    llama.cpp's load progress
    {"sleep": 0.2}       seconds                      {"exit": 3}         leave with that code
    {"signal": 9}        send itself that signal      {"ignore_term": true}
    {"child": true}      a grandchild that ignores SIGTERM, in a session of its own
    {"wait_for": "path"} until that file exists
    {"flood": 100}       that many megabytes of log
    {"router_child": true}  ends when its stdin says so, and not before, like a real llama-server
    {"text": "..."}      a content delta              {"raw": "..."}      bytes, as they are
    {"status": 500, "body": "..."}                    {"drop": true}      close in the middle
    {"done": true}       finish reason, usage, end mark

Standard library only; run as ``python -I -S misbehaving_engine.py`` or through the executable that
``make_binary`` writes. Listens on ``--host PATH.sock`` or ``127.0.0.1`` and ``--port``.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

Steps = list[dict[str, Any]]

HELP = """\
usage: llama-server [options]

----- common params -----

-h,    --help, --usage                  print usage and exit
--version                               show version and build info
-c,    --ctx-size N                     size of the prompt context (default: 0, 0 = loaded from
                                        model)
                                        (env: LLAMA_ARG_CTX_SIZE)
-t,    --threads N                      number of CPU threads to use during generation
-b,    --batch-size N                   logical maximum batch size
-ub,   --ubatch-size N                  physical maximum batch size
-fa,   --flash-attn [on|off|auto]       set Flash Attention use
-ctk,  --cache-type-k TYPE              KV cache data type for K
-ctv,  --cache-type-v TYPE              KV cache data type for V
-ngl,  --gpu-layers, --n-gpu-layers N   max. number of layers to store in VRAM
-ncmoe, --n-cpu-moe N                   keep the Mixture of Experts (MoE) weights of the first N
                                        layers in the CPU
-fit,  --fit [on|off]                   whether to adjust unset arguments to fit in device memory
--load-mode MODE                        how to load the model
-m,    --model FNAME                    model path to load
-np,   --parallel N                     number of server slots
-a,    --alias STRING                   set alias for model name
--host HOST                             ip address to listen, or bind to an UNIX socket if the
                                        address ends with .sock
--port PORT                             port to listen
--api-key-file FNAME                    path to file containing API keys
--metrics                               enable prometheus compatible metrics endpoint
--no-webui                              disable the Web UI
--no-slots                              do not expose slots monitoring endpoint
--jinja                                 use jinja template for chat
--chat-template JINJA_TEMPLATE          set custom jinja chat template
-lv,   --verbosity, --log-verbosity N   Set the verbosity threshold
"""


def script_file(path: Path, *, start: Steps = (), answer: Steps | None = None, **more: Any) -> Path:
    """Write a "model". ``more``: ``keys`` (other ones than it is given), ``healthy`` (bool)."""
    script = {
        "start": list(start),
        "answer": [{"text": "Hello"}, {"text": " world"}, {"done": True}]
        if answer is None
        else answer,
        **more,
    }
    path.write_text(json.dumps(script), encoding="utf-8")
    return path


def make_binary(path: Path) -> Path:
    """An executable that stands for llama-server."""
    source = Path(__file__).resolve()
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{source}" "$@"\n', encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _value(arguments: list[str], *names: str) -> str | None:
    for name in names:
        if name in arguments:
            return arguments[arguments.index(name) + 1]
    return None


async def _take(step: dict[str, Any]) -> None:
    """A step that is possible at the start and in an answer."""
    [(kind, value)] = step.items()
    match kind:
        case "log":
            _say(value)
        case "print":
            sys.stdout.write(f"{value}\n")
            sys.stdout.flush()
        case "progress":
            payload = {"stages": ["text_model"], "current": "text_model", "value": value}
            state = {"state": "loading", "payload": payload}
            sys.stdout.write(f"cmd_child_to_router:state:{json.dumps(state)}\n")
            sys.stdout.flush()
        case "sleep":
            await asyncio.sleep(value)
        case "exit":
            sys.stderr.flush()
            os._exit(value)
        case "signal":
            sys.stderr.flush()
            os.kill(os.getpid(), value)
        case "ignore_term":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case "child":
            _start_child()
        case "router_child":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            threading.Thread(target=_obey_router, daemon=True).start()
        case "flood":
            line = ("flood " * 166)[:999] + "\n"
            for _ in range(value):
                sys.stderr.write(line * 1000)
            sys.stderr.flush()
        case "wait_for":
            while not _exists(value):  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(0.01)
        case _:
            raise ValueError(kind)


def _exists(path: str) -> bool:
    return Path(path).exists()


def _obey_router() -> None:
    for line in sys.stdin:
        if line == "cmd_router_to_child:exit\n":
            os._exit(0)


def _start_child() -> None:
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], start_new_session=True)
    _say(f"child {child.pid}")


class _Server:
    def __init__(self, script: dict[str, Any], keys: list[str]) -> None:
        self._script = script
        self._keys = keys
        self.answers = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one_request(reader, writer):
                pass
        writer.close()

    async def _one_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return False
        path = head.split()[1]
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.splitlines()[1:])
        }
        await reader.readexactly(int(headers.get("content-length", "0")))
        allowed = headers.get("authorization", "").removeprefix("Bearer ") in self._keys
        if path == "/health":
            if self._script.get("healthy", True):
                return await self._reply(writer, 200, '{"status":"ok"}')
            await asyncio.sleep(3600)
        if self._keys and not allowed:
            return await self._reply(writer, 401, '{"error":{"message":"Invalid API Key"}}')
        if path == "/tokenize":
            return await self._reply(writer, 200, '{"tokens":[1]}')
        if path == "/v1/models":
            return await self._reply(writer, 200, '{"data":[{"id":"scripted"}]}')
        if path == "/metrics":
            return await self._reply(
                writer, 200, "# HELP x y\nllamacpp:requests_processing 1\nbad line here\n"
            )
        if path == "/v1/chat/completions":
            return await self._answer(writer)
        return await self._reply(writer, 404, "{}")

    @staticmethod
    async def _reply(writer: asyncio.StreamWriter, status: int, body: str) -> bool:
        raw = body.encode()
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw)
        await writer.drain()
        return True

    async def _answer(self, writer: asyncio.StreamWriter) -> bool:
        self.answers += 1
        begun = False
        for step in self._script["answer"]:
            if "status" in step:
                return await self._reply(writer, step["status"], step.get("body", ""))
            if not begun:
                begun = True
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n"
                )
            if "drop" in step:
                await writer.drain()
                writer.transport.abort()
                return False
            if "text" in step:
                chunk = {"choices": [{"index": 0, "delta": {"content": step["text"]}}]}
                self._chunk(writer, f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
            elif "raw" in step:
                self._chunk(writer, step["raw"].encode("latin-1"))
            elif "done" in step:
                last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
                usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
                for chunk in (last, usage):
                    self._chunk(writer, f"data: {json.dumps(chunk)}\n\n".encode())
                self._chunk(writer, b"data: [DONE]\n\n")
            else:
                await writer.drain()
                await _take(step)
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    @staticmethod
    def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")


def _keys(arguments: list[str]) -> list[str]:
    key_file = _value(arguments, "--api-key-file")
    return Path(key_file).read_text(encoding="utf-8").split() if key_file else []


async def _run(arguments: list[str], script: dict[str, Any]) -> None:
    for step in script["start"]:
        await _take(step)
    server = _Server(script, script.get("keys") or _keys(arguments))
    host = _value(arguments, "--host") or "127.0.0.1"
    if host.endswith(".sock"):
        listening = await asyncio.start_unix_server(server.serve, host)
        address = f"unix://{host}"
    else:
        port = int(_value(arguments, "--port") or 0)
        try:
            listening = await asyncio.start_server(server.serve, host, port)
        except OSError:
            _say(f"E srv  start: couldn't bind HTTP server socket, hostname: {host}, port: {port}")
            os._exit(1)
        address = f"http://{host}:{listening.sockets[0].getsockname()[1]}"
    _say(f"main: server is listening on {address}")
    async with listening:
        await listening.serve_forever()


def main() -> None:
    arguments = sys.argv[1:]
    if "--help" in arguments:
        sys.stdout.write(HELP)
        return
    if "--version" in arguments:
        _say("version: 9876 (abcdef12)\nbuilt with a test for a test")
        return
    for argument in arguments:
        if argument.startswith("--") and argument not in HELP:
            _say(f"error: invalid argument: {argument}")
            raise SystemExit(1)
    model = Path(_value(arguments, "-m", "--model") or "")
    asyncio.run(_run(arguments, json.loads(model.read_text())))


if __name__ == "__main__":
    main()
