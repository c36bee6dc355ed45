"""Measures one variable value by value, or 1, 2, 4, ... users at once. IO thread, one at a time.

Everything goes through the app's own engine service and client, so that what is found is what the
app will do. Every start is a run of the notebook like any other; the settings that are tried are
not remembered for the model.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from kimi_desktop.backends.client import EngineClient
from kimi_desktop.backends.types import (
    SERVER_KINDS,
    ChatRequest,
    EngineState,
    EngineStatus,
    LoadSettings,
    Sampling,
)
from kimi_desktop.base.errors import (
    BackendError,
    ErrorCode,
    KimiError,
    MonitorError,
    Param,
    PlanError,
)
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.monitor.experiment_types import (
    Experiment,
    ExperimentProgressed,
    ExperimentWish,
    Point,
    Variable,
)
from kimi_desktop.monitor.notebook import Notebook

log = logging.getLogger(__name__)
T = TypeVar("T")

PROMPT_TOKENS = 512
ANSWER_TOKENS = 64
ROUNDS = 2
MOST = 10_000_000
"""Of any number that can be typed."""
MOST_USERS = 256
WORD = " alpha"
SAMPLE_WORDS = 64
"""The number before the words keeps prompts apart, so that no cache answers for them."""
CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
FIELDS = {
    Variable.THREADS: "n_threads",
    Variable.UBATCH: "n_ubatch",
    Variable.CACHE: "cache_type",
    Variable.EXPERTS: "n_cpu_moe",
    Variable.LAYERS: "n_gpu_layers",
    Variable.CONTEXT: "context",
}


class Engines(Protocol):
    """The part of the engine service that is used."""

    @property
    def status(self) -> EngineStatus:
        """Now."""

    def start(self, settings: LoadSettings, *, remember: bool = True) -> Operation[EngineStatus]:
        """Start it."""

    def stop(self) -> Operation[EngineStatus]:
        """End it."""

    def client(self) -> EngineClient | None:
        """To a running engine."""


@dataclass(frozen=True, slots=True)
class _Answer:
    prompt_tokens: int
    tokens: int
    first_token_s: float
    decode_tps: float


class Experiments:
    """``ui.bridge.ExperimentService``."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        engine: Engines,
        notebook: Notebook,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Join it. ``clock``: time.time()."""
        self._io = io
        self._bus = bus
        self._engine = engine
        self._notebook = notebook
        self._clock = clock
        self._is_running = False

    @property
    def is_running(self) -> bool:
        """Something is being measured: nobody else should ask the engine."""
        return self._is_running

    def run(self, wish: ExperimentWish) -> Operation[Experiment]:
        """Measure; afterwards the engine is as it was before. Cancelling keeps what was measured.

        Raises (from the operation):
            PlanError: PLAN_BAD_WISH, a value that the variable cannot have.
            MonitorError: EXPERIMENT_RUNNING, another one goes on.
        """
        return self._io.submit(lambda: self._run(wish))

    def kept(self) -> Operation[tuple[Experiment, ...]]:
        """Those that were measured, the newest first."""
        return self._notebook.experiments()

    async def _run(self, wish: ExperimentWish) -> Experiment:
        steps = settings_of(wish)
        if self._is_running:
            raise MonitorError(ErrorCode.EXPERIMENT_RUNNING)
        self._is_running = True
        before = self._engine.status
        found = Experiment(0, self._clock(), wish.title, "", wish.variable, ())
        try:
            by_users = wish.variable is Variable.USERS
            points = self._users(wish, found) if by_users else self._vary(wish, steps, found)
            async for point in points:
                name = self._engine.status.engine_name or found.engine
                found = dataclasses.replace(found, engine=name, points=(*found.points, point))
        finally:
            self._is_running = False
            try:
                await asyncio.shield(self._restore(before))
            finally:
                if any(point.error is None for point in found.points):
                    found = await asyncio.shield(self._keep(found))
                self._bus.publish(ExperimentProgressed(found, ""))
        return found

    async def _restore(self, before: EngineStatus) -> None:
        running = before.state in (EngineState.READY, EngineState.GENERATING)
        try:
            if running and before.settings is not None:
                await _ended(self._engine.start(before.settings))
            else:
                await _ended(self._engine.stop())
        except KimiError:
            log.exception("the engine could not be brought back after an experiment")

    async def _keep(self, found: Experiment) -> Experiment:
        try:
            return await self._io.in_pool(self._notebook.add_experiment, found)
        except sqlite3.Error:  # it is on the screen all the same
            log.exception("an experiment could not be kept")
            return found

    async def _vary(
        self, wish: ExperimentWish, steps: Sequence[LoadSettings], found: Experiment
    ) -> AsyncIterator[Point]:
        for value, settings in zip(wish.values, steps, strict=True):
            found = self._say(found, value)
            began = time.monotonic()
            try:
                await _ended(self._engine.start(settings, remember=False))
                load_s = time.monotonic() - began
                answers = [(await self._ask_together(1, number))[0] for number in range(ROUNDS)]
            except KimiError as error:
                point = Point(value, error=error)
            else:
                point = dataclasses.replace(_point(value, answers, 1, None), load_s=load_s)
            found = dataclasses.replace(found, points=(*found.points, point))
            yield point

    async def _users(self, wish: ExperimentWish, found: Experiment) -> AsyncIterator[Point]:
        counts = [int(value) for value in wish.values]
        self._say(found, wish.values[0])
        try:
            await _ended(self._engine.start(for_users(wish.settings, max(counts)), remember=False))
            await self._ask_together(1, 0)  # the first answer pays for what is set up once
        except KimiError as error:
            yield Point(wish.values[0], error=error)
            return
        for count in counts:
            found = self._say(found, str(count))
            began = time.monotonic()
            try:
                answers = await self._ask_together(count, count)
            except KimiError as error:
                point = Point(str(count), error=error)
            else:
                point = _point(str(count), answers, count, time.monotonic() - began)
            found = dataclasses.replace(found, points=(*found.points, point))
            yield point

    def _say(self, found: Experiment, now: str) -> Experiment:
        found = dataclasses.replace(found, engine=self._engine.status.engine_name or found.engine)
        self._bus.publish(ExperimentProgressed(found, now))
        return found

    async def _ask_together(self, count: int, salt: int) -> list[_Answer]:
        """``count`` prompts that have nothing in common, at once.

        Raises:
            KimiError: one of them failed.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._ask(salt * 1000 + n)) for n in range(count)]
        except* KimiError as failed:
            raise _first(failed) from failed
        return [task.result() for task in tasks]

    async def _ask(self, number: int) -> _Answer:
        client = self._engine.client()
        if client is None:
            raise BackendError(ErrorCode.ENGINE_EXITED, {"code": "-"})
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


