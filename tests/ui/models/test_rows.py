"""Rows of the library: companions and their models, the filter, state words."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from kimi_desktop.backends.types import EngineState, EngineStatus, LoadSettings
from kimi_desktop.models.hash_record import Change
from kimi_desktop.models.types import CompanionKind, LocalModel, ModelState
from kimi_desktop.ui.models import rows
from kimi_desktop.ui.models.row_painter import row_height
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support import scripted_data

STOPPED = EngineStatus(EngineState.STOPPED)


def companion(path: Path, kind: CompanionKind = CompanionKind.PROJECTOR) -> LocalModel:
    return LocalModel(
        id=str(path),
        path=path,
        title=path.stem,
        size_bytes=900_000_000,
        parts_present=1,
        parts_total=1,
        state=ModelState.COMPANION,
        facts=None,
        problem=None,
        companion=kind,
    )


def test_a_projector_belongs_to_the_quantizations_below_its_folder(tmp_path):
    """As a repository has it: the projector beside one folder per quantization."""
    one, two = (scripted_data.kimi_model(tmp_path, q) for q in ("Q2_K", "Q4_X"))
    projector = companion(tmp_path / "mmproj-F16.gguf")

    found = rows.rows_of((projector, one, two))

    assert [row.model for row in found] == [one, two]
    assert found[0].companions == found[1].companions == (projector,)
    assert found[0].stands_for(projector.id)
    assert rows.note_of(found[0]) == "with projector"
    assert rows.total_bytes(found[0]) == one.size_bytes + projector.size_bytes


def test_in_a_mixed_folder_only_its_name_tells_whose_it_is(tmp_path):
    kimi = dataclasses.replace(scripted_data.kimi_model(tmp_path), path=tmp_path / "k.gguf")
    other = scripted_data.starter_model(tmp_path)
    named = companion(tmp_path / "mmproj-Kimi-K2_6-f16.gguf")
    nameless = companion(tmp_path / "mmproj-f16.gguf")

    found = rows.rows_of((kimi, other, named, nameless))

    assert found[0].companions == (named,)
    assert found[1].companions == ()
    assert [row.model for row in found] == [kimi, other, nameless]
    assert rows.note_of(found[2]) == ""


def test_companions_elsewhere_stay_alone(tmp_path):
    kimi = scripted_data.kimi_model(tmp_path / "a")
    lone = companion(tmp_path / "b" / "imatrix.gguf", CompanionKind.IMPORTANCE_MATRIX)
    found = rows.rows_of((kimi, lone))
    assert found[0].companions == ()
    assert found[1].model is lone


def test_companions_on_a_drive_that_is_gone_stay_with_their_model(tmp_path):
    kimi = dataclasses.replace(scripted_data.kimi_model(tmp_path), state=ModelState.MISSING)
    projector = companion(tmp_path / "mmproj-F16.gguf")
    projector = dataclasses.replace(projector, state=ModelState.MISSING)
    (row,) = rows.rows_of((projector, kimi))
    assert row.companions == (projector,)


@pytest.mark.parametrize(
    ("query", "found"),
    [("", True), ("kimi", True), ("KIMI q4", True), ("deepseek2", True), ("gemma", False)],
)
def test_the_filter_looks_at_names_quantization_and_architecture(tmp_path, query, found):
    (row,) = rows.rows_of((scripted_data.kimi_model(tmp_path),))
    assert rows.matches(row, query) is found


def test_states_have_a_word_and_a_shape(tmp_path, qapp):
    models = (
        scripted_data.kimi_model(tmp_path),
        scripted_data.partial_model(tmp_path),
        scripted_data.broken_model(tmp_path),
        companion(tmp_path / "x" / "lora.gguf", CompanionKind.ADAPTER),
    )
    words = [rows.state_of(row, STOPPED) for row in rows.rows_of(models)]
    assert words == [
        (Verdict.OK, "Ready"),
        (Verdict.WARN, "Incomplete"),
        (Verdict.BAD, "Damaged"),
        (Verdict.PLAIN, "Adapter"),
    ]
    assert [rows.companion_word(kind) for kind in CompanionKind] == [
        "Projector",
        "Adapter",
        "imatrix",
        "Vocabulary",
    ]
    assert len({rows.companion_sentence(kind) for kind in CompanionKind}) == len(CompanionKind)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        (EngineState.LOADING, "Loading"),
        (EngineState.READY, "Running"),
        (EngineState.GENERATING, "Running"),
        (EngineState.STOPPED, "Ready"),
        (EngineState.FAILED, "Ready"),
    ],
)
def test_the_loaded_model_says_so(tmp_path, qapp, state, word):
    model = scripted_data.kimi_model(tmp_path)
    status = EngineStatus(state, settings=LoadSettings(model.path))
    (row,) = rows.rows_of((model,))
    assert rows.state_of(row, status)[1] == word


def test_a_model_that_is_not_what_was_proven_says_so(tmp_path, qapp):
    whole = scripted_data.kimi_model(tmp_path)
    (plain,) = rows.rows_of((whole,))
    words = {}
    for change in Change:
        (row,) = rows.rows_of((dataclasses.replace(whole, change=change),))
        words[change] = (*rows.state_of(row, STOPPED), rows.short_problem(row.model))
        assert row_height(row) > row_height(plain)
    assert words[Change.TOUCHED][:2] == (Verdict.WARN, "Changed")
    assert "verify it again" in words[Change.TOUCHED][2]
    assert words[Change.ALTERED][:2] == (Verdict.BAD, "Altered")
    assert "repair" in words[Change.ALTERED][2]


def test_a_problem_names_the_field_without_the_whole_path(tmp_path, qapp):
    broken = scripted_data.broken_model(tmp_path)
    text = rows.short_problem(broken)
    assert "general.architecture" in text
    assert "notes.gguf" in text
    assert str(tmp_path) not in text
    assert str(tmp_path) in rows.problem_of(broken)[0]
    assert rows.problem_of(scripted_data.starter_model(tmp_path)) == ("", "")
