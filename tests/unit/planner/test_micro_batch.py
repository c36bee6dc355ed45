"""Prompts: a smaller micro-batch before weights stay where they are, and the search prices them
as the forecast does."""

from __future__ import annotations

import pytest

from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Profile, Wishes
from kimi_desktop.planner.profiles import ANSWER_TOKENS
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_setup import PROMPT_TOKENS, plan_input
from kimi_desktop.planner.types import ModelShape
from tests.support.machines import GIB, gpu, memory
from tests.support.machines import machine as described
from tests.support.measured import model_facts
from tests.support.planned_machines import named_machine
from tests.support.small_models import first_blocks

K2 = "kimi-k2.6.q4_x"


def k2() -> ModelShape:
    return shape_of(model_facts(K2))


@pytest.mark.parametrize("context", [None, 32_768])
def test_a_smaller_micro_batch_comes_before_weights_that_stay(context: int | None) -> None:
    wishes = Wishes(profile=Profile.SAFE, n_cpu_moe=44, context=context)
    plan = find_plan(k2(), named_machine("two-pro-6000"), wishes)
    assert plan.placement.offload_ops
    assert plan.placement.n_ubatch == 1024
    assert plan.placement.context == 32_768
    for number in plan.gpus:
        row = plan.forecast.devices[number]
        assert row.spare_bytes >= plan.reserve_share * row.total_bytes


def test_so_does_a_smaller_cache() -> None:
    """Where no micro-batch keeps the reserve beside an F16 cache."""
    cards = tuple(gpu(number, 96, vram_free_bytes=int(94.08 * GIB)) for number in range(2))
    site = described(gpus=cards, memory=memory(768, 745), gpu_note="")
    plan = find_plan(k2(), site, Wishes(profile=Profile.SAFE, n_cpu_moe=44, context=32_768))
    assert plan.placement.offload_ops
    assert plan.placement.cache_type_k == "Q8_0"


@pytest.mark.parametrize(
    ("name", "blocks", "sizes", "wishes", "ram"),
    [
        ("qwen3-30b-a3b.q4_k_m", 7, (2.0212, 2.1265, 2.4423),
         Wishes(n_cpu_moe=5, context=32_768), 5.2),
        ("gpt-oss-120b.mxfp4", 5, (4.8146, 3.8961), Wishes(n_cpu_moe=3, context=4_096), 8.35),
        (K2, 4, (22.4996, 13.5426), Wishes(n_cpu_moe=2, context=4_096), 24.9),
    ],
)  # fmt: skip
def test_of_small_models_too(
    name: str, blocks: int, sizes: tuple[float, ...], wishes: Wishes, ram: float
) -> None:
    """Cases in which the same micro-batch without bringing weights kept the reserve."""
    cards = tuple(
        gpu(number, size, vram_free_bytes=int((size - 0.3) * GIB))
        for number, size in enumerate(sizes)
    )
    site = described(gpus=cards, memory=memory(ram, ram * 0.95), gpu_note="")
    plan = find_plan(first_blocks(name, blocks), site, wishes)
    assert plan.fits
    assert plan.placement.offload_ops


@pytest.mark.parametrize("machine", ["cpu-only-dual-768", "dual-epyc-4090", "two-pro-6000"])
@pytest.mark.parametrize("name", [K2, "llama-3.3-70b.q4_k_m", "kimi-linear-48b.q4_k_m"])
def test_the_search_prices_prompts_as_the_forecast_does(name: str, machine: str) -> None:
    """Two sockets: a plan's threads are those of one of them."""
    shape, site = shape_of(model_facts(name)), named_machine(machine)
    plan = find_plan(shape, site)
    assert plan.fits
    prompt_s = plan.exchange_seconds - ANSWER_TOKENS * plan.seconds_per_token
    told = forecast_speed(plan_input(shape, plan, site), PROMPT_TOKENS).prefill_tps
    assert prompt_s == pytest.approx(PROMPT_TOKENS / told.likely, rel=0.01)


def test_where_only_the_smallest_fits_without_is_faster() -> None:
    """Nothing usual fits: each way is taken with its own largest micro-batch."""
    cards = tuple(
        gpu(number, size, vram_free_bytes=int((size - 0.3) * GIB))
        for number, size in enumerate((11.1968, 3.5194, 16.9548))
    )
    site = described(gpus=cards, memory=memory(12.9426, 12.9426 * 0.95), gpu_note="")
    plan = find_plan(first_blocks(K2, 4), site, Wishes(context=4_096))
    assert plan.fits
    assert not plan.placement.offload_ops
