"""SGLang: its command from a build's own help, its log, its counters, what it may not be told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends.command import EngineBuild, Listening
from kimi_desktop.backends.engines.argparse_help import parse_argparse_help
from kimi_desktop.backends.engines.interface import Engine, Heard, RunPlace
from kimi_desktop.backends.engines.server_log import ServerReader
from kimi_desktop.backends.engines.sglang import FORBIDDEN, Sglang
from kimi_desktop.backends.engines.sglang_log import TABLE
from kimi_desktop.backends.failures import EngineEnd
from kimi_desktop.backends.server_facts import facts_of
from kimi_desktop.backends.types import EngineKind, LoadPhase, LoadSettings, LoadStep, VllmSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.units import GIB
from kimi_desktop.planner.vllm_types import CacheFormat, ServerSettings, Split

DATA = Path(__file__).parent.parent.parent / "data" / "sglang"
BUILD = EngineBuild(
    EngineKind.SGLANG,
    ("/opt/s/bin/python", "-I", "-m", "sglang.launch_server"),
    parse_argparse_help((DATA / "help-0.5.23.txt").read_text()),
    name="SGLang 0.5.23",
    devices=("CUDA",),
    version="0.5.23",
)
SERVER = ServerSettings(
    split=Split(tensor=8, pipeline=2, experts=True),
    context=131_072,
    cache=CacheFormat.FP8,
    memory_share=0.9,
    n_sequences=16,
    n_batched_tokens=8192,
    eager=True,
    text_only=True,
    offload_bytes=20 * GIB,
)
KIMI = LoadSettings(
    Path("/models/Kimi K2.6 月"),
    kind=EngineKind.SGLANG,
    binary=Path("/opt/s/bin/python"),
    gpus=(0, 1, 3),
    server=VllmSettings(SERVER, served_name="kimi", tool_parser="kimi_k2", trusted_code="ab"),
)
HERE = Listening(None, Path("/run/x/key"), 34567)


def words(settings: LoadSettings = KIMI, build: EngineBuild = BUILD) -> tuple[str, ...]:
    return Sglang().command(build, settings, listening=HERE, n_threads=8)


def test_it_is_an_engine() -> None:
    engine: Engine = Sglang()
    assert engine.stopping.interrupts
    assert engine.stopping.clears_shared_memory
    assert not engine.picks_port


def test_the_whole_command() -> None:
    assert words() == (
        *BUILD.program,
        *("--model-path", "/models/Kimi K2.6 月", "--config", "/run/x/key.yaml"),
        *("--host", "127.0.0.1", "--port", "34567", "--served-model-name", "kimi"),
        *("--tp-size", "8", "--pp-size", "2", "--ep-size", "8", "--context-length", "131072"),
        *("--mem-fraction-static", "0.9", "--kv-cache-dtype", "fp8_e4m3"),
        *("--cpu-offload-gb", "20.0", "--disable-cuda-graph", "--language-model-only"),
        *("--max-running-requests", "16", "--chunked-prefill-size", "8192"),
        *("--tool-call-parser", "kimi_k2", "--trust-remote-code", "--enable-metrics"),
    )


def test_older_names_are_translated() -> None:
    flags = {k: v for k, v in BUILD.flags.items() if k != "--tp-size"}
    assert "--tensor-parallel-size" in words(build=dataclasses.replace(BUILD, flags=flags))


def test_a_flag_that_the_build_does_not_have_is_refused() -> None:
    flags = {k: v for k, v in BUILD.flags.items() if k != "--language-model-only"}
    with pytest.raises(BackendError) as caught:
        words(build=dataclasses.replace(BUILD, flags=flags))
    assert caught.value.code is ErrorCode.ENGINE_BAD_ARGUMENT


@pytest.mark.parametrize("flag", sorted(FORBIDDEN))
def test_doors_stay_shut(flag: str) -> None:
    flags = {**BUILD.flags, flag: "X"}
    with pytest.raises(BackendError):
        words(dataclasses.replace(KIMI, extra=(flag, "1")), dataclasses.replace(BUILD, flags=flags))


def test_what_is_shown_has_no_address_and_no_key() -> None:
    shown = Sglang().command(BUILD, KIMI, listening=None, n_threads=8)
    assert {"--host", "--port", "--config"}.isdisjoint(shown)


def test_the_environment_and_the_file_of_the_key(tmp_path: Path) -> None:
    place = RunPlace(tmp_path, "secret-key")
    variables = Sglang().environment(BUILD, KIMI, place)
    assert variables["CUDA_VISIBLE_DEVICES"] == "0,1,3"
    assert "secret-key" not in str(variables)
    Sglang().write_files(place)
    assert (tmp_path / "key.yaml").read_text() == '{"api-key": "secret-key"}\n'


def test_the_log_of_a_start_runs_from_nought_to_ready() -> None:
    reader = ServerReader(TABLE)
    seen: list[tuple[float, LoadStep]] = []
    for line in (DATA / "startup-tp2.log").read_text().splitlines():
        reader.take_log(line)
        fraction = reader.fraction()
        assert fraction is not None
        assert reader.step is not None
        seen.append((fraction, reader.step))
        assert Sglang().heard(line) is None
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert {step.phase for _, step in seen} == set(LoadPhase) - {LoadPhase.COMPILE}
    steps = [step for _, step in seen]
    assert LoadStep(LoadPhase.WEIGHTS, 3, 4) in steps
    assert LoadStep(LoadPhase.GRAPHS, 4, 4) in steps
    assert not reader.is_ready  # its HTTP server answers, but no request went through yet
    last = "[2026-11-30 12:50:17] The server is fired up and ready to roll!"
    reader.take_log(last)
    assert reader.is_ready
    assert reader.fraction() == 1.0
    assert Sglang().heard(last) == Heard()


def test_its_counters() -> None:
    found = Sglang().read_metrics((DATA / "metrics-busy.txt").read_text())
    assert (found.running, found.waiting, found.cache_used) == (3, 2, 0.25)
    assert (found.prompt_tokens, found.generated_tokens) == (1000, 640)
    assert (found.looked_up_tokens, found.found_tokens) == (1000, 400)
    assert Sglang().read_metrics("").running is None


def end(*lines: str, code: int = -9, oom_kills: int = 0) -> EngineEnd:
    return EngineEnd(
        code=code, was_ready=False, lines=lines, oom_kills=oom_kills, program="p", model="m"
    )


def test_a_child_that_failed_is_no_kill_by_somebody_else() -> None:
    quit_line = "[x] Received sigquit from a child process. It usually means the child failed."
    error = Sglang().explain(end("[x TP0] torch.OutOfMemoryError: CUDA out of memory.", quit_line))
    assert error.code is ErrorCode.ENGINE_OUT_OF_MEMORY
    assert Sglang().explain(end("loading")).code is ErrorCode.ENGINE_KILLED_LOADING
    killed = "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If"
    assert Sglang().explain(end(killed, code=1)).code is ErrorCode.ENGINE_KILLED_LOADING
    by_system = Sglang().explain(end(quit_line, oom_kills=1))
    assert by_system.code is ErrorCode.ENGINE_OUT_OF_MEMORY


def test_what_a_form_is_told() -> None:
    facts = facts_of(BUILD, ("--tool-call-parser", "kimi_k2", "--enable-auto-tool-choice", "--x"))
    assert facts.name == "SGLang 0.5.23"
    assert facts.takes_fp8_cache
    assert "kimi_k2" in facts.tool_parsers
    assert facts.unknown == {"decode_context"}
    assert facts.lacks == ("--x",)
    assert facts.names["sequences"] == "--max-running-requests"
