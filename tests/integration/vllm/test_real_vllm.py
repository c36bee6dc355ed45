"""A real vLLM on the processor with a tiny Kimi: started, asked, ended by the app. Minutes.

Runs where ``make test-vllm`` has made its environment (KIMI_DESKTOP_VLLM_ENV, else .vllm).
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends.types import (
    ChatRequest,
    Delta,
    EngineKind,
    EngineState,
    EngineStatus,
    LoadPhase,
    LoadSettings,
    Sampling,
    VllmSettings,
)
from kimi_desktop.base.errors import ErrorCode, KimiError
from tests.support.engine_bench import EngineBench, engine_bench, is_running, wait_until
from tests.support.engine_programs import short_folder
from tests.support.real_vllm import NEEDS_VLLM, PYTHON, ROOT, SMALL
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi
from tests.support.tiny_kimi_scripts import said

SHARED_MEMORY = Path("/dev/shm")

pytestmark = NEEDS_VLLM


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_hf_kimi(tmp_path_factory.mktemp("hf") / "tiny kimi 月")


def blocks() -> set[str]:
    """What multiprocessing has in shared memory."""
    if not SHARED_MEMORY.exists():
        return set()
    names = (file.name for file in SHARED_MEMORY.iterdir())
    return {name for name in names if name.startswith(("psm_", "sem.mp-"))}


class Running:
    """One start, shared by the tests of this file: it takes half a minute."""

    def __init__(self, bench: EngineBench, status: EngineStatus) -> None:
        self.bench = bench
        self.status = status

    def ask(self, text: str, **options: object) -> list[Delta]:
        """The whole answer in its pieces."""
        request = ChatRequest((("user", text),), Sampling(0.0, 1.0, 120), **options)  # type: ignore[arg-type]

        async def talk() -> list[Delta]:
            client = self.bench.service.client()
            assert client is not None
            return [delta async for delta in client.stream_chat(request)]

        return self.bench.io.submit(talk).result()


@pytest.fixture(scope="module")
def running(checkpoint: Path) -> Iterator[Running]:
    before = blocks()
    with engine_bench(grace_s=None) as bench:
        settings = LoadSettings(
            checkpoint,
            kind=EngineKind.VLLM,
            binary=PYTHON,
            context=0,
            server=VllmSettings(
                served_name="kimi", reasoning_parser="kimi_k2", tool_parser="kimi_k2"
            ),
            extra=SMALL,
        )
        status = bench.service.start(settings).result()
        assert status.pid is not None
        tree = [child.pid for child in psutil.Process(status.pid).children(recursive=True)]
        assert tree, "vLLM runs its engine in processes of its own"
        yield Running(bench, status)
        bench.service.stop().result()
        assert bench.service.status.state is EngineState.STOPPED
        assert not [pid for pid in tree if is_running(pid)]
    assert blocks() <= before


def test_it_loads_in_steps(running: Running) -> None:
    assert running.status.engine_name.startswith("vLLM 0.")
    statuses = running.bench.statuses
    fractions = [s.load_fraction for s in statuses if s.load_fraction is not None]
    assert fractions == sorted(fractions)
    phases = {s.load_step.phase for s in statuses if s.load_step is not None}
    assert {LoadPhase.PROGRAM, LoadPhase.CONFIG, LoadPhase.WARM_UP} <= phases


def test_it_thinks_and_answers(running: Running) -> None:
    deltas = running.ask("hi")
    assert "".join(delta.reasoning for delta in deltas) == said("hello")
    assert "".join(delta.content for delta in deltas) == said("hello_fast")
    usage = deltas[-1].usage
    assert usage is not None
    assert usage.completion_tokens > 10


def test_it_answers_without_thinking(running: Running) -> None:
    deltas = running.ask("hi", thinking=False)
    assert "".join(delta.reasoning for delta in deltas) == ""
    assert "".join(delta.content for delta in deltas) == said("hello_fast")


def test_a_prompt_that_is_too_long_is_named(running: Running) -> None:
    with pytest.raises(KimiError) as failed:
        running.ask("word " * 4000)
    assert failed.value.code is ErrorCode.CHAT_TOO_LONG
    assert failed.value.params["context"] == 2048


def test_its_counters_are_read_and_its_key_is_nowhere_to_see(running: Running) -> None:
    bench = running.bench

    async def page() -> str:
        client = bench.service.client()
        assert client is not None
        return await client.metrics_page()

    found = bench.service.engines.vllm.read_metrics(bench.io.submit(page).result())
    assert found.running == 0
    assert found.generated_tokens is not None
    assert found.generated_tokens > 0
    endpoint = bench.service.endpoint
    assert endpoint is not None
    assert running.status.pid is not None
    leader = psutil.Process(running.status.pid)
    for process in (leader, *leader.children(recursive=True)):
        assert endpoint.api_key not in " ".join(process.cmdline())
    assert endpoint.api_key not in bench.service.log_text()


def test_kill_9_of_the_app_leaves_nothing(checkpoint: Path) -> None:
    before = blocks()
    with short_folder() as home:
        command = [sys.executable, "-m", "tests.support.app_until_killed", str(home)]
        with subprocess.Popen(
            [*command, str(checkpoint), "--vllm", str(PYTHON), "--generate"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as app:
            assert app.stdout is not None
            pid = 0
            for line in app.stdout:
                told = json.loads(line)
                pid = told["pid"] or pid
                assert told["state"] != "failed", told
                if told["state"] == "generating":
                    break
            tree = [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
            assert len(tree) > 2
            app.send_signal(signal.SIGKILL)
        wait_until(lambda: not any(is_running(each) for each in tree), "vLLM outlived the app")
        wait_until(lambda: blocks() <= before, "shared memory was left")
