"""Why an engine ended: real last words, most specific cause first."""

from __future__ import annotations

import signal

import pytest

from kimi_desktop.backends.failures import EngineEnd, explain, signal_name
from kimi_desktop.backends.oom import oom_kills
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error

ECHOES = (
    "0.00.009.269 E llama_model_load_from_file_impl: failed to load model",
    "0.00.009.297 E srv    load_model: failed to load model, '/models/k.gguf'",
    "0.00.009.688 E srv          init: exiting due to model loading error",
)


def end(code: int | None, *lines: str, was_ready: bool = False, oom_kills: int = 0) -> BackendError:
    error = explain(
        EngineEnd(
            code=code,
            was_ready=was_ready,
            lines=lines,
            oom_kills=oom_kills,
            program="/opt/llama-server",
            model="/models/k.gguf",
        )
    )
    for language in Language:
        assert all(describe_error(error, language))
    return error


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (
            "0.00.009 E llama_model_load: error loading model: tensor 'blk.1.x' data is not within "
            "the file bounds, model is corrupted or incomplete",
            ErrorCode.ENGINE_BAD_MODEL,
        ),
        ("gguf_init_from_file_impl: invalid magic characters: '<!DO'", ErrorCode.ENGINE_BAD_MODEL),
        ("E llama_model_load: error loading model: unknown model architecture: 'kimi-k9'",
         ErrorCode.ENGINE_BAD_MODEL),
        ("E llama_model_load: error loading model: missing tensor 'token_embd.weight'",
         ErrorCode.ENGINE_BAD_MODEL),
        ("E gguf_init_from_file: failed to open GGUF file '/m' (Permission denied)",
         ErrorCode.ENGINE_BAD_MODEL),
        ("error: invalid argument: --warp", ErrorCode.ENGINE_BAD_ARGUMENT),
        ("error while handling argument \"-fa\": unknown value", ErrorCode.ENGINE_BAD_ARGUMENT),
        ("error: argument -c/--ctx-size: expected a whole number, got '32k'",
         ErrorCode.ENGINE_BAD_ARGUMENT),
        ("error: --host: 0.0.0.0 is reachable for others; only 127.0.0.1 or a .sock",
         ErrorCode.ENGINE_BAD_ARGUMENT),
        ("error: --host: another server listens on /run/e.sock", ErrorCode.ENGINE_PORT_TAKEN),
        ("E srv  start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080",
         ErrorCode.ENGINE_PORT_TAKEN),
        ("E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: "
         "cudaMalloc failed: out of memory", ErrorCode.ENGINE_OUT_OF_MEMORY),
        ("E llama_init_from_model: failed to initialize the context: failed to allocate buffer for "
         "kv cache", ErrorCode.ENGINE_OUT_OF_MEMORY),
        ("ggml_aligned_malloc: insufficient memory (attempted to allocate 900 MB): "
         "failed to allocate", ErrorCode.ENGINE_OUT_OF_MEMORY),
        ("ggml_vulkan: Device memory allocation of size 1073741824 failed.",
         ErrorCode.ENGINE_OUT_OF_MEMORY),
        ("/s/ggml-rpc.cpp:566: Remote RPC server crashed or returned malformed response",
         ErrorCode.WORKER_LOST),
        ("/s/ggml-rpc.cpp:547: Failed to connect to 10.0.0.2:50052", ErrorCode.WORKER_LOST),
    ],
)  # fmt: skip
def test_the_first_specific_line_wins_over_its_echoes(line: str, code: ErrorCode) -> None:
    for exit_code in (1, 2, -signal.SIGSEGV, -signal.SIGABRT):
        error = end(exit_code, "0.00.001 I srv  init: loading model", line, *ECHOES)
        assert error.code is code
        assert str(error.params["detail"]) in line


def test_the_memory_of_the_whole_machine() -> None:
    assert end(-9, oom_kills=1).code is ErrorCode.ENGINE_OUT_OF_MEMORY
    assert end(-9, was_ready=True, oom_kills=1).code is ErrorCode.ENGINE_OUT_OF_MEMORY
    assert end(-9).code is ErrorCode.ENGINE_KILLED_LOADING
    assert end(-9, was_ready=True).code is ErrorCode.ENGINE_KILLED
    assert end(1, oom_kills=1).code is ErrorCode.ENGINE_SAID_NOTHING


def test_a_kill_is_not_explained_by_what_the_log_says() -> None:
    assert end(-9, *ECHOES).code is ErrorCode.ENGINE_KILLED_LOADING


@pytest.mark.parametrize("code", [-4, 132, 0xC000001D, -1073741795])
def test_a_build_for_another_processor(code: int) -> None:
    error = end(code, "AMX is not ready to be used!")
    assert (error.code, error.params) == (
        ErrorCode.ENGINE_WRONG_CPU,
        {"path": "/opt/llama-server"},
    )


def test_what_the_start_said_does_not_explain_a_later_end() -> None:
    lines = ["W common_fit_params: failed to allocate", *["I slot release"] * 60]
    assert end(1, *lines, was_ready=True).code is ErrorCode.ENGINE_EXITED
    late = "CUDA error: out of memory"
    assert end(-6, *lines, late, was_ready=True).params == {"detail": late}


def test_a_lost_supervisor_counts_as_killed() -> None:
    error = end(None, was_ready=True)
    assert (error.code, error.params) == (ErrorCode.ENGINE_KILLED, {"signal": "SIGKILL"})


def test_without_a_known_cause_the_first_error_line_and_the_exit_are_told() -> None:
    error = end(7, "0.00.001 I hello", "0.00.002 E srv  init: no luck", "0.00.003 E later")
    assert error.params == {"detail": "init: no luck · exit 7"}
    assert end(7, "only this").params == {"detail": "only this · exit 7"}
    assert end(7).params == {"detail": "exit 7"}
    long = end(1, "x" * 1000)
    assert len(str(long.params["detail"])) < 320


def test_signals_have_names() -> None:
    assert signal_name(-11) == "SIGSEGV"
    assert signal_name(-200) == "200"


def test_kills_are_counted_over_every_counter_there_is(tmp_path) -> None:
    vmstat = tmp_path / "vmstat"
    vmstat.write_text("nr_free 5\noom_kill 3\nfoo 1\n", encoding="ascii")
    events = tmp_path / "memory.events"
    events.write_text("low 0\noom 9\noom_kill 2\noom_group_kill 7\n", encoding="ascii")
    assert oom_kills([vmstat, events, tmp_path / "none"]) == 5
    assert oom_kills([]) == 0
    assert oom_kills() >= 0
