"""The server of llama-cpp-python through the service: chosen, asked, started, answered, ended."""

from __future__ import annotations

import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kimi_desktop.backends.types import (
    ChatRequest,
    EngineKind,
    EngineMetrics,
    EngineState,
    LoadSettings,
    Sampling,
)
from kimi_desktop.base.errors import BackendError, ErrorCode, KimiError
from tests.support.engine_bench import WAIT_S, EngineBench, engine_bench
from tests.support.scripted_llama_python import make_llama_environment, starts
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a scripted environment with symlinks")

REAL = os.environ.get("KIMI_DESKTOP_LLAMA_PYTHON", "")
QUESTION = ChatRequest((("user", "hi"),), Sampling(temperature=0.0, max_tokens=64), thinking=False)


@pytest.fixture
def bench() -> Iterator[EngineBench]:
    with engine_bench() as made:
        yield made


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    return make_llama_environment(tmp_path / "env 图")


def settings_with(bench: EngineBench, environment: Path, model: Path) -> LoadSettings:
    bench.store.update(
        lambda s: dataclasses.replace(
            s, engine=dataclasses.replace(s.engine, llama_python=str(environment))
        )
    )
    kind, binary = bench.service.engines.chosen()
    assert (kind, binary) == (EngineKind.LLAMA_CPP_PYTHON, environment)
    return LoadSettings(
        model, kind=kind, binary=binary, n_gpu_layers=0, context=2048, n_threads=1, n_parallel=1
    )


async def answer(bench: EngineBench) -> str:
    client = bench.service.client()
    assert client is not None
    return "".join([delta.content async for delta in client.stream_chat(QUESTION)])


def test_it_is_asked_started_answers_and_ends(
    bench: EngineBench, environment: Path, tiny_kimi: Path
) -> None:
    settings = settings_with(bench, environment, tiny_kimi)
    assert bench.service.name_of(settings) == "llama-cpp-python"
    status = bench.service.start(settings).result(WAIT_S)
    assert (status.state, status.engine_name) == (EngineState.READY, "llama-cpp-python 0.3.36")
    assert bench.service.name_of(settings) == "llama-cpp-python 0.3.36"
    assert not bench.service.uses_gpus(settings)
    assert bench.io.submit(lambda: answer(bench)).result(WAIT_S) == "Hello"
    (start,) = starts(environment)
    key = start["env"]["API_KEY"]
    assert len(key) > 30
    assert key not in " ".join(start["argv"])
    assert key not in bench.service.log_text()
    assert "KIMI_DESKTOP_HOME" not in start["env"]
    assert "llama_context: n_ctx" in bench.service.log_text()
    assert bench.service.stop().result(WAIT_S).state is EngineState.STOPPED


def test_it_has_no_metrics(bench: EngineBench, environment: Path, tiny_kimi: Path) -> None:
    settings = settings_with(bench, environment, tiny_kimi)
    assert bench.service.engines.engine(settings).read_metrics("x 1\n") == EngineMetrics()


def test_one_that_is_killed_is_told(bench: EngineBench, environment: Path, tiny_kimi: Path) -> None:
    bench.service.start(settings_with(bench, environment, tiny_kimi)).result(WAIT_S)
    pid = bench.service.status.pid
    assert pid is not None
    psutil.Process(pid).send_signal(signal.SIGKILL)
    error = bench.wait_for(EngineState.FAILED).error
    assert isinstance(error, KimiError)
    assert error.code is ErrorCode.ENGINE_KILLED


def test_what_it_cannot_do_is_refused_before_the_start(
    bench: EngineBench, environment: Path, tiny_kimi: Path
) -> None:
    settings = settings_with(bench, environment, tiny_kimi)
    wanted = dataclasses.replace(settings, n_cpu_moe=1)
    problem = bench.service.problem_of(wanted)
    assert problem is not None
    assert problem.code is ErrorCode.ENGINE_CANNOT
    with pytest.raises(BackendError):
        bench.service.start(wanted).result(WAIT_S)
    assert not (environment / "starts.jsonl").exists()


def test_a_python_without_it(bench: EngineBench, tmp_path: Path, tiny_kimi: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    settings = settings_with(bench, other, tiny_kimi)
    with pytest.raises(BackendError) as caught:
        bench.service.start(settings).result(WAIT_S)
    assert caught.value.code is ErrorCode.ENGINE_NOT_IN_PYTHON


@pytest.mark.real_llama_python
@pytest.mark.skipif(not REAL, reason="KIMI_DESKTOP_LLAMA_PYTHON names no environment")
def test_the_real_one(bench: EngineBench, tiny_kimi: Path, tmp_path: Path) -> None:
    settings = settings_with(bench, Path(REAL), tiny_kimi)
    status = bench.service.start(settings).result(180)
    assert status.engine_name.startswith("llama-cpp-python 0.")
    assert said("hello_fast") in bench.io.submit(lambda: answer(bench)).result(WAIT_S)
    bench.service.stop().result(WAIT_S)
    short = tmp_path / "short.gguf"
    short.write_bytes(tiny_kimi.read_bytes()[:4000])
    with pytest.raises(BackendError) as caught:
        bench.service.start(dataclasses.replace(settings, model_path=short)).result(180)
    assert caught.value.code is ErrorCode.ENGINE_BAD_MODEL
