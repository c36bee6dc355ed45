"""Users at once: which measurement goes beside another, and the rows of their table."""

from __future__ import annotations

import dataclasses

import pytest

from kimi_desktop.monitor.experiment_types import Experiment, Point, Variable
from kimi_desktop.monitor.users import other_engine, users_rows

LLAMA = Experiment(1, 1.0, "Kimi", "llama.cpp b1", Variable.USERS, (Point("1"), Point("16")))
LLAMA_2 = dataclasses.replace(LLAMA, id=2, engine="llama.cpp b2")
VLLM = Experiment(3, 3.0, "Kimi", "vLLM 0.24.0", Variable.USERS, (Point("2"), Point("1")))
ELSEWHERE = dataclasses.replace(VLLM, id=4, title="Kimi in another format")
THREADS = dataclasses.replace(VLLM, id=5, variable=Variable.THREADS)


@pytest.mark.parametrize(
    ("kept", "wanted", "found"),
    [
        ((THREADS, LLAMA_2, VLLM, LLAMA), "", VLLM),
        ((ELSEWHERE, VLLM), "", VLLM),  # of the same model before a newer one
        ((THREADS, ELSEWHERE), "", ELSEWHERE),
        ((LLAMA_2, LLAMA), "", None),  # another version is no other engine
        ((VLLM, LLAMA_2), "LLAMA", LLAMA_2),  # but it can be asked for
        ((VLLM,), "sglang", None),
    ],
)
def test_what_goes_beside(
    kept: tuple[Experiment, ...], wanted: str, found: Experiment | None
) -> None:
    assert other_engine(LLAMA, kept, wanted) == found


def test_a_row_for_each_number_that_any_of_them_has() -> None:
    rows = users_rows([LLAMA, VLLM])
    assert rows == (
        ("1", (Point("1"), Point("1"))),
        ("2", (None, Point("2"))),
        ("16", (Point("16"), None)),
    )
