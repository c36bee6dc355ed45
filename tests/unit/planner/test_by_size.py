"""What is planned by name and size agrees with the plan of the header, and says that it guesses."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.catalogue_types import Engine
from kimi_desktop.models.known_geometry import known_model, known_names
from kimi_desktop.planner.by_size import SizedForecast, forecast_by_size
from kimi_desktop.planner.memory import forecast, shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Fit, Wishes
from kimi_desktop.planner.report import plan_speed
from kimi_desktop.planner.sized_shapes import resized, shape_by_size
from kimi_desktop.planner.speed_types import Resource
from kimi_desktop.planner.types import ModelShape, Placement
from tests.support.machines import cpu, gpu, machine, memory
from tests.support.measured import model_facts
from tests.support.planned_machines import machine_names, named_machine

GB = 10**9

# header, a name that people would type, the quantization as its publisher calls it
KNOWN = [
    ("kimi-k2.6.q4_x", "Kimi K2.6", "UD-Q4_K_XL"),
    ("kimi-k2.6.q4_x", "kimi-k2.6", "Q4_X"),
    ("kimi-k2.6.q2_k", "unsloth/Kimi-K2.6-GGUF", "Q2_K"),
    ("kimi-k2.6.q4_k_m", "Kimi-K2.6", "Q4_K_M"),
    ("kimi-k2.iq2_xxs", "Kimi-K2-Instruct", "IQ2_XXS"),
    ("kimi-k2.q8_0", "kimi-k2", "Q8_0"),
    ("kimi-k3.mxfp4", "kimi-k3", "UD-Q4_K_XL"),
    ("kimi-linear-48b.q4_k_m", "Kimi-Linear-48B-A3B-Instruct", "Q4_K_M"),
    ("kimi-linear-48b.q8_0", "kimi-linear-48b", "Q8_0"),
    ("moonlight-16b.q4_k_m", "Moonlight-16B-A3B-Instruct", "Q4_K_M"),
    ("kimi-dev-72b.q4_k_m", "Kimi-Dev-72B", "Q4_K_M"),
    ("deepseek-v3.q2_k", "DeepSeek-R1", "Q2_K"),
    ("qwen3-235b-a22b.q4_k_m", "Qwen3-235B-A22B", "Q4_K_M"),
    ("qwen3-next-80b-a3b.q4_k_m", "Qwen3-Next-80B-A3B", "Q4_K_M"),
    ("qwen3-32b.q6_k", "Qwen3-32B", "Q6_K"),
    ("gpt-oss-120b.mxfp4", "gpt-oss-120b", "MXFP4"),
    ("glm-4.6.q4_k_m", "GLM-4.6", "Q4_K_M"),
    ("glm-4.5-air.q4_k_m", "GLM-4.5-Air", "Q4_K_M"),
    ("llama-3.1-8b.bf16", "Llama-3.1-8B", "BF16"),
]


def header_shape(header: str) -> ModelShape:
    return shape_of(model_facts(header))


def size_of(shape: ModelShape) -> int:
    return sum(tensor.size_bytes for tensor in shape.tensors)


def sized_shape(header: str, name: str, quantization: str) -> ModelShape:
    found = shape_by_size(name, quantization, size_of(header_shape(header)))
    assert found
    return found


def sized(name: str, quantization: str, size: int, found: Machine) -> SizedForecast:
    known = forecast_by_size(name, quantization, size, found)
    assert known
    return known


def listed(model: str, quantization: str, found: Machine) -> SizedForecast:
    entry = shipped_catalogue().find(model)
    assert entry
    item = entry.quantization(quantization)
    assert item
    assert item.size_bytes
    return sized(entry.id, item.name, item.size_bytes, found)


# the shape


@pytest.mark.parametrize(("header", "name", "quantization"), KNOWN)
def test_the_shape_is_that_of_the_header(header: str, name: str, quantization: str) -> None:
    real, guessed = header_shape(header), sized_shape(header, name, quantization)
    assert guessed.by_size
    expected = dataclasses.replace(
        real.geometry, context_train=guessed.geometry.context_train
    )  # R1 and V3, K2 and K2.6 differ in nothing else
    assert guessed.geometry == expected
    assert size_of(guessed) == pytest.approx(size_of(real), rel=1e-5)
    names = {tensor.name: tensor for tensor in real.tensors}
    assert names.keys() == {tensor.name for tensor in guessed.tensors}
    for tensor in guessed.tensors:
        assert tensor.shape == names[tensor.name].shape
        assert tensor.size_bytes == pytest.approx(names[tensor.name].size_bytes, rel=0.06)


def test_every_file_of_the_catalogue_for_llama_cpp_has_a_geometry() -> None:
    for model in shipped_catalogue():
        for item in model.quantizations:
            if item.size_bytes and Engine.LLAMA_CPP in item.engines:
                shape = shape_by_size(model.id, item.name, item.size_bytes)
                assert shape, (model.id, item.name)
                assert shape.geometry.architecture == model.gguf_architecture
                assert shape.geometry.context_train == model.context_tokens
                assert size_of(shape) == pytest.approx(item.size_bytes, rel=2e-3)


def test_every_geometry_can_be_read() -> None:
    for name in known_names():
        model = known_model(name)
        assert model
        assert model.parameter_count > 1e8
        shape = shape_by_size(name, "Q4_K_M", int(model.parameter_count * 0.6))
        assert shape
        assert shape.geometry.exact
        assert shape.geometry.n_layer == model.n_layer


def test_a_file_that_cannot_be_the_model_of_its_name_is_not_taken_for_it() -> None:
    """A distillation of 8B parameters, named after the model of 671B that taught it."""
    small = shape_by_size("DeepSeek-R1-Distill-Llama-8B", "Q4_K_M", 5 * GB)
    assert small
    assert not small.geometry.n_expert
    assert shape_by_size("Mystery", "Q4_K_M", 100 * GB) is None
    assert forecast_by_size("Mystery", "Q4_K_M", 100 * GB, machine()) is None


@pytest.mark.parametrize(
    ("name", "size", "active"), [("Some-48B-A3B", 30 * GB, 3e9), ("Some-8B", 5 * GB, 8e9)]
)
def test_sizes_in_a_name_give_a_usual_geometry(name: str, size: int, active: float) -> None:
    shape = shape_by_size(name, "Q4_K_M", size)
    assert shape
    geometry = shape.geometry
    assert not geometry.exact
    used = geometry.n_expert_used / geometry.n_expert if geometry.n_expert else 1.0
    read = sum(
        tensor.n_elements * (used if "_exps" in tensor.name else 1.0)
        for tensor in shape.tensors
        if tensor.name.startswith("blk.")
    )
    assert read == pytest.approx(active, rel=0.25)


def test_another_quantization_of_a_model_is_the_same_model_in_that_size() -> None:
    real, small = header_shape("kimi-k2.6.q4_x"), header_shape("kimi-k2.6.q2_k")
    found = resized(real, "Q2_K", size_of(small))
    assert found.geometry == real.geometry
    assert [t.size_bytes for t in found.tensors] == [t.size_bytes for t in small.tensors]


# the plan


@pytest.mark.parametrize("place", machine_names())
def test_a_plan_by_size_is_that_of_the_header(place: str) -> None:
    """On every machine: the same verdict, and speeds within the band."""
    found = named_machine(place)
    for header, name, quantization in KNOWN:
        real = header_shape(header)
        wishes = Wishes(context=8192)
        plan = find_plan(real, found, wishes, with_remedies=False)
        guessed = sized_shape(header, name, quantization)
        other = find_plan(guessed, found, wishes, with_remedies=False)
        case = f"{header} as {name} {quantization} on {place}"
        assert other.fit is plan.fit, case
        exact = plan_speed(real, plan, found)
        near = plan_speed(guessed, other, found)
        assert near.decode_tps.low < exact.decode_tps.likely < near.decode_tps.high, case
        assert near.prefill_tps.low < exact.prefill_tps.likely < near.prefill_tps.high, case
        assert near.decode_tps.likely == pytest.approx(exact.decode_tps.likely, rel=0.15), case
        assert near.prefill_tps.likely == pytest.approx(exact.prefill_tps.likely, rel=0.25), case
        assert not other.forecast.exact
        if plan.forecast.exact:
            width = exact.decode_tps.high / exact.decode_tps.low
            assert near.decode_tps.high / near.decode_tps.low > width, case


def test_an_estimate_keeps_the_reserve_of_a_header() -> None:
    """Only an architecture without a rule costs more reserve; both would be refused alike."""
    guessed = sized_shape("kimi-k2.6.q4_x", "kimi-k2.6", "Q4_X")
    assert not forecast(guessed, Placement(context=4096), machine()).exact
    plan = find_plan(guessed, machine(), Wishes())
    assert plan.reserve_share == find_plan(header_shape("kimi-k2.6.q4_x"), machine()).reserve_share


def test_what_runs_on_a_workstation() -> None:
    four = listed("kimi-k2.6", "UD-Q4_K_XL", machine())
    two = listed("kimi-k2.6", "UD-Q2_K_XL", machine())
    assert four.verdict.fit is two.verdict.fit is Fit.IN_VRAM_AND_RAM
    assert two.speed.decode_tps.likely > four.speed.decode_tps.likely
    assert four.speed.decode_tps.bottleneck is Resource.RAM
    lossless = listed("kimi-k3", "UD-Q8_K_XL", machine())
    assert lossless.verdict.fit is Fit.DISK_BOUND
    assert lossless.speed.is_disk_bound
    assert lossless.speed.decode_tps.high < 3


def test_an_engine_without_gpus_leaves_them_idle() -> None:
    found = forecast_by_size("kimi-k2.6", "UD-Q4_K_XL", 584 * GB, machine(), uses_gpus=False)
    assert found
    assert found.verdict.fit is Fit.IN_RAM
    assert found.speed.prefill_tps.bottleneck is Resource.COMPUTE


def test_shared_memory_is_read_by_the_graphics() -> None:
    apple = machine(
        cpu=cpu(model="Apple M3 Ultra", isa=("neon",)),
        gpus=(),
        gpu_note="apple",
        memory=memory(512),
    )
    found = listed("kimi-k2.6", "UD-Q2_K_XL", apple)
    assert found.verdict.fit is Fit.IN_RAM
    assert found.speed.decode_tps.bottleneck is Resource.GPU_MEMORY


@settings(max_examples=40)
@given(
    cards=st.lists(st.floats(0, 200), max_size=4),
    ram=st.floats(8, 2000),
    bits=st.floats(1.5, 20),
    name=st.sampled_from(["Kimi K2.6", "Moonlight-16B", "Foo-48B-A3B", "Foo-8B"]),
    quantization=st.sampled_from(["Q4_K_M", "UD-IQ1_S", "BF16", "?", "MXFP4"]),
)
def test_any_list_entry_adds_up(
    cards: list[float], ram: float, bits: float, name: str, quantization: str
) -> None:
    found = machine(
        gpus=tuple(gpu(number, max(vram, 1.0)) for number, vram in enumerate(cards)),
        memory=memory(ram, ram - 4),
    )
    billions = {"Kimi K2.6": 1026, "Moonlight-16B": 16, "Foo-48B-A3B": 48, "Foo-8B": 8}[name]
    size = int(billions * bits / 8 * GB)
    shape = shape_by_size(name, quantization, size)
    assert shape
    assert size_of(shape) == pytest.approx(size, rel=5e-3)
    forecasted = sized(name, quantization, size, found)
    weights = sum(row.weights_bytes for row in forecasted.memory.devices)
    assert weights == pytest.approx(size, rel=0.01)
    for row in forecasted.memory.devices[:-1]:
        assert row.spare_bytes >= 0
        assert row.weights_bytes >= 0
    assert forecasted.speed.decode_tps.low > 0
