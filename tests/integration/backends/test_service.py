"""The engine service with real processes: states, failures by name, nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from kimi_desktop.backends.types import (
    ChatRequest,
    Delta,
    EngineState,
    LoadSettings,
    Sampling,
)
from kimi_desktop.base.errors import BackendError, ChatError, ErrorCode, KimiError
from kimi_desktop.base.messages import Language, describe_error
from tests.support.engine_bench import (
    EngineBench,
    embedded,
    engine_bench,
    is_running,
    scripted,
    wait_until,
)
from tests.support.misbehaving_engine import make_binary, script_file
from tests.support.tiny_kimi_scripts import said

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="POSIX signals and sockets")

S = EngineState


@pytest.fixture
def bench() -> Iterator[EngineBench]:
    with engine_bench() as made:
        yield made


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_binary(tmp_path_factory.mktemp("bin") / "llama-server")


def answer(bench: EngineBench, text: str, max_tokens: int = 512) -> list[Delta]:
    async def ask() -> list[Delta]:
        client = bench.service.client()
        assert client is not None
        request = ChatRequest((("user", text),), Sampling(max_tokens=max_tokens))
        with bench.service.generating():
            return [delta async for delta in client.stream_chat(request)]

    return bench.io.submit(ask).result(60)


async def talk_for_ever(
    bench: EngineBench, on_text: Callable[[], None]
) -> tuple[str, ErrorCode | None]:
    """Stream an answer without end; the text that came, and how the stream ended."""
    text = ""
    client = bench.service.client()
    assert client is not None
    request = ChatRequest((("user", "forever"),), Sampling(max_tokens=900_000))
    with bench.service.generating():
        try:
            async for delta in client.stream_chat(request):
                text += delta.content
                if text:
                    on_text()
        except ChatError as error:
            return text, error.code
    return text, None


def failure(bench: EngineBench, settings: LoadSettings) -> KimiError:
    """Start it, see it fail, and check what every failure has."""
    with pytest.raises(KimiError) as caught:
        bench.service.start(settings).result(60)
    status = bench.service.status
    assert status.state is S.FAILED
    assert status.error is caught.value
    assert status.pid is None
    assert bench.service.client() is None
    for language in Language:  # every field of its sentences has a value
        assert all(describe_error(caught.value, language))
    return caught.value


def test_start_answer_stop_with_the_real_engine(bench: EngineBench, tiny_kimi: Path) -> None:
    status = bench.service.start(embedded(tiny_kimi)).result(60)

    assert status.state is S.READY
    assert status.engine_name.startswith("llama.cpp b")
    assert status.pid is not None
    assert bench.service.endpoint is not None
    assert "".join(delta.content for delta in answer(bench, "hi")) == said("hello_fast")
    assert bench.service.stop().result(60).state is S.STOPPED
    assert not is_running(status.pid)
    assert bench.service.endpoint is None
    assert bench.states == [
        S.STARTING, S.LOADING, S.READY, S.GENERATING, S.READY, S.STOPPING, S.STOPPED,
    ]  # fmt: skip


def test_the_key_is_nowhere_to_be_read(bench: EngineBench, tiny_kimi: Path) -> None:
    status = bench.service.start(embedded(tiny_kimi)).result(60)
    endpoint = bench.service.endpoint
    assert endpoint is not None
    key = endpoint.api_key

    for process in (psutil.Process(status.pid), psutil.Process(status.pid).parent()):
        assert process is not None
        assert key not in " ".join(process.cmdline())
        assert key not in str(process.environ())
    log = bench.service.log_text()
    assert "listening" in log
    assert key not in log
    assert not any("api_keys" in line and key[-4:] in line for line in log.splitlines())
    assert key not in repr(status)
    for file in bench.paths.runtime.parent.rglob("*"):
        if file.is_file():
            assert key.encode() not in file.read_bytes(), file


def test_the_shells_environment_does_not_reach_the_engine(
    bench: EngineBench, tiny_kimi: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_TOOLS", "all")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    status = bench.service.start(embedded(tiny_kimi)).result(60)
    environment = psutil.Process(status.pid).environ()
    assert not {"LLAMA_ARG_TOOLS", "HF_TOKEN", "https_proxy"} & set(environment)
    assert environment["PATH"] == os.environ["PATH"]


def test_another_start_ends_the_first_engine(bench: EngineBench, tiny_kimi: Path) -> None:
    first = bench.service.start(embedded(tiny_kimi)).result(60)
    second = bench.service.start(embedded(tiny_kimi, context=1024)).result(60)
    assert first.pid != second.pid
    assert first.pid is not None
    assert not is_running(first.pid)
    assert second.settings == embedded(tiny_kimi, context=1024)


def test_progress_and_a_wish_to_stop_while_loading(
    bench: EngineBench, binary: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    model = script_file(
        tmp_path / "model", start=[{"progress": 0.25}, {"wait_for": str(go)}, {"progress": 0.75}]
    )
    starting = bench.service.start(scripted(model, binary))
    wait_until(lambda: bench.service.status.load_fraction == 0.25)
    assert bench.service.client() is None
    assert bench.service.stop().result(60).state is S.STOPPED
    assert starting.result(60).state is S.STOPPED
    go.touch()
    assert bench.service.start(scripted(model, binary)).result(60).state is S.READY
    assert bench.service.status.load_fraction is None


def test_cancelling_the_start_ends_the_engine(
    bench: EngineBench, binary: Path, tmp_path: Path
) -> None:
    model = script_file(tmp_path / "model", start=[{"log": "loading"}, {"sleep": 600}])
    starting = bench.service.start(scripted(model, binary))
    bench.wait_for(S.LOADING)
    starting.cancel()
    bench.wait_for(S.STOPPED)


def test_stopping_while_the_program_does_not_even_print_its_help(
    bench: EngineBench, tmp_path: Path
) -> None:
    hanging = tmp_path / "llama-server"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    hanging.chmod(0o755)
    starting = bench.service.start(scripted(script_file(tmp_path / "model"), hanging))
    bench.wait_for(S.STARTING)
    assert bench.service.stop().result(60).state is S.STOPPED
    assert starting.result(60).state is S.STOPPED


def test_a_start_and_a_stop_at_once(bench: EngineBench, tiny_kimi: Path) -> None:
    for _ in range(5):
        starting = bench.service.start(embedded(tiny_kimi))
        assert bench.service.stop().result(60).state is S.STOPPED
        assert starting.result(60).state is S.STOPPED
        assert bench.service.status.state is S.STOPPED
    assert bench.service.start(embedded(tiny_kimi)).result(60).state is S.READY


def test_many_starts_at_once_leave_one_engine(bench: EngineBench, tiny_kimi: Path) -> None:
    starts = [bench.service.start(embedded(tiny_kimi, context=512 * n)) for n in (1, 2, 3)]
    ends = [start.result(60).state for start in starts]
    assert ends[-1] is S.READY
    assert bench.service.status.settings == embedded(tiny_kimi, context=512 * 3)
    pids = {status.pid for status in bench.statuses if status.pid is not None}
    assert [pid for pid in pids if is_running(pid)] == [bench.service.status.pid]


def test_generating_counts_every_stream(bench: EngineBench, tiny_kimi: Path) -> None:
    bench.service.start(embedded(tiny_kimi)).result(60)

    async def two_streams() -> list[EngineState]:
        seen = []
        with bench.service.generating():
            bench.service.set_generating(True)
            bench.service.set_generating(False)
            seen.append(bench.service.status.state)
        return [*seen, bench.service.status.state]

    assert bench.io.submit(two_streams).result(60) == [S.GENERATING, S.READY]


def test_many_clients_at_once(bench: EngineBench, tiny_kimi: Path) -> None:
    bench.service.start(embedded(tiny_kimi, n_parallel=2, context=4096)).result(60)

    async def both() -> list[str]:
        client = bench.service.client()
        assert client is not None

        async def one(text: str) -> str:
            request = ChatRequest((("user", text),), Sampling())
            return "".join([delta.content async for delta in client.stream_chat(request)])

        return await asyncio.gather(one("code"), one("markdown"), one("count"))

    assert bench.io.submit(both).result(60) == [said("code"), said("markdown"), said("count")]


# failed starts, by name


def test_no_such_model(bench: EngineBench, tmp_path: Path) -> None:
    error = failure(bench, embedded(tmp_path / "none.gguf"))
    assert error.code is ErrorCode.MODEL_NOT_FOUND


def test_a_broken_model_is_named_with_what_is_wrong(
    bench: EngineBench, tmp_path: Path, tiny_kimi: Path
) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(tiny_kimi.read_bytes()[:500_000])
    error = failure(bench, embedded(cut))
    assert error.code is ErrorCode.ENGINE_BAD_MODEL
    assert error.params["path"] == str(cut)
    assert "file bounds" in str(error.params["detail"])
    assert any("failed to load model" in line for line in bench.service.status.log_tail)


def test_a_file_that_is_no_model(bench: EngineBench, tmp_path: Path) -> None:
    text = tmp_path / "page.gguf"
    text.write_text("<!DOCTYPE html>", encoding="utf-8")
    error = failure(bench, embedded(text))
    assert error.code is ErrorCode.ENGINE_BAD_MODEL
    assert "magic" in str(error.params["detail"])


def test_a_setting_that_the_engine_does_not_know(bench: EngineBench, tiny_kimi: Path) -> None:
    error = failure(bench, embedded(tiny_kimi, extra=("--warp-speed",)))
    assert error.code is ErrorCode.ENGINE_FLAG_UNKNOWN
    assert error.params["flag"] == "--warp-speed"
    error = failure(bench, embedded(tiny_kimi, extra=("-ot", "a=NoSuchBuffer")))
    assert error.code is ErrorCode.ENGINE_BAD_ARGUMENT
    assert "unknown buffer type" in str(error.params["detail"])


def test_a_binary_that_is_missing_or_not_a_program(bench: EngineBench, tmp_path: Path) -> None:
    model = script_file(tmp_path / "model")
    missing = failure(bench, scripted(model, tmp_path / "nowhere"))
    assert missing.code is ErrorCode.ENGINE_NOT_FOUND
    text = tmp_path / "text"
    text.write_text("no program", encoding="utf-8")
    for mode in (0o644, 0o755):
        text.chmod(mode)
        assert failure(bench, scripted(model, text)).code is ErrorCode.ENGINE_NOT_EXECUTABLE


def test_a_program_that_is_not_an_engine(bench: EngineBench, tmp_path: Path) -> None:
    model = script_file(tmp_path / "model")
    error = failure(bench, scripted(model, Path(sys.executable)))
    assert error.code is ErrorCode.ENGINE_NOT_ONE
    assert sys.executable in describe_error(error, Language.EN)[0]
    assert "log" not in " ".join(describe_error(error, Language.EN))  # that run has none


CUDA_REFUSAL = (
    "0.01.000 E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: "
    "cudaMalloc failed: out of memory"
)


@pytest.mark.parametrize(
    ("start", "code", "fact"),
    [
        pytest.param([{"exit": 3}], "engine.said_nothing", "exit 3", id="exit 3"),
        pytest.param([{"exit": 0}], "engine.said_nothing", "exit 0", id="exit 0"),
        pytest.param(
            [{"print": "cannot go on: the moon is full"}, {"exit": 3}],
            "engine.start_failed",
            "cannot go on: the moon is full · exit 3",
            id="last words on stdout",
        ),
        pytest.param(
            [{"log": "0.00.001 E srv  init: no luck today"}, {"exit": 1}],
            "engine.start_failed",
            "init: no luck today · exit 1",
            id="last words",
        ),
        pytest.param([{"signal": 4}], "engine.wrong_cpu", "llama-server", id="SIGILL"),
        pytest.param([{"signal": 9}], "engine.killed_loading", "SIGKILL", id="SIGKILL"),
        pytest.param([{"signal": 11}], "engine.killed_loading", "SIGSEGV", id="SIGSEGV"),
        pytest.param(
            [
                {"log": CUDA_REFUSAL},
                {"log": "0.01.001 E srv  load_model: failed to load model"},
                {"signal": 11},
            ],
            "engine.out_of_memory",
            "9000.00 MiB on device 0",
            id="VRAM, then a crash",
        ),
        pytest.param(
            [{"log": "E srv  start: couldn't bind HTTP server socket, port: 8080"}, {"exit": 1}],
            "engine.port_taken",
            "8080",
            id="port",
        ),
    ],
)
def test_ends_while_loading(
    bench: EngineBench,
    binary: Path,
    tmp_path: Path,
    start: list[dict[str, Any]],
    code: str,
    fact: str,
) -> None:
    model = script_file(tmp_path / "model", start=start)
    error = failure(bench, scripted(model, binary))
    assert error.code.value == code
    assert fact in " ".join(map(str, error.params.values()))
    again = bench.service.start(scripted(script_file(tmp_path / "good"), binary))
    assert again.result(60).state is S.READY
    assert bench.service.status.error is None


def test_an_engine_that_never_answers_to_its_key(
    bench: EngineBench, binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kimi_desktop.backends.run.PROOF_TIMEOUT_S", 0.5)
    model = script_file(tmp_path / "model", keys=["another"])
    error = failure(bench, scripted(model, binary))
    assert error.code is ErrorCode.ENGINE_NOT_READY


def test_a_runtime_folder_that_cannot_be_written(
    bench: EngineBench, binary: Path, tmp_path: Path
) -> None:
    bench.paths.runtime.rmdir()
    bench.paths.runtime.write_text("not a folder", encoding="utf-8")
    error = failure(bench, scripted(script_file(tmp_path / "model"), binary))
    bench.paths.runtime.unlink()
    bench.paths.make()
    assert error.code is ErrorCode.ENGINE_NOT_BEGUN
    assert str(bench.paths.runtime) in str(error.params["detail"])


# deaths after the start


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_killed_in_the_middle_of_an_answer(
    bench: EngineBench, tiny_kimi: Path, number: signal.Signals
) -> None:
    pid = bench.service.start(embedded(tiny_kimi, context=1_000_000)).result(60).pid
    assert pid is not None

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):  # more text was on its way
            os.kill(pid, number)

    talking = bench.io.submit(lambda: talk_for_ever(bench, kill))
    text, lost = talking.result(60)
    assert text.startswith("Round")
    assert lost is ErrorCode.CHAT_CONNECTION_LOST
    error = bench.wait_for(S.FAILED).error
    assert error is not None
    assert (error.code, error.params) == (ErrorCode.ENGINE_KILLED, {"signal": number.name})
    assert bench.service.start(embedded(tiny_kimi)).result(60).state is S.READY


def test_exit_0_that_nobody_asked_for_is_a_failure(
    bench: EngineBench, binary: Path, tmp_path: Path
) -> None:
    model = script_file(tmp_path / "model", answer=[{"text": "Hello"}, {"exit": 0}])
    bench.service.start(scripted(model, binary)).result(60)
    with pytest.raises(ChatError):
        answer(bench, "hi")
    error = bench.wait_for(S.FAILED).error
    assert isinstance(error, BackendError)
    assert (error.code, error.params) == (ErrorCode.ENGINE_EXITED, {"code": 0})


def test_killed_while_loading_the_real_engine(bench: EngineBench, tiny_kimi: Path) -> None:
    starting = bench.service.start(embedded(tiny_kimi))
    pid = bench.wait_for(S.LOADING).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(BackendError) as caught:
        starting.result(60)
    assert caught.value.code is ErrorCode.ENGINE_KILLED_LOADING


# stopping


def test_an_engine_that_ignores_term_and_its_children_are_killed_after_the_grace(
    binary: Path, tmp_path: Path
) -> None:
    model = script_file(tmp_path / "model", start=[{"ignore_term": True}, {"child": True}])
    with engine_bench(grace_s=0.3) as bench:
        status = bench.service.start(scripted(model, binary)).result(60)
        [line] = [ln for ln in bench.service.log_text().splitlines() if ln.startswith("child ")]
        child = int(line.split()[1])
        assert is_running(child)
        bench.service.stop().result(60)
        assert status.pid is not None
        assert not is_running(status.pid)
        assert not is_running(child)


def test_a_llama_server_is_told_to_end_in_its_own_words(binary: Path, tmp_path: Path) -> None:
    model = script_file(tmp_path / "model", start=[{"router_child": True}])
    with engine_bench(grace_s=3600) as bench:
        bench.service.start(scripted(model, binary)).result(60)
        assert bench.service.stop().result(60).state is S.STOPPED


def test_an_engine_that_dies_leaves_no_children(
    bench: EngineBench, binary: Path, tmp_path: Path
) -> None:
    model = script_file(tmp_path / "model", start=[{"child": True}, {"exit": 5}])
    failure(bench, scripted(model, binary))
    [line] = [ln for ln in bench.service.log_text().splitlines() if ln.startswith("child ")]
    assert not is_running(int(line.split()[1]))


def test_a_stream_is_open_when_the_engine_is_stopped(bench: EngineBench, tiny_kimi: Path) -> None:
    bench.service.start(embedded(tiny_kimi, context=1_000_000)).result(60)
    begun = threading.Event()
    talking = bench.io.submit(lambda: talk_for_ever(bench, begun.set))
    assert begun.wait(60)
    assert bench.service.stop().result(60).state is S.STOPPED
    text, lost = talking.result(60)
    assert text.startswith("Round")
    assert lost is ErrorCode.CHAT_CONNECTION_LOST


def test_the_supervisor_is_killed(bench: EngineBench, tiny_kimi: Path) -> None:
    pid = bench.service.start(embedded(tiny_kimi)).result(60).pid
    assert pid is not None
    supervisor = psutil.Process(pid).parent()
    assert supervisor is not None
    supervisor.kill()
    error = bench.wait_for(S.FAILED).error
    assert error is not None
    assert error.code is ErrorCode.ENGINE_KILLED
    wait_until(lambda: not is_running(pid))


def test_the_loop_may_close_without_a_stop(tiny_kimi: Path) -> None:
    with engine_bench() as bench:
        pid = bench.service.start(embedded(tiny_kimi)).result(60).pid
        assert pid is not None
        bench.io.close()
        bench.close = lambda: None  # type: ignore[method-assign]
        wait_until(lambda: not is_running(pid))
