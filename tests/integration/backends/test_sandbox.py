"""An engine shut in: with the real bubblewrap where it works, and that a start goes through it."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends import sandbox
from kimi_desktop.backends.sandbox import find_sandbox, sandboxed
from kimi_desktop.backends.types import EngineKind, LoadSettings, VllmSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from tests.support.engine_bench import engine_bench, is_running, wait_until
from tests.support.engine_programs import short_folder
from tests.support.scripted_vllm import make_environment
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

NEEDS_SANDBOX = pytest.mark.skipif(not find_sandbox(), reason="no bubblewrap that works here")
PRISONER = """
    import json, os, pathlib, socket, sys
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    said = {"home": os.environ["HOME"], "processes": processes}
    try:
        socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=2)
        said["network"] = "open"
    except OSError:
        said["network"] = "closed"
    for name, place in (("model", sys.argv[2]), ("home", os.environ["HOME"]), ("own", ".")):
        try:
            (pathlib.Path(place) / "written").write_text("x")
            said[name + "_file"] = "written"
        except OSError:
            said[name + "_file"] = "refused"
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen()
    print(json.dumps(said), flush=True)
    server.accept()[0].sendall(b"hello")
    server.accept()
"""


@NEEDS_SANDBOX
def test_it_has_a_socket_and_nothing_else(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    with short_folder() as folder, socket.create_server(("127.0.0.1", 0)) as outside:
        port = str(outside.getsockname()[1])
        inner = (sys.executable, "-c", textwrap.dedent(PRISONER), port, str(model))
        argv = sandboxed(inner, folder, tmp_path / "home")
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as engine:
            assert engine.stdout is not None
            said = json.loads(engine.stdout.readline())
            tree = psutil.Process(engine.pid).children(recursive=True)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(folder / "socket"))
                assert client.recv(5) == b"hello"
            engine.kill()
        assert (said["network"], said["model_file"]) == ("closed", "refused")
        assert (said["home_file"], said["own_file"]) == ("written", "written")
        assert said["home"] == str(tmp_path / "home")
        assert len(said["processes"]) <= 3
        wait_until(lambda: not [one for one in tree if is_running(one.pid)])


@pytest.mark.skipif(os.name == "nt", reason="vLLM does not run on Windows")
def test_a_start_goes_through_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walls = tmp_path / "bwrap"
    walls.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n'
                     'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')  # fmt: skip
    walls.chmod(walls.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(sandbox, "find_sandbox", lambda: str(walls))
    environment = make_environment(tmp_path / "env")
    settings = LoadSettings(
        make_tiny_hf_kimi(tmp_path / "tiny"),
        kind=EngineKind.VLLM,
        binary=environment.python,
        context=0,
        server=VllmSettings(sandbox=True),
    )
    with engine_bench() as bench:
        bench.service.start(settings).result()
        asked = (tmp_path / "asked").read_text()
        assert "--unshare-net" in asked
        assert str(bench.paths.sandbox_folder) in asked
        bench.service.stop().result()
        special = dataclasses.replace(VllmSettings(), sandbox=False)
        (tmp_path / "asked").unlink()
        bench.service.start(dataclasses.replace(settings, server=special)).result()
        assert not (tmp_path / "asked").exists()
        bench.service.stop().result()


def test_without_one_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sandbox, "find_sandbox", lambda: "")
    with pytest.raises(BackendError) as caught:
        sandboxed(("engine",), tmp_path, tmp_path / "home")
    assert caught.value.code is ErrorCode.ENGINE_NO_SANDBOX
    assert not (tmp_path / "home").exists()
