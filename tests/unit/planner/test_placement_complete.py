"""A placement that exists is found: small models, every split over unequal GPUs tried beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import combinations, pairwise, permutations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.messages import Language
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan, forecast_on
from kimi_desktop.planner.plan_types import Fit, Plan, Profile, Remedy, Sibling, Wishes
from kimi_desktop.planner.profiles import RULES
from kimi_desktop.planner.report import sentence
from kimi_desktop.planner.types import ModelShape, Placement
from tests.support.machines import GB, GIB, gpu, memory
from tests.support.machines import machine as described
from tests.support.measured import model_facts
from tests.support.small_models import first_blocks

SMALL = (
    ("kimi-k2.6.q4_x", 4), ("qwen3-30b-a3b.q4_k_m", 7), ("llama-3.1-8b.q4_k_m", 8),
    ("kimi-linear-48b.q4_k_m", 6), ("gemma3-27b.q4_k_m", 6), ("gpt-oss-120b.mxfp4", 5),
)  # fmt: skip
LEAST = 4_096


def machine(*vram_gib: float, ram_gib: float, rates: tuple[float, ...] = ()) -> Machine:
    rates = rates or (1000.0,) * len(vram_gib)
    gpus = tuple(
        gpu(number, size, vram_free_bytes=int((size - 0.3) * GIB), memory_bytes_per_s=rate * GB)
        for number, (size, rate) in enumerate(zip(vram_gib, rates, strict=True))
    )
    return described(gpus=gpus, memory=memory(ram_gib, ram_gib * 0.95), gpu_note="")


def total_gib(shape: ModelShape) -> float:
    return sum(tensor.size_bytes for tensor in shape.tensors) / GIB


@st.composite
def cases(draw: st.DrawFn) -> tuple[ModelShape, Machine]:
    """A small model, and GPUs that together hold about as much as it has."""
    shape = first_blocks(*draw(st.sampled_from(SMALL)))
    whole = total_gib(shape)
    shares = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    level = draw(st.sampled_from([0.3, 0.6, 0.9, 1.1, 1.4]))
    sizes = [1.6 + level * whole * share / sum(shares) for share in shares]
    rates = draw(st.permutations([300.0, 900.0, 1800.0, 3350.0]))[: len(sizes)]
    ram = 1 + whole * draw(st.sampled_from([0.1, 0.4, 0.8, 1.4]))
    return shape, machine(*sizes, ram_gib=ram, rates=tuple(rates))


def splits(layers: int, n_gpu: int) -> Iterator[tuple[int, ...]]:
    """Every way to give each GPU at least one layer."""
    for ends in combinations(range(1, layers), n_gpu - 1):
        edges = (0, *ends, layers)
        yield tuple(b - a for a, b in pairwise(edges))


def placements(
    shape: ModelShape, site: Machine, layers: int, n_cpu_moe: int, context: int
) -> Iterator[tuple[Placement, tuple[int, ...]]]:
    """Every split over every order of GPUs, with the working memory as small as may be."""
    numbers = range(len(site.gpus))
    for kind, offload_ops, ubatch in product(("F16", "Q8_0"), (True, False), (64, 512)):
        base = Placement(
            context=context, n_gpu_layers=layers, n_cpu_moe=n_cpu_moe, cache_type_k=kind,
            cache_type_v=kind, offload_ops=offload_ops, n_ubatch=ubatch, repack=False,
        )  # fmt: skip
        if not layers:
            yield base, ()
        for count in range(1, min(layers, len(site.gpus)) + 1):
            for gpus in permutations(numbers, count):
                for counts in splits(layers, count):
                    split = tuple(map(float, counts)) if count > 1 else ()
                    yield dataclasses.replace(base, tensor_split=split), gpus


def exists(
    shape: ModelShape,
    site: Machine,
    fixed: list[tuple[int, int]],
    context: int,
    share: float,
) -> tuple[Placement, tuple[int, ...]] | None:
    """A placement that leaves ``share`` of every device free."""
    for layers, n_cpu_moe in fixed:
        for placement, gpus in placements(shape, site, layers, n_cpu_moe, context):
            found = forecast_on(shape, placement, site, gpus)
            rows = [found.devices[number] for number in (*gpus, -1)]
            if all(row.spare_bytes >= share * row.total_bytes for row in rows):
                return placement, gpus
    return None


def check_fixed(shape: ModelShape, site: Machine, wishes: Wishes) -> Plan:
    plan = find_plan(shape, site, wishes, with_remedies=False)
    assert plan.placement.n_gpu_layers == wishes.n_gpu_layers
    if wishes.n_cpu_moe is not None:
        assert plan.placement.n_cpu_moe == wishes.n_cpu_moe
    if not plan.fits:
        layers = wishes.n_gpu_layers
        assert layers is not None
        blocks = shape.geometry.n_layer
        moes = range(blocks + 1) if wishes.n_cpu_moe is None else [wishes.n_cpu_moe]
        fixed = [(layers, moe) for moe in moes]
        assert exists(shape, site, fixed, wishes.context or LEAST, 0.0) is None
    return plan


@settings(max_examples=60, deadline=None)
@given(cases(), st.data())
def test_a_split_that_holds_the_users_layers_is_found(
    case: tuple[ModelShape, Machine], data: st.DataObject
) -> None:
    shape, site = case
    blocks = shape.geometry.n_layer
    layers = data.draw(st.integers(1, blocks + 1), label="layers")
    most = blocks if shape.geometry.n_expert else 0
    n_cpu_moe = data.draw(st.one_of(st.none(), st.integers(0, most)), label="n_cpu_moe")
    context = data.draw(st.sampled_from([None, 4096, 65_536]), label="context")
    wishes = Wishes(n_gpu_layers=layers, n_cpu_moe=n_cpu_moe, context=context)
    check_fixed(shape, site, wishes)


@settings(max_examples=40, deadline=None)
@given(cases(), st.sampled_from(Profile))
def test_a_plan_that_keeps_the_reserve_is_found(
    case: tuple[ModelShape, Machine], profile: Profile
) -> None:
    shape, site = case
    plan = find_plan(shape, site, Wishes(profile=profile), with_remedies=False)
    if plan.fits:
        return
    blocks = shape.geometry.n_layer
    moes = range(blocks + 1) if shape.geometry.n_expert else [0]
    fixed = [(layers, moe) for layers in range(blocks + 2) for moe in moes]
    assert exists(shape, site, fixed, LEAST, RULES[profile].reserve_share) is None


# what an independent review found


def workstation(*vram_gib: float, ram_gib: float = 755.4) -> Machine:
    return machine(*vram_gib, ram_gib=ram_gib)


def test_one_expert_layer_more_than_the_reserve_allows_still_fits() -> None:
    """Auto keeps a tenth free; the user's own number may take it, over both GPUs evenly."""
    shape, site = shape_of(model_facts("kimi-k2.6.q4_x")), workstation(96, 96)
    auto = find_plan(shape, site, Wishes())
    fewest = auto.placement.n_cpu_moe or len(auto.experts_in_ram)
    plan = find_plan(shape, site, Wishes(n_cpu_moe=fewest - 1))
    assert plan.fit is Fit.IN_VRAM_AND_RAM
    assert plan.placement.n_cpu_moe == fewest - 1
    assert plan.placement.n_gpu_layers == 62
    assert plan.placement.context == auto.placement.context
    spare = [plan.forecast.devices[number].spare_bytes for number in plan.gpus]
    assert min(spare) >= 0
    keys = [decision.key for decision in plan.decisions]
    assert "why.reserve.broken" in keys


