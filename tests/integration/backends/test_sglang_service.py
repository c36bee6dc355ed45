"""SGLang through the service: found, asked, started, loaded, answered, ended; a scripted one."""

from __future__ import annotations

import dataclasses
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.backends.engines.sglang import Sglang
from kimi_desktop.backends.types import (
    ChatRequest,
    EngineKind,
    EngineState,
    LoadPhase,
    LoadSettings,
    Sampling,
    VllmSettings,
)
from kimi_desktop.base.errors import BackendError, ErrorCode, KimiError
from kimi_desktop.models.types import LocalModel, ModelFormat, ModelState
from kimi_desktop.planner.vllm_types import ServerEngine, ServerWishes
from tests.support.engine_bench import EngineBench, engine_bench, is_running, wait_until
from tests.support.scripted_sglang import DATA, make_sglang
from tests.support.scripted_vllm import Environment
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

pytestmark = pytest.mark.skipif(os.name == "nt", reason="SGLang does not run on Windows")

LOG = (DATA / "startup-tp2.log").read_text().splitlines()


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_hf_kimi(tmp_path_factory.mktemp("hf") / "tiny kimi 'k2' 月🌙")


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_sglang(tmp_path / "env", lines=LOG)


def served(model: Path, environment: Environment, **special: Any) -> LoadSettings:
    wishes = ServerWishes(engine=ServerEngine.SGLANG)
    return LoadSettings(
        model,
        kind=EngineKind.SGLANG,
        binary=environment.python,
        context=0,
        server=VllmSettings(wishes=wishes, **special),
    )


async def answer(bench: EngineBench) -> tuple[str, str]:
    client = bench.service.client()
    assert client is not None
    request = ChatRequest((("user", "hi"),), Sampling(max_tokens=20))
    deltas = [delta async for delta in client.stream_chat(request)]
    return "".join(d.reasoning for d in deltas), "".join(d.content for d in deltas)


def test_from_the_start_to_an_answer_to_the_end(checkpoint: Path, environment: Environment) -> None:
    with engine_bench(grace_s=None) as bench:
        settings = served(checkpoint, environment, served_name="kimi", reasoning_parser="kimi_k2")
        status = bench.service.start(settings).result(60)
        assert (status.state, status.engine_name) == (EngineState.READY, "SGLang 0.5.23")
        assert bench.io.submit(lambda: answer(bench)).result(30) == ("Hm.", "Hello")
        (start,) = environment.starts
        log = bench.service.log_text()
        assert start["key"] not in log
        assert "server_args=ServerArgs(" in log
        folders = list(bench.paths.socket_folder().rglob("key*"))
        assert folders == []  # what held the key is gone once it has been read
        metrics = bench.io.submit(bench.service.metrics).result(30)
        assert metrics is not None
        assert (metrics.running, metrics.waiting) == (3, 2)
        bench.service.stop().result(60)
    argv, env = start["argv"], start["env"]
    assert start["key"] not in " ".join(argv) + json_of(env)
    assert start["mode"].endswith("600")
    assert argv[:2] == ["--model-path", str(checkpoint)]
    assert argv[argv.index("--host") + 1] == "127.0.0.1"
    assert argv[argv.index("--context-length") + 1] == "2048"  # trained for no more
    assert argv[argv.index("--reasoning-parser") + 1] == "kimi_k2"
    assert argv[argv.index("--tool-call-parser") + 1] == "kimi_k2"
    assert "--enable-auto-tool-choice" not in argv
    assert "--enable-metrics" in argv
    assert env["HF_HUB_OFFLINE"] == "1"
    fractions = [s.load_fraction for s in bench.statuses if s.load_fraction is not None]
    assert fractions == sorted(fractions)
    assert bench.states[-1] is EngineState.STOPPED


def json_of(env: dict[str, str]) -> str:
    return " ".join(env.values())


def test_one_that_is_deaf_to_ctrl_c_goes_with_its_workers_after_the_grace(
    checkpoint: Path, environment: Environment
) -> None:
    environment.order(deaf=True, worker=True)
    with engine_bench(grace_s=0.5) as bench:
        bench.service.start(served(checkpoint, environment)).result(60)
        worker = int((environment.folder / "worker.pid").read_text())
        bench.service.stop().result(60)
        assert not is_running(worker)


