"""Devices that other machines lend: where they stand in a plan, and what they cost."""

from __future__ import annotations

import dataclasses

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import GB
from kimi_desktop.machine.types import Gpu, Machine, RpcLink
from kimi_desktop.planner.flags import launch_flags, launch_of, plan_flags
from kimi_desktop.planner.hardware import gpu_speed
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.overhead import CUDA_CONTEXT_BYTES
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Plan, Wishes
from kimi_desktop.planner.report import plan_lines, plan_object
from kimi_desktop.planner.rpc import device_label, own_gpus, rpc_devices
from kimi_desktop.planner.speed import ROUND_TRIPS, forecast_speed, link_parts
from kimi_desktop.planner.speed_factors import shipped_speed_data
from kimi_desktop.planner.speed_setup import plan_input, speed_rule
from kimi_desktop.planner.speed_types import Known, Resource
from kimi_desktop.planner.types import HOST
from tests.support.measured import model_facts
from tests.support.planned_machines import machine

GIB = 2**30
LLAMA_70B = shape_of(model_facts("llama-3.3-70b.q4_k_m"))
KIMI = shape_of(model_facts("kimi-k2.6.q4_x"))
FIRST, SECOND = "10.0.0.2:50052", "10.0.0.3:50052"


def lent(
    number: int,
    address: str = FIRST,
    device: int = 0,
    *,
    gib: float = 24,
    name: str = "NVIDIA GeForce RTX 4090",
    latency_s: float | None = 0.0002,
    bytes_per_s: float | None = 1.1 * GB,
    is_processor: bool = False,
) -> Gpu:
    link = RpcLink(address, device, latency_s, bytes_per_s, is_processor)
    return Gpu(number, f"{address}/{device}", name, int(gib * GIB), int(gib * GIB), "", None,
               None, None, None, None, None, None, link=link)  # fmt: skip


def with_workers(here: Machine, *gpus: Gpu) -> Machine:
    return dataclasses.replace(here, gpus=(*here.gpus, *gpus))


def value(flags: tuple[str, ...], name: str) -> str:
    return flags[flags.index(name) + 1]


def flags_of(plan: Plan, site: Machine) -> tuple[str, ...]:
    return plan_flags(plan, own_gpus(site), rpc_devices(site))


def test_a_worker_makes_room_where_the_own_gpus_are_too_small() -> None:
    alone = machine(24, ram_gib=64)
    site = with_workers(alone, lent(1))
    wishes = Wishes(context=8192)
    before, plan = (find_plan(LLAMA_70B, each, wishes) for each in (alone, site))
    assert plan.gpus == (0, 1)
    assert plan.seconds_per_token < before.seconds_per_token
    near, far, host = plan.forecast.devices
    assert (near.device, far.device, host.device) == ("gpu:0", "rpc:0", "host")
    assert far.weights_bytes > 4 * GIB
    assert near.overhead_bytes is not None
    assert far.overhead_bytes == near.overhead_bytes - CUDA_CONTEXT_BYTES


def test_own_gpus_that_suffice_leave_the_worker_alone() -> None:
    site = with_workers(machine(32, 32, ram_gib=64), lent(2, gib=80, name="RTX"))
    plan = find_plan(LLAMA_70B, site, Wishes(context=8192))
    assert plan.gpus == (0, 1)
    assert "--rpc" not in flags_of(plan, site)
    assert "-dev" not in flags_of(plan, site)


def test_a_slow_link_keeps_the_worker_out() -> None:
    slow = lent(1, latency_s=2.0, bytes_per_s=1e5)
    plan = find_plan(LLAMA_70B, with_workers(machine(24, ram_gib=64), slow), Wishes(context=8192))
    assert plan.gpus == (0,)


def test_the_engine_is_told_of_workers_before_their_devices() -> None:
    site = with_workers(
        machine(24, ram_gib=64), lent(1, FIRST), lent(2, SECOND), lent(3, SECOND, 1)
    )
    plan = dataclasses.replace(find_plan(LLAMA_70B, site, Wishes(context=8192)), gpus=(0, 3))
    flags = flags_of(plan, site)
    assert value(flags, "--rpc") == SECOND
    assert value(flags, "-dev") == "CUDA0,RPC1"  # the idle device of that worker is RPC0
    assert flags.index("--rpc") < flags.index("-dev")
    both = flags_of(dataclasses.replace(plan, gpus=(0, 1, 3)), site)
    assert value(both, "--rpc") == f"{FIRST},{SECOND}"
    assert value(both, "-dev") == "CUDA0,RPC0,RPC2"


