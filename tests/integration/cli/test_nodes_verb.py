"""``kimi-desktop nodes`` as a user types it, with a scripted ssh and a scripted vLLM."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine_bench import is_running, wait_until
from tests.support.hf_shapes import qwen3_8b, write_checkpoint
from tests.support.ssh_program import order, starts, write_programs

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="a POSIX shell")

PATIENCE_S = 60
SHARED = Path("/dev/shm")
NODES = ("127.0.0.1", "10.0.0.2=ada@gpu2")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    return write_programs(tmp_path / "programs")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_checkpoint(tmp_path / "a model", qwen3_8b())


@contextlib.contextmanager
def begin(programs: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "kimi_desktop", "nodes", *words],
        env={
            **os.environ,
            "KIMI_DESKTOP_HOME": str(programs.parent / "profile"),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
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


def run(programs: Path, *words: str) -> tuple[int, str, str]:
    with begin(programs, *words) as process:
        out, told = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, told


def until_ready(process: subprocess.Popen[str]) -> dict[str, str]:
    assert process.stdout is not None
    for line in process.stdout:
        event: dict[str, str] = json.loads(line)
        if event["event"] == "ready":
            return event
    raise AssertionError(process.stderr.read() if process.stderr else "")


def left(programs: Path) -> list[int]:
    """Engines and children of engines that still run."""
    pids = [row["pid"] for row in starts(programs)]
    pids += [int(file.read_text()) for file in programs.glob("child-*")]
    return [pid for pid in pids if is_running(pid)]


def test_the_commands_alone(programs: Path, model: Path) -> None:
    code, out, told = run(programs, str(model), *NODES, "--tp", "2", "--ctx", "4096")
    assert code == 0
    assert "not encrypted" in told
    assert "On ada@gpu2 (10.0.0.2):" in out
    assert "reads its key from ~/.vllm-api-key" in out
    assert f"vllm serve '{model}' --tensor-parallel-size 2 --max-model-len 4096" in out
    assert not (programs / "ssh.log").exists()


def test_a_check(programs: Path, model: Path) -> None:
    code, out, _ = run(programs, str(model), *NODES, "--tp", "2", "--check")
    assert code == 0
    assert "ada@gpu2 (10.0.0.2): vLLM 0.32.0" in out
    said = (programs / "ssh.log").read_text()
    assert "BatchMode=yes" in said
    assert "-- ada@gpu2 exec /bin/sh -c" in said


@pytest.mark.parametrize(
    ("second", "orders", "words"),
    [
        ("10.0.0.2=far", {}, "No route to host"),
        ("10.0.0.2=bare", {}, "bare (10.0.0.2) does not have"),
        ("10.0.0.2=gpu2", {"versions": {"gpu2": "0.31.1"}}, "0.31.1"),
        ("10.0.0.2=gpu2", {"versions": {"gpu2": "0.11.0", "here": "0.11.0"}}, "0.18"),
        ("10.0.0.2=gpu2", {"versions": {"gpu2": "no such thing"}}, "says nothing"),
        ("10.0.0.2=gpu2", {"broken": "gpu2"}, "ImportError: libtorch_cuda.so"),
        ("10.9.9.9=gpu2", {}, "not an address of gpu2"),
        ("10.0.0.2", {}, "no name for ssh"),
        ("8.8.8.8=gpu2", {}, "not an address of a private network"),
        ("10.0.0.2=-oProxyCommand=x", {}, "no name for ssh"),
        ("127.0.0.1", {}, "named twice"),
    ],
)
def test_what_is_wrong_is_said(
    programs: Path, model: Path, second: str, orders: dict[str, object], words: str
) -> None:
    order(programs, **orders)
    code, _, told = run(programs, str(model), "127.0.0.1", second, "--tp", "2", "--check")
    assert code == 1
    assert words in told


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_started_everywhere_and_ended_everywhere(
    programs: Path, model: Path, number: signal.Signals
) -> None:
    with begin(programs, str(model), *NODES, "--tp", "2", "--run", "--json") as process:
        ready = until_ready(process)
        head, other = starts(programs)[1], starts(programs)[0]
        assert (head["host"], other["host"]) == ("here", "ada@gpu2")
        assert head["argv"][head["argv"].index("--node-rank") + 1] == "0"
        assert other["argv"][-1] == "--headless"
        assert head["env"]["VLLM_HOST_IP"] == "127.0.0.1"
        assert other["env"]["GLOO_SOCKET_IFNAME"] == "lo"
        for row in (head, other):
            assert row["env"]["VLLM_API_KEY"] == ready["key"]
            assert ready["key"] not in " ".join(row["argv"])
        assert ready["key"] not in (programs / "ssh.log").read_text()
        assert len(left(programs)) == 4
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
        wait_until(lambda: left(programs) == [])
    log = programs.parent / "profile" / "logs" / "vllm-node-1.log"
    assert "the key is ***" in log.read_text()


@pytest.mark.skipif("sys.platform != 'linux'", reason="shared memory as files")
def test_shared_memory_of_an_engine_that_leaves_it_is_cleared(programs: Path, model: Path) -> None:
    order(programs, shared=True)
    with begin(programs, str(model), *NODES, "--tp", "2", "--run", "--json") as process:
        until_ready(process)
        assert len(list(SHARED.glob("psm_kimi_*"))) == 2
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert list(SHARED.glob("psm_kimi_*")) == []


@pytest.mark.parametrize("orders", [{"dies": "ada@gpu2"}, {"lasts": {"ada@gpu2": 0.5}}])
def test_when_one_ends_all_end(programs: Path, model: Path, orders: dict[str, object]) -> None:
    order(programs, **orders)
    code, _, told = run(programs, str(model), *NODES, "--tp", "2", "--run")
    assert code == 1
    assert "vLLM ended on ada@gpu2 (10.0.0.2)" in told
    assert "dies" not in orders or "NCCL error" in told
    assert left(programs) == []
