"""Settings to begin with: what fits, by a forecast that is easy to follow."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.defaults import _least, default_settings
from kimi_desktop.backends.plain_chat import plain_chat_for
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel, ModelFacts, ModelState
from kimi_desktop.planner.types import DeviceMemory, LoadForecast
from tests.support import scripted_data as data

GIB = data.GIB


def a_model(
    *, size_gib: float, n_layer: int = 10, n_expert: int = 0, context: int = 131_072,
    template: str | None = "{{ messages }}",
) -> LocalModel:  # fmt: skip
    facts = ModelFacts(
        name="m",
        architecture="llama",
        quantization="Q4",
        parameter_count=1,
        n_layer=n_layer,
        n_expert=n_expert,
        n_expert_used=0,
        context_train=context,
        weights_bytes=int(size_gib * GIB),
        kv_bytes_per_token=2**16,
        chat_template=template,
        has_thinking=False,
    )
    path = Path("/models/m.gguf")
    return LocalModel(
        str(path), path, "M", int(size_gib * GIB), 1, 1, ModelState.READY, facts, None
    )


def linear(
    settings: LoadSettings, model: LocalModel, machine: Machine, *, uses_gpus: bool = True
) -> LoadForecast:
    """Layers weigh alike; experts are nine tenths of a layer; everything on the first GPU."""
    facts = model.facts
    assert facts is not None
    per_layer = facts.weights_bytes / (facts.n_layer + 1)
    on_gpu = settings.n_gpu_layers * per_layer
    on_gpu -= min(settings.n_cpu_moe, settings.n_gpu_layers) * per_layer * 0.9
    kv = settings.context * facts.kv_bytes_per_token
    devices = [
        DeviceMemory(f"gpu:{gpu.index}", gpu.name, gpu.vram_total_bytes,
                     int(on_gpu) if gpu.index == 0 else 0,
                     kv if gpu.index == 0 and settings.n_gpu_layers else 0, None, None, 0)
        for gpu in (machine.gpus if uses_gpus else ())
    ]  # fmt: skip
    host = int(facts.weights_bytes - on_gpu)
    host_kv = 0 if settings.n_gpu_layers else kv
    memory = machine.memory.total_bytes
    return LoadForecast(
        (*devices, DeviceMemory("host", "RAM", memory, host, host_kv, None, None, 0))
    )


def defaults(of: LocalModel, machine: Machine | None, *, uses_gpu: bool = True) -> LoadSettings:
    return default_settings(
        of, machine, linear, kind=EngineKind.EMBEDDED, binary=None, uses_gpu=uses_gpu
    )


def test_a_small_model_goes_to_the_gpu_with_a_comfortable_context() -> None:
    settings = defaults(a_model(size_gib=10), data.two_gpu_box())
    assert (settings.n_gpu_layers, settings.n_cpu_moe, settings.context) == (11, 0, 32_768)
    assert settings.chat_template is None
    assert settings.stop == ()


def test_without_a_gpu_or_an_engine_for_it_everything_is_in_ram() -> None:
    assert defaults(a_model(size_gib=10), data.cpu_only_box()).n_gpu_layers == 0
    assert defaults(a_model(size_gib=10), data.two_gpu_box(), uses_gpu=False).n_gpu_layers == 0
    assert defaults(a_model(size_gib=10), None).n_gpu_layers == 0


def test_experts_go_to_ram_before_layers_do() -> None:
    settings = defaults(a_model(size_gib=500, n_layer=60, n_expert=384), data.two_gpu_box())
    assert settings.n_gpu_layers == 61
    assert 0 < settings.n_cpu_moe <= 60
    machine = data.two_gpu_box()
    fewer = dataclasses.replace(settings, n_cpu_moe=settings.n_cpu_moe - 1)
    used = linear(fewer, a_model(size_gib=500, n_layer=60, n_expert=384), machine).devices[0]
    assert used.used_bytes + 5 * GIB > used.total_bytes * 0.9


def test_a_dense_model_keeps_as_many_layers_on_the_gpu_as_fit() -> None:
    settings = defaults(a_model(size_gib=200, n_layer=99), data.two_gpu_box())
    assert 30 < settings.n_gpu_layers < 50


def test_a_model_for_which_no_context_fits_gets_the_least_settings() -> None:
    settings = defaults(a_model(size_gib=5000), data.two_gpu_box())
    assert (settings.n_gpu_layers, settings.context) == (0, 2048)


def test_the_context_steps_down_until_it_fits() -> None:
    tight = a_model(size_gib=25.5)
    settings = defaults(tight, data.cpu_only_box())
    assert settings.context == 16_384


def test_a_context_is_never_longer_than_the_training() -> None:
    assert defaults(a_model(size_gib=1, context=8192), data.two_gpu_box()).context == 8192
    assert defaults(a_model(size_gib=1, context=512), data.two_gpu_box()).context == 512
    assert defaults(a_model(size_gib=1, context=0), data.two_gpu_box()).context == 2048


def test_a_model_without_a_template_gets_questions_and_answers() -> None:
    settings = defaults(a_model(size_gib=1, template=None), data.cpu_only_box())
    plain = plain_chat_for("llama")
    assert settings.chat_template == plain.template
    assert settings.stop == plain.stop
    assert "Question: " in plain.template
    assert "\nQuestion:" in plain.stop


def test_a_model_without_a_header_gets_the_plain_defaults() -> None:
    broken = dataclasses.replace(a_model(size_gib=1), facts=None)
    assert defaults(broken, data.two_gpu_box()) == LoadSettings(broken.path)


@given(st.integers(1, 200), st.integers(0, 201))
def test_the_least_number_that_is_enough(highest: int, threshold: int) -> None:
    found = _least(highest, lambda n: n >= threshold)
    assert found == (max(1, threshold) if threshold <= highest else None)


@pytest.mark.parametrize("kind", list(EngineKind))
def test_the_engine_is_what_was_chosen(kind: EngineKind) -> None:
    binary = Path("/opt/llama-server") if kind is EngineKind.LLAMA_SERVER else None
    settings = default_settings(
        a_model(size_gib=1), None, linear, kind=kind, binary=binary, uses_gpu=False
    )
    assert (settings.kind, settings.binary) == (kind, binary)
