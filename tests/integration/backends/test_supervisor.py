"""The supervisor's protocol, spoken by hand, and launches that are called off."""

from __future__ import annotations

import asyncio
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

from kimi_desktop.backends.engine_folder import make_engine_folder
from kimi_desktop.backends.engine_log import EngineLog
from kimi_desktop.backends.launch import EngineProcess, LaunchOrder, launch
from kimi_desktop.backends.probe import python_command, python_path
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from tests.support.engine_bench import is_running, wait_until

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="POSIX signals")

SLEEP = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


class Supervised:
    """A supervisor with the pipes in our hands."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline() or "{}")

    def order(self, folder: Path, *argv: str, **changes: Any) -> None:
        order = {
            "argv": list(argv),
            "env": dict(os.environ),
            "folder": str(folder),
            "owner": os.getpid(),
            "grace_s": 10,
            "farewell": "",
        }
        self.say(json.dumps({**order, **changes}))


@pytest.fixture
def supervised() -> Iterator[Supervised]:
    with subprocess.Popen(
        python_command("kimi_desktop.backends.supervisor", "-S"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path()},
        start_new_session=True,
    ) as process:
        try:
            yield Supervised(process)
        finally:
            process.kill()


def test_the_events_of_a_short_life(supervised: Supervised, tmp_path: Path) -> None:
    folder = make_engine_folder(tmp_path)
    code = "import os, sys; print(os.getcwd()); print('two'); sys.exit(7)"
    supervised.order(folder, sys.executable, "-I", "-S", "-c", code)
    started = supervised.hear()
    assert started["event"] == "started"
    events = [supervised.hear() for _ in range(3)]
    assert [event.get("text") for event in events if event["event"] == "line"] == [
        str(folder),
        "two",
    ]
    assert {"event": "exited", "code": 7} in events
    assert supervised.process.wait(60) == 0
    assert not folder.exists()


def test_the_app_goes_before_it_says_what_to_start(supervised: Supervised) -> None:
    supervised.process.communicate(timeout=60)
    assert supervised.process.returncode == 0


def test_what_cannot_be_started_is_told_with_its_number(
    supervised: Supervised, tmp_path: Path
) -> None:
    folder = make_engine_folder(tmp_path)
    supervised.order(folder, "/nowhere/llama-server")
    assert supervised.hear() == {
        "event": "failed",
        "errno": 2,
        "detail": "[Errno 2] No such file or directory: '/nowhere/llama-server'",
    }
    assert supervised.process.wait(60) == 1
    assert not folder.exists()


@pytest.mark.parametrize("how", ["end", "pipe", "signal"])
def test_every_way_to_ask_for_the_end(supervised: Supervised, tmp_path: Path, how: str) -> None:
    supervised.order(make_engine_folder(tmp_path), *SLEEP)
    pid = supervised.hear()["pid"]
    if how == "end":
        supervised.say("end")
        supervised.say("end")
    elif how == "pipe":
        assert supervised.process.stdin is not None
        supervised.process.stdin.close()
    else:
        supervised.process.send_signal(signal.SIGTERM)
    assert supervised.hear() == {"event": "exited", "code": -signal.SIGTERM}
    assert not is_running(pid)


def test_ctrl_c_in_the_terminal_is_not_for_it(supervised: Supervised, tmp_path: Path) -> None:
    supervised.order(make_engine_folder(tmp_path), *SLEEP)
    pid = supervised.hear()["pid"]
    supervised.process.send_signal(signal.SIGINT)
    supervised.process.send_signal(signal.SIGHUP)
    supervised.say("what")
    assert is_running(pid)
    supervised.say("end")
    assert supervised.hear()["event"] == "exited"


def test_an_owner_that_is_gone_already(supervised: Supervised, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    supervised.order(make_engine_folder(tmp_path), *SLEEP, owner=gone.pid)
    assert supervised.hear()["event"] == "started"
    assert supervised.hear()["event"] == "exited"


def test_a_folder_that_is_not_an_engines_stays(supervised: Supervised, tmp_path: Path) -> None:
    precious = tmp_path / "models"
    precious.mkdir()
    supervised.order(precious, sys.executable, "-c", "")
    while supervised.hear().get("event") not in ("exited", None):
        pass
    supervised.process.wait(60)
    assert precious.is_dir()


# the app's end of it


@pytest.fixture
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


def supervisors() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if any("supervisor" in word for word in child.cmdline()):
                found.append(child)
    return found


def is_engine(process: psutil.Process) -> bool:
    try:
        words = process.cmdline()
    except psutil.Error:
        return False
    return any("supervisor" in word or "time.sleep(600)" in word for word in words)


async def begin(io: IoLoop, order: LaunchOrder) -> EngineProcess:
    return await launch(io, order, EngineLog(None), on_output=lambda _: None, on_log=lambda _: None)


@pytest.mark.parametrize("turns", [1, 40, 400, 4000])
def test_a_launch_that_is_called_off_leaves_nothing(io: IoLoop, tmp_path: Path, turns: int) -> None:
    """After some turns of the loop: before the supervisor is there, without its order, with it."""
    order = LaunchOrder(SLEEP, dict(os.environ), make_engine_folder(tmp_path), grace_s=0.2)

    async def call_off() -> None:
        launching = io.spawn(begin(io, order), name="launch")
        for _ in range(turns):
            await asyncio.sleep(0)
        if not launching.cancel():
            await launching.result().end()
        await asyncio.wait({launching})

    io.submit(call_off).result(60)
    wait_until(lambda: not [p for p in psutil.Process().children(recursive=True) if is_engine(p)])


def test_a_supervisor_that_cannot_be_started(
    io: IoLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    order = LaunchOrder(SLEEP, {}, make_engine_folder(tmp_path))
    with pytest.raises(BackendError) as caught:
        io.submit(lambda: begin(io, order)).result(60)
    assert caught.value.code is ErrorCode.ENGINE_NOT_FOUND


def test_a_supervisor_that_fails_says_why(
    io: IoLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kimi_desktop.backends.launch.SUPERVISOR_MODULE", "no_such_module")
    order = LaunchOrder(SLEEP, {}, make_engine_folder(tmp_path))
    with pytest.raises(BackendError) as caught:
        io.submit(lambda: begin(io, order)).result(60)
    assert caught.value.code is ErrorCode.ENGINE_NOT_BEGUN
    assert "no_such_module" in str(caught.value.params["detail"])


def test_an_engine_whose_supervisor_is_gone_can_still_be_ended(io: IoLoop, tmp_path: Path) -> None:
    order = LaunchOrder(SLEEP, dict(os.environ), make_engine_folder(tmp_path), grace_s=0.2)
    process = io.submit(lambda: begin(io, order)).result(60)
    [supervisor] = supervisors()
    supervisor.kill()
    io.submit(process.end).result(60)
    assert io.submit(process.wait).result(60) is None
    assert not is_running(process.pid)
