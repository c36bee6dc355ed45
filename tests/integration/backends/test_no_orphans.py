"""Whatever is killed, nothing of an engine is left: real processes, real kill -9."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kimi_desktop.backends.leftovers import (
    EngineRecord,
    find_leftovers,
    process_started,
    write_record,
)
from kimi_desktop.backends.types import EngineState
from tests.support.engine_bench import embedded, engine_bench, is_running, wait_until
from tests.support.engine_programs import REPOSITORY, short_folder
from tests.support.misbehaving_engine import make_binary, script_file

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="POSIX signals")


@contextlib.contextmanager
def app(home: Path, model: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """The app's engine side in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.app_until_killed", str(home), str(model), *more],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(process: subprocess.Popen[str], state: str) -> int:
    """The engine's pid once it is in that state."""
    assert process.stdout is not None
    for line in process.stdout:
        told: dict[str, Any] = json.loads(line)
        if told["state"] == state:
            return int(told["pid"])
    raise AssertionError(f"never {state}")


@pytest.mark.parametrize("state", ["loading", "ready", "generating"])
def test_kill_9_of_the_app_ends_the_engine(tiny_kimi: Path, state: str) -> None:
    with short_folder() as home:
        more = ("--generate",) if state == "generating" else ()
        with app(home, tiny_kimi, *more) as process:
            engine = wait_for(process, state)
            supervisor = psutil.Process(engine).ppid()
            process.kill()
            wait_until(lambda: not is_running(engine))
            wait_until(lambda: not is_running(supervisor))
        runtime = home / "run"
        assert [file for file in runtime.iterdir() if file.is_dir()] == []
        assert find_leftovers(runtime) == ()
        assert list(runtime.iterdir()) == []


def test_kill_9_of_the_app_ends_a_stubborn_tree(tmp_path: Path) -> None:
    """Ignores SIGTERM, has a grandchild in a session of its own: killed after the grace time."""
    binary = make_binary(tmp_path / "llama-server")
    model = script_file(tmp_path / "model", start=[{"ignore_term": True}, {"child": True}])
    more = ("--binary", str(binary), "--grace", "0.3")
    with short_folder() as home, app(home, model, *more) as process:
        engine = wait_for(process, "ready")
        tree = [engine, *(child.pid for child in psutil.Process(engine).children())]
        assert len(tree) == 2
        process.kill()
        wait_until(lambda: not any(map(is_running, tree)))


def test_a_hangup_of_the_terminal_ends_it_too(tiny_kimi: Path) -> None:
    with short_folder() as home, app(home, tiny_kimi) as process:
        engine = wait_for(process, "ready")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: not is_running(engine))


def test_the_supervisor_does_not_wait_for_a_pipe_that_someone_inherited(tiny_kimi: Path) -> None:
    """A process that the app forked may hold the pipe open; the app's end counts."""
    code = f"""
import os, runpy, sys, time
from kimi_desktop.backends import launch
begin = launch.EngineProcess.begin
async def and_fork(self, io, order):
    await begin(self, io, order)
    if os.fork() == 0:
        os.close(1)
        time.sleep(600)
        os._exit(0)
launch.EngineProcess.begin = and_fork
sys.argv[1:] = {["HOME", str(tiny_kimi)]!r}
sys.argv[1] = os.environ["KD_HOME"]
runpy.run_module("tests.support.app_until_killed", run_name="__main__")
"""
    with (
        short_folder() as home,
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), "KD_HOME": str(home)},
        ) as process,
    ):
        engine = wait_for(process, "ready")
        [holder] = [
            child
            for child in psutil.Process(process.pid).children()
            if child.pid != psutil.Process(engine).ppid()
        ]
        try:
            process.kill()
            wait_until(lambda: not is_running(engine))
            assert holder.is_running()
        finally:
            holder.kill()


# leftovers: everything but the engine was killed at once


@pytest.fixture
def orphan() -> Iterator[subprocess.Popen[bytes]]:
    """Stands for an engine whose owner is gone; ignores SIGTERM."""
    code = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('up', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def record_of(process: subprocess.Popen[bytes], folder: Path, **changes: Any) -> EngineRecord:
    facts: dict[str, Any] = {
        "pid": process.pid,
        "process_started": process_started(process.pid),
        "owner_pid": dead_pid(),
        "owner_started": 1.0,
        "model_path": "/models/tiny.gguf",
        "folder": str(folder),
    }
    return EngineRecord(**{**facts, **changes})


def test_a_leftover_is_found_and_ended(orphan: subprocess.Popen[bytes]) -> None:
    with engine_bench(grace_s=0.2) as bench:
        folder = bench.paths.runtime / "engine-0123abcd"
        folder.mkdir()
        write_record(bench.paths.runtime, folder.name, record_of(orphan, folder))

        [leftover] = bench.service.find_leftovers().result(60)

        assert (leftover.pid, leftover.model_path) == (orphan.pid, "/models/tiny.gguf")
        bench.service.end_leftovers([leftover]).result(60)
        assert not is_running(orphan.pid)
        assert bench.service.find_leftovers().result(60) == ()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"process_started": 12345.0}, id="the number belongs to another now"),
        pytest.param(
            {"owner_pid": os.getpid(), "owner_started": process_started(os.getpid())},
            id="its owner lives",
        ),
    ],
)
def test_what_is_not_ours_is_left_alone(
    orphan: subprocess.Popen[bytes], changes: dict[str, Any]
) -> None:
    with short_folder() as runtime:
        record = record_of(orphan, runtime / "engine-0123abcd", **changes)
        write_record(runtime, "engine-0123abcd", record)
        assert find_leftovers(runtime) == ()
        assert orphan.poll() is None


def test_our_own_engine_is_no_leftover(tiny_kimi: Path) -> None:
    with engine_bench() as bench:
        bench.service.start(embedded(tiny_kimi)).result(60)
        assert bench.service.find_leftovers().result(60) == ()
        assert bench.service.status.state is EngineState.READY
