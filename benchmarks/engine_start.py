"""Engine start under the app against the same engine started bare, in turns, in one run.

    python benchmarks/engine_start.py [--runs 10] [--model FILE]

Bare: the embedded engine as a plain child, from spawn until a guarded route answers 200. Under the
app: ``LlamaEngineService.start`` from the call until READY (supervisor, key, record, proof, and the
first import of httpx in its first run, which is printed apart). One JSON line; medians.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from kimi_desktop.backends.command import Listening, build_command
from kimi_desktop.backends.probe import embedded_build, python_path
from kimi_desktop.backends.types import LoadSettings
from tests.support.engine_bench import EngineBench
from tests.support.tiny_kimi import make_tiny_kimi

KEY = "sk-benchmark-0123456789"
BODY = b'{"content":"a"}'
QUESTION = (
    b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    b"Authorization: Bearer " + KEY.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
)


def answers(path: Path) -> bool:
    """The engine answers 200 to its key."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
            client.sendall(QUESTION)
            return client.recv(64).startswith(b"HTTP/1.1 200")
        except OSError:
            return False


def start_bare(folder: Path, settings: LoadSettings) -> float:
    """Seconds until it answers."""
    path, key_file = folder / "bare.sock", folder / "bare.key"
    key_file.write_text(KEY, encoding="utf-8")
    command = build_command(
        embedded_build(), settings, listening=Listening(path, key_file), n_threads=1
    )
    began = time.perf_counter()
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": python_path()},
    ) as process:
        while not answers(path):
            if process.poll() is not None:
                raise SystemExit(f"the engine ended with {process.returncode}")
            time.sleep(0.001)
        took_s = time.perf_counter() - began
        process.kill()
    return took_s


def start_under_the_app(bench: EngineBench, settings: LoadSettings) -> float:
    """Seconds until READY."""
    began = time.perf_counter()
    bench.service.start(settings).result(120)
    took_s = time.perf_counter() - began
    bench.service.stop().result(60)
    return took_s


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kd-") as name:
        folder = Path(name)
        model = given.model or make_tiny_kimi(folder / "tiny.gguf")
        settings = LoadSettings(model, n_threads=1, context=2048)
        bench = EngineBench(folder / "home")
        first_s = start_under_the_app(bench, settings)
        bare_s, app_s = [], []
        for _ in range(given.runs):
            bare_s.append(start_bare(folder, settings))
            app_s.append(start_under_the_app(bench, settings))
        bench.close()
    bare_ms, app_ms = statistics.median(bare_s) * 1000, statistics.median(app_s) * 1000
    print(
        json.dumps(
            {
                "name": "engine_start",
                "model": model.name,
                "runs": given.runs,
                "bare_ms": round(bare_ms, 1),
                "app_ms": round(app_ms, 1),
                "added_ms": round(app_ms - bare_ms, 1),
                "aim_added_ms": 150,
                "first_app_start_ms": round(first_s * 1000, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
