"""Estimates by size agree with the exact forecasts, and say that they are estimates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner import by_size
from kimi_desktop.planner.by_size import SizedForecast, forecast_by_size
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Fit, Wishes
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_setup import plan_input
from kimi_desktop.planner.speed_types import Resource
from tests.support.machines import cpu, gpu, machine, memory
from tests.support.measured import model_facts

GB = 10**9
GIB = 2**30


def listed(model: str, quantization: str, found: Machine, context: int = 32_768) -> SizedForecast:
    entry = shipped_catalogue().find(model)
    assert entry
    item = entry.quantization(quantization)
    assert item
    assert item.size_bytes
    return forecast_by_size(entry.id, item.name, item.size_bytes, found, context=context)


@pytest.mark.parametrize(
    ("header", "name", "quantization"),
    [
        ("kimi-k2.6.q4_x", "Kimi K2.6", "Q4_X"),
        ("kimi-k2.6.q2_k", "Kimi K2.6", "Q2_K"),
        ("kimi-linear-48b.q4_k_m", "Kimi-Linear-48B-A3B", "Q4_K_M"),
        ("qwen3-235b-a22b.q4_k_m", "Qwen3-235B-A22B", "Q4_K_M"),
    ],
)
@pytest.mark.parametrize("cards", [(), (31.84,), (79.2, 79.2), (140.4,) * 8])
def test_an_estimate_is_near_the_exact_plan(
    header: str, name: str, quantization: str, cards: tuple[float, ...]
) -> None:
    found = machine(gpus=tuple(gpu(number, size) for number, size in enumerate(cards)))
    shape = shape_of(model_facts(header))
    size = sum(tensor.size_bytes for tensor in shape.tensors)
    plan = find_plan(shape, found, Wishes(context=32_768, cache_type="f16"))
    exact = forecast_speed(plan_input(shape, plan, found))
    sized = forecast_by_size(name, quantization, size, found)
    assert sized.verdict.fit is plan.fit
    assert sized.speed.decode_tps.likely == pytest.approx(exact.decode_tps.likely, rel=0.25)
    assert sized.speed.decode_tps.low < exact.decode_tps.likely < sized.speed.decode_tps.high
    assert sized.speed.prefill_tps.likely == pytest.approx(exact.prefill_tps.likely, rel=0.25)
    weights = sum(row.weights_bytes for row in sized.memory.devices)
    assert weights == pytest.approx(size, rel=1e-6)
    assert not sized.memory.exact


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


def test_a_card_without_room_for_large_batches_gets_small_ones() -> None:
    """As the planner does: experts stay in RAM, and cross PCIe four times as often."""
    size = 584 * GB
    wide, narrow = (
        forecast_by_size("kimi-k2.6", "UD-Q4_K_XL", size, machine(gpus=(gpu(0, vram),)))
        for vram in (24.0, 20.0)
    )
    assert wide.verdict.fit is narrow.verdict.fit is Fit.IN_VRAM_AND_RAM
    graph = wide.memory.devices[0].compute_bytes - narrow.memory.devices[0].compute_bytes
    assert graph == by_size.STAGED_GRAPH_BYTES - by_size.GRAPH_BYTES
    ratio = wide.speed.prefill_tps.likely / narrow.speed.prefill_tps.likely
    assert 3 < ratio < 4.5


@pytest.mark.parametrize("vram", [2.0, 3.0, 4.0, 8.0, 12.0, 16.0, 18.0, 20.0])
def test_a_card_too_small_for_the_always_on_part_takes_what_fits(vram: float) -> None:
    """As the planner does: some layers, whose experts stay and are computed in RAM."""
    found = machine(gpus=(gpu(0, vram),))
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    size = sum(tensor.size_bytes for tensor in shape.tensors)
    plan = find_plan(shape, found, Wishes(context=32_768, cache_type="f16"))
    exact = forecast_speed(plan_input(shape, plan, found))
    sized = forecast_by_size("Kimi K2.6", "Q4_X", size, found)
    assert sized.verdict.fit is plan.fit
    assert sized.verdict.fit is (Fit.IN_RAM if vram < 4 else Fit.IN_VRAM_AND_RAM)
    assert sized.speed.decode_tps.likely == pytest.approx(exact.decode_tps.likely, rel=0.2)
    assert sized.speed.prefill_tps.low < exact.prefill_tps.likely


def test_an_engine_without_gpus_leaves_them_idle() -> None:
    entry = shipped_catalogue().find("kimi-k2.6")
    assert entry
    found = forecast_by_size(entry.id, "UD-Q4_K_XL", 584 * GB, machine(), uses_gpus=False)
    assert found.verdict.fit is Fit.IN_RAM
    assert found.speed.prefill_tps.bottleneck is Resource.COMPUTE


def test_a_dense_model_is_shared_between_card_and_memory() -> None:
    found = forecast_by_size("Llama-3.3-70B", "Q4_K_M", 42 * GB, machine())
    assert found.verdict.fit is Fit.IN_VRAM_AND_RAM
    assert 0 < found.memory.devices[0].weights_bytes < 32 * GIB


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


def test_an_unknown_model_gets_a_wide_band() -> None:
    found = forecast_by_size("Mystery", "Q4_K_M", 100 * GB, machine())
    known = listed("kimi-k2.6", "UD-Q4_K_XL", machine())
    assert found.verdict.fits
    wide, narrow = found.speed.decode_tps, known.speed.decode_tps
    assert wide.high / wide.low >= narrow.high / narrow.low * (1 - 1e-9)


def test_what_is_staged_goes_to_a_gpu_that_has_room_for_it() -> None:
    found = machine(gpus=(gpu(0, 2.5), gpu(1, 32)))
    sized = forecast_by_size("Kimi K2.6", "UD-Q4_K_XL", 584 * GB, found)
    small, large, _ = sized.memory.devices
    assert small.spare_bytes >= 0
    assert (large.compute_bytes or 0) > 3 * GB > (small.compute_bytes or 0)
    alone = forecast_by_size(
        "Kimi K2.6", "UD-Q4_K_XL", 584 * GB, machine(gpus=(gpu(0, 2.5), gpu(1, 2.5)))
    )
    assert not any(row.weights_bytes for row in alone.memory.devices[:-1])


@given(
    cards=st.lists(st.floats(0, 200), max_size=4),
    ram=st.floats(8, 2000),
    size=st.integers(10**8, 3 * 10**12),
    name=st.sampled_from(["Kimi K2.6", "Kimi K3", "Foo-48B-A3B", "Foo-8B", "?"]),
    context=st.integers(256, 10**6),
)
def test_any_list_entry_adds_up(
    cards: list[float], ram: float, size: int, name: str, context: int
) -> None:
    found = machine(
        gpus=tuple(gpu(number, max(vram, 1.0)) for number, vram in enumerate(cards)),
        memory=memory(ram, ram - 4),
    )
    sized = forecast_by_size(name, "Q4_K_M", size, found, context=context)
    assert sum(row.weights_bytes for row in sized.memory.devices) == pytest.approx(size, abs=16)
    for row in sized.memory.devices[:-1]:
        assert row.spare_bytes >= 0
        assert row.weights_bytes >= 0
    assert sized.speed.decode_tps.low > 0
