"""Runs engine programs directly, without the app's supervisor: for tests of what is in front."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kimi_desktop.backends.types import Endpoint

KEY = "sk-test-0123456789"
START_TIMEOUT_S = 60.0
REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A child process that listens on a Unix socket."""

    process: subprocess.Popen[bytes]
    endpoint: Endpoint
    log: Path


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """A temporary folder whose path is short enough for a Unix socket (pytest's may not be)."""
    with tempfile.TemporaryDirectory(prefix="kd-") as name:
        yield Path(name)


@contextlib.contextmanager
def embedded_engine(model: Path, *more: str) -> Iterator[RunningProgram]:
    """The real embedded engine; ready when it yields."""
    with _running(_embedded(model, *more)) as running:
        yield running


@contextlib.contextmanager
def embedded_on_port(model: Path, port: int) -> Iterator[RunningProgram]:
    """The same on 127.0.0.1, as somebody would run it for others."""
    with _running(_embedded(model), port=port) as running:
        yield running


def _embedded(model: Path, *more: str) -> list[str]:
    arguments = ["-m", "kimi_desktop.backends.embedded", "-m", str(model)]
    # One thread: two that wait for each other lose seconds when other tests hold a core.
    return [*arguments, "-c", "2048", "-t", "1", "-np", "1", "--fit", "off", "--metrics", *more]


@contextlib.contextmanager
def misbehaving_engine(model: Path) -> Iterator[RunningProgram]:
    """The scripted engine; listening when it yields."""
    script = REPOSITORY / "tests" / "support" / "misbehaving_engine.py"
    with _running(["-I", "-S", str(script), "-m", str(model)]) as running:
        yield running


@contextlib.contextmanager
def _running(arguments: Sequence[str], *, port: int | None = None) -> Iterator[RunningProgram]:
    with short_folder() as folder:
        key_file, socket, log = folder / "key", folder / "e.sock", folder / "log"
        key_file.write_text(KEY + "\n", encoding="utf-8")
        where = ["--host", str(socket), "--api-key-file", str(key_file)]
        if port is not None:
            where[1:2] = ["127.0.0.1", "--port", str(port)]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *arguments, *where],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                start_new_session=True,  # a terminal's Ctrl+C is not meant for the engine
            )
        try:
            _wait_until_listening(process, log)
            yield RunningProgram(process, Endpoint(None if port else socket, port, KEY), log)
        finally:
            process.kill()
            process.wait()


def _wait_until_listening(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while "listening on" not in (text := log.read_text(encoding="utf-8", errors="replace")):
        if process.poll() is not None or time.monotonic() > deadline:
            raise AssertionError(f"the engine did not come up ({process.poll()}):\n{text}")
        time.sleep(0.01)
