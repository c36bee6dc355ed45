"""The exact check by the real llama.cpp of the wheel, in its own process."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends import exact_check
from kimi_desktop.backends.exact_check import check_exactly
from kimi_desktop.backends.probe import python_command
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Cancelled
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.header_copy import HeaderCopy, copy_file_header
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan, forecast_on
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.types import EVERY_BLOCK, HOST, ExactCheck, LoadForecast, Placement
from tests.support.gguf_files import data_bytes, header_bytes
from tests.support.measured import MeasuredCase, described_model, measured_cases, model_facts
from tests.support.planned_machines import machine
from tests.support.tiny_kimi import make_tiny_kimi

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the dry run is for Linux alone")

# MLA, latents with a state, a sparse index, windows, dense, hybrids, a pure state.
MODELS = (
    "kimi-k2.6.q4_x", "kimi-k3.mxfp4", "kimi-linear-48b.q4_k_m", "deepseek-v3.2.q4_k_m",
    "glm-4.5-air.q4_k_m", "gpt-oss-20b.mxfp4", "gemma3-4b.q4_0", "llama-3.1-8b.q4_k_m",
    "qwen3-next-80b-a3b.q4_k_m", "mamba2-2.7b.f16",
)  # fmt: skip
CASES_PER_MODEL = 3


@pytest.fixture(scope="module")
def io() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every model as a file with a hole for its weights."""
    folder = tmp_path_factory.mktemp("sparse")
    found = {}
    for name in MODELS:
        metadata, tensors = described_model(name)
        arch = metadata["general.architecture"]
        vocabulary = next(shape for tensor, shape, _ in tensors if tensor == "token_embd.weight")[1]
        metadata |= {"tokenizer.ggml.model": "no_vocab", f"{arch}.vocab_size": vocabulary}
        head = header_bytes(metadata, tensors)
        found[name] = folder / f"{name}.gguf"
        with found[name].open("wb") as file:
            file.write(head)
            file.truncate(len(head) + data_bytes(tensors))
    return found


def check(
    io: IoLoop,
    model: Path | list[HeaderCopy],
    placement: Placement,
    where: Machine,
    forecast: LoadForecast,
) -> ExactCheck | None:
    gpus = tuple(range(len(where.gpus)))
    return io.submit(lambda: check_exactly(model, placement, where, gpus, forecast)).result(120)


def some_forecast(placement: Placement, where: Machine) -> LoadForecast:
    """Of any model: what is looked at is the engine's part."""
    shape = shape_of(model_facts("llama-3.1-8b.q4_k_m"))
    return forecast_on(shape, placement, where, range(len(where.gpus)))


def idle(count: int) -> Machine:
    plain = machine(*[80.0] * count)
    gpus = [dataclasses.replace(gpu, vram_free_bytes=gpu.vram_total_bytes) for gpu in plain.gpus]
    return dataclasses.replace(plain, gpus=tuple(gpus))


