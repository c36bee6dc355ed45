"""Verdicts of forecasts, and what kind of machine this is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.base.messages import TOPICS, Language, message
from kimi_desktop.machine.types import Machine, Tier
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.catalogue_types import Quality
from kimi_desktop.planner.by_size import forecast_by_size
from kimi_desktop.planner.memory import forecast, shape_of
from kimi_desktop.planner.plan_types import Fit
from kimi_desktop.planner.speed_types import Resource
from kimi_desktop.planner.tiers import (
    Build,
    Reach,
    at_rest,
    machine_tier,
    machine_verdict,
    tier_sentence,
)
from kimi_desktop.planner.types import (
    ALL_LAYERS,
    EVERY_BLOCK,
    DeviceMemory,
    LoadForecast,
    Placement,
)
from kimi_desktop.planner.verdict import FitVerdict, judge, verdict_sentence
from tests.support.machines import cpu, gpu, machine, memory
from tests.support.measured import model_facts
from tests.support.planned_machines import named_machine

GIB = 2**30
EN, ZH = Language.EN, Language.ZH_CN


def device(
    name: str, total: float, weights: float, kv: float = 0, others: float = 0
) -> DeviceMemory:
    return DeviceMemory(
        name, name, int(total * GIB), int(weights * GIB), int(kv * GIB), 0, 0, int(others * GIB)
    )


def loaded(*devices: DeviceMemory) -> LoadForecast:
    return LoadForecast(devices)


ONE_GIB = 1 * GIB


@pytest.mark.parametrize(
    ("found", "fit", "words"),
    [
        (
            loaded(device("gpu:0", 24, 20, 2), device("host", 64, 1)),
            Fit.IN_VRAM,
            "Fits in VRAM, 2.00 GiB to spare",
        ),
        (
            loaded(device("gpu:0", 24, 10), device("gpu:1", 24, 12), device("host", 64, 30, 0, 8)),
            Fit.IN_VRAM_AND_RAM,
            "Fits in VRAM + RAM, 26.0 GiB of VRAM and 26.0 GiB of RAM to spare",
        ),
        (
            loaded(device("gpu:0", 24, 20), device("host", 64, 1, 2)),
            Fit.IN_VRAM_AND_RAM,
            "Fits in VRAM + RAM, 4.00 GiB of VRAM and 61.0 GiB of RAM to spare",
        ),
        (
            loaded(device("gpu:0", 24, 0, 0, 3), device("host", 64, 30)),
            Fit.IN_RAM,
            "Fits in RAM, 34.0 GiB to spare",
        ),
        (
            loaded(device("gpu:0", 24, 20), device("host", 64, 300)),
            Fit.DISK_BOUND,
            "Disk-bound: 236.0 GiB more than RAM holds is read from disk again and again",
        ),
        (
            loaded(device("gpu:0", 24, 30), device("gpu:1", 24, 25), device("host", 64, 1)),
            Fit.DOES_NOT_FIT,
            "Does not fit: 7.00 GiB of VRAM is missing",
        ),
        (
            loaded(device("host", 8, 2, 10)),
            Fit.DOES_NOT_FIT,
            "Does not fit: 4.00 GiB of RAM is missing",
        ),
        (
            loaded(device("gpu:0", 8, 9), device("host", 8, 10)),
            Fit.DOES_NOT_FIT,
            "Does not fit: 1.00 GiB of VRAM and 2.00 GiB of RAM are missing",
        ),
    ],
)
def test_verdicts_in_words(found: LoadForecast, fit: Fit, words: str) -> None:
    verdict = judge(found, embedding_bytes=ONE_GIB)
    assert verdict.fit is fit
    assert verdict_sentence(verdict, EN) == words
    chinese = verdict_sentence(verdict, ZH)
    assert chinese != words
    assert words.count("GiB") == chinese.count("GiB")


def test_a_reserve_is_kept_on_every_device() -> None:
    tight = loaded(device("gpu:0", 24, 23), device("host", 64, 1))
    assert judge(tight, embedding_bytes=ONE_GIB).fits
    kept = judge(tight, embedding_bytes=ONE_GIB, reserve_share=0.1)
    assert kept.fit is Fit.DOES_NOT_FIT
    assert kept.short_vram_bytes == int(2.4 * GIB) - GIB
    little = judge(loaded(device("host", 64, 60)), reserve_share=0.1)
    assert little.fit is Fit.DOES_NOT_FIT
    assert "4.00 GiB of RAM would be left" in verdict_sentence(little, EN)


def test_copies_of_the_engine_cannot_be_dropped() -> None:
    too_much = loaded(device("host", 64, 100))
    assert judge(too_much).fit is Fit.DISK_BOUND
    assert judge(too_much, file_backed_bytes=0).fit is Fit.DOES_NOT_FIT
    assert judge(too_much, file_backed_bytes=40 * GIB).fit is Fit.DISK_BOUND
    assert judge(too_much, file_backed_bytes=30 * GIB).fit is Fit.DOES_NOT_FIT


@given(
    gpus=st.lists(st.tuples(st.integers(1, 200), st.integers(0, 250)), max_size=4),
    ram=st.integers(1, 800),
    weights=st.integers(0, 900),
    kv=st.integers(0, 20),
)
def test_a_verdict_says_what_the_figures_say(
    gpus: list[tuple[int, int]], ram: int, weights: int, kv: int
) -> None:
    rows = [device(f"gpu:{n}", total, used) for n, (total, used) in enumerate(gpus)]
    found = loaded(*rows, device("host", ram, weights, kv))
    verdict = judge(found)
    assert verdict.fits == found.fits
    assert (verdict.fit is Fit.IN_RAM) <= (verdict.spare_vram_bytes is None)
    if verdict.fits and verdict.tightest_vram_bytes is not None:
        assert verdict.tightest_vram_bytes >= 0
    assert verdict_sentence(verdict, EN)
    assert verdict_sentence(verdict, ZH)


def k26(found: Machine, n_cpu_moe: int = EVERY_BLOCK) -> FitVerdict:
    shape = shape_of(model_facts("kimi-k2.6.q4_x"))
    placement = Placement(context=32_768, n_gpu_layers=ALL_LAYERS, n_cpu_moe=n_cpu_moe)
    table = next(t for t in shape.tensors if t.name == "token_embd.weight")
    return judge(forecast(shape, placement, found), embedding_bytes=table.size_bytes)


def test_kimi_k26_on_real_machines() -> None:
    assert k26(machine()).fit is Fit.IN_VRAM_AND_RAM
    assert k26(machine(memory=memory(128))).fit is Fit.DISK_BOUND
    assert k26(machine(gpus=(gpu(0, 12.0),))).fit is Fit.DOES_NOT_FIT
    assert k26(machine(gpus=())).fit is Fit.IN_RAM
    server = machine(gpus=tuple(gpu(number, 140.4) for number in range(8)))
    assert k26(server, 0).fit is Fit.IN_VRAM


# kinds of machines


def cards(*vram_gib: float) -> tuple[object, ...]:
    return tuple(gpu(number, size) for number, size in enumerate(vram_gib))


@pytest.mark.parametrize(
    ("found", "tier", "build", "reach", "words"),
    [
        (
            machine(gpus=(), memory=memory(755.4)),
            Tier.FULL,
            Build.CPU,
            Reach.K3_1BIT_SLOW,
            "Processors alone with 755.4 GiB of RAM",
        ),
        (
            machine(gpus=cards(24.0), memory=memory(251)),
            Tier.WORKSTATION,
            Build.CARD,
            Reach.LINEAR,
            "24.0 GiB of VRAM and 251.0 GiB of RAM: Kimi-Linear 48B fits in 4 bit, Kimi K2.6 does "
            "not fit.",
        ),
        (
            machine(gpus=cards(47.5), memory=memory(377)),
            Tier.LARGE,
            Build.CARD,
            Reach.K26_2BIT,
            "Kimi K2.6 fits in 2 bit, not in its native 4 bit.",
        ),
        (
            machine(gpus=cards(79.2), memory=memory(503)),
            Tier.FULL,
            Build.BIG_CARD,
            Reach.K26_4BIT_TIGHT,
            "79.2 GiB of VRAM and 503.0 GiB of RAM: Kimi K2.6 fits in its native 4 bit, tightly",
        ),
        (
            machine(gpus=cards(*[79.2] * 8), memory=memory(251)),
            Tier.FULL,
            Build.TIGHT_SERVER,
            Reach.K3_1BIT,
            "GPU server with 633.6 GiB of VRAM in 8 cards, which holds the weights",
        ),
        (
            machine(gpus=cards(*[140.4] * 8), memory=memory(2000)),
            Tier.SERVER,
            Build.SERVER,
            Reach.K3_LOSSLESS,
            "Kimi K3 fits without loss",
        ),
        (
            machine(gpus=cards(*[140.4] * 8), memory=memory(251)),
            Tier.SERVER,
            Build.SERVER,
            Reach.K26_IN_VRAM,
            "for several users at once",
        ),
        (
            machine(gpus=cards(95.6), memory=memory(755)),
            Tier.FULL,
            Build.BIG_CARD,
            Reach.K3_1BIT,
            "Kimi K2.6 fits without loss, Kimi K3 in 1 bit.",
        ),
        (
            machine(cpu=cpu(model="Apple M3 Ultra"), gpus=(), gpu_note="apple", memory=memory(512)),
            Tier.LARGE,
            Build.UNIFIED,
            Reach.K26_2BIT,
            "512.0 GiB of memory shared by processors and graphics: Kimi K2.6 fits in 2 bit",
        ),
        (
            machine(gpus=(gpu(0, 0, name="NVIDIA GB10"),), memory=memory(119)),
            Tier.WORKSTATION,
            Build.UNIFIED,
            Reach.LINEAR,
            "119.0 GiB of memory shared",
        ),
        (
            machine(gpus=cards(8.0), memory=memory(15)),
            Tier.SMALL,
            Build.SMALL_CARD,
            Reach.KIMI_16B,
            "A small GPU (8.00 GiB of VRAM) and 15.0 GiB of RAM: the small Kimi models fit",
        ),
        (
            machine(gpus=(), memory=memory(7.7, 5)),
            Tier.SMALL,
            Build.PLAIN,
            Reach.SMALL,
            "7.70 GiB of RAM and no GPU: models of a few billion parameters fit.",
        ),
    ],
)
def test_the_classic_tiers_and_what_is_between_and_beyond(
    found: Machine, tier: Tier, build: Build, reach: Reach, words: str
) -> None:
    seen = machine_tier(found)
    assert (seen.tier, seen.build, seen.reach) == (tier, build, reach)
    sentence = tier_sentence(found, EN)
    assert words in sentence
    assert sentence.endswith(".")
    assert sentence.count(".\n") == 0
    assert tier_sentence(found, ZH).endswith("。")


def test_the_machine_in_words_is_one_sentence_and_its_speed() -> None:
    found = machine_verdict(machine(), EN)
    assert found.headline == tier_sentence(machine(), EN)
    assert (found.tier, found.tier_number, found.tier_count) == (Tier.FULL, 4, 5)
    speed, _, rows = found.detail.partition(". ")
    assert re.fullmatch(
        r"Kimi K2.6 UD-Q4_K_XL: [\d.]+ to [\d.]+ tok/s, waiting for RAM bandwidth",
        speed,
    )
    assert rows == "5 passed, 0 warnings, 2 unknown, 0 failed."
    chinese = machine_verdict(machine(), ZH).detail
    assert "瓶颈：内存带宽。5 项通过" in chinese
    tiny = machine_verdict(machine(gpus=(), memory=memory(4, 2)), EN)
    assert tiny.tier_number == 1
    assert tiny.detail.startswith("2 passed, 1 warning, 2 unknown")


def test_what_runs_now_does_not_change_what_the_machine_is() -> None:
    busy = machine(memory=memory(755.4, 20))
    assert machine_tier(busy).reach is machine_tier(machine()).reach


def test_a_limit_is_what_counts_as_memory() -> None:
    found = machine(memory=memory(755, 15, limit_bytes=16 * GIB, limit_source="cgroup"))
    assert machine_tier(found).tier is Tier.WORKSTATION  # 16 and 31.84


@settings(max_examples=25)
@given(
    cards=st.lists(st.sampled_from([0, 7.6, 15.9, 31.84, 79.6, 140.4]), max_size=8),
    ram=st.floats(0.5, 2000),
    free=st.floats(0, 2000),
)
def test_more_memory_never_lowers_the_tier(cards: list[float], ram: float, free: float) -> None:
    gpus = tuple(gpu(number, size) for number, size in enumerate(cards))
    before = machine(gpus=gpus, memory=memory(ram, min(free, ram)))
    after = machine(gpus=gpus, memory=memory(ram + 100, min(free, ram)))
    tiers = list(Tier)
    assert tiers.index(machine_tier(after).tier) >= tiers.index(machine_tier(before).tier)
    for language in Language:
        words = machine_verdict(before, language)
        assert words.headline.endswith((".", "。"))
        assert not re.search(r"[{}]", words.headline + words.detail)


def test_every_member_has_its_text() -> None:
    texts = TOPICS["forecast"]
    for kind, members in (
        ("build", Build),
        ("reach", Reach),
        ("bottleneck", Resource),
        ("quality", Quality),
    ):
        for member in members:
            assert f"forecast.{kind}.{member.value}" in texts
    assert message("forecast.bottleneck.ram", ZH) == "内存带宽"


@pytest.mark.parametrize(
    ("place", "bits"),
    [("two-pro-6000", 2), ("server-8-unequal", 2), ("workstation-5090-768", 1)],
)
def test_the_reach_names_the_best_of_kimi_k3_that_fits(place: str, bits: int) -> None:
    """As the list of what runs here says it of the same files."""
    where = named_machine(place)
    model = shipped_catalogue().find("kimi-k3")
    assert model is not None
    fits = {}
    for name in ("UD-Q2_K_XL", "UD-IQ1_S"):
        item = model.quantization(name)
        assert item is not None
        assert item.size_bytes
        sized = forecast_by_size(model.id, name, item.size_bytes, at_rest(where))
        assert sized is not None
        fits[name] = sized.verdict.fits
    assert fits == {"UD-Q2_K_XL": bits == 2, "UD-IQ1_S": True}
    assert f"Kimi K3 in {bits} bit" in tier_sentence(where, EN)
    assert f"Kimi K3 可用 {bits} 位量化" in tier_sentence(where, ZH)
