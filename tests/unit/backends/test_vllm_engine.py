"""vLLM: its command from a build's own help, its environment, its log, its counters, its ends."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.engines.argparse_help import choices_of, parse_argparse_help
from kimi_desktop.backends.engines.interface import Engine, Heard, RunPlace
from kimi_desktop.backends.engines.vllm import FORBIDDEN, Vllm
from kimi_desktop.backends.engines.vllm_log import VllmReader
from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.backends.failures import EngineEnd
from kimi_desktop.backends.types import (
    EngineKind,
    LoadPhase,
    LoadSettings,
    LoadStep,
    VllmSettings,
)
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.units import GIB
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.read import from_log
from kimi_desktop.planner.vllm_types import CacheFormat, ServerSettings, Split

DATA = Path(__file__).parent.parent.parent / "data" / "vllm"
FLAGS = parse_argparse_help((DATA / "help-0.32.txt").read_text())
BUILD = EngineBuild(
    EngineKind.VLLM,
    ("/opt/v/bin/vllm",),
    FLAGS,
    name="vLLM 0.32.0",
    unix_sockets=True,
    devices=("CUDA",),
    version="0.32.0",
)
SERVER = ServerSettings(
    split=Split(tensor=8, pipeline=2, experts=True, decode_context=4),
    context=131_072,
    cache=CacheFormat.FP8,
    memory_share=0.9,
    n_sequences=16,
    n_batched_tokens=32_768,
    eager=True,
    text_only=True,
    offload_bytes=20 * GIB,
)
KIMI = LoadSettings(
    Path("/models/Kimi K2.6 月"),
    kind=EngineKind.VLLM,
    binary=Path("/opt/v/bin/python"),
    gpus=(0, 1, 3),
    server=VllmSettings(
        SERVER, served_name="kimi", reasoning_parser="kimi_k2", tool_parser="kimi_k2"
    ),
)
SOCKET = Listening(Path("/run/e.sock"), Path("/run/key"))
TCP = Listening(None, Path("/run/key"), 41_000)


def words(settings: LoadSettings, build: EngineBuild = BUILD, at: Listening | None = SOCKET) -> str:
    return " ".join(Vllm().command(build, settings, listening=at, n_threads=4))


def test_every_choice_becomes_a_flag() -> None:
    line = words(KIMI)
    assert line.startswith("/opt/v/bin/vllm serve /models/Kimi K2.6 月 --uds /run/e.sock")
    for part in (
        "--served-model-name kimi", "--tensor-parallel-size 8", "--pipeline-parallel-size 2",
        "--enable-expert-parallel", "--decode-context-parallel-size 4", "--max-model-len 131072",
        "--gpu-memory-utilization 0.9", "--kv-cache-dtype fp8", "--cpu-offload-gb 20.0",
        "--enforce-eager", "--language-model-only", "--max-num-seqs 16",
        "--max-num-batched-tokens 32768", "--reasoning-parser kimi_k2",
        "--enable-auto-tool-choice --tool-call-parser kimi_k2",
        "--allowed-media-domains nowhere.invalid",
    ):  # fmt: skip
        assert part in line, part
    assert "--trust-remote-code" not in line
    assert "--host" not in line
    assert "api-key" not in line


def test_what_is_copied_listens_on_this_machine_alone() -> None:
    line = words(KIMI, at=None)
    assert "--host 127.0.0.1" in line
    assert "--port" not in line
    assert "--host 127.0.0.1 --port 41000" in words(KIMI, at=TCP)


def test_the_catalogues_flags_are_sent_as_far_as_the_build_has_them() -> None:
    assert KIMI.server is not None
    needs = ("--mm-encoder-tp-mode", "data", "--flag-of-tomorrow", "7", "--dtype", "int3")
    line = words(dataclasses.replace(KIMI, server=dataclasses.replace(KIMI.server, needs=needs)))
    assert "--mm-encoder-tp-mode data" in line
    assert "tomorrow" not in line
    assert "int3" not in line


def test_no_parser_is_a_choice_too() -> None:
    special = VllmSettings(reasoning_parser="none", tool_parser="none")
    assert "parser" not in words(dataclasses.replace(KIMI, server=special))


def test_code_of_the_model_runs_only_with_consent() -> None:
    trusted = dataclasses.replace(KIMI, server=VllmSettings(trusted_code="ab" * 32))
    assert "--trust-remote-code" in words(trusted)


def test_without_sockets_it_listens_on_this_computer_alone() -> None:
    line = words(KIMI, dataclasses.replace(BUILD, unix_sockets=False), TCP)
    assert "--host 127.0.0.1 --port 41000" in line
    assert "--uds" not in line


def test_for_showing_there_is_no_address_and_nothing_is_refused() -> None:
    line = words(dataclasses.replace(KIMI, extra=("--port", "1")), at=None)
    assert "--uds" not in line
    assert line.endswith("--port 1")


@pytest.mark.parametrize(
    "extra",
    [
        *sorted(FORBIDDEN),
        "--no-enable-log-requests",
        "--swap-space",
        "--api_key=x",
        "--kv-transfer-config.kv_connector",
        "--profiler_config.profiler=torch",
    ],
)
def test_flags_that_open_doors_or_are_unknown_are_refused(extra: str) -> None:
    with pytest.raises(BackendError) as failed:
        words(dataclasses.replace(KIMI, extra=(extra,)))
    assert failed.value.code is ErrorCode.ENGINE_BAD_ARGUMENT
    assert failed.value.params["detail"] == extra.partition("=")[0]


@pytest.mark.parametrize("extra", ["--max-model-len=9", "--max-model-len"])
def test_what_the_app_says_itself_is_not_said_twice(extra: str) -> None:
    with pytest.raises(BackendError) as failed:
        words(dataclasses.replace(KIMI, extra=(extra,)))
    assert failed.value.code is ErrorCode.ENGINE_FLAG_CONFLICT


def test_flags_of_the_user_that_the_build_knows_go_last() -> None:
    assert words(dataclasses.replace(KIMI, extra=("--load-format", "dummy"))).endswith(
        "--load-format dummy"
    )


def test_a_renamed_flag_and_a_value_that_the_build_does_not_take() -> None:
    flags = {k: v for k, v in FLAGS.items() if k != "--gpu-memory-utilization"}
    assert "--device-memory-utilization 0.9" in words(KIMI, dataclasses.replace(BUILD, flags=flags))
    narrow = FLAGS | {"--kv-cache-dtype": "{auto,bfloat16}"}
    with pytest.raises(BackendError) as failed:
        words(KIMI, dataclasses.replace(BUILD, flags=narrow))
    assert failed.value.params["detail"] == "--kv-cache-dtype fp8"


def test_the_help_is_read_with_short_names_and_choices() -> None:
    assert FLAGS["-tp"] == "TENSOR_PARALLEL_SIZE"
    assert FLAGS["--no-enforce-eager"] == ""
    assert "fp8" in choices_of(FLAGS["--kv-cache-dtype"])
    assert choices_of("FILE") == frozenset()
    assert len(FLAGS) > 300


@given(st.text())
def test_any_text_is_some_help(text: str) -> None:
    assert all(name.startswith("-") for name in parse_argparse_help(text))


def test_its_environment_keeps_it_at_home() -> None:
    shell = {"PATH": "/bin", "HF_TOKEN": "hf_x", "VLLM_SERVER_DEV_MODE": "1", "HTTP_PROXY": "p"}
    place = RunPlace(Path("/run/engine-1"), "secret")
    found = engine_environment(shell, Vllm().environment(BUILD, KIMI, place))
    assert found["VLLM_API_KEY"] == "secret"
    assert found["HF_HUB_OFFLINE"] == found["VLLM_NO_USAGE_STATS"] == "1"
    assert found["VLLM_RPC_BASE_PATH"] == "/run/engine-1"
    assert found["CUDA_VISIBLE_DEVICES"] == "0,1,3"
    assert not found.keys() & {"HF_TOKEN", "VLLM_SERVER_DEV_MODE", "HTTP_PROXY"}
    assert "VLLM_CPU_KVCACHE_SPACE" not in found


def test_a_build_without_gpus_gets_a_bounded_cache_and_a_long_folder_no_sockets() -> None:
    on_cpu = dataclasses.replace(BUILD, devices=())
    settings = dataclasses.replace(KIMI, server=VllmSettings(cpu_cache_gib=3))
    found = Vllm().environment(on_cpu, settings, RunPlace(Path("/" + "x" * 90), "k"))
    assert found["VLLM_CPU_KVCACHE_SPACE"] == "3"
    assert "VLLM_RPC_BASE_PATH" not in found
    assert "CUDA_VISIBLE_DEVICES" not in found


def read(name: str) -> tuple[VllmReader, list[tuple[float, LoadStep | None]]]:
    reader, seen = VllmReader(), []
    for line in (DATA / f"{name}.log").read_text().splitlines():
        reader.take_log(line)
        now = (reader.fraction() or 0.0, reader.step)
        if not seen or seen[-1] != now:
            seen.append(now)
    return reader, seen


@pytest.mark.parametrize(
    "name",
    ["startup-kimi-mp-eager", "startup-kimi-uni-eager", "startup-qwen3-mp-inductor",
     "startup-qwen3-tp2"],
)  # fmt: skip
def test_a_recorded_start_comes_from_nothing_to_ready_and_never_back(name: str) -> None:
    reader, seen = read(name)
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0.0
    assert fractions[-1] == 1.0
    assert reader.is_ready
    phases = [step.phase for _, step in seen if step is not None]
    for phase in (LoadPhase.PROGRAM, LoadPhase.CONFIG, LoadPhase.COMPILE, LoadPhase.WARM_UP):
        assert phase in phases
    assert (0.75, LoadStep(LoadPhase.WEIGHTS, 3, 3)) in seen


def test_shards_and_graphs_are_counted_and_a_second_worker_changes_nothing() -> None:
    reader = VllmReader()
    reader.take_log("Loading safetensors checkpoint shards:  33% Completed | 1/3 [00:00<00:01]")
    assert reader.step == LoadStep(LoadPhase.WEIGHTS, 1, 3)
    before = reader.fraction()
    reader.take_log("(Worker_TP1 pid=3) INFO Starting to load model /m...")
    assert reader.fraction() == before
    reader.take_log("Capturing CUDA graphs (decode, FULL):  50%|#| 26/51 [00:02]")
    assert reader.step == LoadStep(LoadPhase.GRAPHS, 26, 51)
    reader.take_log("Loading safetensors checkpoint shards:   0% Completed | 0/0 [00:00<?]")
    assert not reader.is_ready


@given(st.text())
def test_no_line_breaks_the_reader(text: str) -> None:
    reader = VllmReader()
    reader.take_output(text)
    assert 0.0 <= (reader.fraction() or 0.0) <= 1.0


def test_what_it_counts() -> None:
    found = Vllm().read_metrics((DATA / "metrics-busy.txt").read_text())
    assert (found.running, found.waiting) == (4.0, 3.0)
    assert found.cache_used is not None
    assert 0 < found.cache_used < 1
    assert found.generated_tokens is not None
    assert found.generated_tokens > 0
    assert found.looked_up_tokens is not None
    assert found.found_tokens is not None
    assert found.generated_seconds is None  # counted as they come


def test_it_says_when_it_is_ready() -> None:
    engine: Engine = Vllm()
    assert engine.heard("INFO:     Application startup complete.") == Heard()
    assert engine.heard("INFO:     Waiting for application startup.") is None


ENDS = {
    "broken-config-json": (ErrorCode.ENGINE_BAD_MODEL, "not_a_model_file"),
    "corrupt-safetensors-truncated": (ErrorCode.ENGINE_BAD_MODEL, "file_truncated"),
    "corrupt-safetensors-zeros": (ErrorCode.ENGINE_BAD_MODEL, "file_corrupted"),
    "cuda-missing-vllm-0.33": (ErrorCode.ENGINE_START_FAILED, "gpu_not_found"),
    "dtype-unknown": (ErrorCode.ENGINE_BAD_ARGUMENT, "bad_argument"),
    "kv-cache-auto-utilization-too-big": (ErrorCode.ENGINE_OUT_OF_MEMORY, "kv_cache_oom"),
    "kv-cache-more-than-free-ram": (ErrorCode.ENGINE_OUT_OF_MEMORY, "kv_cache_oom"),
    "kv-cache-no-memory-for-blocks": (ErrorCode.ENGINE_OUT_OF_MEMORY, "kv_cache_no_room"),
    "kv-cache-smaller-than-max-model-len": (
        ErrorCode.ENGINE_OUT_OF_MEMORY,
        "context_exceeds_kv_space",
    ),
    "max-model-len-over-model": (ErrorCode.ENGINE_BAD_ARGUMENT, "context_exceeds_model_limit"),
    "missing-config-json": (ErrorCode.ENGINE_BAD_MODEL, "path_wrong"),
    "missing-shard": (ErrorCode.ENGINE_BAD_MODEL, "shard_set_incomplete"),
    "missing-tokenizer": (ErrorCode.ENGINE_BAD_MODEL, "tokenizer_unsupported"),
    "model-path-does-not-exist": (ErrorCode.ENGINE_BAD_MODEL, "path_wrong"),
    "needs-trust-remote-code": (ErrorCode.ENGINE_BAD_MODEL, "remote_code_not_trusted"),
    "nnodes-without-master": (ErrorCode.ENGINE_BAD_ARGUMENT, "parallel_size_invalid"),
    "no-weights": (ErrorCode.ENGINE_BAD_MODEL, "path_wrong"),
    "port-in-use": (ErrorCode.ENGINE_PORT_TAKEN, "port_in_use"),
    "quantization-unknown": (ErrorCode.ENGINE_BAD_ARGUMENT, "format_unsupported_by_engine"),
    "reasoning-parser-unknown": (ErrorCode.ENGINE_BAD_ARGUMENT, "bad_argument"),
    "tensor-parallel-more-than-devices": (ErrorCode.ENGINE_BAD_ARGUMENT, "parallel_size_invalid"),
    "tensor-parallel-not-dividing-heads": (ErrorCode.ENGINE_BAD_ARGUMENT, "parallel_size_invalid"),
    "tool-parser-unknown": (ErrorCode.ENGINE_BAD_ARGUMENT, "bad_argument"),
    "unknown-architecture": (ErrorCode.ENGINE_BAD_MODEL, "engine_too_old_for_model"),
    "unknown-flag": (ErrorCode.ENGINE_BAD_ARGUMENT, "bad_argument"),
    "unsupported-architecture-known-type": (
        ErrorCode.ENGINE_BAD_MODEL,
        "engine_too_old_for_model",
    ),
    "weights-missing-for-layer": (ErrorCode.ENGINE_BAD_MODEL, "model_metadata_mismatch"),
    "weights-shape-mismatch": (ErrorCode.ENGINE_BAD_MODEL, "model_metadata_mismatch"),
}


def ended(lines: list[str], code: int | None = 1, **more: object) -> BackendError:
    facts = {"was_ready": False, "oom_kills": 0, "program": "vllm", "model": "/m"} | more
    return Vllm().explain(EngineEnd(code=code, lines=lines, **facts))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ENDS)
def test_a_recorded_failure_has_its_code_and_its_cause(name: str) -> None:
    text = (DATA / f"{name}.log").read_text()
    code, cause = ENDS[name]
    error = ended(text.splitlines())
    assert error.code is code
    assert not str(error.params["detail"]).startswith(("(", "raise"))
    found = diagnose(from_log(text)).cause
    assert found is not None
    assert found.cause == cause


def test_an_end_with_status_0_that_nobody_asked_for_is_a_failure() -> None:
    lines = (DATA / "worker-killed.log").read_text().splitlines()
    assert ended(lines, 0, was_ready=True).code is ErrorCode.ENGINE_KILLED
    assert ended(lines, 0, was_ready=True, oom_kills=1).code is ErrorCode.ENGINE_OUT_OF_MEMORY
    assert ended(["INFO: fine"], 0, was_ready=True).code is ErrorCode.ENGINE_EXITED
    silent = ended([], 0)
    assert silent.code is ErrorCode.ENGINE_SAID_NOTHING
    assert silent.params["detail"] == "exit 0"


def test_ends_that_the_system_tells() -> None:
    assert ended([], -4).code is ErrorCode.ENGINE_WRONG_CPU
    assert ended([], None).code is ErrorCode.ENGINE_KILLED_LOADING
    assert ended([], -9, oom_kills=2).code is ErrorCode.ENGINE_OUT_OF_MEMORY
    assert ended([], -11, was_ready=True).params["signal"] == "SIGSEGV"
    late = ["x", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"]
    assert ended(late, 1, was_ready=True).code is ErrorCode.ENGINE_OUT_OF_MEMORY
