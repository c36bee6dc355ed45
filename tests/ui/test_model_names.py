"""Models that look alike are told apart."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.models.types import LocalModel
from kimi_desktop.ui.model_names import SHORT, shortened, telling_names
from tests.support import scripted_data


def at(path: str, quantization: str = "Q4_K_M") -> LocalModel:
    model = scripted_data.kimi_model(Path("/m"), quantization)
    return dataclasses.replace(model, id=path, path=Path(path))


def test_models_that_differ_need_nothing() -> None:
    assert telling_names([at("/m/a.gguf"), at("/m/b.gguf", "Q2_K")]) == {}
    assert telling_names([at("/m/a.gguf"), scripted_data.starter_model(Path("/m"))]) == {}
    assert telling_names([]) == {}


def test_files_of_other_names() -> None:
    names = telling_names([at("/m/a-00001-of-00003.gguf"), at("/m/b.gguf"), at("/m/c", "Q2_K")])
    assert names == {"/m/a-00001-of-00003.gguf": "a", "/m/b.gguf": "b"}


def test_files_of_one_name_in_other_folders() -> None:
    names = telling_names([at("/m/one/x/k.gguf"), at("/m/two/x/k.gguf")])
    assert names == {"/m/one/x/k.gguf": "one", "/m/two/x/k.gguf": "two"}
    names = telling_names([at("/m/k.gguf"), at("/m/two/k.gguf")])
    assert names == {"/m/k.gguf": "m", "/m/two/k.gguf": "two"}


@given(st.sets(st.from_regex(r"/[ab]/[ab]/[ab]/[ab]\.gguf", fullmatch=True), min_size=2))
def test_each_is_told_from_every_other(paths: set[str]) -> None:
    names = telling_names([at(path) for path in paths])
    assert set(names) == paths
    assert len(set(names.values())) == len(paths)


def test_long_names_keep_both_ends() -> None:
    assert shortened("short") == "short"
    assert shortened("Kimi-K2.6-Q4_K_M-imatrix-b") == "Kimi-K2.…imatrix-b"


@given(st.text())
def test_a_short_name_is_short(name: str) -> None:
    assert len(shortened(name)) <= SHORT
