"""Forecasts for a machine, and the rules behind them, on small and hand-checked examples."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.models.ggml import TYPES_BY_NAME
from kimi_desktop.planner.cache import cells, kv_bytes_per_token
from kimi_desktop.planner.memory import forecast, shape_of
from kimi_desktop.planner.overhead import gpu_overhead_bytes, host_overhead_bytes
from kimi_desktop.planner.rounding import gpu_bytes, host_bytes
from kimi_desktop.planner.types import ALL_LAYERS, EVERY_BLOCK, HOST, Placement
from kimi_desktop.planner.weights import (
    host_staging,
    layer_devices,
    weights_by_device,
)
from tests.support.measured import model_facts
from tests.support.planned_machines import GIB, machine


def test_kimi_k2_cache_prices() -> None:
    geometry = model_facts("kimi-k2.6.q4_x").geometry
    assert geometry is not None
    assert kv_bytes_per_token(geometry) == 70_272
    linear = model_facts("kimi-linear-48b.q4_k_m").geometry
    assert linear is not None
    assert kv_bytes_per_token(linear) == 8_064
    k3 = model_facts("kimi-k3.mxfp4").geometry
    assert k3 is not None
    assert kv_bytes_per_token(k3) == 27_648


def test_window_layers_do_not_grow_with_the_context() -> None:
    gemma = model_facts("gemma3-27b.q4_k_m").geometry
    assert gemma is not None
    assert kv_bytes_per_token(gemma) == 10 * 2 * 16 * 128 * 2  # 10 of 62 layers attend to all
    assert cells(gemma, Placement(context=131_072)).n_window == 1_536
    assert cells(gemma, Placement(context=131_072, full_window=True)).n_window == 131_072


def test_forecast_of_kimi_on_one_gpu_with_experts_in_ram() -> None:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    placement = Placement(context=32_768, n_gpu_layers=ALL_LAYERS, n_cpu_moe=EVERY_BLOCK)
    found = forecast(shape, placement, machine(32, ram_gib=768))
    gpu, host = found.devices
    assert (gpu.device, host.device) == ("gpu:0", "host")
    assert gpu.weights_bytes // 2**20 == 11_153
    assert gpu.kv_bytes == 2_196 * 2**20
    assert gpu.others_bytes == GIB
    assert host.weights_bytes // 2**20 == 545_510
    assert host.kv_bytes == 0
    assert host.others_bytes == 8 * GIB
    assert gpu.compute_bytes is not None
    assert gpu.compute_bytes // 2**20 == 3_256  # 3,024 MiB of it is one staged expert tensor
    assert gpu.overhead_bytes == (527 + 8 + 186) * 2**20
    assert found.exact
    assert found.fits


def test_forecast_says_when_it_does_not_fit() -> None:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    found = forecast(shape, Placement(context=4_096), machine(24, ram_gib=256))
    gpu, host = found.devices
    assert gpu.weights_bytes == gpu.kv_bytes == 0
    assert host.spare_bytes < 0
    assert not found.fits


def test_forecast_without_gpu_puts_all_into_ram() -> None:
    shape = shape_of(model_facts("llama-3.1-8b.q4_k_m"))
    found = forecast(shape, Placement(context=8_192, n_gpu_layers=ALL_LAYERS), machine())
    assert [device.device for device in found.devices] == ["host"]
    assert found.devices[0].weights_bytes == 4_912_898_304
    assert found.devices[0].kv_bytes == GIB


def test_an_engine_without_gpu_support_leaves_them_alone() -> None:
    shape = shape_of(model_facts("llama-3.1-8b.q4_k_m"))
    placement = Placement(context=8_192, n_gpu_layers=ALL_LAYERS)
    found = forecast(shape, placement, machine(24), uses_gpus=False)
    gpu, host = found.devices
    assert (gpu.weights_bytes, gpu.kv_bytes, gpu.compute_bytes, gpu.overhead_bytes) == (0, 0, 0, 0)
    assert gpu.others_bytes == GIB
    assert host.weights_bytes == 4_912_898_304


def test_what_was_not_measured_is_an_estimate() -> None:
    facts = model_facts("llama-3.1-8b.q4_k_m")
    assert facts.geometry is not None
    other = dataclasses.replace(facts, geometry=dataclasses.replace(facts.geometry, n_ff=10_000))
    placement = Placement(context=8_192, n_gpu_layers=ALL_LAYERS)
    assert forecast(shape_of(facts), placement, machine(24)).exact
    assert not forecast(shape_of(other), placement, machine(24)).exact


def test_overhead_depends_on_the_kernels() -> None:
    placement = Placement(context=8_192, n_gpu_layers=ALL_LAYERS)
    quantized = shape_of(model_facts("llama-3.1-8b.q4_k_m"))
    plain = shape_of(model_facts("llama-3.1-8b.bf16"))
    experts = shape_of(model_facts("qwen3-30b-a3b.q4_k_m"))
    assert gpu_overhead_bytes(quantized, placement) == (527 + 8 + 98) * 2**20
    assert gpu_overhead_bytes(plain, placement) == (527 + 8 + 186) * 2**20
    assert gpu_overhead_bytes(experts, placement) == (527 + 8 + 186) * 2**20
    without = dataclasses.replace(placement, flash_attention=False)
    assert gpu_overhead_bytes(quantized, without) == (527 + 8 + 234) * 2**20
    slots = dataclasses.replace(placement, n_parallel=4)
    row = 4 * 128_256
    more = host_overhead_bytes(quantized, slots) - host_overhead_bytes(quantized, placement)
    assert more == 3 * row


def test_free_memory_splits_the_layers() -> None:
    shape = shape_of(model_facts("llama-3.3-70b.q4_k_m"))
    placement = Placement(context=4_096, n_gpu_layers=ALL_LAYERS)
    small, large, _ = forecast(shape, placement, machine(17, 49)).devices
    assert 2.5 < large.weights_bytes / small.weights_bytes < 3.5


def test_facts_without_geometry_are_refused() -> None:
    facts = dataclasses.replace(model_facts("llama-3.1-8b.q4_k_m"), geometry=None)
    with pytest.raises(ValueError, match="geometry"):
        shape_of(facts)


def test_layers_fill_the_gpu_from_the_back() -> None:
    assert layer_devices(4, 2, (1.0,)) == (HOST, HOST, HOST, 0, 0)
    assert layer_devices(4, 99, (1.0, 1.0)) == (0, 0, 0, 1, 1)
    assert layer_devices(4, 99, ()) == (HOST,) * 5
    assert layer_devices(4, 0, (1.0,)) == (HOST,) * 5
    assert layer_devices(4, ALL_LAYERS, (0.0, 0.0)) == (0, 0, 0, 1, 1)


@given(
    st.integers(0, 130),
    st.integers(-1, 200),
    st.lists(st.floats(0, 1e12, allow_nan=False), max_size=8),
)
def test_layer_devices_are_ordered_and_known(n_layer: int, ngl: int, split: list[float]) -> None:
    devices = layer_devices(n_layer, ngl, split)
    assert len(devices) == n_layer + 1
    assert list(devices) == sorted(devices)
    assert all(HOST <= device < len(split) for device in devices)


def test_what_may_be_staged() -> None:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    on_gpu = Placement(context=4_096, n_gpu_layers=ALL_LAYERS)
    devices = layer_devices(61, ALL_LAYERS, (1.0,))
    nothing = host_staging(shape, on_gpu, devices)
    assert (nothing.expert_bytes, nothing.dense_bytes, nothing.has_layers) == (0, 0, False)
    assert nothing.gpus_with_experts == {0}
    in_ram = dataclasses.replace(on_gpu, n_cpu_moe=EVERY_BLOCK)
    experts = host_staging(shape, in_ram, devices)
    assert experts.expert_bytes == 3_024 * 2**20
    assert not experts.has_layers
    assert experts.gpus_with_experts == frozenset()
    by_rule = dataclasses.replace(on_gpu, overrides=((r"blk\.3\.ffn_.*_exps", HOST),))
    assert host_staging(shape, by_rule, devices).expert_bytes == 3_024 * 2**20
    half = host_staging(shape, on_gpu, layer_devices(61, 30, (1.0,)))
    assert half.has_layers
    assert half.dense_bytes == 7_168 * 18_432 // 32 * 34
    elsewhere = dataclasses.replace(on_gpu, overrides=((r"blk\.3\.ffn_.*_exps", 1),))
    foreign = host_staging(shape, elsewhere, layer_devices(61, ALL_LAYERS, (1.0, 1.0)))
    assert foreign.gpus_with_foreign_experts == {1}


def test_overrides_move_single_tensors() -> None:
    shape = shape_of(model_facts("llama-3.1-8b.q8_0"))
    base = Placement(context=4_096, n_gpu_layers=ALL_LAYERS)
    rules = ((r"token_embd", 0), (r"^output\.weight", HOST), (r"blk\.0\.ffn_up", HOST))
    before = weights_by_device(shape, base, (1.0,)).bytes
    after = weights_by_device(shape, dataclasses.replace(base, overrides=rules), (1.0,)).bytes
    matrix = 128_256 * 4_096 // 32 * 34
    up = 4_096 * 14_336 // 32 * 34
    assert after[HOST] == before[HOST] - matrix + matrix + up
    assert after[0] == before[0] + matrix - matrix - up


shapes = st.tuples(st.integers(1, 64), st.integers(1, 64), st.integers(1, 4))


@given(st.sampled_from(sorted(TYPES_BY_NAME)), shapes)
def test_buffers_are_never_smaller_than_the_tensor(name: str, size: tuple[int, int, int]) -> None:
    kind = TYPES_BY_NAME[name]
    shape = (size[0] * kind.block, *size[1:])
    plain = kind.tensor_bytes(shape)
    assert plain <= host_bytes(kind, shape) < plain + 32
    assert plain <= gpu_bytes(kind, shape) <= plain + kind.row_bytes(512) + 128
    assert gpu_bytes(kind, shape) % 128 == 0


@given(
    st.integers(1, 2_000_000),
    st.integers(1, 64),
    st.booleans(),
    st.integers(1, 8192),
    st.sampled_from(["kimi-k2.6.q4_x", "gemma3-27b.q4_k_m", "lfm2-8b-a1b.q4_k_m"]),
)
def test_cells_hold_the_context(
    context: int, slots: int, unified: bool, ubatch: int, model: str
) -> None:
    geometry = model_facts(model).geometry
    assert geometry is not None
    room = cells(
        geometry,
        Placement(
            context=context, n_parallel=slots, kv_unified=unified, n_ubatch=ubatch, n_batch=8192
        ),
    )
    assert room.n_ctx >= context - 256 * slots
    assert room.n_ctx_seq % 256 == room.n_window % 256 == 0
    assert room.n_window <= room.n_ctx_seq <= room.n_ctx
    assert room.n_ubatch <= room.n_ctx
