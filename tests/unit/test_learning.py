"""What an answer measured, and what it is too short to say."""

from __future__ import annotations

import dataclasses

import pytest

from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.learning import kept_tokens, run_of
from tests.support.speeds import hybrid

STATS = AnswerStats(
    tokens=400, decode_tokens_per_s=9.5, first_token_s=4.0, prompt_tokens=2_000, cached_tokens=400
)


def test_an_answer_is_a_run() -> None:
    run = run_of(STATS, hybrid())
    assert run.setup == hybrid()
    assert run.decode_tps == 9.5
    assert run.prefill_tps == pytest.approx(400)
    assert run.prompt_tokens == 1_600
    assert kept_tokens(STATS) == 2_200


@pytest.mark.parametrize(
    "changes",
    [
        {"cached_tokens": 1_960},
        {"cached_tokens": 2_000},
        {"first_token_s": None},
        {"first_token_s": 0.0},
    ],
)
def test_a_prompt_from_the_cache_measures_nothing(changes: dict[str, object]) -> None:
    run = run_of(dataclasses.replace(STATS, **changes), hybrid())  # type: ignore[arg-type]
    assert run.prefill_tps is None
    assert run.prompt_tokens == 0
    assert run.decode_tps == 9.5


def test_a_short_or_broken_answer_measures_nothing() -> None:
    assert run_of(dataclasses.replace(STATS, tokens=12), hybrid()).decode_tps is None
    assert run_of(dataclasses.replace(STATS, decode_tokens_per_s=0.0), hybrid()).decode_tps is None
