"""How rules are weighed."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import (
    EngineKind,
    EngineState,
    EngineStatus,
    LoadSettings,
    VllmSettings,
)
from kimi_desktop.diagnosis.collect import evidence_of_status
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.types import EngineExit, Evidence
from kimi_desktop.planner.vllm_types import ServerSettings, Split

KV = "E llama_init_from_model: failed to allocate buffer for kv cache"
REFUSED = "E llama_init_from_model: V cache quantization requires flash_attn"
ECHO = "E srv    load_model: failed to load model, '/models/a.gguf'"


def cause_of(log: str, **facts: object) -> str | None:
    best = diagnose(Evidence(log=log, **facts)).cause  # type: ignore[arg-type]
    return best.cause if best else None


TRUNCATED = (
    "E gguf_init_from_file: failed to read tensor data: file should be of size 9 but has size 8"
)
HINT_OF_SHARDS = "E the shard could not be read, incomplete"


def test_a_hint_does_not_rule_out_proof() -> None:
    both = diagnose(Evidence(log=f"{TRUNCATED}\n{HINT_OF_SHARDS}", phase="load"))
    assert both.cause is not None
    assert both.cause.cause == "file_truncated"
    assert cause_of(HINT_OF_SHARDS, phase="load") == "shard_set_incomplete"


@pytest.mark.parametrize(
    ("told", "cause"),
    [
        ("server process terminated with exit code: -4", "cpu_instruction_unsupported"),
        ("worker 2 ended with exit code: -15", None),
    ],
)
def test_a_fault_that_another_program_tells_is_a_signal(told: str, cause: str | None) -> None:
    """Only faults: a worker that was told to end says nothing about the first cause."""
    found = diagnose(Evidence(log=told, exit=EngineExit(is_alive=True), phase="load")).findings
    assert [finding.cause for finding in found if finding.confidence >= 0.8] == (
        [cause] if cause else []
    )


@pytest.mark.parametrize(
    ("log", "facts", "cause"),
    [
        (
            "numa: NUMA is enabled on this system; consider numactl",
            {"phase": "serve", "machine": {"numa_nodes": 2}},
            "numa_misplaced",
        ),
        (
            '(reply is empty; finish_reason "length", reasoning_content 90 tokens, max_tokens 90)',
            {"phase": "serve"},
            "token_budget_used_up",
        ),
        (
            "(the answer shows <|im_start|> and <|im_end|> markers)",
            {"phase": "serve"},
            "wrong_chat_template",
        ),
        (
            "(word salad in many languages)",
            {"phase": "serve", "settings": {"temperature": 3.5}},
            "sampling_extreme",
        ),
    ],
)
def test_what_a_person_saw_while_it_served(log: str, facts: dict[str, object], cause: str) -> None:
    assert cause_of(log, exit=EngineExit(is_alive=True), **facts) == cause


def test_a_clear_refusal_is_the_cause_and_not_the_crash_that_follows() -> None:
    crash = EngineExit(signal="SIGSEGV")
    assert cause_of(REFUSED, exit=crash, phase="load") == "kv_quant_needs_flash_attn"
    assert cause_of("", exit=crash, phase="load") == "engine_bug_crash"


def test_a_lost_worker_is_the_cause_and_not_the_abort_that_follows() -> None:
    log = "E recv failed (bytes_recv=0, size_to_recv=8)\n/s/ggml-rpc.cpp:566: " + (
        "Remote RPC server crashed or returned malformed response"
    )
    assert cause_of(log, exit=EngineExit(signal="SIGABRT"), phase="serve") == "worker_lost"


def test_the_first_error_wins_over_its_echo() -> None:
    found = diagnose(Evidence(log=f"I start\n{KV}\n{ECHO}", phase="load", exit=EngineExit(code=1)))
    assert found.cause is not None
    assert (found.cause.cause, found.cause.line_number, found.cause.line) == ("kv_cache_oom", 1, KV)


@pytest.mark.parametrize(
    ("machine", "cause"),
    [
        ({"port_owner": "python3"}, "port_in_use"),
        ({"listening_ports": [22]}, "address_not_bindable"),
        ({}, "port_in_use"),
    ],
)
def test_the_same_line_means_another_cause_on_another_machine(
    machine: dict[str, object], cause: str
) -> None:
    log = "E srv start: couldn't bind HTTP server socket, hostname: 10.0.0.9, port: 8080"
    found = cause_of(log, machine=machine, settings={"port": 8080}, exit=EngineExit(code=1))
    assert found == cause


@pytest.mark.parametrize(
    ("machine", "cause"),
    [
        ({"cgroup_oom_kill": 1}, "ram_oom_killed"),
        ({"cgroup_oom_kill": 1, "memory_limit_mib": 900}, "memory_cap_container_or_wsl"),
        ({"cgroup_oom_kill": 0, "mem_available_gib": 20}, "killed_from_outside"),
    ],
)
def test_what_a_sigkill_means_is_counted_by_the_system(
    machine: dict[str, object], cause: str
) -> None:
    assert cause_of("", exit=EngineExit(signal="SIGKILL"), phase="load", machine=machine) == cause


def test_a_decoy_alone_says_nothing() -> None:
    decoy = "common_fit_params: while trying to fit params to free device memory: failed to load"
    found = diagnose(Evidence(log=decoy, phase="load"))
    assert found.cause is None
    assert found.decoys == (0,)


def test_a_limit_that_the_engine_names_is_the_value_of_the_fix() -> None:
    log = (
        "ValueError: To serve at least one request 1.0 GiB KV cache is needed. Based on the "
        "available memory, the estimated maximum model length is 34736."
    )
    best = diagnose(Evidence(log=log, phase="load", exit=EngineExit(code=1))).cause
    assert best is not None
    assert (best.fix.setting, best.fix.direction, best.fix.value) == (
        "max_model_len",
        "down",
        "34736",
    )


def test_exit_0_of_vllm_is_no_success() -> None:
    log = "WARNING [core_client.py:817] [shutdown] MPClient: engine core exited unexpectedly"
    machine = {"cgroup_oom_kill": 0, "mem_available_gib": 18}
    assert cause_of(log, exit=EngineExit(code=0), machine=machine) == "killed_from_outside"
    counted = {"cgroup_oom_kill": 1, "mem_available_gib": 0.1}
    assert cause_of(log, exit=EngineExit(code=0), machine=counted) == "ram_oom_killed"


@given(st.text(max_size=400), st.sampled_from(["", "start", "load", "serve", "perf", "quality"]))
def test_no_text_breaks_it(log: str, phase: str) -> None:
    diagnose(Evidence(log=log, phase=phase))


NAMES = ("ctx", "threads", "port", "ctk", "ctv", "shards", "proc_state", "file_bytes", "cpu")
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.lists(st.integers(), max_size=3)
)
FACTS = st.dictionaries(st.text(max_size=12) | st.sampled_from(NAMES), VALUES, max_size=8)


@given(FACTS, FACTS)
def test_no_facts_break_it(machine: dict[str, object], settings: dict[str, object]) -> None:
    diagnose(Evidence(log=KV, machine=machine | settings, settings=settings | machine))


def test_the_cause_is_found_anywhere_in_a_long_log() -> None:
    choose = random.Random(3)
    lines = [f"I slot print_timing: id {choose.random()} error budget {n}" for n in range(60_000)]
    lines[40_000] = REFUSED
    found = diagnose(Evidence(log="\n".join(lines), phase="load"))
    assert found.cause is not None
    assert found.cause.line_number == 40_000


TORCH = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 80.00 MiB. GPU 0 has a total "
    "capacity of 24.00 GiB of which 60.69 MiB is free. Process 41 has {held} GiB memory in use. "
    "Of the allocated memory {mine} GiB is allocated by PyTorch"
)


@pytest.mark.parametrize(
    ("held", "mine", "cause"),
    [("23.9", "23.5", "vram_oom_weights"), ("15.0", "8.0", "vram_taken_by_other")],
)
def test_whose_memory_is_full_stands_in_the_figures_of_pytorch(
    held: str, mine: str, cause: str
) -> None:
    """Within a container PyTorch does not know its own number: "Process 41" may be itself."""
    log = f"Loading safetensors checkpoint shards: 3%\n{TORCH.format(held=held, mine=mine)}"
    assert cause_of(log, engine="vllm", phase="load", exit=EngineExit(code=1)) == cause


@pytest.mark.parametrize(
    ("code", "cause"),
    [(132, "cpu_instruction_unsupported"), (-4, "cpu_instruction_unsupported"), (3, None)],
)
def test_an_exit_code_tells_the_signal(code: int, cause: str | None) -> None:
    assert cause_of("", phase="generate", exit=EngineExit(code=code)) == cause


@pytest.mark.parametrize(
    ("code", "log", "cause"),
    [
        (-1073741515, "", "shared_library_missing"),
        (3221225501, "", "cpu_instruction_unsupported"),
        (None, "runner process has terminated: exit status 0xc000007b", "engine_binary_unusable"),
        (None, "(Exit code: 18446744072635812000). Unknown error.", "engine_bug_crash"),
        (None, "(Exit code: 1). Unknown error.", None),
    ],
)
def test_a_windows_status_is_read_in_all_its_forms(
    code: int | None, log: str, cause: str | None
) -> None:
    """A JavaScript program prints 0xC0000409 widened to 64 bits and rounded."""
    assert cause_of(log, phase="load", exit=EngineExit(code=code)) == cause


def test_the_word_of_a_dead_engine_is_no_cause() -> None:
    log = (
        "(EngineCore pid=9) ERROR Worker proc VllmWorker-0 died unexpectedly (exit code: -9)\n"
        "(EngineCore pid=9) ERROR EngineCore encountered a fatal error."
    )
    assert cause_of(log, engine="vllm", phase="serve") == "killed_from_outside"


def test_a_status_is_read_wherever_the_log_tells_it() -> None:
    log = "OSError: [WinError -1073741795] Windows Error 0xc000001d\nFailed to execute script"
    found = cause_of(log, phase="load", exit=EngineExit(code=1))
    assert found == "cpu_instruction_unsupported"


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("error: 拒绝访问。", "permission_denied"),
        ("OSError: [WinError 1455] 页面文件太小,无法完成操作。", "ram_oom_weights"),
        ("error: 通常每个套接字地址(协议/网络地址/端口)只允许使用一次。", "port_in_use"),
        ("ImportError: DLL load failed: 找不到指定的模块。", "shared_library_missing"),
        (
            "error loading model: MapViewOfFile failed: No hay suficientes recursos",
            "ram_oom_weights",
        ),
    ],
)
def test_the_systems_messages_may_be_in_another_language(log: str, cause: str) -> None:
    assert cause_of(log, phase="load", exit=EngineExit(code=1)) == cause


def test_a_cause_with_a_near_rival_is_likely_and_not_proven() -> None:
    log = "graph_compute: command buffer 1 failed with status 5\nerror: Insufficient Memory (0)"
    one = "NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus."
    alone = diagnose(Evidence(log=one, phase="generate")).findings
    assert alone[0].confidence >= 0.8
    two = diagnose(Evidence(log=f"{one}\nCUDA error: out of memory", phase="generate")).findings
    assert {found.cause for found in two} >= {"gpu_lost_or_faulty", "vram_oom_at_runtime"}
    assert (two[0].cause, two[0].confidence < 0.8) == ("gpu_lost_or_faulty", True)
    metal = diagnose(Evidence(log=log, phase="generate")).findings
    assert (metal[0].cause, metal[0].confidence < 0.8) == ("vram_oom_at_runtime", True)


def test_a_cause_out_of_its_time_is_less_sure() -> None:
    """Files are read while the model loads: later, the same words are mostly something else."""
    log = "RuntimeError: The size of tensor a (128) must match the size of tensor b (64)"
    early = diagnose(Evidence(log=log, phase="load", exit=EngineExit(code=1))).cause
    late = diagnose(Evidence(log=log, phase="serve", exit=EngineExit(code=1))).cause
    assert early is not None
    assert late is not None
    assert (early.cause, early.confidence >= 0.8) == ("model_metadata_mismatch", True)
    assert (late.cause, late.confidence < 0.8) == ("engine_bug_crash", True)


def test_an_exception_that_nobody_caught_is_a_crash_of_the_engine() -> None:
    log = "Traceback (most recent call last):\nIndexError: list index out of range"
    assert cause_of(log, phase="serve", exit=EngineExit(code=1)) == "engine_bug_crash"
    assert cause_of(log, phase="serve", exit=EngineExit(is_alive=True)) is None


def test_a_file_that_is_not_found_has_nothing_to_do_with_the_network() -> None:
    """``FileNotFoundError`` holds ENOTFOUND when upper and lower case are the same."""
    log = "FileNotFoundError: [Errno 2] No such file or directory: '/models/a/config.json'"
    found = diagnose(Evidence(log=log, phase="start", exit=EngineExit(code=1)))
    assert "download_refused_or_offline" not in {finding.cause for finding in found.findings}


def test_a_flag_said_twice_is_no_damaged_file() -> None:
    log = (
        "Found duplicate keys --max-model-len\n"
        "Value error, User-specified max_model_len (999999) is greater than the derived "
        "max_model_len (max_position_embeddings=2048.0)"
    )
    found = cause_of(log, engine="vllm", phase="load", exit=EngineExit(code=1))
    assert found == "context_exceeds_model_limit"
    assert cause_of("gguf: duplicate key 'general.name'", phase="load") == "file_corrupted"


def test_facts_of_a_server_are_its_own() -> None:
    server = ServerSettings(split=Split(tensor=8), context=4096, memory_share=0.9)
    settings = LoadSettings(
        Path("/m/Kimi-K2.6"), kind=EngineKind.VLLM, server=VllmSettings(server=server)
    )
    seen = evidence_of_status(EngineStatus(EngineState.FAILED, settings=settings), None)
    assert seen.engine == "vllm"
    assert seen.settings["tensor_parallel_size"] == 8
    assert seen.settings["ctx"] == 4096
    assert seen.settings["gpu_memory_utilization"] == 0.9
    assert "ngl" not in seen.settings
    planned = dataclasses.replace(settings, server=VllmSettings())
    bare = evidence_of_status(EngineStatus(EngineState.FAILED, settings=planned), None)
    assert "tensor_parallel_size" not in bare.settings
    assert evidence_of_status(EngineStatus(EngineState.FAILED), None).engine == "llama.cpp"


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("load_hparams: unknown projector type: gemma4uv", "engine_too_old_for_model"),
        ("operator(): unable to find tensor v.blk.0.attn_out.weight", "model_metadata_mismatch"),
        ("operator(): patch_size (0) must be positive", "model_metadata_mismatch"),
    ],
)
def test_what_a_projector_says_is_read(reason: str, cause: str) -> None:
    log = (
        f"E clip_init: failed to load model '/m/mmproj.gguf': {reason}\n"
        "E mtmd_init_from_file: error: Failed to load CLIP model from /m/mmproj.gguf\n"
        "E srv load_model: failed to load multimodal model, '/m/mmproj.gguf'"
    )
    assert cause_of(log, phase="load", exit=EngineExit(code=1)) == cause


def test_a_template_that_is_printed_refuses_nothing() -> None:
    log = (
        "main: chat template, chat_template: {%- if x %}\n"
        '        {{ raise_exception("Invalid content type") }}\n'
        "{%- endif %}\nmain: server is listening on http://127.0.0.1:8080"
    )
    assert cause_of(log, phase="serve", exit=EngineExit(is_alive=True)) is None
