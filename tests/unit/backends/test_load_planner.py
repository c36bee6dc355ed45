"""Plans for the library: what is searched, priced, remembered and said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.backends.defaults import plain_settings
from kimi_desktop.backends.load_planner import LoadPlanner
from kimi_desktop.backends.placed import settings_of
from kimi_desktop.backends.remembered import entry_of
from kimi_desktop.backends.types import (
    EngineKind,
    LoadSettings,
    PlanChange,
    PlanChoices,
    VllmSettings,
)
from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.forecasting import forecast_load
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Fit, LoadMode, Profile, Remedy, Wishes
from kimi_desktop.planner.speed_types import Resource
from kimi_desktop.planner.vllm_types import ServerWishes, Split
from tests.support.machines import gpu, machine, memory
from tests.support.real_models import real_model
from tests.support.scripted_desk import Desk
from tests.support.scripted_plans import DeskPool

FOLDER = Path("/models")
KIMI = real_model(FOLDER, "kimi-k2.6.q4_x")
SMALLER = real_model(FOLDER, "kimi-k2.6.q2_k")
LARGER = real_model(FOLDER, "kimi-k2.6.q4_k_m")
LLAMA = real_model(FOLDER, "llama-3.1-8b.q4_k_m", "Llama 3.1 8B")
TWO = machine(gpus=(gpu(0, 24), gpu(1, 96)))


@dataclasses.dataclass
class Bench:
    """A planner on a machine of the test's choice."""

    planner: LoadPlanner
    store: SettingsStore
    site: Machine | None
    gpu_build: bool = True


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    store = SettingsStore(tmp_path / "settings.json")
    made = Bench(None, store, TWO)  # type: ignore[arg-type]
    made.planner = LoadPlanner(
        DeskPool(Desk()),  # type: ignore[arg-type]
        store,
        machine=lambda: made.site,
        begin=lambda model: plain_settings(model, EngineKind.EMBEDDED, None),
        uses_gpus=lambda _: made.gpu_build,
    )
    return made


def found(model: LocalModel, site: Machine, wishes: Wishes) -> LoadSettings:
    assert model.facts is not None
    plan = find_plan(shape_of(model.facts), site, wishes)
    return settings_of(plan, plain_settings(model, EngineKind.EMBEDDED, None), site)


def test_a_model_that_was_never_loaded_is_the_planners(bench: Bench) -> None:
    assert bench.planner.choices(KIMI) == PlanChoices(Wishes())
    assert bench.planner.settings_for(KIMI) == found(KIMI, TWO, Wishes())
    bench.gpu_build = False
    assert bench.planner.settings_for(KIMI) == found(KIMI, TWO, Wishes(uses_gpus=False))


def test_the_profile_of_the_settings_is_the_beginning(bench: Bench) -> None:
    def choose(profile: str) -> None:
        bench.store.update(
            lambda s: dataclasses.replace(s, engine=dataclasses.replace(s.engine, profile=profile))
        )

    choose("fastest")
    assert bench.planner.choices(KIMI).wishes.profile is Profile.FASTEST
    assert bench.planner.settings_for(KIMI) == found(KIMI, TWO, Wishes(Profile.FASTEST))
    choose("reckless")
    assert bench.planner.profile is Profile.SAFE


def test_what_a_search_finds_is_priced_as_the_plan_itself(bench: Bench) -> None:
    wishes = Wishes(Profile.BALANCED, context=65_536)
    priced = bench.planner.find(KIMI, wishes).result()
    assert KIMI.facts is not None
    plan = find_plan(shape_of(KIMI.facts), TWO, wishes)
    assert priced.plan == plan
    assert priced.settings == found(KIMI, TWO, wishes)
    assert forecast_load(priced.settings, KIMI, TWO, uses_gpus=True) == plan.forecast
    assert priced.speed.decode_tps.likely == pytest.approx(1 / plan.seconds_per_token, rel=0.05)
    assert [tokens for tokens, _ in priced.other_prompts] == [200, 32_768]
    short, long = (band.likely for _, band in priced.other_prompts)
    assert short < priced.speed.first_token_s.likely < long


