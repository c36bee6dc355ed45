"""The verdict of a plan in words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from kimi_desktop.ui.plan.verdict import judge, tightest, verdict_of
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support.measured import model_facts

GIB = 2**30
KIMI = model_facts("kimi-k2.6.q4_x")
LLAMA = model_facts("llama-3.1-8b.q4_k_m")
PLAN = LoadSettings(Path("m.gguf"), n_gpu_layers=62, n_cpu_moe=61, context=131_072)
LARGE = 900 * GIB

GPU = DeviceMemory("gpu:0", "RTX 5090", 32 * GIB, 11 * GIB, 9 * GIB, None, None, GIB)
RAM = DeviceMemory("host", "RAM", 755 * GIB, 532 * GIB, 0, None, None, 10 * GIB)


def forecast(*devices: DeviceMemory, exact: bool = True) -> LoadForecast:
    return LoadForecast(devices, exact=exact)


def test_what_is_not_forecast_is_said():
    answer = judge(forecast(GPU, RAM), PLAN, KIMI, LARGE)
    assert answer.verdict is Verdict.OK
    assert answer.word == "Weights and KV fit"
    assert answer.sentence == (
        "Weights and KV cache fit at 128K context. That leaves 11.0 GiB on GPU 0 and 213.0 GiB in "
        "RAM for compute buffers and the engine."
    )
    assert answer.advice == ""


def test_a_whole_forecast_fits():
    whole = [dataclasses.replace(d, compute_bytes=GIB, overhead_bytes=GIB) for d in (GPU, RAM)]
    answer = judge(forecast(*whole), PLAN, KIMI, LARGE)
    assert (answer.verdict, answer.word) == (Verdict.OK, "Fits")
    assert answer.sentence == (
        "Fits at 128K context, with 9.00 GiB on GPU 0 and 211.0 GiB in RAM to spare."
    )


def test_little_room_for_what_is_not_forecast_is_tight():
    answer = judge(forecast(dataclasses.replace(GPU, kv_bytes=18 * GIB), RAM), PLAN, KIMI, LARGE)
    assert (answer.verdict, answer.word) == (Verdict.WARN, "Tight")
    assert "GPU 0" in answer.advice


def test_only_what_is_not_forecast_is_talked_about():
    """A full GPU whose compute buffers are counted is no reason to warn."""
    full = dataclasses.replace(GPU, compute_bytes=10 * GIB, overhead_bytes=GIB // 2)
    answer = judge(forecast(full, RAM), PLAN, KIMI, LARGE)
    assert (answer.verdict, answer.word) == (Verdict.OK, "Weights and KV fit")
    assert "GPU" not in answer.sentence
    assert "213.0 GiB in RAM for compute buffers" in answer.sentence


def test_an_estimate_is_said():
    answer = judge(forecast(GPU, RAM, exact=False), PLAN, KIMI, LARGE)
    assert answer.advice.startswith("An estimate: how the architecture deepseek2")


def test_a_server_gets_one_figure_for_its_gpus():
    gpus = [dataclasses.replace(GPU, device=f"gpu:{number}") for number in range(8)]
    gpus[5] = dataclasses.replace(gpus[5], kv_bytes=10 * GIB)
    answer = judge(forecast(*gpus, RAM), PLAN, KIMI, LARGE)
    assert "at least 10.0 GiB on every GPU and 213.0 GiB in RAM" in answer.sentence


def test_idle_gpus_are_not_counted():
    idle = dataclasses.replace(GPU, weights_bytes=0, kv_bytes=0)
    answer = judge(forecast(idle, RAM), PLAN, KIMI, LARGE)
    assert "GPU" not in answer.sentence
    full = dataclasses.replace(idle, others_bytes=33 * GIB)
    assert verdict_of(forecast(full, RAM))[0] is Verdict.OK


SHORT_GPU = dataclasses.replace(GPU, weights_bytes=40 * GIB)
SHORT_RAM = dataclasses.replace(RAM, weights_bytes=800 * GIB)


@pytest.mark.parametrize(
    ("devices", "changes", "facts", "help_"),
    [
        ((SHORT_GPU, RAM), {"n_cpu_moe": 10}, KIMI, "Keep more expert layers in RAM."),
        (
            (dataclasses.replace(GPU, weights_bytes=26 * GIB), RAM),
            {},
            KIMI,
            "Shorten the context, or take a smaller KV type.",
        ),
        ((SHORT_GPU, RAM), {}, KIMI, "Put fewer layers on the GPU."),
        ((GPU, SHORT_RAM), {"n_gpu_layers": 10}, KIMI, "Put more layers on the GPU."),
        ((GPU, SHORT_RAM), {}, KIMI, "Move expert layers from RAM to the GPU."),
        ((SHORT_RAM,), {}, LLAMA, "Choose a smaller quantization or model."),
        (
            (dataclasses.replace(RAM, weights_bytes=600 * GIB, kv_bytes=200 * GIB),),
            {},
            LLAMA,
            "Shorten the context, or take a smaller KV type.",
        ),
    ],
)
def test_what_helps_depends_on_what_is_short(devices, changes, facts, help_):
    plan = dataclasses.replace(PLAN, **changes)
    answer = judge(forecast(*devices), plan, facts, LARGE)
    assert answer.verdict is Verdict.BAD
    assert answer.word.endswith("short")
    assert answer.advice.endswith(help_)


def test_other_programs_are_named_when_they_are_the_reason():
    crowded = dataclasses.replace(GPU, others_bytes=14 * GIB)
    answer = judge(forecast(crowded, RAM), PLAN, KIMI, LARGE)
    assert answer.word == "2.00 GiB short"
    assert answer.sentence == "2.00 GiB short on GPU 0: 34.0 GiB needed, 32.0 GiB there."
    assert answer.advice.startswith("Other programs hold 14.0 GiB of it. ")


def test_more_than_all_memory_is_bound_by_the_disk():
    answer = judge(forecast(GPU, SHORT_RAM), PLAN, KIMI, 300 * GIB)
    assert "larger than RAM and VRAM together" in answer.advice


def test_without_a_forecast_nothing_is_promised():
    answer = judge(forecast(), PLAN, KIMI, LARGE)
    assert (answer.verdict, answer.word) == (Verdict.UNKNOWN, "No forecast")
    assert "does not say enough" in answer.sentence


def test_an_unknown_size_of_vram_is_no_verdict():
    unknown = dataclasses.replace(GPU, total_bytes=0)
    assert tightest(forecast(unknown)) is None
    assert verdict_of(forecast(unknown))[0] is Verdict.OK
