"""A real ggml-rpc-server and a real llama-server, each in its own process: an answer across them.

Runs where a build of llama.cpp with RPC is at hand: ``KIMI_DESKTOP_RPC_BUILD`` names its folder (an
official release is one). The link is this machine's own; the worker sees nothing of that.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.probe import Prober
from kimi_desktop.backends.rpc.workers import Workers
from kimi_desktop.backends.types import ChatRequest, EngineKind, LoadSettings, Sampling
from kimi_desktop.planner.rpc import rpc_devices
from tests.support.engine_bench import EngineBench, engine_bench
from tests.support.planned_machines import machine
from tests.support.tiny_kimi_scripts import said

BUILD = Path(os.environ.get("KIMI_DESKTOP_RPC_BUILD", ""))
SERVER = BUILD / "llama-server"

pytestmark = [
    pytest.mark.real_rpc,
    pytest.mark.skipif(not SERVER.is_file(), reason="KIMI_DESKTOP_RPC_BUILD names a build"),
]


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A worker that the verb lends, with the real program."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = int(probe.getsockname()[1])
    words = ["worker", "--address", "127.0.0.1", "--port", str(port), "--device", "CPU", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "kimi_desktop", *words],
        env={
            **os.environ,
            "KIMI_DESKTOP_HOME": str(tmp_path / "worker"),
            "PATH": f"{BUILD}{os.pathsep}{os.environ['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert b'"ready"' in process.stdout.readline()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)


def answer(bench: EngineBench) -> str:
    async def ask() -> str:
        client = bench.service.client()
        assert client is not None
        request = ChatRequest((("user", "hi"),), Sampling(max_tokens=512))
        return "".join([delta.content async for delta in client.stream_chat(request)])

    return bench.io.submit(ask).result(60)


def test_a_model_on_a_worker_answers(address: str, tiny_kimi: Path) -> None:
    async def build() -> EngineBuild:
        return await Prober().probe(SERVER)

    here = machine(ram_gib=16)
    with engine_bench(machine=here) as bench:
        workers = Workers(bench.io, bench.bus, bench.store, build=build, takes_workers=lambda: True)
        added = workers.add(address, "worker").result(60)
        assert added.error is None  # the engine has greeted it, too
        assert added.bytes_per_s
        lent = rpc_devices(workers.join(here))
        settings = LoadSettings(
            tiny_kimi,
            kind=EngineKind.LLAMA_SERVER,
            binary=SERVER,
            n_gpu_layers=99,
            context=2048,
            gpus=(0,),
            workers=lent,
            n_threads=1,
        )
        bench.service.start(settings).result(60)
        assert answer(bench) == said("hello_fast")
        bench.service.stop().result(60)
        assert f"RPC0 ({address})" in bench.service.log_text()  # its memory, as it was used
        assert workers.check(address).result(60).error is None  # free again