@pytest.mark.parametrize("profile", list(Profile))
def test_settings_of_a_plan_are_priced_like_the_plan(bench: Bench, profile: Profile) -> None:
    searched = bench.planner.find(KIMI, Wishes(profile)).result()
    own = bench.planner.price(searched.settings, KIMI, profile)
    assert own.settings == searched.settings
    assert own.plan.forecast == searched.plan.forecast
    assert own.plan.fit is searched.plan.fit
    assert own.plan.experts_in_ram == searched.plan.experts_in_ram
    assert own.plan.seconds_per_token == pytest.approx(searched.plan.seconds_per_token, rel=1e-6)
    assert own.speed == searched.speed
    assert own.limits == searched.limits
    assert not own.is_tight


def test_a_users_own_settings_are_never_changed(bench: Bench) -> None:
    settings = dataclasses.replace(
        bench.planner.settings_for(KIMI), context=7, n_gpu_layers=5, n_threads=None, load_mode=None
    )
    priced = bench.planner.price(settings, KIMI, Profile.SAFE)
    assert priced.settings == settings
    assert priced.plan.placement.context == 7
    assert priced.plan.n_threads == 32
    assert priced.plan.load_mode is LoadMode.MMAP


def test_less_than_the_profiles_reserve_is_tight_and_fits(bench: Bench) -> None:
    fast = bench.planner.find(KIMI, Wishes(Profile.FASTEST)).result()
    assert bench.planner.price(fast.settings, KIMI, Profile.SAFE).is_tight
    assert not bench.planner.price(fast.settings, KIMI, Profile.FASTEST).is_tight
    words = bench.planner.words(bench.planner.price(fast.settings, KIMI, Profile.SAFE), Language.EN)
    assert words.fit == "Fits, tight"
    assert any("less than 10 %" in reason for reason in words.reasons)


def test_layers_of_the_users_own_are_spread_over_the_gpus(bench: Bench) -> None:
    begin = bench.planner.settings_for(KIMI)
    assert begin.overrides
    own = dataclasses.replace(begin, n_gpu_layers=62, n_cpu_moe=52)
    moved = bench.planner.arrange(own, KIMI)
    assert (moved.n_gpu_layers, moved.n_cpu_moe, moved.overrides) == (62, 52, ())
    assert sum(moved.tensor_split) == 62
    others = set(dataclasses.asdict(begin)) - {
        "n_cpu_moe", "overrides", "tensor_split", "gpus", "n_gpu_layers",
    }  # fmt: skip
    for name in others:
        assert getattr(moved, name) == getattr(begin, name)
    assert bench.planner.price(moved, KIMI, Profile.SAFE).plan.fits
    none = bench.planner.arrange(dataclasses.replace(begin, n_gpu_layers=0), KIMI)
    assert (none.gpus, none.tensor_split) == ((), ())


def test_choices_are_remembered(bench: Bench, tmp_path: Path) -> None:
    wishes = Wishes(
        Profile.LONG_CONTEXT, context=9000, cache_type="q8_0", n_parallel=3, n_ubatch=256,
        n_batch=512, n_threads=6, load_mode=LoadMode.LOCKED,
    )  # fmt: skip
    bench.planner.remember(KIMI, PlanChoices(wishes))
    own = dataclasses.replace(bench.planner.settings_for(LLAMA), context=5000)
    bench.planner.remember(LLAMA, PlanChoices(Wishes(), own))
    bench.store = SettingsStore(tmp_path / "settings.json")
    again = LoadPlanner(
        DeskPool(Desk()),  # type: ignore[arg-type]
        bench.store,
        machine=lambda: TWO,
        begin=lambda model: plain_settings(model, EngineKind.EMBEDDED, None),
        uses_gpus=lambda _: True,
    )
    assert again.choices(KIMI) == PlanChoices(wishes)
    assert again.settings_for(KIMI) == found(KIMI, TWO, wishes)
    assert again.choices(LLAMA) == PlanChoices(Wishes(), own)
    assert again.settings_for(LLAMA) == own


