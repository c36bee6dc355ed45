"""What runs here: the best file of each model, the order of the list, its words."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.base.messages import TOPICS, Language
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.catalogue_types import Engine, Quality
from kimi_desktop.planner.by_size import forecast_by_size
from kimi_desktop.planner.offer_types import OfferedFile, OfferedModel, Use
from kimi_desktop.planner.offer_words import file_words as words_of
from kimi_desktop.planner.offer_words import fit_word, rate_band
from kimi_desktop.planner.offers import best_file, fitting, offers_for
from kimi_desktop.planner.plan_types import Fit
from kimi_desktop.planner.speed_types import Band, Resource
from kimi_desktop.planner.verdict import verdict_sentence
from tests.support.machines import disk, gpu, machine, memory

CATALOGUE = shipped_catalogue()
EN, ZH = Language.EN, Language.ZH_CN
LAPTOP = machine(gpus=(), gpu_note="no_gpu", memory=memory(31.2, 26))
TIGHT = machine(gpus=(gpu(0, 79.2),), memory=memory(503))


def on(found: Machine) -> dict[str, OfferedModel]:
    return {offer.id: offer for offer in offers_for(CATALOGUE, found)}


def chosen(found: Machine, model: str) -> OfferedFile:
    best = on(found)[model].best
    assert best is not None
    return best


def test_every_model_and_every_file_is_there_once() -> None:
    offers = offers_for(CATALOGUE, machine())
    assert {offer.id for offer in offers} == {model.id for model in CATALOGUE}
    for offer in offers:
        model = CATALOGUE.find(offer.id)
        assert model is not None
        assert len(offer.files) == len(model.quantizations)
        sizes = [file.size_bytes or 0 for file in offer.files]
        assert sizes == sorted(sizes, reverse=True)
        for file in offer.files:
            assert (file.sized is None) == (file.use is Use.UNKNOWN)


def test_figures_are_those_of_the_planner() -> None:
    best = chosen(machine(), "kimi-k2.7-code")
    assert best.size_bytes
    wanted = forecast_by_size("kimi-k2.7-code", best.quantization, best.size_bytes, machine())
    assert best.sized == wanted


def test_a_workstation_gets_the_native_weights() -> None:
    best = chosen(machine(), "kimi-k2.6")
    assert best.quality is Quality.NEAR_LOSSLESS
    assert best.use is Use.GOOD
    assert best.id == f"{best.repo}:{best.quantization}"


def test_where_the_native_weights_are_tight_two_bits_are_the_choice() -> None:
    offer = on(TIGHT)["kimi-k2.6"]
    assert offer.best is not None
    assert offer.best.quantization == "UD-Q2_K_XL"
    four = next(file for file in offer.files if file.quantization == "UD-Q4_K_XL")
    assert four.use is Use.TIGHT
    assert "kept free" in words_of(four, EN).sentence
    assert words_of(four, EN).spare.startswith("only ")


def test_what_does_not_fit_comes_last_and_shows_the_file_nearest_to_it() -> None:
    offers = offers_for(CATALOGUE, LAPTOP)
    uses = [list(Use).index(offer.use) for offer in offers]
    assert uses == sorted(uses)
    assert offers[0].id in ("kimi-vl-a3b-thinking", "moonlight-16b-a3b")
    fits = fitting(offers)
    assert fits == offers[: len(fits)]
    assert [offer.use for offer in fits] == [Use.GOOD, Use.GOOD, Use.TIGHT]
    best = chosen(LAPTOP, "kimi-k2.6")
    assert best.quantization == "UD-Q2_K_XL"
    assert best.use is Use.DISK
    sizes = [offer.best.size_bytes for offer in offers if offer.best and offer.use is Use.DISK]
    assert sizes == sorted(sizes)


def test_files_of_other_engines_are_listed_without_a_forecast() -> None:
    offer = on(machine())["kimi-k2.6"]
    nvfp4 = next(file for file in offer.files if file.quantization == "NVFP4")
    assert nvfp4.use is Use.UNKNOWN
    words = words_of(nvfp4, EN)
    assert words.fit == "Size not known"
    assert "vllm" in words.note
    only_ik = next(file for file in offer.files if file.quantization == "IQ3_K")
    assert only_ik.sized is not None  # the same bytes, another program
    assert best_file([only_ik]) is None
    assert "ik_llama.cpp" in words_of(only_ik, ZH).note


def test_among_equals_the_faster_one() -> None:
    offer = on(machine())["kimi-k2.6"]
    good = [file for file in offer.files if file.quality is Quality.NEAR_LOSSLESS]
    lossless = next(file for file in offer.files if file.quality is Quality.LOSSLESS)
    assert best_file([lossless, *good]) is not lossless
    assert best_file([lossless]) is lossless
    assert best_file([]) is None


def test_a_slow_machine_prefers_speed_to_quality() -> None:
    slow = machine(gpus=(), memory=memory(755.4, read_bytes_per_s_measured=20e9))
    offer = next(o for o in offers_for(CATALOGUE, slow) if o.id == "kimi-k2.6")
    assert offer.best is not None
    assert (offer.use, offer.best.quantization) == (Use.SLOW, "UD-Q2_K_XL")
    assert "Slow here." in words_of(offer.best, EN).note


@pytest.mark.parametrize(
    ("found", "model", "fit", "spare"),
    [
        (machine(), "kimi-k2.6", "Fits in VRAM + RAM", "GiB to spare"),
        (machine(), "moonlight-16b-a3b", "Fits in VRAM", "GiB to spare"),
        (LAPTOP, "moonlight-16b-a3b", "Fits in RAM", "GiB to spare"),
        (LAPTOP, "kimi-k2.6", "Disk-bound", "of RAM missing"),
    ],
)
def test_a_row_in_words(found: Machine, model: str, fit: str, spare: str) -> None:
    best = chosen(found, model)
    words = words_of(best, EN)
    assert words.fit == fit
    assert words.spare.endswith(spare)
    assert best.sized is not None
    assert words.sentence == verdict_sentence(best.sized.verdict, EN)
    assert words.decode.endswith("tok/s")
    assert words.waits
    assert words.details.count("·") == 2
    chinese = words_of(best, ZH)
    assert chinese.decode.endswith("词元/秒")
    assert "首字延迟" in chinese.details


def test_sizes_say_when_they_are_rounded_or_not_known() -> None:
    files = {file.quantization: file for file in on(machine())["kimi-k2.5"].files}
    assert words_of(files["UD-TQ1_0"], EN).size == "about 240 GB"
    assert words_of(files["UD-Q4_K_XL"], EN).size == "size not known"
    assert words_of(files["UD-TQ1_0"], EN).quality == "1.9 bits per weight"


def test_a_disk_without_room_is_said() -> None:
    small = machine(disks=(disk(free_gb=100), disk(free_gb=2000, writable=False)))
    four = chosen(small, "kimi-k2.6")
    assert four.lacks_disk
    assert words_of(four, EN).download == "No disk has room"
    linear = chosen(small, "kimi-linear-48b")
    assert not linear.lacks_disk
    assert words_of(linear, EN).download == "40 min 5 s at 100 Mbit/s"
    assert not chosen(machine(disks=()), "kimi-k2.6").lacks_disk


def test_small_rates_keep_two_decimals() -> None:
    def shown(low: float, high: float) -> str:
        return rate_band(Band(low, low, high, Resource.DISK), EN)

    assert shown(0.04, 0.3) == "0.04 – 0.30 tok/s"
    assert shown(0.04, 1.34) == "0.04 – 1.3 tok/s"
    assert shown(6.44, 15.5) == "6.4 – 15.5 tok/s"
    assert shown(90, 120) == "90.0 – 120 tok/s"


def test_every_fit_has_its_words() -> None:
    for fit in Fit:
        assert f"forecast.fit.{fit.value}" in TOPICS["forecast"]
        assert fit_word(fit, EN) != fit_word(fit, ZH)


@settings(max_examples=10)
@given(
    cards=st.lists(st.floats(4, 200), max_size=4),
    ram=st.floats(4, 2500),
    used=st.floats(0, 60),
    language=st.sampled_from(Language),
)
def test_any_machine_gets_a_whole_list(
    cards: list[float], ram: float, used: float, language: Language
) -> None:
    found = machine(
        gpus=tuple(gpu(number, size) for number, size in enumerate(cards)),
        memory=memory(ram, max(ram - used, 0.5)),
    )
    for offer in offers_for(CATALOGUE, found):
        for file in offer.files:
            for text in dataclasses.astuple(words_of(file, language)):
                assert "{" not in text
        if offer.best is not None:
            assert Engine.LLAMA_CPP in offer.best.engines
            best = list(Use).index(offer.best.use)
            for file in offer.files:
                if Engine.LLAMA_CPP in file.engines:
                    assert best <= list(Use).index(file.use)
