"""``kimi-desktop worker`` as a user types it, with a scripted ggml-rpc-server."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kimi_desktop.base.paths import AppPaths
from tests.support.engine_bench import wait_until
from tests.support.ports import free_port
from tests.support.rpc_worker import ScriptedWorker, serving, write_program

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="a script as a program")

PATIENCE_S = 60


@pytest.fixture
def paths(tmp_path: Path) -> AppPaths:
    programs = tmp_path / "programs"
    programs.mkdir()
    write_program(programs)
    return AppPaths.under(tmp_path / "profile")


@contextlib.contextmanager
def begin(paths: AppPaths, *words: str) -> Iterator[subprocess.Popen[str]]:
    programs = paths.data.parent.parent / "programs"
    with subprocess.Popen(
        [sys.executable, "-m", "kimi_desktop", "worker", *words],
        env={
            **os.environ,
            "KIMI_DESKTOP_HOME": str(paths.data.parent),
            "PATH": f"{programs}{os.pathsep}{os.defpath}",
            "LC_ALL": "C.UTF-8",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def refused(paths: AppPaths, *words: str) -> str:
    with begin(paths, *words) as process:
        _, told = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    return told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_lends_says_what_to_type_and_goes(paths: AppPaths, number: signal.Signals) -> None:
    port = free_port()
    with begin(
        paths, "--address", "127.0.0.1", "--port", str(port), "--device", "CUDA0,CUDA1", "--json"
    ) as process:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        assert ready["event"] == "ready"
        assert ready["address"] == f"127.0.0.1:{port}"
        assert ready["protocol"] == "7.0.0"
        assert [device["name"] for device in ready["devices"]] == ["Scripted 24 GB card"] * 2
        assert f"workers add 127.0.0.1:{port}" in ready["command"]
        with socket.create_connection(("127.0.0.1", port)):
            assert json.loads(process.stdout.readline()) == {"event": "connected"}
        assert json.loads(process.stdout.readline()) == {"event": "left"}
        worker = psutil.Process(ready["pid"])
        process.send_signal(number)
        _, told = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "no encryption" in told
    assert not worker.is_running()


def test_the_worker_goes_when_the_verb_is_killed(paths: AppPaths) -> None:
    with begin(paths, "--address", "127.0.0.1", "--port", str(free_port()), "--json") as process:
        assert process.stdout is not None
        worker = psutil.Process(json.loads(process.stdout.readline())["pid"])
        process.kill()
        wait_until(lambda: not worker.is_running())


def test_words_for_people(paths: AppPaths) -> None:
    with begin(
        paths, "--address", "127.0.0.1", "--port", str(free_port()), "--lang", "zh_CN"
    ) as process:
        assert process.stdout is not None
        head, device = process.stdout.readline(), process.stdout.readline()
        process.terminate()
        _, told = process.communicate(timeout=PATIENCE_S)
    assert "出借" in head
    assert "Scripted 24 GB card" in device
    assert "没有加密" in told


def test_refusals(paths: AppPaths) -> None:
    assert "0.0.0.0" in refused(paths, "--address", "0.0.0.0")
    assert "127.0.0.1" in refused(paths)
    with serving(ScriptedWorker()) as port:
        told = refused(paths, "--address", "127.0.0.1", "--port", str(port))
    assert "another program" in told
    told = refused(paths, "--address", "127.0.0.1", "--port", str(free_port()), "--device", "NONE")
    assert "unknown device: NONE" in told


def test_without_a_program(paths: AppPaths) -> None:
    (paths.data.parent.parent / "programs" / "ggml-rpc-server").unlink()
    assert "GGML_RPC=ON" in refused(paths, "--address", "127.0.0.1")