def test_an_override_names_the_buffer_of_a_worker() -> None:
    site = with_workers(machine(24), lent(1, FIRST), lent(2, SECOND), lent(3, SECOND, 1))
    plan = find_plan(LLAMA_70B, site, Wishes(context=8192))
    placement = dataclasses.replace(plan.placement, overrides=((r"blk\.1\.", 1), ("x", HOST)))
    launch = dataclasses.replace(
        launch_of(dataclasses.replace(plan, gpus=(0, 3)), 1, rpc_devices(site)),
        placement=placement,
    )
    said = [one.spellings[0] for one in launch_flags(launch, "Vulkan")]
    assert ("-ot", rf"blk\.1\.=RPC1[{SECOND}],x=CPU") in said
    assert ("-dev", "Vulkan0,RPC1") in said


def test_an_engine_without_gpus_has_those_of_workers() -> None:
    site = with_workers(machine(24, ram_gib=64), lent(1, gib=80))
    plan = find_plan(LLAMA_70B, site, Wishes(context=8192, uses_gpus=False))
    assert plan.gpus == (1,)
    assert not plan.placement.offload_ops
    assert value(flags_of(plan, site), "-dev") == "RPC0"


def test_nothing_is_brought_to_a_worker_while_it_reads_a_prompt() -> None:
    site = with_workers(machine(ram_gib=768), lent(0, gib=80))
    plan = find_plan(KIMI, site, Wishes(context=8192))
    assert plan.gpus == (0,)
    assert plan.experts_in_ram
    assert not plan.placement.offload_ops
    assert plan_input(KIMI, plan, site).prompt.staged_bytes == 0


def test_the_network_is_in_the_speed() -> None:
    fast, slow = (
        with_workers(machine(24, ram_gib=64), lent(1, latency_s=latency, bytes_per_s=rate * GB))
        for latency, rate in ((0.0001, 10.0), (0.05, 0.01))
    )
    plan = find_plan(LLAMA_70B, fast, Wishes(context=8192))
    quick, lame = (forecast_speed(plan_input(LLAMA_70B, plan, site)) for site in (fast, slow))
    assert lame.decode_tps.likely < quick.decode_tps.likely
    assert lame.prefill_tps.likely < quick.prefill_tps.likely
    assert lame.load_s.likely > quick.load_s.likely
    assert {lame.decode_tps.bottleneck, lame.load_s.bottleneck} == {Resource.NETWORK}
    setup = plan_input(LLAMA_70B, plan, slow)
    seconds = sum(part.seconds for part in link_parts(setup, shipped_speed_data().factors))
    moved = 4 * LLAMA_70B.geometry.n_embd + 4 * LLAMA_70B.geometry.n_vocab  # it is the last one
    assert seconds == pytest.approx(ROUND_TRIPS * 0.05 + moved / (0.01 * GB))


def test_the_search_prices_a_token_as_the_forecast_does() -> None:
    site = with_workers(machine(24, ram_gib=64), lent(1, latency_s=0.01), lent(2, SECOND))
    plan = find_plan(LLAMA_70B, site, Wishes(context=8192))
    speed = forecast_speed(plan_input(LLAMA_70B, plan, site))
    assert plan.seconds_per_token == pytest.approx(1 / speed.decode_tps.likely, rel=0.03)
    assert speed_rule(LLAMA_70B, site)


def test_a_link_that_was_not_measured_costs_what_others_do() -> None:
    site = with_workers(machine(24), lent(1, latency_s=None, bytes_per_s=None))
    plan = find_plan(LLAMA_70B, site, Wishes(context=8192))
    factors = shipped_speed_data().factors
    parts = list(link_parts(plan_input(LLAMA_70B, plan, site), factors))
    assert parts[0].seconds == factors.node_ms / 1e3
    assert parts[1].seconds > 0


def test_how_fast_a_worker_is_follows_from_its_name() -> None:
    card = gpu_speed(lent(0))
    assert (card.memory_bytes_per_s, card.known) == (1008 * GB, Known.SPECIFIED)
    assert gpu_speed(lent(0, name=FIRST)).known is Known.ASSUMED
    chip = gpu_speed(lent(0, name=FIRST, is_processor=True))
    assert chip.memory_bytes_per_s < gpu_speed(lent(0, name=FIRST)).memory_bytes_per_s
    assert chip.flops is not None
    assert card.flops is not None
    assert chip.flops < card.flops


def test_words() -> None:
    site = with_workers(machine(24, ram_gib=64), lent(1))
    plan = find_plan(LLAMA_70B, site, Wishes(context=8192))
    lines = plan_lines(plan, site, Language.EN, program=("llama-server",))
    assert any(line.startswith("RPC 0 NVIDIA GeForce RTX 4090") for line in lines)
    assert any("GPU 0, RPC 0" in line for line in lines)
    assert f"--rpc {FIRST}" in lines[-1]
    told = plan_object(plan, site, Language.ZH_CN)
    assert [row["device"] for row in told["devices"]] == ["gpu:0", "rpc:0", "host"]
    assert device_label("host") == "RAM"
