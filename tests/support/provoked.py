"""Makes the real embedded llama.cpp fail in a chosen way and collects what is seen of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil

from kimi_desktop.backends.end_facts import ModelFileBefore, facts_of_end
from kimi_desktop.backends.oom import oom_kills
from kimi_desktop.backends.types import EngineState, EngineStatus, LoadSettings
from kimi_desktop.diagnosis.collect import evidence_of_status
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.types import Diagnosis, Evidence

WAIT_S = 60.0
_ADDRESS = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")


@dataclass
class Provoked:
    """One engine process: still running, or ended."""

    process: subprocess.Popen[bytes]
    settings: LoadSettings
    before: ModelFileBefore
    log_file: Path
    kills_before: int
    port: int | None = None
    answers: list[str] | None = None

    def ask(self, path: str, body: Any = None) -> None:
        """Send a request; its answer joins the log as a launcher would write it down."""
        assert self.port is not None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)
        self.answers = self.answers or []
        try:
            method = "GET" if body is None else "POST"
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read().decode("utf-8", "replace")
            self.answers.append(f"HTTP {path} {answer.status}: {said}")
        except (OSError, http.client.HTTPException) as error:
            self.answers.append(f"HTTP {path} no answer: {type(error).__name__}: {error}")
        finally:
            connection.close()

    def evidence(self, **more: object) -> Evidence:
        """What is seen now; ``more`` are facts of the machine that the test stands for."""
        code: int | None = None
        alive = self.process.poll() is None
        if not alive:
            code = self.process.returncode
        log = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        facts = facts_of_end(
            code=code,
            phase="serve" if self.port is not None else "load",
            lines=[*log, *(self.answers or ())],
            oom_kills=oom_kills() - self.kills_before,
            settings=self.settings,
            before=self.before,
            is_alive=alive,
        )
        facts = replace(facts, machine={**facts.machine, **self._process_facts(), **more})
        return evidence_of_status(
            EngineStatus(EngineState.FAILED, settings=self.settings, facts=facts), None
        )

    def diagnosis(self, **more: object) -> Diagnosis:
        return diagnose(self.evidence(**more))

    def _process_facts(self) -> dict[str, object]:
        """Of a process that still runs: its state, and whether it computes or reads."""
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self.process.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return {}
            before, read = sum(process.cpu_times()[:2]), process.io_counters().read_bytes
            time.sleep(0.3)
            return {
                "proc_state": {"stopped": "T", "disk-sleep": "D"}.get(process.status(), "S"),
                "cpu_time_grows": sum(process.cpu_times()[:2]) > before,
                "read_bytes_grow": process.io_counters().read_bytes > read,
            }
        return {}


@contextlib.contextmanager
def provoked(
    model: Path,
    folder: Path,
    *flags: str,
    until_ready: bool = False,
    limit: Callable[[], None] | None = None,
    settings: LoadSettings | None = None,
    environment: Sequence[tuple[str, str]] = (),
) -> Iterator[Provoked]:
    """Start the embedded engine on ``model`` and wait until it has ended (or is ready).

    Args:
        model: its file, whatever is in it.
        folder: for the log.
        flags: more of llama-server's flags.
        until_ready: wait for its address instead of its end.
        limit: runs in the child before the engine (``resource.setrlimit``).
        settings: what the launcher would say was asked for.
        environment: more variables.
    """
    log_file = folder / "engine.log"
    command = [
        sys.executable, "-m", "kimi_desktop.backends.embedded",
        "-m", str(model), "-c", "512", "-t", "1", "-np", "1", *flags,
    ]  # fmt: skip
    with log_file.open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            preexec_fn=limit,  # noqa: PLW1509 - the test has no other thread at work
            env={**os.environ, "OMP_NUM_THREADS": "1", **dict(environment)},
        )
    run = Provoked(
        process,
        settings or LoadSettings(model, context=512),
        ModelFileBefore.look(model),
        log_file,
        oom_kills(),
    )
    try:
        _wait(run, until_ready=until_ready)
        yield run
    finally:
        process.kill()
        process.wait()
        if process.stdin:
            process.stdin.close()


def _wait(run: Provoked, *, until_ready: bool) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if run.process.poll() is not None:
            return
        if until_ready:
            match = _ADDRESS.search(run.log_file.read_text(encoding="utf-8", errors="replace"))
            if match:
                run.port = int(match[1])
                return
        time.sleep(0.02)
    raise AssertionError(run.log_file.read_text(encoding="utf-8", errors="replace")[-2000:])
