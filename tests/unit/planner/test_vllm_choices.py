"""Value by value: what of a split can be chosen beside the rest, what it means, and why not."""

from __future__ import annotations

import json
from functools import cache

import pytest

from kimi_desktop.base.assets import asset
from kimi_desktop.base.units import MIB
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner.vllm_choices import (
    AXES,
    Choice,
    SplitChoices,
    problem_of,
    split_choices,
    with_axis,
)
from kimi_desktop.planner.vllm_presets import presets_for
from kimi_desktop.planner.vllm_rules import check_split
from kimi_desktop.planner.vllm_search import plan_server
from kimi_desktop.planner.vllm_types import CacheFormat, ServerProblem, ServerWishes, Split
from kimi_desktop.planner.vllm_weights import VllmModel
from tests.support import hf_shapes
from tests.support.planned_machines import GIB, machine

H200 = 143_771 * MIB / GIB
EIGHT = machine(*[H200] * 8)
ANY, ALL = ServerWishes(), Split(tensor=8)


@cache
def kimi() -> VllmModel:
    return hf_shapes.model_of(hf_shapes.kimi_k25(), "Kimi K2.6")


def found(wishes: ServerWishes = ANY, split: Split = ALL) -> SplitChoices:
    return split_choices(kimi(), EIGHT, wishes, split)


def kinds(choices: tuple[Choice, ...]) -> dict[int, ServerProblem | None]:
    return {each.value: each.problem.kind if each.problem else None for each in choices}


def test_each_value_that_is_not_possible_says_why() -> None:
    sizes = kinds(found().tensor)
    assert [size for size, problem in sizes.items() if problem is None] == [1, 2, 4, 8]
    assert {sizes[size] for size in (3, 5, 6, 7)} == {ServerProblem.HEADS}
    assert kinds(found().decode_context)[3] is ServerProblem.DECODE_CONTEXT
    small = machine(*[80] * 8)
    everything = split_choices(kimi(), small, ANY, Split(tensor=8))
    assert kinds(everything.tensor)[8] is ServerProblem.WEIGHTS


@pytest.mark.parametrize("axis", AXES)
def test_every_offered_value_means_a_split_that_works(axis: str) -> None:
    for choice in getattr(found(), axis):
        assert getattr(choice.split, axis) == choice.value
        if choice.problem is None:
            assert check_split(kimi().config, choice.split, 8) is None
            assert plan_server(kimi(), EIGHT, ServerWishes(split=choice.split, context=4096)).fits


def test_the_rest_gives_way_as_little_as_it_must() -> None:
    choices = found()
    assert {c.value: c.split for c in choices.tensor}[4] == Split(tensor=4, pipeline=2)
    assert {c.value: c.split for c in choices.pipeline}[2] == Split(tensor=4, pipeline=2)
    (two,) = (c for c in choices.data if c.value == 2)
    assert (two.split.tensor, two.split.data, two.split.experts) == (4, 2, True)
    kept = found(split=Split(tensor=8, decode_context=8))
    assert {c.value: c.split for c in kept.tensor}[8].decode_context == 8
    assert {c.value: c.split for c in kept.tensor}[4].decode_context == 1


def test_experts_can_be_dealt_out_where_there_are_some() -> None:
    assert found().experts
    assert found().experts_problem is None
    dense = hf_shapes.model_of(hf_shapes.qwen3_8b(), "Qwen3-8B")
    assert not split_choices(dense, EIGHT, ANY, Split(tensor=8)).experts
    assert with_axis(Split(tensor=2, experts=True), "tensor", 1) == Split()


def test_a_context_that_nobody_ruled_out_may_get_shorter() -> None:
    four = machine(*[H200] * 5)
    wanted = ServerWishes(context=262_144)
    way = Split(tensor=4)
    asked = problem_of(kimi(), four, wanted, way)
    assert asked is not None
    open_ = problem_of(hf_shapes.model_of(hf_shapes.kimi_linear(), "x"), EIGHT, ANY, Split(8))
    assert open_ is None


def test_with_many_gpus_powers_of_two_are_shown() -> None:
    many = machine(*[H200] * 16)
    sizes = split_choices(kimi(), many, ANY, Split(tensor=8)).tensor
    assert [choice.value for choice in sizes] == [1, 2, 4, 8, 16]


# presets

RAW = json.loads((asset("engines") / "vllm-presets.json").read_text(encoding="utf-8"))


def test_every_preset_is_for_a_model_of_the_catalogue() -> None:
    ids = {model.id for model in shipped_catalogue().models}
    for entry in RAW["presets"]:
        assert any(presets_for({"presets": [entry]}, each) for each in ids), entry["id"]
    assert presets_for(RAW, "") == ()
    assert presets_for(RAW, "qwen3") == ()


def test_a_preset_is_resolved_for_the_machine() -> None:
    by_id = {preset.id: preset for preset in presets_for(RAW, "kimi-k2.6")}
    assert by_id["makers"].wishes(ANY, 8).split == Split(tensor=8)
    longest = by_id["long"].wishes(ServerWishes(context=9), 4)
    assert longest.split == Split(tensor=4, decode_context=4)
    assert (longest.cache, longest.context) == (CacheFormat.FP8, 9)
    assert by_id["users"].wishes(ANY, 8).split == Split(data=8, experts=True)
    assert by_id["text"].wishes(ANY, 8) == ServerWishes(text_only=True)
    (thinking,) = (p for p in presets_for(RAW, "kimi-k2-thinking") if p.id == "makers")
    assert thinking.wishes(ANY, 8).n_batched_tokens == 32_768
    assert thinking.title.en
    assert thinking.note.zh
