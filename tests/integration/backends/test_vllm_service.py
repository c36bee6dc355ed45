"""vLLM through the service: found, asked, started, loaded, answered, ended; with a scripted one."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kimi_desktop.backends.engines.python_probe import find_program, python_of
from kimi_desktop.backends.engines.vllm import Vllm
from kimi_desktop.backends.leftovers import end_tree, process_started, session_members
from kimi_desktop.backends.model_code import code_of
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
from tests.support.engine_bench import EngineBench, engine_bench, is_running, wait_until
from tests.support.scripted_vllm import DATA, Environment, make_environment
from tests.support.tiny_hf_kimi import make_tiny_hf_kimi

pytestmark = pytest.mark.skipif(os.name == "nt", reason="vLLM does not run on Windows")

LOG = (DATA / "startup-kimi-mp-eager.log").read_text().splitlines()
Failed = pytest.ExceptionInfo[KimiError]
START = LOG[: next(n for n, line in enumerate(LOG) if "Starting to load model" in line) + 1]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_hf_kimi(tmp_path_factory.mktemp("hf") / "tiny kimi 'k2' 月🌙")


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return make_environment(tmp_path / "env", lines=START, shards=3)


def served(model: Path, environment: Environment, **special: Any) -> LoadSettings:
    return LoadSettings(
        model,
        kind=EngineKind.VLLM,
        binary=environment.python,
        context=0,
        server=VllmSettings(**special),
    )


@contextlib.contextmanager
def failing(bench: EngineBench, settings: LoadSettings) -> Iterator[Failed]:
    with pytest.raises(KimiError) as failed:
        bench.service.start(settings).result()
    yield failed
    assert bench.service.status.state is EngineState.FAILED


async def answer(bench: EngineBench) -> tuple[str, str]:
    client = bench.service.client()
    assert client is not None
    request = ChatRequest((("user", "hi"),), Sampling(max_tokens=20))
    deltas = [delta async for delta in client.stream_chat(request)]
    return "".join(d.reasoning for d in deltas), "".join(d.content for d in deltas)


def test_from_the_start_to_an_answer_to_the_end(checkpoint: Path, environment: Environment) -> None:
    with engine_bench(grace_s=None) as bench:
        settings = served(checkpoint, environment, served_name="kimi", reasoning_parser="kimi_k2")
        status = bench.service.start(settings).result()
        assert status.state is EngineState.READY
        assert status.engine_name == "vLLM 0.32.0+cpu"
        assert bench.io.submit(lambda: answer(bench)).result() == ("Hm.", "Hello")
        assert bench.service.log_text().count("checkpoint shards") == 4
        (start,) = environment.starts
        bench.service.stop().result()

    argv, env = start["argv"], start["env"]
    assert argv[:2] == ["serve", str(checkpoint)]
    assert env["VLLM_CPU_KVCACHE_SPACE"] == "1"
    assert env["HF_HUB_OFFLINE"] == "1"
    assert not any("key" in word for word in argv)
    assert argv[argv.index("--max-model-len") + 1] == "2048"  # trained for no more
    fractions = [s.load_fraction for s in bench.statuses if s.load_fraction is not None]
    assert fractions == sorted(fractions)
    steps = [s.load_step for s in bench.statuses if s.load_step is not None]
    assert LoadPhase.WEIGHTS in {step.phase for step in steps}
    assert {step.total for step in steps if step.phase is LoadPhase.WEIGHTS} & {3}
    assert bench.states[-1] is EngineState.STOPPED


def test_one_that_is_deaf_to_ctrl_c_goes_with_its_workers_after_the_grace(
    checkpoint: Path, environment: Environment
) -> None:
    environment.order(deaf=True, worker=True, shared=True)
    with engine_bench(grace_s=0.5) as bench:
        bench.service.start(served(checkpoint, environment)).result()
        worker = int((environment.folder / "worker.pid").read_text())
        block = Path("/dev/shm", (environment.folder / "shared.name").read_text())
        assert is_running(worker)
        assert not Path("/dev/shm").exists() or block.exists()
        bench.service.stop().result()
        assert not is_running(worker)
        assert not block.exists()
        assert bench.service.status.state is EngineState.STOPPED


def test_a_killed_server_takes_its_workers_and_its_memory_with_it(
    checkpoint: Path, environment: Environment
) -> None:
    environment.order(worker=True)
    with engine_bench() as bench:
        status = bench.service.start(served(checkpoint, environment)).result()
        worker = int((environment.folder / "worker.pid").read_text())
        assert status.pid is not None
        os.kill(status.pid, signal.SIGKILL)
        failed = bench.wait_for(EngineState.FAILED)
        assert failed.error is not None
        assert failed.error.code is ErrorCode.ENGINE_KILLED
        wait_until(lambda: not is_running(worker))


@pytest.mark.parametrize(
    ("orders", "code"),
    [
        ({"code": 0, "last": "bye"}, ErrorCode.ENGINE_START_FAILED),
        ({"code": 2, "last": "vllm: error: unrecognized arguments: --x"},
         ErrorCode.ENGINE_BAD_ARGUMENT),
        ({"code": 1, "last": "ValueError: No available memory for the cache blocks."},
         ErrorCode.ENGINE_OUT_OF_MEMORY),
    ],
)  # fmt: skip
def test_an_end_before_it_is_ready_is_named(
    checkpoint: Path, environment: Environment, orders: dict[str, Any], code: ErrorCode
) -> None:
    environment.order(**orders)
    with engine_bench() as bench, failing(bench, served(checkpoint, environment)) as failed:
        assert failed.value.code is code
        assert orders["last"] in bench.service.log_text()


def test_code_of_the_model_needs_consent_and_a_changed_file_asks_again(
    tmp_path: Path, environment: Environment
) -> None:
    model = make_tiny_hf_kimi(tmp_path / "remote")
    config = (model / "config.json").read_text()
    (model / "config.json").write_text(
        config.replace("{", '{"auto_map": {"AutoConfig": "c.C"},', 1)
    )
    (model / "c.py").write_text("print(1)")
    with engine_bench() as bench:
        with failing(bench, served(model, environment)) as failed:
            assert failed.value.code is ErrorCode.ENGINE_NEEDS_CONSENT
            assert failed.value.params == {"count": 1, "first": "c.py"}
        trusted = served(model, environment, trusted_code=code_of(model).digest)
        bench.service.start(trusted).result()
        assert "--trust-remote-code" in environment.starts[-1]["argv"]
        (model / "c.py").write_text("print(2)")
        with failing(bench, trusted) as failed:
            assert failed.value.code is ErrorCode.ENGINE_NEEDS_CONSENT


def test_a_folder_that_is_gone_and_one_that_is_no_model(
    tmp_path: Path, environment: Environment
) -> None:
    (tmp_path / "empty").mkdir()
    with engine_bench() as bench:
        for place in ("gone", "empty"):
            with failing(bench, served(tmp_path / place, environment)) as failed:
                assert failed.value.code is ErrorCode.MODEL_NOT_FOUND
    assert environment.starts == []


def ask(vllm: Vllm, place: Path) -> Any:
    with engine_bench() as bench:
        return bench.io.submit(lambda: vllm.probe(place)).result()


def test_found_by_python_folder_or_program_and_asked_once(
    tmp_path: Path, environment: Environment
) -> None:
    memory = tmp_path / "memory"
    builds = [
        ask(Vllm(memory), place)
        for place in (environment.python, environment.folder, environment.program)
    ]
    assert {build.version for build in builds} == {"0.32.0+cpu"}
    assert builds[0].program == (str(environment.program),)
    assert builds[0].devices == ()
    assert len(list(memory.iterdir())) <= 2
    (environment.folder / "help.txt").write_text("no help any more")
    assert ask(Vllm(memory), environment.python).flags == builds[0].flags


@pytest.mark.parametrize("version", ["0.17.9", "0.9.2", ""])
def test_a_version_that_is_not_safe_is_refused(tmp_path: Path, version: str) -> None:
    old = make_environment(tmp_path / "env", version=version or "0")
    with pytest.raises(BackendError) as failed:
        ask(Vllm(), old.python)
    assert failed.value.code is ErrorCode.ENGINE_TOO_OLD
    assert failed.value.params["floor"] == "0.18.0"


def test_what_has_no_vllm_says_so(tmp_path: Path, environment: Environment) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    cases = {
        tmp_path / "gone": ErrorCode.ENGINE_NOT_FOUND,
        tmp_path: ErrorCode.ENGINE_NOT_IN_PYTHON,
        plain: ErrorCode.ENGINE_NOT_IN_PYTHON,
        Path("/usr/bin/env"): ErrorCode.ENGINE_NOT_IN_PYTHON,
    }
    for place, code in cases.items():
        with pytest.raises(BackendError) as failed:
            ask(Vllm(), place)
        assert failed.value.code in {code, ErrorCode.ENGINE_NOT_IN_PYTHON}
    (environment.folder / "help.txt").write_text("RuntimeError: Failed to infer device type")
    with pytest.raises(BackendError) as failed:
        ask(Vllm(), environment.python)
    assert failed.value.params["detail"] == "RuntimeError: Failed to infer device type"


def test_programs_name_their_python(environment: Environment, tmp_path: Path) -> None:
    assert python_of(environment.program, "vLLM") == environment.python
    polyglot = tmp_path / "vllm"
    polyglot.write_text(f"#!/bin/sh\n'''exec' \"{environment.python}\" \"$0\" \"$@\"\n' '''\n")
    assert python_of(polyglot, "vLLM") == environment.python
    assert find_program(str(polyglot), "vllm") == polyglot
    assert find_program("", "no-such-program-anywhere") is None


def test_workers_whose_server_is_gone_are_found_by_their_session(
    checkpoint: Path, environment: Environment
) -> None:
    """The supervisor itself was killed: what it would have ended is ended at the next start."""
    environment.order(worker=True)
    with engine_bench() as bench:
        status = bench.service.start(served(checkpoint, environment)).result()
        worker = int((environment.folder / "worker.pid").read_text())
        assert status.pid is not None
        began = process_started(status.pid)
        assert began is not None
        supervisor = psutil.Process(status.pid).ppid()
        os.kill(supervisor, signal.SIGKILL)
        bench.wait_for(EngineState.FAILED)
        end_tree(status.pid, began, 1.0)
        assert not is_running(worker)
        assert session_members(status.pid, began) == []


def test_the_settings_point_at_it(environment: Environment, checkpoint: Path) -> None:
    with engine_bench() as bench:
        engine = dataclasses.replace(
            bench.store.settings.engine, vllm_python=str(environment.python)
        )
        bench.store.update(lambda before: dataclasses.replace(before, engine=engine))
        row = LocalModel(
            str(checkpoint), checkpoint, "Tiny", 1, 3, 3, ModelState.READY, None, None,
            format=ModelFormat.SAFETENSORS,
        )  # fmt: skip
        settings = bench.service.settings_for(row)
        assert settings.kind is EngineKind.VLLM
        assert settings.binary == environment.python
        assert bench.service.name_of(settings) == "vLLM"
        assert "vllm serve" in " ".join(bench.service.command_line(settings))
        bench.service.start(settings).result()
        assert bench.service.name_of(settings) == "vLLM 0.32.0+cpu"
        kept = bench.store.settings.engine.loads[str(checkpoint)]
        assert kept == {"mode": "server"}
        assert bench.service.settings_for(row) == settings
