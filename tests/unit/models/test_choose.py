"""What a person types names one model, or the answer says which ones there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.models.choose import choose_model
from kimi_desktop.models.types import (
    CompanionKind,
    LocalModel,
    ModelFacts,
    ModelState,
    default_model,
)


def model(name: str, quantization: str = "Q4_K_M", **values) -> LocalModel:
    path = Path(f"/models/{name.replace(' ', '-')}-{quantization}.gguf")
    facts = ModelFacts(
        name=name,
        architecture="deepseek2",
        quantization=quantization,
        parameter_count=1,
        n_layer=1,
        n_expert=0,
        n_expert_used=0,
        context_train=1,
        weights_bytes=1,
        kv_bytes_per_token=1,
        chat_template=None,
        has_thinking=False,
    )
    row = {
        "id": str(path),
        "path": path,
        "title": name,
        "size_bytes": 1,
        "parts_present": 1,
        "parts_total": 1,
        "state": ModelState.READY,
        "facts": facts,
        "problem": None,
    }
    return LocalModel(**{**row, **values})


K2 = model("Kimi K2.6", "UD-Q4_K_XL")
K2_SMALL = model("Kimi K2.6", "UD-Q2_K_XL")
GEMMA = model("Gemma 3 270m", is_starter=True)
EYE = model("Eye", state=ModelState.COMPANION, companion=CompanionKind.PROJECTOR)
BROKEN = model(
    "Broken",
    state=ModelState.BROKEN,
    problem=ModelError(ErrorCode.MODEL_NOT_GGUF, {"path": "x", "found": "y"}),
)
ALL = (K2, K2_SMALL, GEMMA, EYE, BROKEN)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (str(K2.path), K2),
        ("Gemma 3 270m", GEMMA),
        ("gemma", GEMMA),
        ("kimi q2_k", K2_SMALL),
        ("Kimi K2.6 UD-Q4_K_XL", K2),
        (GEMMA.path.name, GEMMA),
    ],
)
def test_one_is_meant(wanted: str, found: LocalModel) -> None:
    assert choose_model(ALL, wanted) is found


def test_several_fit() -> None:
    with pytest.raises(ModelError) as caught:
        choose_model(ALL, "kimi")
    assert caught.value.code is ErrorCode.MODEL_AMBIGUOUS
    assert K2.path.name in str(caught.value.params["names"])
    assert K2_SMALL.path.name in str(caught.value.params["names"])


@pytest.mark.parametrize("wanted", ["gema 3 270", "completely different", "eye"])
def test_an_unknown_name_is_told_the_known_ones(wanted: str) -> None:
    with pytest.raises(ModelError) as caught:
        choose_model(ALL, wanted)
    assert caught.value.code is ErrorCode.MODEL_UNKNOWN
    assert GEMMA.path.name in str(caught.value.params["near"])


def test_a_broken_one_says_why() -> None:
    with pytest.raises(ModelError) as caught:
        choose_model(ALL, "broken")
    assert caught.value.code is ErrorCode.MODEL_NOT_GGUF


def test_an_empty_library() -> None:
    with pytest.raises(ModelError) as caught:
        choose_model((EYE,), "kimi")
    assert caught.value.code is ErrorCode.NO_MODEL


def test_what_start_starts() -> None:
    assert default_model(ALL, GEMMA.id) is GEMMA
    assert default_model(ALL, "") is K2
    assert default_model((GEMMA, EYE, BROKEN), "gone") is GEMMA
    assert default_model((EYE, BROKEN), "") is None