def some_cases(name: str) -> list[MeasuredCase]:
    """The most different ones: other numbers of GPUs, experts in RAM, quantized caches first."""

    def rank(case: MeasuredCase) -> tuple[int, bool, bool]:
        placement = case.placement
        return (
            -case.gpus,
            not (placement.n_cpu_moe or placement.overrides),
            placement.cache_type_k == "F16",
        )

    cases = sorted((case for case in measured_cases() if case.model == name), key=rank)
    return cases[:: max(len(cases) // CASES_PER_MODEL, 1)][:CASES_PER_MODEL]


@pytest.mark.parametrize("name", MODELS)
def test_the_child_reports_what_a_real_gpu_allocated(
    io: IoLoop, files: dict[str, Path], name: str
) -> None:
    """Byte for byte what was measured on an H200 and on processors."""
    for case in some_cases(name):
        where = idle(case.gpus)
        shape = shape_of(model_facts(name))
        forecast = forecast_on(shape, case.placement, where, range(case.gpus))
        found = check(io, files[name], case.placement, where, forecast)
        assert found is not None, case.id
        rows = dict(enumerate(found.devices[:-1]))
        rows[HOST] = found.devices[-1]
        for kind, wanted in (
            ("weights_bytes", case.weights),
            ("kv_bytes", case.kv),
            ("compute_bytes", case.compute),
        ):
            got = {number: getattr(row, kind) for number, row in rows.items()}
            assert (case.id, {k: v for k, v in got.items() if v}) == (case.id, wanted)
        assert found.build.startswith("llama.cpp b")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("profile", [Profile.SAFE, Profile.FASTEST])
def test_plans_are_no_less_than_the_engine_says(
    io: IoLoop, files: dict[str, Path], name: str, profile: Profile
) -> None:
    """Of what the planner finds, weights and cache are exact and no total is 3 % below."""
    shape = shape_of(model_facts(name))
    for where in (machine(24), machine(80, 48, 24), machine(ram_gib=1024)):
        plan = find_plan(shape, where, Wishes(profile=profile, cache_type="q8_0"))
        found = io.submit(
            lambda plan=plan, where=where: check_exactly(  # type: ignore[misc]
                files[name], plan.placement, where, plan.gpus, plan.forecast
            )
        ).result(120)
        assert found is not None
        engine = ours = 0
        for row, forecast in zip(found.devices, plan.forecast.devices, strict=True):
            assert (row.weights_bytes, row.kv_bytes) == (
                forecast.weights_bytes, forecast.kv_bytes
            )  # fmt: skip
            engine += row.weights_bytes + row.kv_bytes + (row.compute_bytes or 0)
            ours += forecast.weights_bytes + forecast.kv_bytes + (forecast.compute_bytes or 0)
        assert ours >= 0.97 * engine


def test_headers_alone_say_the_same_as_the_file(io: IoLoop, tmp_path: Path) -> None:
    """Of a set of parts, as of a set on a hub."""
    make_tiny_kimi(tmp_path / "tiny.gguf", split=3)
    parts = sorted(tmp_path.glob("*.gguf"))
    assert len(parts) == 3
    copies = [copy_file_header(part) for part in parts]
    where = idle(2)
    placement = Placement(context=2048, n_gpu_layers=-1, n_cpu_moe=EVERY_BLOCK)
    other = some_forecast(placement, where)
    by_file = check(io, parts[0], placement, where, other)
    assert by_file is not None
    assert check(io, copies, placement, where, other) == by_file
    assert by_file.devices[0].weights_bytes > 0


def test_what_llama_cpp_refuses_has_no_badge(io: IoLoop, tmp_path: Path) -> None:
    path = make_tiny_kimi(tmp_path / "tiny.gguf")
    strange = tmp_path / "strange.gguf"
    strange.write_bytes(path.read_bytes().replace(b"deepseek2", b"deepseek9"))
    forecast = some_forecast(Placement(context=256), idle(0))
    assert check(io, strange, Placement(context=256), idle(0), forecast) is None
    assert check(io, tmp_path / "gone.gguf", Placement(context=256), idle(0), forecast) is None
    odd = Placement(context=256, cache_type_v="Q8_0", flash_attention=False)
    assert check(io, path, odd, idle(0), forecast) is None


def test_it_ends_in_time_and_when_nobody_wants_it(
    io: IoLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_tiny_kimi(tmp_path / "tiny.gguf")
    forecast = some_forecast(Placement(context=256), idle(0))
    monkeypatch.setattr(exact_check, "MODULE", "tests.support.sleeping_child")
    monkeypatch.setattr(exact_check, "python_path", lambda: str(Path.cwd()))
    operation = io.submit(
        lambda: check_exactly(path, Placement(context=256), idle(0), (), forecast)
    )
    operation.cancel()
    with pytest.raises(Cancelled):
        operation.result(30)
    monkeypatch.setattr(exact_check, "TIMEOUT_S", 0.3)
    assert check(io, path, Placement(context=256), idle(0), forecast) is None


def test_the_child_ends_when_its_stdin_is_closed(tmp_path: Path) -> None:
    """The app was killed while llama.cpp reads a file."""
    os.mkfifo(tmp_path / "slow.gguf")
    child = subprocess.Popen(
        python_command(exact_check.MODULE), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )  # fmt: skip
    assert child.stdin is not None
    question = {
        "gpus": [],
        "placement": dataclasses.asdict(Placement(context=256)),
        "model": str(tmp_path / "slow.gguf"),
    }
    child.stdin.write(json.dumps(question).encode() + b"\n")
    child.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(2)
    child.stdin.close()
    assert child.wait(30) == 1
