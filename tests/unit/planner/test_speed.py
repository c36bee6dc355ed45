"""The speed model on hand-checked examples, and what must hold for any machine."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.planner.hardware import hardware_table
from kimi_desktop.planner.memory import forecast, shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import TokenReads, Wishes
from kimi_desktop.planner.reads import TYPICAL_DEPTH
from kimi_desktop.planner.speed import decode_parts, forecast_speed, load_parts, prompt_parts
from kimi_desktop.planner.speed_factors import shipped_speed_data
from kimi_desktop.planner.speed_setup import MeasuredRates, plan_input, speed_input, speed_rule
from kimi_desktop.planner.speed_types import (
    Band,
    EngineKind,
    FileWork,
    GpuSpeed,
    HostSpeed,
    Known,
    PromptWork,
    Resource,
    SpeedInput,
    Split,
    TokenWork,
)
from kimi_desktop.planner.types import ALL_LAYERS, EVERY_BLOCK, Placement
from tests.support.machines import disk as real_disk
from tests.support.machines import gpu as real_gpu
from tests.support.machines import machine as real_machine
from tests.support.machines import memory
from tests.support.measured import model_facts
from tests.support.speeds import hybrid

GB = 10**9
GIB = 2**30
SHIPPED = shipped_speed_data()
# Round figures, so that the seconds below can be checked by hand.
ROUND = dataclasses.replace(
    SHIPPED.factors,
    gpu=0.5, gpu_tensor=0.5, unified=0.5, ram=0.5, ram_specified=0.8, ram_trust=0.5,
    sockets_specified=0.5, sockets_measured=0.75, i_quant=0.9, ktransformers=0.8, core_gb_s=1000.0,
    host_layer_ms=0.2, gpu_layer_ms=0.05, unified_layer_ms=0.04,
    tensor_layer_ms=0.15, recurrent_layer_ms=0.5, hop_ms=1.0, node_ms=5.0,
    gpu_compute=0.25, unified_compute=0.1, core_gflops=50.0, amx=2.0, pcie=0.8,
    disk_load=0.5, disk_random=0.25,
)  # fmt: skip


def seconds(setup: SpeedInput) -> dict[Resource, float]:
    sums: dict[Resource, float] = {}
    for part in decode_parts(setup, ROUND):
        sums[part.resource] = sums.get(part.resource, 0.0) + part.seconds
    return sums


def test_a_token_reads_main_memory_then_the_gpu_then_pays_for_its_layers() -> None:
    found = seconds(hybrid())
    assert found[Resource.RAM] == pytest.approx(10 / 250, rel=1e-4)  # 625 x 0.8 x 0.5 GB/s
    assert found[Resource.GPU_MEMORY] == pytest.approx(10 / 500)
    assert found[Resource.COMPUTE] == pytest.approx(50 * 0.2e-3)
    band = forecast_speed(hybrid(), factors=ROUND).decode_tps
    assert band.likely == pytest.approx(1 / 0.07, rel=1e-3)
    assert band.bottleneck is Resource.RAM
    assert band.low < band.likely < band.high


def test_a_measured_bandwidth_is_averaged_with_the_data_sheet() -> None:
    host = HostSpeed(measured_bytes_per_s=125 * GB, specified_bytes_per_s=625 * GB, cores=32)
    # sqrt(125 x 500) = 250 GB/s, half of it usable
    assert seconds(hybrid(host=host))[Resource.RAM] == pytest.approx(10 / 125, rel=1e-3)
    alone = HostSpeed(measured_bytes_per_s=250 * GB, cores=32)
    assert seconds(hybrid(host=alone))[Resource.RAM] == pytest.approx(10 / 125, rel=1e-3)


@pytest.mark.parametrize(
    ("host", "share"),
    [
        (HostSpeed(specified_bytes_per_s=625 * GB, cores=32, sockets=2), 0.5),
        (HostSpeed(measured_bytes_per_s=500 * GB, cores=32, sockets=2), 0.75),
    ],
)
def test_two_sockets_do_not_reach_the_sum_of_their_memories(host: HostSpeed, share: float) -> None:
    assert seconds(hybrid(host=host))[Resource.RAM] == pytest.approx(10 / 250 / share, rel=1e-3)


def test_few_cores_cannot_use_a_wide_memory() -> None:
    factors = dataclasses.replace(ROUND, core_gb_s=10.0)
    slow = HostSpeed(specified_bytes_per_s=625 * GB, cores=4)
    parts = decode_parts(hybrid(host=slow), factors)
    assert parts[0].resource is Resource.COMPUTE
    assert parts[0].seconds == pytest.approx(10 / 40, rel=1e-2)
    assert sum(exponent for _, exponent in parts[0].factors) == pytest.approx(-1)


def test_engines_and_formats_have_factors_of_their_own() -> None:
    plain = seconds(hybrid())[Resource.RAM]
    work = dataclasses.replace(hybrid().work, is_i_quant=True)
    assert seconds(hybrid(work=work))[Resource.RAM] == pytest.approx(plain / 0.9, rel=1e-3)
    found = seconds(hybrid(engine=EngineKind.KTRANSFORMERS))[Resource.RAM]
    assert found == pytest.approx(plain / 0.8, rel=1e-3)


def test_gpus_one_after_the_other_or_all_at_once() -> None:
    gpus = (GpuSpeed(1000 * GB), GpuSpeed(500 * GB))
    work = TokenWork(gpu_bytes=(10 * GB, 5 * GB), n_layer=40, n_layer_recurrent=10)
    layers = seconds(SpeedInput(HostSpeed(), gpus, work))
    assert layers[Resource.GPU_MEMORY] == pytest.approx(10 / 500 + 5 / 250)
    assert layers[Resource.COMPUTE] == pytest.approx(40 * 0.05e-3 + 10 * 0.5e-3 + 1e-3)
    tensors = SpeedInput(HostSpeed(), gpus, work, split=Split.TENSORS, engine=EngineKind.SERVER)
    assert seconds(tensors)[Resource.GPU_MEMORY] == pytest.approx(15 / 750)
    assert seconds(tensors)[Resource.COMPUTE] == pytest.approx(40 * 0.15e-3)


def test_shared_memory_and_machines_in_a_row() -> None:
    gpus = (GpuSpeed(800 * GB), GpuSpeed(800 * GB))
    work = TokenWork(host_bytes=2 * GB, gpu_bytes=(4 * GB, 4 * GB), n_layer=50)
    one = SpeedInput(HostSpeed(), gpus[:1], work, is_unified=True)
    assert seconds(one)[Resource.GPU_MEMORY] == pytest.approx(10 / 400)
    assert seconds(one)[Resource.COMPUTE] == pytest.approx(50 * 0.04e-3)
    row = SpeedInput(HostSpeed(), gpus, work, is_unified=True, split=Split.NODES)
    assert seconds(row)[Resource.COMPUTE] == pytest.approx(50 * 0.04e-3 + 5e-3)


def test_a_file_larger_than_all_memory_is_bound_by_the_disk() -> None:
    file = dataclasses.replace(hybrid().file, missing_bytes=210 * GB)
    found = forecast_speed(hybrid(file=file), factors=ROUND)
    assert seconds(hybrid(file=file))[Resource.DISK] == pytest.approx(6 / 1.5)
    assert found.is_disk_bound
    assert found.decode_tps.likely < 0.3
    assert found.decode_tps.high / found.decode_tps.low > 5  # nobody knows the page cache
    assert not forecast_speed(hybrid(), factors=ROUND).is_disk_bound
    # A micro-batch needs every expert: the missing half of the file, at a quarter of 6 GB/s.
    batch = prompt_parts(hybrid(file=file), ROUND, 512)
    disk = sum(part.seconds for part in batch if part.resource is Resource.DISK)
    assert disk == pytest.approx(210 / 1.5)
    assert found.prefill_tps.bottleneck is Resource.DISK


def test_a_prompt_waits_for_weights_that_come_over_pcie() -> None:
    found = prompt_parts(hybrid(), ROUND, 1024)
    link = sum(part.seconds for part in found if part.resource is Resource.PCIE)
    assert link == pytest.approx(2 * 400 / 40)  # two micro-batches, 50 GB/s x 0.8
    band = forecast_speed(hybrid(), 1024, factors=ROUND)
    assert band.prefill_tps.bottleneck is Resource.PCIE
    assert band.prefill_tps.likely == pytest.approx(1024 / 22.5, rel=0.03)
    assert band.first_token_s.likely == pytest.approx(20 + 2 * 0.01 + 1024 * 60e9 / 25e12 + 0.07,
                                                      rel=1e-3)  # fmt: skip


def test_a_short_prompt_stays_on_the_processors() -> None:
    found = prompt_parts(hybrid(), ROUND, 20)
    assert all(part.resource is not Resource.PCIE for part in found)


def test_processors_alone_wait_for_arithmetic_or_for_memory() -> None:
    work = TokenWork(host_bytes=10 * GB, host_flops=40e9, n_layer=50)
    setup = hybrid(gpus=(), work=work, prompt=PromptWork())
    parts = prompt_parts(setup, ROUND, 512)
    assert sum(part.seconds for part in parts) == pytest.approx(
        512 * 40e9 / (32 * 50e9) + 50 * 0.2e-3
    )
    with_amx = dataclasses.replace(setup.host, has_amx=True)
    faster = prompt_parts(dataclasses.replace(setup, host=with_amx), ROUND, 512)
    assert sum(p.seconds for p in faster) < 0.6 * sum(p.seconds for p in parts)
    few = prompt_parts(setup, ROUND, 2)  # two tokens: the weights twice, at most
    assert sum(p.seconds for p in few) == pytest.approx(20 / 250 + 50 * 0.2e-3, rel=1e-3)


def test_loading_waits_for_the_disk_or_for_the_link() -> None:
    (part,) = load_parts(hybrid(), ROUND)
    assert (part.resource, part.seconds) == (Resource.DISK, pytest.approx(420 / 3))
    file = FileWork(file_bytes=420 * GB, gpu_bytes=420 * GB, disk_bytes_per_s=400.0 * GB)
    (part,) = load_parts(hybrid(file=file), ROUND)
    assert (part.resource, part.seconds) == (Resource.PCIE, pytest.approx(420 / 40))


def test_what_is_only_assumed_widens_the_band() -> None:
    def width(setup: SpeedInput) -> float:
        band = forecast_speed(setup).decode_tps
        return band.high / band.low

    known = width(hybrid())
    guessed = HostSpeed(specified_bytes_per_s=625 * GB, cores=32, is_guess=True)
    assert width(hybrid(host=guessed)) > known
    assert width(hybrid(host=HostSpeed())) > known
    assert width(hybrid(gpus=(GpuSpeed(1000 * GB, Known.ASSUMED),))) > known
    assert width(hybrid(is_estimate=True)) > known
    # A guess about main memory does not matter when nothing is read from there.
    alone = TokenWork(gpu_bytes=(10 * GB,), n_layer=50)
    assert width(hybrid(host=guessed, work=alone)) == pytest.approx(known)
    learned = forecast_speed(
        hybrid(), factors=dataclasses.replace(SHIPPED.factors, runs=20)
    ).decode_tps
    assert learned.high / learned.low < known


rates = st.floats(1, 10_000).map(lambda value: value * GB)
sizes = st.integers(0, 10**12)


@given(
    host=st.builds(
        HostSpeed,
        st.none() | rates,
        st.none() | rates,
        st.integers(1, 4),
        st.none() | st.integers(1, 512),
        st.booleans(),
    ),
    gpus=st.lists(
        st.builds(GpuSpeed, rates, st.sampled_from(Known), st.none() | rates, st.none() | rates),
        max_size=8,
    ).map(tuple),
    host_bytes=sizes,
    gpu_bytes=sizes,
    missing=sizes,
    prompt=st.integers(1, 100_000),
    split=st.sampled_from(Split),
    engine=st.sampled_from(EngineKind),
    is_unified=st.booleans(),
)
def test_any_setup_gives_ordered_bands(
    host: HostSpeed,
    gpus: tuple[GpuSpeed, ...],
    host_bytes: int,
    gpu_bytes: int,
    missing: int,
    prompt: int,
    split: Split,
    engine: EngineKind,
    is_unified: bool,
) -> None:
    setup = SpeedInput(
        host,
        gpus,
        TokenWork(host_bytes, (gpu_bytes,) * len(gpus), 1e9, 1e9, 30, 10),
        PromptWork(512, host_bytes),
        FileWork(10**11, missing, gpu_bytes, host_bytes),
        engine,
        split,
        is_unified,
    )
    found = forecast_speed(setup, prompt)
    bands: list[Band] = [
        found.decode_tps,
        found.prefill_tps,
        found.first_token_s,
        found.load_s,
    ]
    for band in bands:
        assert 0 < band.low < band.likely < band.high
    assert found.first_token_s.likely > 1 / found.decode_tps.likely


@given(st.floats(1.05, 10))
def test_faster_memory_is_never_slower(times: float) -> None:
    slow = forecast_speed(hybrid()).decode_tps.likely
    host = HostSpeed(specified_bytes_per_s=625 * GB * times, cores=32)
    assert forecast_speed(hybrid(host=host)).decode_tps.likely >= slow
    gpus = (GpuSpeed(1000 * GB * times),)
    assert forecast_speed(hybrid(gpus=gpus)).decode_tps.likely > slow


# a placed model


def placed(n_cpu_moe: int, **changes: object) -> SpeedInput:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    placement = Placement(context=32_768, n_gpu_layers=ALL_LAYERS, n_cpu_moe=n_cpu_moe)
    found = real_machine(**changes)
    rates = MeasuredRates(disk=6.0 * GB)
    return speed_input(
        shape, placement, found, forecast(shape, placement, found), rates=rates, kept_tokens=4096
    )


def test_kimi_with_its_experts_in_main_memory() -> None:
    setup = placed(EVERY_BLOCK)
    # 570.76 GB of experts, 8 of 384 are read; beside them 11.70 GB and 4,096 tokens of cache.
    assert setup.work.host_bytes == pytest.approx(570.76e9 * 8 / 384, rel=1e-4)
    assert setup.work.gpu_bytes[0] == pytest.approx(11.70e9 + 4096 * 70_272, rel=2e-3)
    assert setup.work.host_flops == pytest.approx(2 * 21.14e9, rel=1e-3)
    assert setup.work.gpu_flops == pytest.approx(2 * 10.5478e9, rel=1e-3)
    assert setup.prompt.staged_bytes == pytest.approx(570.76e9, rel=1e-4)
    assert setup.file.missing_bytes == 0
    found = forecast_speed(setup)
    assert found.decode_tps.bottleneck is Resource.RAM
    assert found.prefill_tps.bottleneck is Resource.PCIE
    assert found.load_s.bottleneck is Resource.DISK


def test_layers_of_experts_on_the_gpu_make_it_faster() -> None:
    many = (real_gpu(0, 141.0), real_gpu(1, 141.0))
    all_in_ram = forecast_speed(placed(EVERY_BLOCK, gpus=many)).decode_tps.likely
    some_in_ram = forecast_speed(placed(45, gpus=many)).decode_tps.likely
    assert some_in_ram > all_in_ram


def test_too_little_memory_is_said_to_be_disk_bound() -> None:
    setup = placed(EVERY_BLOCK, memory=memory(128))
    assert setup.file.missing_bytes > 380 * GIB
    assert forecast_speed(setup).is_disk_bound


def test_an_engine_without_gpus_reads_everything_from_main_memory() -> None:
    shape = shape_of(model_facts("qwen3-0.6b.q8_0"))
    placement = Placement(context=4096, n_gpu_layers=ALL_LAYERS)
    found = real_machine()
    memory_forecast = forecast(shape, placement, found, uses_gpus=False)
    setup = speed_input(shape, placement, found, memory_forecast, uses_gpus=False, kept_tokens=0)
    assert setup.gpus == ()
    assert setup.work.gpu_bytes == ()
    # Tied output: the table of embeddings is read as a matrix.
    total = sum(tensor.size_bytes for tensor in shape.tensors)
    assert setup.work.host_bytes == pytest.approx(total, rel=1e-3)
    assert setup.prompt.staged_bytes == 0


def test_overrides_by_name_are_followed() -> None:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    two = real_machine(gpus=(real_gpu(0, 400.0), real_gpu(1, 400.0)))
    placement = Placement(
        context=4096,
        n_gpu_layers=ALL_LAYERS,
        overrides=((r"ffn_(up|down|gate)_exps", 1),),
    )
    found = speed_input(shape, placement, two, forecast(shape, placement, two), kept_tokens=0)
    assert found.work.host_bytes == 0
    assert found.work.gpu_bytes[1] > 570.76e9 * 8 / 384


def test_an_apple_chip_shares_its_memory() -> None:
    shape = shape_of(model_facts("qwen3-30b-a3b.q4_k_m"))
    placement = Placement(context=4096, n_gpu_layers=ALL_LAYERS)
    for model, rate in (("Apple M3 Ultra", 819 * GB), ("Apple M9 Nano", None)):
        cpu = dataclasses.replace(real_machine().cpu, model=model, isa=("neon",))
        found = real_machine(cpu=cpu, gpus=(), gpu_note="apple", memory=memory(96))
        setup = speed_input(shape, placement, found, forecast(shape, placement, found))
        assert setup.is_unified
        assert len(setup.gpus) == 1
        assert rate is None or setup.gpus[0].memory_bytes_per_s == rate
        assert (setup.gpus[0].known is Known.ASSUMED) == (rate is None)
        assert forecast_speed(setup).decode_tps.bottleneck is Resource.GPU_MEMORY


# plans of the placement search


@pytest.mark.parametrize(
    "name", ["kimi-k2.6.q4_x", "kimi-linear-48b.q4_k_m", "llama-3.1-8b.q4_k_m"]
)
@pytest.mark.parametrize("vram", [(), (24.0,), (80.0, 48.0, 24.0)])
def test_the_rule_of_the_search_is_the_forecast(name: str, vram: tuple[float, ...]) -> None:
    """The same seconds per token, whichever way one asks."""
    shape = shape_of(model_facts(name))
    rates = (1792 * GB, 960 * GB, 936 * GB)
    found = real_machine(
        gpus=tuple(
            real_gpu(number, size, memory_bytes_per_s=rates[number])
            for number, size in enumerate(vram)
        )
    )
    rule = speed_rule(shape, found)
    plan = find_plan(shape, found, Wishes(context=8192), rule=rule)
    setup = plan_input(shape, plan, found, kept_tokens=TYPICAL_DEPTH)
    assert len(setup.gpus) == len(plan.gpus)
    exact = sum(part.seconds for part in decode_parts(setup, SHIPPED.factors))
    assert plan.seconds_per_token == pytest.approx(exact, rel=0.02)


@given(
    host=st.integers(0, 10**12),
    on_gpus=st.tuples(st.integers(0, 10**11), st.integers(0, 10**11)),
    more=st.integers(0, 10**11),
    where=st.integers(0, 2),
)
def test_the_rule_never_gives_less_for_more_bytes(
    host: int, on_gpus: tuple[int, int], more: int, where: int
) -> None:
    found = real_machine(gpus=(real_gpu(0), real_gpu(1, memory_bytes_per_s=936 * GB)))
    rule = speed_rule(shape_of(model_facts("qwen3-30b-a3b.q4_k_m")), found)
    sizes = [host, *on_gpus]
    before = rule(TokenReads(sizes[0], tuple(sizes[1:])))
    sizes[where] += more
    assert rule(TokenReads(sizes[0], tuple(sizes[1:]))) >= before * (1 - 1e-12)
    assert before > 0


def test_measurements_of_the_machine_are_used() -> None:
    rated = dataclasses.replace(
        memory(755.4), read_bytes_per_s_measured=300.0 * GB, read_bytes_per_s_theoretical=400.0 * GB
    )
    quick = dataclasses.replace(real_disk(), read_bytes_per_s_measured=7.0 * GB)
    setup = placed(EVERY_BLOCK, memory=rated)
    assert setup.host.measured_bytes_per_s == 300.0 * GB
    assert setup.host.specified_bytes_per_s == 400.0 * GB
    assert setup.file.disk_bytes_per_s == 6.0 * GB  # measured just now
    shape = shape_of(model_facts("qwen3-0.6b.q8_0"))
    placement = Placement(context=4096, n_gpu_layers=ALL_LAYERS)
    found = real_machine(disks=(real_disk(), quick))
    kept = speed_input(shape, placement, found, forecast(shape, placement, found))
    assert kept.file.disk_bytes_per_s == 7.0 * GB


# prompts that GPUs read alone


def slices_of_kimi() -> TokenWork:
    """Seven of 61 layers of Kimi K2.6, one of them dense, as they were measured on an H200."""
    routed = 6 * 8 * 3 * 7168 * 2048
    other = 7 * 101e6 + 3 * 7168 * 18432 + 6 * 3 * 7168 * 2048 + 163_840 * 7168
    return TokenWork(
        gpu_bytes=(3_000_000_000,),
        gpu_flops=2 * (routed + other),
        gpu_expert_flops=2.0 * routed,
        expert_share=8 / 384,
        n_layer=7,
    )


@pytest.mark.parametrize(("ubatch", "measured"), [(2048, 11_100), (4096, 12_900)])
def test_experts_with_few_tokens_do_not_fill_a_gpu(ubatch: int, measured: int) -> None:
    h200 = hardware_table().gpu("NVIDIA H200")
    assert h200 is not None
    gpu = GpuSpeed(h200.memory_bytes_per_s, flops=h200.flops)
    size = 57 * 2**30
    setup = SpeedInput(
        HostSpeed(), (gpu,), slices_of_kimi(), PromptWork(ubatch), FileWork(size, gpu_bytes=size)
    )
    found = forecast_speed(setup, ubatch).prefill_tps
    assert found.low <= measured <= found.high
    assert measured / 1.6 <= found.likely <= 1.6 * measured


def test_geforce_cards_multiply_integers_faster_than_their_data_sheet_says() -> None:
    table = hardware_table()
    for name, tflops in (("RTX 3090", 71), ("RTX 4090", 165)):
        row = table.gpu(f"NVIDIA GeForce {name}")
        assert row is not None
        assert row.flops == 3e12 * tflops
    other = table.gpu("NVIDIA RTX A6000")
    assert other is not None
    assert other.flops == 155e12