def test_a_start_of_a_found_plan_leaves_the_planner_in_charge(bench: Bench) -> None:
    settings = bench.planner.settings_for(KIMI)
    bench.planner.note_start(settings)
    assert bench.planner.choices(KIMI).settings is None
    wishes = Wishes(context=65_536, cache_type="q8_0")
    searched = bench.planner.find(KIMI, wishes).result()
    bench.planner.note_start(searched.settings)
    assert bench.planner.choices(KIMI) == PlanChoices(wishes)


def test_a_start_of_anything_else_is_the_users_own(bench: Bench) -> None:
    own = dataclasses.replace(bench.planner.settings_for(KIMI), context=1024)
    bench.planner.note_start(own)
    assert bench.planner.settings_for(KIMI) == own
    assert bench.planner.choices(KIMI).settings == own


def test_the_same_choice_is_not_written_twice(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.planner.remember(KIMI, PlanChoices(Wishes()))

    def refuse(_change: Callable[..., Any]) -> None:
        raise AssertionError

    monkeypatch.setattr(bench.store, "update", refuse)
    bench.planner.remember(KIMI, PlanChoices(Wishes()))


def test_without_placement_in_memory_the_rest_is_kept(bench: Bench) -> None:
    entry = {"context": 1024, "cache_type": "q8_0", "gpus": "[0, 5]", "n_gpu_layers": 3}
    bench.store.update(
        lambda s: dataclasses.replace(
            s, engine=dataclasses.replace(s.engine, loads={KIMI.id: entry})
        )
    )
    settings = bench.planner.settings_for(KIMI)
    assert (settings.context, settings.cache_type) == (1024, "q8_0")
    assert settings.n_gpu_layers == 62


def test_what_does_not_fit_comes_with_ways_out_that_fit(bench: Bench) -> None:
    bench.site = machine(gpus=(gpu(0, 24),), memory=memory(400))
    wishes = Wishes(context=32_768)
    priced = bench.planner.find(KIMI, wishes, (KIMI, SMALLER)).result()
    assert not priced.plan.fits
    words = bench.planner.words(priced, Language.EN)
    assert any("of RAM is missing" in text for text in words.missing)
    found = priced.plan.alternatives
    others = [each for each in found if each.remedy is Remedy.QUANTIZATION]
    assert [each.sibling for each in others] == [
        SMALLER.id,  # what is here comes first
        "offer:unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL",
    ]
    smaller = others[0]
    assert smaller.wishes is not None
    assert bench.planner.find(SMALLER, smaller.wishes).result().plan.fits
    remedy = next(each for each in words.remedies if each.model_id == SMALLER.id)
    assert remedy.title == "Q2_K"
    assert remedy.speed.endswith("tok/s")
    assert all(each.wishes is None for each in found if each.remedy is Remedy.MORE_RAM)
    offer = next(each for each in words.remedies if each.offer_id)
    assert offer.offer_id == "unsloth/Kimi-K2.6-GGUF:UD-Q2_K_XL"
    assert offer.detail == "not downloaded yet: 340 GB (316.6 GiB in memory)"


def test_what_one_change_would_bring_is_what_it_brings(bench: Bench) -> None:
    wishes = Wishes(Profile.BALANCED)
    family = (KIMI, SMALLER, LARGER)
    priced = bench.planner.find(KIMI, wishes, family).result()
    changes = bench.planner.find_changes(priced, KIMI, wishes, family).result()
    words = bench.planner.change_words(changes, priced, Language.EN)
    assert [each.title for each in words] == [
        "KV q8_0", "Context 128K", "Context 32K", "Q2_K", "Q4_K_M",
    ]  # fmt: skip
    models = {model.id: model for model in family}
    now = priced.plan
    for change, said in zip(changes, words, strict=True):
        model = models.get(change.model_id, KIMI)
        then = bench.planner.find(model, change.wishes).result().plan
        assert then.fits
        assert change.experts_moved == len(now.experts_in_ram) - len(then.experts_in_ram)
        assert change.speed_ratio == pytest.approx(now.seconds_per_token / then.seconds_per_token)
        assert said.speed == "same speed" or said.speed[0] == (
            "+" if change.speed_ratio > 1 else "−"
        )
        assert said.wishes == change.wishes
    smaller = words[3]
    assert smaller.model_id == SMALLER.id
    assert smaller.detail == "211 GB less to read and store"
    assert words[0].wishes is not None
    assert words[0].wishes.context == now.placement.context


def test_a_change_after_which_it_does_not_fit_is_not_offered(bench: Bench) -> None:
    bench.site = machine(gpus=(gpu(0, 24),))
    priced = bench.planner.find(KIMI, Wishes(context=65_536)).result()
    assert priced.plan.fits
    changes = bench.planner.find_changes(priced, KIMI, Wishes(context=65_536), ()).result()
    for change in changes:
        assert bench.planner.find(KIMI, change.wishes).result().plan.fits
    bench.site = TWO
    longest = bench.planner.find(KIMI, Wishes(context=262_144)).result()
    assert longest.plan.fits
    more = bench.planner.find_changes(longest, KIMI, Wishes(context=262_144), ()).result()
    contexts = [change.wishes.context for change in more if change.remedy is Remedy.CONTEXT]
    assert contexts == [131_072]  # never more than the model was trained for


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize(
    ("moved", "spare", "en"),
    [
        (1, 0, "one more expert layer on the GPU"),
        (-3, 0, "3 more expert layers in RAM"),
        (0, 2**31, "2.00 GiB more stays free"),
        (0, -(2**30), "1.00 GiB less stays free"),
        (0, 2**20, "the same memory"),
    ],
)
def test_changes_in_words(
    bench: Bench, language: Language, moved: int, spare: int, en: str
) -> None:
    priced = bench.planner.find(KIMI, Wishes()).result()
    change = PlanChange(
        Remedy.CONTEXT, {"context": "8K"}, Wishes(), "", moved, spare, 0, speed_ratio=0.5
    )
    [said] = bench.planner.change_words([change], priced, language)
    assert said.detail
    assert said.speed.startswith("−")
    if language is Language.EN:
        assert said.detail == en


def test_quality_is_the_catalogues(bench: Bench) -> None:
    def quality(model: LocalModel) -> str:
        return bench.planner.quality(model, Language.EN)

    assert quality(KIMI) == "Near-lossless"  # Q4_X
    assert quality(SMALLER) == ""  # a quantization that nobody has judged
    assert quality(LLAMA) == ""  # a model that is not in it
    assert KIMI.facts is not None
    assert quality(dataclasses.replace(KIMI, facts=None)) == ""


def test_every_way_out_of_a_users_own_placement_fits(bench: Bench) -> None:
    bench.site = machine(gpus=(gpu(0, 24),))
    wishes = Wishes(context=131_072, n_gpu_layers=62, n_cpu_moe=58)
    priced = bench.planner.find(KIMI, wishes, ()).result()
    assert not priced.plan.fits
    ways = [each for each in priced.plan.alternatives if each.wishes is not None]
    assert Remedy.AUTO in {each.remedy for each in ways}
    for way in ways:
        assert bench.planner.find(KIMI, way.wishes).result().plan.fits  # type: ignore[arg-type]


def test_ways_out_of_settings_as_they_are(bench: Bench) -> None:
    bench.site = machine(gpus=(gpu(0, 24), gpu(1, 24)))
    begin = bench.planner.settings_for(KIMI)
    lopsided = dataclasses.replace(
        begin, n_cpu_moe=61, overrides=(), gpus=None, tensor_split=(1.0, 61.0), context=262_144
    )
    priced = bench.planner.price(lopsided, KIMI, Profile.SAFE)
    assert not priced.plan.fits
    wishes = Wishes(context=262_144, n_gpu_layers=62, n_cpu_moe=61, cache_type="f16")
    helped = bench.planner.find_remedies(priced, KIMI, wishes, (SMALLER,)).result()
    assert helped.plan.forecast == priced.plan.forecast
    assert helped.plan.alternatives[0].remedy is Remedy.SPREAD
    assert bench.planner.find(KIMI, helped.plan.alternatives[0].wishes).result().plan.fits

    tight = dataclasses.replace(lopsided, n_cpu_moe=10)
    priced = bench.planner.price(tight, KIMI, Profile.SAFE)
    wishes = dataclasses.replace(wishes, n_cpu_moe=10)
    helped = bench.planner.find_remedies(priced, KIMI, wishes, ()).result()
    assert Remedy.AUTO in {each.remedy for each in helped.plan.alternatives}
    for words in bench.planner.words(helped, Language.EN).remedies:
        assert words.title
        assert words.detail


def test_a_wish_of_a_users_own_layers_is_no_plan_of_the_planners(bench: Bench) -> None:
    priced = bench.planner.find(KIMI, Wishes(n_gpu_layers=62, n_cpu_moe=61)).result()
    bench.planner.note_start(priced.settings)
    assert bench.planner.choices(KIMI).settings == priced.settings


@pytest.mark.parametrize("language", list(Language))
def test_words_name_the_bottleneck_and_where_its_rate_is_from(
    bench: Bench, language: Language
) -> None:
    bench.site = machine()
    priced = bench.planner.find(KIMI, Wishes()).result()
    assert priced.speed.decode_tps.bottleneck is Resource.RAM
    words = bench.planner.words(priced, language)
    if language is Language.EN:
        assert words.decode_limit.startswith("Limited by RAM bandwidth: 11.")
        assert "GB/s" in words.decode_limit
        assert words.prefill_limit.startswith("Limited by PCIe: 56")
        assert words.load_limit.startswith("584 GB from disk; ")
    assert words.headline
    assert len(words.reasons) == len(priced.plan.decisions)


def test_before_a_look_or_without_a_header_there_is_no_plan(bench: Bench) -> None:
    assert KIMI.facts is not None
    bare = dataclasses.replace(KIMI, facts=dataclasses.replace(KIMI.facts, geometry=None))
    with pytest.raises(PlanError) as caught:
        bench.planner.find(bare, Wishes()).result()
    assert caught.value.code is ErrorCode.PLAN_NO_HEADER
    bench.site = None
    settings = bench.planner.settings_for(KIMI)
    assert settings.n_gpu_layers == 0
    for ask in (bench.planner.price, bench.planner.arrange):
        arguments = (settings, KIMI) if ask == bench.planner.arrange else (
            settings, KIMI, Profile.SAFE,
        )  # fmt: skip
        with pytest.raises(PlanError):
            ask(*arguments)


def test_choices_for_a_server_are_remembered(bench: Bench) -> None:
    begin = plain_settings(KIMI, EngineKind.VLLM, None)
    served = LoadPlanner(
        DeskPool(Desk()),  # type: ignore[arg-type]
        bench.store,
        machine=lambda: TWO,
        begin=lambda _: begin,
        uses_gpus=lambda _: True,
    )
    special = VllmSettings(wishes=ServerWishes(split=Split(tensor=4)), served_name="kimi")
    served.remember(KIMI, PlanChoices(Wishes(), dataclasses.replace(begin, server=special)))
    assert served.settings_for(KIMI).server == special


def test_a_remembered_context_is_the_users(bench: Bench) -> None:
    bench.store.update(
        lambda s: dataclasses.replace(
            s,
            engine=dataclasses.replace(
                s.engine, loads={KIMI.id: {"mode": "auto", "context": 262_144, "n_threads": 0}}
            ),
        )
    )
    bench.site = machine(gpus=(gpu(0, 24),), memory=memory(400))
    assert bench.planner.settings_for(KIMI).context == 262_144
    assert bench.planner.find(KIMI, Wishes(context=262_144)).result().plan.fit is not Fit.IN_VRAM
    assert "mode" not in entry_of(bench.planner.settings_for(KIMI))
