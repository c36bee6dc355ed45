"""An answer as a finished run: what the planner learns the speed of this machine from. Pure."""

from __future__ import annotations

from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.planner.speed_types import FinishedRun, SpeedInput

LEAST_DECODED = 32
"""Tokens of an answer whose speed is more than chance."""
LEAST_PROMPT = 64
"""New tokens of a prompt; the rest was in the cache already."""


def run_of(stats: AnswerStats, setup: SpeedInput) -> FinishedRun:
    """What an answer measured; parts that are too short measured nothing.

    Args:
        stats: of the whole answer.
        setup: what the engine read and computed for a token of it.
    """
    fresh = stats.prompt_tokens - stats.cached_tokens
    decode = stats.decode_tokens_per_s if stats.tokens >= LEAST_DECODED else None
    prefill = None
    if stats.first_token_s and fresh >= LEAST_PROMPT:
        prefill = fresh / stats.first_token_s
    return FinishedRun(
        setup,
        decode_tps=decode or None,
        prefill_tps=prefill,
        prompt_tokens=fresh if prefill else 0,
    )


def kept_tokens(stats: AnswerStats) -> int:
    """What the cache held on average while the answer was written."""
    return stats.prompt_tokens + stats.tokens // 2
