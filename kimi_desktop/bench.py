"""The verb ``bench``: one variable changed value by value, or 1, 2, 4, ... users at once.

Everything is measured through the app's own engine service and client, so that what is found is
what the app will do. Runs are kept in the notebook like any other. Main thread.
"""

from __future__ import annotations

import asyncio
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kimi_desktop.backends.types import ChatRequest, LoadSettings, Sampling
from kimi_desktop.base.errors import ErrorCode, KimiError, Param, PlanError
from kimi_desktop.core import Core

PROMPT_TOKENS = 512
ANSWER_TOKENS = 64
ROUNDS = 2
MOST = 10_000_000
"""Of any number that can be typed."""
WORD = " alpha"
SAMPLE_WORDS = 64
"""The number before the words keeps prompts apart, so that no cache answers for them."""
VARIABLES = {
    "threads": "n_threads",
    "ubatch": "n_ubatch",
    "cache": "cache_type",
    "experts": "n_cpu_moe",
    "layers": "n_gpu_layers",
    "context": "context",
}


@dataclass(frozen=True, slots=True)
class BenchPoint:
    """One value, or one number of users."""

    label: str
    """"threads=4", "users=8"."""
    prefill_tps: float | None = None
    decode_tps: float | None = None
    """Per user."""
    total_tps: float | None = None
    """Of all users together."""
    first_token_s: float | None = None
    """Median of the users."""
    load_s: float | None = None
    error: str = ""
    """Why there is no figure, in words."""


@dataclass(frozen=True, slots=True)
class _Answer:
    prompt_tokens: int
    tokens: int
    first_token_s: float
    decode_tps: float


def vary(
    core: Core,
    settings: LoadSettings,
    variable: str,
    values: Sequence[str],
    explain: Callable[[KimiError], str],
) -> Iterator[BenchPoint]:
    """Start the engine with each value in turn and measure one user.

    Args:
        core: the services.
        settings: everything that stays.
        variable: one of ``VARIABLES``.
        values: as they were typed.
        explain: a failure in words.

    Raises:
        PlanError: PLAN_BAD_WISH, a value that the variable cannot have.
    """
    changes = [changed(settings, variable, value) for value in values]
    for value, change in zip(values, changes, strict=True):
        label = f"{variable}={value}"
        began = time.monotonic()
        try:
            core.engine.start(change).result()
            load_s = time.monotonic() - began
            answers = [_ask_together(core, 1, number)[0] for number in range(ROUNDS)]
        except KimiError as error:
            yield BenchPoint(label, error=explain(error))
            continue
        yield dataclasses.replace(_point(label, answers, 1, None), load_s=load_s)
    core.engine.stop().result()


def users(
    core: Core,
    settings: LoadSettings,
    counts: Sequence[int],
    explain: Callable[[KimiError], str],
) -> Iterator[BenchPoint]:
    """One engine with as many slots as the most users need; then more and more at once.

    Args:
        core: the services.
        settings: as they would be for one user; the context is of each.
        counts: how many at once.
        explain: a failure in words.
    """
    most = max(counts)
    room = max(settings.context // max(settings.n_parallel, 1), PROMPT_TOKENS + ANSWER_TOKENS + 64)
    many = dataclasses.replace(settings, n_parallel=most, context=room * most)
    try:
        core.engine.start(many).result()
    except KimiError as error:
        yield BenchPoint(f"users={most}", error=explain(error))
        return
    _ask_together(core, 1, 0)  # the first answer pays for what is set up once
    for count in counts:
        label = f"users={count}"
        began = time.monotonic()
        try:
            answers = _ask_together(core, count, count)
        except KimiError as error:
            yield BenchPoint(label, error=explain(error))
            continue
        yield _point(label, answers, count, time.monotonic() - began)
    core.engine.stop().result()


def changed(settings: LoadSettings, variable: str, value: str) -> LoadSettings:
    """The settings with one of them changed.

    Raises:
        PlanError: PLAN_BAD_WISH.
    """
    name = VARIABLES[variable]
    found: Any = value
    if name != "cache_type":
        least = 0 if name in ("n_cpu_moe", "n_gpu_layers") else 1
        is_number = value.isascii() and value.isdigit() and len(value) <= len(str(MOST))
        if not is_number or not least <= int(value) <= MOST:
            params: dict[str, Param] = {
                "name": variable,
                "value": value,
                "least": least,
                "most": MOST,
            }
            raise PlanError(ErrorCode.PLAN_BAD_WISH, params)
        found = int(value)
    if name in ("n_cpu_moe", "n_gpu_layers"):  # placed by number: rules of a found plan would win
        return dataclasses.replace(settings, overrides=(), tensor_split=(), **{name: found})
    if name == "n_ubatch":
        return dataclasses.replace(settings, n_ubatch=found, n_batch=max(found, settings.n_batch))
    return dataclasses.replace(settings, **{name: found})


def _point(label: str, answers: Sequence[_Answer], count: int, took_s: float | None) -> BenchPoint:
    prefill = [one.prompt_tokens / one.first_token_s for one in answers if one.first_token_s > 0]
    tokens = sum(one.tokens for one in answers)
    return BenchPoint(
        label,
        prefill_tps=statistics.median(prefill) if prefill and count == 1 else None,
        decode_tps=statistics.median(one.decode_tps for one in answers),
        total_tps=tokens / took_s if took_s else None,
        first_token_s=statistics.median(one.first_token_s for one in answers),
    )


def _ask_together(core: Core, count: int, salt: int) -> list[_Answer]:
    """``count`` prompts that have nothing in common, at once.

    Raises:
        KimiError: one of them failed.
    """

    async def all_of_them() -> list[_Answer]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_ask(core, salt * 1000 + n)) for n in range(count)]
        return [task.result() for task in tasks]

    try:
        return core.io.submit(all_of_them).result()
    except* KimiError as failed:
        raise _first(failed) from failed


def _first(group: BaseExceptionGroup[KimiError]) -> KimiError:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, KimiError)
    return found


def _request(number: int, words: int) -> ChatRequest:
    text = f"{number}:" + WORD * words
    return ChatRequest((("user", text),), Sampling(temperature=0.0, max_tokens=ANSWER_TOKENS))


async def _ask(core: Core, number: int) -> _Answer:
    client = core.engine.client()
    if client is None:
        raise PlanError(ErrorCode.CHAT_NO_ENGINE, {"detail": "bench"})
    # Vocabularies differ: some words are a token here and six there.
    counted = await client.count_tokens(_request(number, SAMPLE_WORDS))
    per_word = (counted or SAMPLE_WORDS) / SAMPLE_WORDS
    request = _request(number, max(int(PROMPT_TOKENS / per_word), 1))
    began = time.monotonic()
    first = last = None
    tokens, prompt = 0, PROMPT_TOKENS
    async for delta in client.stream_chat(request):
        if delta.content or delta.reasoning:
            last = time.monotonic()
            first = first or last
            tokens += 1
        if delta.usage is not None:
            tokens = delta.usage.completion_tokens or tokens
            prompt = delta.usage.prompt_tokens or prompt
    first = first or time.monotonic()
    took = (last or first) - first
    return _Answer(prompt, tokens, first - began, (tokens - 1) / took if took > 0 else 0.0)