@pytest.mark.parametrize("n_cpu_moe", [0, 10, 20, 30, 40, 50, 61])
@pytest.mark.parametrize("sizes", [(32,), (96, 96), (24, 80, 48), (80, 48, 24, 96)])
def test_fixed_experts_are_spread_so_that_the_fullest_gpu_lacks_the_least(
    n_cpu_moe: int, sizes: tuple[float, ...]
) -> None:
    """No GPU lacks memory while another one could hold what is too much there."""
    shape, site = shape_of(model_facts("kimi-k2.6.q4_x")), workstation(*sizes)
    wishes = Wishes(n_gpu_layers=62, n_cpu_moe=n_cpu_moe, context=32_768)
    plan = find_plan(shape, site, wishes)
    assert (plan.placement.n_gpu_layers, plan.placement.n_cpu_moe) == (62, n_cpu_moe)
    if plan.fits:
        return
    layer = 9_072 * 2**20 + 700 * 2**20
    rows = [plan.forecast.devices[number] for number in range(len(sizes))]
    assert all(row.spare_bytes < 2 * layer for row in rows)


@pytest.mark.parametrize("name", ["kimi-k2.6.q4_x", "qwen3-30b-a3b.q4_k_m", "llama-3.3-70b.q4_k_m"])
@pytest.mark.parametrize("sizes", [(24,), (32, 16), (80, 48, 24)])
@pytest.mark.parametrize("profile", Profile)
def test_naming_the_layers_that_auto_takes_changes_nothing_else(
    name: str, sizes: tuple[float, ...], profile: Profile
) -> None:
    shape, site = shape_of(model_facts(name)), workstation(*sizes)
    auto = find_plan(shape, site, Wishes(profile=profile))
    if auto.placement.n_gpu_layers <= shape.geometry.n_layer:
        return  # of some layers Auto weighs how many against everything else
    own = find_plan(shape, site, Wishes(profile=profile, n_gpu_layers=auto.placement.n_gpu_layers))
    if own.placement.context > auto.placement.context:
        return  # Auto shortens the context rather than the cache's type, for more layers
    assert own.placement == auto.placement
    assert own.gpus == auto.gpus