def settings_of(wish: ExperimentWish) -> tuple[LoadSettings, ...]:
    """The settings of each value; checked before anything is started.

    Raises:
        PlanError: PLAN_BAD_WISH.
    """
    if wish.variable is Variable.USERS:
        for value in wish.values:
            _whole(wish.variable, value, 1, MOST_USERS)
        return ()
    return tuple(changed(wish.settings, wish.variable, value) for value in wish.values)


def for_users(settings: LoadSettings, most: int) -> LoadSettings:
    """With a slot for each, and the context of one for each. vLLM has room for many as it is."""
    if settings.kind in SERVER_KINDS:
        return settings
    room = max(settings.context // max(settings.n_parallel, 1), PROMPT_TOKENS + ANSWER_TOKENS + 64)
    return dataclasses.replace(settings, n_parallel=most, context=room * most)


def changed(settings: LoadSettings, variable: Variable, value: str) -> LoadSettings:
    """The settings with one of them changed.

    Raises:
        PlanError: PLAN_BAD_WISH.
    """
    name = FIELDS[variable]
    if variable is Variable.CACHE:
        if value not in CACHE_TYPES:
            known = ", ".join(CACHE_TYPES)
            raise PlanError(ErrorCode.PLAN_BAD_CACHE_TYPE, {"type": value, "types": known})
        return dataclasses.replace(settings, cache_type=value)
    least = 0 if variable in (Variable.EXPERTS, Variable.LAYERS) else 1
    number = _whole(variable, value, least, MOST)
    values: dict[str, Any] = {name: number}
    if least == 0:  # placed by number: rules of a found plan would win
        values |= {"overrides": (), "tensor_split": ()}
    if variable is Variable.UBATCH:
        values["n_batch"] = max(number, settings.n_batch)
    return dataclasses.replace(settings, **values)


def _whole(variable: Variable, value: str, least: int, most: int) -> int:
    is_number = value.isascii() and value.isdigit() and len(value) <= len(str(most))
    if not is_number or not least <= int(value) <= most:
        params: dict[str, Param] = {
            "name": variable.value,
            "value": value,
            "least": least,
            "most": most,
        }
        raise PlanError(ErrorCode.PLAN_BAD_WISH, params)
    return int(value)


def _point(value: str, answers: Sequence[_Answer], count: int, took_s: float | None) -> Point:
    prefill = [one.prompt_tokens / one.first_token_s for one in answers if one.first_token_s > 0]
    tokens = sum(one.tokens for one in answers)
    return Point(
        value,
        prefill_tps=statistics.median(prefill) if prefill and count == 1 else None,
        decode_tps=statistics.median(one.decode_tps for one in answers),
        total_tps=tokens / took_s if took_s else None,
        first_token_s=statistics.median(one.first_token_s for one in answers),
    )


def _first(group: BaseExceptionGroup[KimiError]) -> KimiError:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, KimiError)
    return found


def _request(number: int, words: int) -> ChatRequest:
    text = f"{number}:" + WORD * words
    return ChatRequest((("user", text),), Sampling(temperature=0.0, max_tokens=ANSWER_TOKENS))


async def _ended(operation: Operation[T]) -> T:
    """Wait for it on the loop; cancelling the waiting cancels it, too."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if ended.done():
            return
        if error is not None:
            ended.set_exception(error)
        else:
            ended.set_result(result)  # type: ignore[arg-type]

    def pass_on(result: T | None, error: BaseException | None) -> None:
        loop.call_soon_threadsafe(tell, result, error)

    operation.on_done(pass_on)
    try:
        return await ended
    except asyncio.CancelledError:
        operation.cancel()
        raise
