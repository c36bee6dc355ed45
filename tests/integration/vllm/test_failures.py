"""A real vLLM fails in the app, in ways that users meet, and the diagnosis says why. Minutes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kimi_desktop.backends.types import (
    EngineKind,
    EngineState,
    EngineStatus,
    LoadSettings,
    VllmSettings,
)
from kimi_desktop.base.errors import ErrorCode, KimiError
from kimi_desktop.diagnosis.collect import evidence_of_status
from kimi_desktop.diagnosis.engine import diagnose
from tests.support.engine_bench import EngineBench, engine_bench
from tests.support.real_vllm import NEEDS_VLLM, PYTHON, SMALL
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

pytestmark = NEEDS_VLLM

SURE = 0.6


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """One that a test may spoil."""
    return make_tiny_hf_kimi(tmp_path / "tiny kimi 月")


@pytest.fixture
def bench() -> Iterator[EngineBench]:
    with engine_bench(grace_s=None) as made:
        yield made


def served(checkpoint: Path, *extra: str, **special: Any) -> LoadSettings:
    return LoadSettings(
        checkpoint,
        kind=EngineKind.VLLM,
        binary=PYTHON,
        context=0,
        server=VllmSettings(**special),
        extra=(*SMALL, *extra),
    )


def named(status: EngineStatus) -> tuple[str, str]:
    """(The cause, the line that says so); it has to be sure of it."""
    best = diagnose(evidence_of_status(status, None)).cause
    assert best is not None, status.facts
    assert best.confidence >= SURE, best
    return best.cause, best.line


def failed(bench: EngineBench, settings: LoadSettings) -> tuple[EngineStatus, KimiError]:
    with pytest.raises(KimiError) as met:
        bench.service.start(settings).result()
    assert bench.service.status.state is EngineState.FAILED
    return bench.service.status, met.value


def test_a_missing_part(bench: EngineBench, checkpoint: Path) -> None:
    part = sorted(checkpoint.glob("*.safetensors"))[1]
    part.unlink()
    status, error = failed(bench, served(checkpoint))
    cause, line = named(status)
    assert cause == "shard_set_incomplete"
    assert part.name in line
    assert error.code is ErrorCode.ENGINE_BAD_MODEL


def test_a_part_that_is_cut_is_refused_before_the_engine_starts(
    bench: EngineBench, checkpoint: Path
) -> None:
    part = sorted(checkpoint.glob("*.safetensors"))[1]
    os.truncate(part, part.stat().st_size // 2)
    status, error = failed(bench, served(checkpoint))
    assert error.code is ErrorCode.MODEL_TOO_SHORT
    assert status.pid is None


def test_a_part_that_is_cut_while_the_engine_starts(bench: EngineBench, checkpoint: Path) -> None:
    part = sorted(checkpoint.glob("*.safetensors"))[1]
    starting = bench.service.start(served(checkpoint))
    bench.wait_for(EngineState.LOADING)
    os.truncate(part, part.stat().st_size // 2)  # its imports take seconds
    with pytest.raises(KimiError) as met:
        starting.result()
    assert named(bench.service.status)[0] == "file_truncated"
    assert met.value.code is ErrorCode.ENGINE_BAD_MODEL


def test_a_context_over_the_models(bench: EngineBench, checkpoint: Path) -> None:
    status, error = failed(bench, served(checkpoint, "--max-model-len", "999999"))
    cause, line = named(status)
    assert cause == "context_exceeds_model_limit"
    assert "2048" in line
    assert error.code is ErrorCode.ENGINE_BAD_ARGUMENT


def test_a_cache_that_the_memory_does_not_hold(bench: EngineBench, checkpoint: Path) -> None:
    status, error = failed(bench, served(checkpoint, cpu_cache_gib=4_000))
    assert named(status)[0] == "kv_cache_oom"
    assert error.code is ErrorCode.ENGINE_OUT_OF_MEMORY


def test_a_parser_that_this_version_does_not_have(bench: EngineBench, checkpoint: Path) -> None:
    status, error = failed(bench, served(checkpoint, reasoning_parser="kimi_k9"))
    cause, line = named(status)
    assert cause == "bad_argument"
    assert "kimi_k9" in line
    assert error.code is ErrorCode.ENGINE_BAD_ARGUMENT


def test_a_worker_that_is_killed(bench: EngineBench, checkpoint: Path) -> None:
    status = bench.service.start(served(checkpoint)).result()
    assert status.pid is not None
    children = psutil.Process(status.pid).children(recursive=True)
    worker = max(children, key=lambda child: child.memory_info().rss)
    worker.send_signal(signal.SIGKILL)
    dead = bench.wait_for(EngineState.FAILED)
    assert named(dead)[0] == "killed_from_outside"
    assert dead.error is not None
    # Of a worker it tells the exit code; when its engine process is gone it ends with status 0.
    assert dead.error.code in (ErrorCode.ENGINE_KILLED, ErrorCode.ENGINE_EXITED)