def test_idle_gpus_are_used_where_they_make_an_exchange_faster() -> None:
    """Several large GPUs beside main memory: fewer experts cross PCIe for every prompt."""
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    site = machine(
        96, 96, 48, 48, 48, 24, 24, 8, ram_gib=755.4,
        rates=(1792, 1792, 864, 864, 864, 1008, 1008, 272),
    )  # fmt: skip
    plan = find_plan(shape, site, Wishes(context=32_768))
    assert len(plan.gpus) >= 7
    assert len(plan.experts_in_ram) <= 30


@pytest.mark.parametrize(
    ("wishes", "sizes", "key"),
    [
        (Wishes(n_gpu_layers=49, n_cpu_moe=20), (24,), "wished"),
        (Wishes(n_cpu_moe=20), (24,), "wished_moe"),
        (Wishes(n_gpu_layers=49), (12,), "wished_experts"),
        (Wishes(n_gpu_layers=49), (48,), "wished_all"),
        (Wishes(n_gpu_layers=0), (48,), "wished_none"),
        (Wishes(n_gpu_layers=49), (), "no_gpu"),
    ],
)
def test_a_sentence_says_what_of_the_layers_was_the_users_choice(
    wishes: Wishes, sizes: tuple[float, ...], key: str
) -> None:
    plan = find_plan(shape_of(model_facts("qwen3-30b-a3b.q4_k_m")), workstation(*sizes), wishes)
    assert plan.decisions[0].key == f"why.layers.{key}"
    for language in Language:
        assert sentence(plan.decisions[0], language)


def test_a_context_shorter_than_the_profiles_aim_is_said() -> None:
    shape = shape_of(model_facts("llama-3.1-8b.q4_k_m"))
    plan = find_plan(shape, workstation(8, ram_gib=64), Wishes())
    (context,) = (each for each in plan.decisions if each.key.startswith("why.context"))
    assert context.key == "why.context.shorter"
    assert context.params["aim"] == "32K"


def test_shares_of_the_users_own_are_kept() -> None:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    wishes = Wishes(tensor_split=(10.0, 0.0, 52.0), n_gpu_layers=62)
    plan = find_plan(shape, workstation(48, 96, 80), wishes)
    assert plan.gpus == (0, 2)
    assert plan.placement.tensor_split == (10.0, 52.0)
    assert plan.fits
    assert "why.split.wished" in [decision.key for decision in plan.decisions]
    held = [row.weights_bytes > 0 for row in plan.forecast.devices[:3]]
    assert held == [True, False, True]


@pytest.mark.parametrize("shares", [(), (0.0, 0.0), (1.0, -1.0), (1.0, 1.0, 1.0)])
def test_shares_that_name_no_gpu_are_refused(shares: tuple[float, ...]) -> None:
    with pytest.raises(PlanError) as caught:
        find_plan(first_blocks("llama-3.1-8b.q4_k_m", 8), workstation(8, 8),
                  Wishes(tensor_split=shares))  # fmt: skip
    assert caught.value.code is ErrorCode.PLAN_BAD_WISH


def test_a_quantization_that_helps_says_whether_the_layers_stay() -> None:
    """Kimi K2.6 with all its experts on one card: no quantization does, the planner's layers do."""
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    smaller = Sibling("Q2_K", 373 * GB, shape_of(model_facts("kimi-k2.6.q2_k")), "q2")
    own = Wishes(n_gpu_layers=62, n_cpu_moe=0, context=32_768)
    plan = find_plan(shape, workstation(32), own, siblings=[smaller])
    assert not plan.can_start
    remedies = {each.remedy: each for each in plan.alternatives}
    assert Remedy.QUANTIZATION not in remedies
    auto = remedies[Remedy.QUANTIZATION_AUTO]
    assert auto.wishes == dataclasses.replace(own, n_gpu_layers=None, n_cpu_moe=None)
    site = workstation(*[48] * 8)
    plan = find_plan(shape, site, own, siblings=[smaller])
    remedies = {each.remedy: each for each in plan.alternatives}
    assert remedies[Remedy.QUANTIZATION].wishes == own
