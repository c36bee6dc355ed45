"""Load settings in the settings file: everything comes back, nonsense does not."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.remembered import PLACES, changes_of, entry_of
from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.planner.plan_types import LoadMode, Numa
from kimi_desktop.planner.types import HOST

BEGIN = LoadSettings(Path("m.gguf"))
COUNT = st.integers(0, 2**31)

SETTINGS = st.builds(
    LoadSettings,
    model_path=st.just(BEGIN.model_path),
    n_gpu_layers=COUNT,
    n_cpu_moe=COUNT,
    gpus=st.none() | st.lists(st.integers(0, 7), unique=True).map(tuple),
    tensor_split=st.lists(st.integers(0, 99).map(float), max_size=8).map(tuple),
    overrides=st.lists(st.tuples(st.text(), st.just(HOST)), max_size=3).map(tuple),
    context=COUNT,
    cache_type=st.sampled_from(["f16", "q8_0"]),
    n_batch=COUNT,
    n_ubatch=COUNT,
    n_threads=st.none() | st.integers(1, 512),
    n_parallel=COUNT,
    load_mode=st.none() | st.sampled_from(LoadMode),
    numa=st.sampled_from(Numa),
    offload_ops=st.booleans(),
    repack=st.booleans(),
)


@given(SETTINGS)
def test_what_is_kept_comes_back(settings: LoadSettings) -> None:
    entry = entry_of(settings)
    assert all(isinstance(value, int | str) for value in entry.values())
    assert dataclasses.replace(BEGIN, **changes_of(entry, 8)) == settings


@given(
    st.dictionaries(
        st.sampled_from([field.name for field in dataclasses.fields(LoadSettings)]),
        st.integers() | st.text() | st.sampled_from(["[[1]]", "[-1]", '["a"]', "{}", "null"]),
    )
)
def test_whatever_the_file_says_it_makes_settings(entry: dict[str, Any]) -> None:
    kept = dataclasses.replace(BEGIN, **changes_of(entry, 2))
    assert dataclasses.replace(BEGIN, **changes_of(entry_of(kept), 2)) == kept
    assert kept.model_path == BEGIN.model_path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("context", -5),
        ("n_batch", "many"),
        ("n_threads", True),
        ("cache_type", 7),
        ("load_mode", "fast"),
        ("numa", 3),
        ("repack", 2),
        ("tensor_split", "[1, -1]"),
        ("tensor_split", '["a"]'),
        ("overrides", '[["blk", "CPU"]]'),
        ("overrides", "[[1, 2]]"),
        ("overrides", "blk=CPU"),
        ("overrides", '[["blk", -2]]'),
        ("overrides", '[["blk", 8]]'),
        ("extra", "--host x"),
    ],
)
def test_nonsense_is_passed_over(name: str, value: int | str) -> None:
    assert changes_of({name: value, "context": 7} | {name: value}, 8) in ({"context": 7}, {})


def test_a_placement_on_gpus_that_are_gone_is_forgotten_as_a_whole() -> None:
    entry = entry_of(
        dataclasses.replace(BEGIN, gpus=(0, 3), tensor_split=(1.0, 2.0), n_gpu_layers=9, context=8)
    )
    assert not PLACES.isdisjoint(changes_of(entry, 4))
    kept = changes_of(entry, 2)
    assert PLACES.isdisjoint(kept)
    assert kept["context"] == 8


def test_a_rule_names_one_of_the_gpus_in_use() -> None:
    settings = dataclasses.replace(BEGIN, gpus=(3, 1), overrides=(("a", 1), ("b", HOST)))
    assert dataclasses.replace(BEGIN, **changes_of(entry_of(settings), 4)) == settings
    stray = dataclasses.replace(settings, overrides=(("a", 2),))
    assert PLACES.isdisjoint(changes_of(entry_of(stray), 4))
