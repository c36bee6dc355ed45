"""Steps, ranges and families of the Plan page's controls."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.ui.plan import choices
from tests.support import scripted_data
from tests.support.measured import model_facts

KIMI = model_facts("kimi-k2.6.q4_x")


def test_quantizations_of_one_model_are_one_family(tmp_path: Path):
    small = scripted_data.kimi_model(tmp_path, "UD-Q2_K_XL", 340)
    large = scripted_data.kimi_model(tmp_path, "UD-Q4_K_XL", 584)
    starter = scripted_data.starter_model(tmp_path)
    wrecks = (scripted_data.partial_model(tmp_path), scripted_data.broken_model(tmp_path))

    found = choices.families((small, starter, large, *wrecks))

    assert [(family.name, family.models) for family in found] == [
        ("Kimi K2.6", (large, small)),
        ("Gemma 3 270M", (starter,)),
    ]


def test_a_model_without_a_header_cannot_be_planned(tmp_path: Path):
    model = dataclasses.replace(scripted_data.starter_model(tmp_path), facts=None)
    assert choices.families((model,)) == ()


def test_context_runs_up_to_what_the_model_was_trained_for():
    steps = choices.context_steps(262_144, 131_072)
    assert steps[0] == 4096
    assert steps[-1] == 262_144
    assert {8192, 65_536, 131_072, 163_840} <= set(steps)


def test_small_models_get_small_steps():
    assert choices.context_steps(2048, 1024) == (512, 1024, 2048)


@given(st.integers(1, 2_000_000), st.integers(1, 2_000_000))
def test_every_context_can_be_shown(context_train: int, current: int):
    steps = choices.context_steps(context_train, current)
    assert current in steps
    assert context_train in steps
    assert list(steps) == sorted(set(steps))
    assert steps[-1] == max(context_train, current)


def test_an_unknown_training_length_still_gives_a_range():
    assert choices.context_steps(0, 4096)[-1] == 131_072


@given(st.integers(1, 2_000_000), st.integers(1, 2_000_000))
def test_ticks_are_few_and_name_both_ends(context_train: int, current: int):
    steps = choices.context_steps(context_train, current)
    ticks = choices.context_ticks(steps)
    assert ticks[0] == (0, steps[0])
    assert ticks[-1] == (len(steps) - 1, steps[-1])
    assert len(ticks) <= 8
    assert all(steps[place] == step for place, step in ticks)


def test_ticks_of_kimi_are_the_powers_of_two():
    steps = choices.context_steps(262_144, 131_072)
    named = [step // 1024 for _, step in choices.context_ticks(steps)]
    assert named == [4, 8, 16, 32, 64, 128, 256]


def test_block_0_of_kimi_has_no_experts():
    blocks = choices.expert_blocks(KIMI)
    assert blocks == tuple(range(1, 61))
    assert choices.n_cpu_moe_for(blocks, 0) == 0
    assert choices.n_cpu_moe_for(blocks, 1) == 2
    assert choices.n_cpu_moe_for(blocks, 60) == 61


@given(st.integers(0, 60))
def test_a_count_of_blocks_covers_so_many_expert_layers(layers: int):
    blocks = choices.expert_blocks(KIMI)
    assert sum(block < choices.n_cpu_moe_for(blocks, layers) for block in blocks) == layers


def test_dense_models_have_no_expert_layers():
    facts = model_facts("llama-3.1-8b.q4_k_m")
    assert choices.expert_blocks(facts) == ()
    assert choices.n_cpu_moe_for((), 3) == 0


@pytest.mark.parametrize(("asked", "shown"), [(-1, 62), (0, 0), (40, 40), (99, 62)])
def test_gpu_layers_stay_in_range(asked: int, shown: int):
    settings = LoadSettings(Path("m.gguf"), n_gpu_layers=asked)
    assert choices.gpu_layers(settings, KIMI) == shown