def test_killed_by_somebody_it_says_so(checkpoint: Path, environment: Environment) -> None:
    environment.order(worker=True)
    with engine_bench() as bench:
        status = bench.service.start(served(checkpoint, environment)).result(60)
        worker = int((environment.folder / "worker.pid").read_text())
        assert status.pid is not None
        os.kill(status.pid, signal.SIGKILL)
        failed = bench.wait_for(EngineState.FAILED)
        assert failed.error is not None
        assert failed.error.code is ErrorCode.ENGINE_KILLED
        wait_until(lambda: not is_running(worker))


SIGQUIT = "[2026-11-30 12:50:07] Received sigquit from a child process. It usually means the child failed."  # noqa: E501


@pytest.mark.parametrize(
    ("lines", "orders", "code", "detail"),
    [
        (
            ["RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."],
            {"code": -9, "last": SIGQUIT},
            ErrorCode.ENGINE_OUT_OF_MEMORY,
            "Not enough memory",
        ),
        (
            ["ValueError: Model architectures ['X'] are not supported for now."],
            {"code": -9, "last": SIGQUIT},
            ErrorCode.ENGINE_BAD_MODEL,
            "not supported for now",
        ),
        (
            [],
            {"code": 2, "last": "launch_server.py: error: unrecognized arguments: --x"},
            ErrorCode.ENGINE_BAD_ARGUMENT,
            "--x",
        ),
        ([], {"code": 0, "last": "bye"}, ErrorCode.ENGINE_START_FAILED, "bye"),
    ],
)  # fmt: skip
def test_an_end_before_it_is_ready_is_named(
    checkpoint: Path,
    environment: Environment,
    lines: list[str],
    orders: dict[str, Any],
    code: ErrorCode,
    detail: str,
) -> None:
    environment.order(lines=[*LOG[:6], *lines], **orders)
    with engine_bench() as bench:
        with pytest.raises(KimiError) as failed:
            bench.service.start(served(checkpoint, environment)).result(60)
        assert failed.value.code is code
        assert detail in str(failed.value.params)


def test_what_is_too_old_or_not_there(environment: Environment, tmp_path: Path) -> None:
    with engine_bench() as bench:

        def probing(place: Path) -> BackendError:
            with pytest.raises(BackendError) as failed:
                bench.io.submit(lambda: Sglang().probe(place)).result(60)
            return failed.value

        old = probing(make_sglang(tmp_path / "old", version="0.5.9").python)
        assert old.code is ErrorCode.ENGINE_TOO_OLD
        assert old.params == {"name": "SGLang", "version": "0.5.9", "floor": "0.5.10"}
        assert probing(tmp_path / "none").code is ErrorCode.ENGINE_NOT_FOUND
        build = bench.io.submit(lambda: Sglang().probe(environment.folder)).result(60)
        assert build.name == "SGLang 0.5.23"


def test_the_settings_choose_it(environment: Environment, checkpoint: Path) -> None:
    with engine_bench() as bench:
        engine = dataclasses.replace(
            bench.store.settings.engine,
            sglang_python=str(environment.python),
            server_engine="sglang",
        )
        bench.store.update(lambda before: dataclasses.replace(before, engine=engine))
        row = LocalModel(
            str(checkpoint), checkpoint, "Tiny", 1, 3, 3, ModelState.READY, None, None,
            format=ModelFormat.SAFETENSORS,
        )  # fmt: skip
        settings = bench.service.settings_for(row)
        assert (settings.kind, settings.binary) == (EngineKind.SGLANG, environment.python)
        assert bench.service.name_of(settings) == "SGLang"
        assert settings.server is not None
        assert settings.server.wishes.engine is ServerEngine.SGLANG
        bench.service.start(settings).result(60)
        assert bench.service.name_of(settings) == "SGLang 0.5.23"
        assert bench.service.settings_for(row) == settings
        offer = bench.service.servers.find(row, settings.server.wishes).result(30)
        assert offer.tool_parser == "kimi_k2"
        steps = {s.load_step.phase for s in bench.statuses if s.load_step is not None}
        assert steps <= set(LoadPhase)
