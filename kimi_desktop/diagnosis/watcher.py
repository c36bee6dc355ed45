"""Watches a running engine against its forecast. ``ui.bridge.WatchService``.

Listens on the bus; the comparing itself runs in the pool. A figure outside its band is told once a
run for each reason. Callable from any thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from kimi_desktop.backends.types import (
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadRemarked,
    LoadSettings,
)
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.chat.types import AnswerFinished, AnswerStats, Message
from kimi_desktop.diagnosis.collect import answer_facts, course_facts, file_facts
from kimi_desktop.diagnosis.failure import Pricing, ways_out
from kimi_desktop.diagnosis.odd_answer import SAID, read_odd_answer
from kimi_desktop.diagnosis.slow import (
    LEAST_LOAD_S,
    LEAST_PROMPT,
    LEAST_TOKENS,
    LONGEST_WAIT_S,
    host_facts,
    is_slower,
    look_for_reason,
    sample_facts,
)
from kimi_desktop.diagnosis.types import (
    Aspect,
    Figure,
    OddAnswerSeen,
    Slowness,
    SlownessSeen,
)
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.monitor.types import Phase, Sample, SampleTaken
from kimi_desktop.planner.speed_types import SpeedForecast
from kimi_desktop.serve.types import LiveRequest

COURSE_S = 3600.0
"""So far back the course of the memory is kept with what was seen."""
RUNNING = (EngineState.READY, EngineState.GENERATING)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the watcher asks of the others; any of it may be unknown."""

    status: Callable[[], EngineStatus]
    models: Callable[[], Iterable[LocalModel]]
    machine: Callable[[], Machine | None]
    samples: Callable[[float], tuple[Sample, ...]]
    """Of the last so many seconds."""
    requests: Callable[[], tuple[LiveRequest, ...]]
    """Of other programs, the oldest first."""
    expected: Callable[[LoadSettings, LocalModel, int, int], SpeedForecast | None]
    """(settings, model, tokens in the cache, tokens of the prompt); None for a model that is too
    small to say anything of."""
    pricing: Pricing


class Watcher:
    """Tells what is slower than it should be."""

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        around: Surroundings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Join it. ``clock``: time.time()."""
        self._io = io
        self._bus = bus
        self._around = around
        self._clock = clock
        self._lock = threading.Lock()
        self._told: set[tuple[Any, ...]] = set()
        self._turns: dict[int, int] = {}
        """Per chat: the tokens that the engine has seen of it, as of the last answer."""
        self._loading_since: float | None = None
        self._was_shared = False
        self._waiting_since: float | None = None
        self._leave_bus = bus.subscribe(self._on_event)

    def close(self) -> None:
        """Stop listening."""
        self._leave_bus()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            self._follow(event.status)
        elif isinstance(event, AnswerFinished):
            if event.error is not None and event.error.code in SAID:
                self._io.pool(self._judge_text, event.error.code, event.message.stats)
        elif isinstance(event, LoadRemarked):
            for remark in event.remarks:
                if remark.code in SAID:
                    self._io.pool(self._judge_text, remark.code, None)
        elif isinstance(event, SampleTaken):
            self._look_at_queue()
            self._look_into_engine(event.sample)

    def _follow(self, status: EngineStatus) -> None:
        state = status.state
        if state is EngineState.LOADING:
            with self._lock:
                self._loading_since = self._loading_since or self._clock()
                self._turns.clear()
        elif state in RUNNING:
            with self._lock:
                since, self._loading_since = self._loading_since, None
            if since is not None:
                self._io.pool(self._judge_load, status, self._clock() - since)
        else:
            with self._lock:
                self._loading_since = None

    def judge_answer(self, event: AnswerFinished) -> bool:
        """Compare a finished answer with its forecast; blocking, some milliseconds.

        Returns:
            Whether a reason was found that made it slow: then it says nothing of the machine.
        """
        stats = event.message.stats
        if stats is None or stats.tokens <= 0:
            return False
        with self._lock:
            shared, self._was_shared = self._was_shared, False
            before = self._turns.get(event.chat_id, 0)
            self._turns[event.chat_id] = stats.prompt_tokens + stats.tokens
        if event.error is not None or shared:  # what others took is no reason
            return False
        return self._compare(event.message, stats, before)

    def _look_at_queue(self) -> None:
        requests = self._around.requests()
        self._was_shared = self._was_shared or bool(requests)
        waits = [request for request in requests if request.waits]
        if not waits:
            return
        waited = self._clock() - min(request.began_at for request in waits)
        if waited > LONGEST_WAIT_S:
            self._io.pool(self._judge_queue, waited, len(waits))

    def _look_into_engine(self, sample: Sample) -> None:
        """The engine's own count, which has the requests of everybody."""
        self._was_shared = self._was_shared or (sample.requests_running or 0) > 1
        count = round(sample.requests_waiting or 0)
        if not count:
            self._waiting_since = None
            return
        self._waiting_since = self._waiting_since or sample.at
        waited = sample.at - self._waiting_since
        if waited > LONGEST_WAIT_S:
            self._io.pool(self._judge_queue, waited, count)

    def _judge_text(self, code: ErrorCode, stats: AnswerStats | None) -> None:
        """Keep the facts of an answer that is none, without its text."""
        status = self._around.status()
        if status.settings is None:
            return
        once = (status.started_at, code)
        with self._lock:
            if once in self._told:
                return
            self._told = {row for row in self._told if row[0] == status.started_at} | {once}
        found = read_odd_answer(
            code, status, self._model(status), self._around.machine(), [stats] if stats else []
        )
        self._bus.publish(OddAnswerSeen(found, self._clock()))

    def _judge_load(self, status: EngineStatus, took_s: float) -> None:
        model = self._model(status)
        if model is None or status.settings is None or took_s < LEAST_LOAD_S:
            return
        speed = self._around.expected(status.settings, model, 0, LEAST_PROMPT)
        if speed is None or not is_slower(figure := Figure(Aspect.LOAD, took_s, speed.load_s)):
            return
        samples = [s for s in self._around.samples(took_s) if s.phase is Phase.LOAD]
        self._tell(figure, status, model, sample_facts(samples, None))

    def _compare(self, message: Message, stats: AnswerStats, before: int) -> bool:
        status = self._around.status()
        model = self._model(status)
        if model is None or status.settings is None or stats.tokens < LEAST_TOKENS:
            return False
        fresh = stats.prompt_tokens - stats.cached_tokens
        # A later turn begins with what the engine has read already.
        grown = stats.prompt_tokens - before if before and message.version == 1 else 0
        again = grown > 0 and fresh > max(2 * grown, LEAST_PROMPT)
        kept = stats.prompt_tokens + stats.tokens // 2
        prompt = max(grown if again else fresh, 1)
        speed = self._around.expected(status.settings, model, kept, prompt)
        if speed is None:
            return False
        seconds = stats.tokens / stats.decode_tokens_per_s if stats.decode_tokens_per_s else 0.0
        samples = [s for s in self._around.samples(seconds + 1) if s.phase is Phase.DECODE]
        facts = sample_facts(samples, self._around.machine(), stats.tokens) | answer_facts([stats])
        asked = {
            "turns": 2 if before else 1,
            "prompt_tokens": stats.prompt_tokens,
            "cached_pct": round(100 * stats.cached_tokens / max(stats.prompt_tokens, 1)),
        }
        first = stats.first_token_s or 0.0
        rows = [(Figure(Aspect.DECODE, stats.decode_tokens_per_s, speed.decode_tps), facts)]
        if again:
            rows.append((Figure(Aspect.FIRST_TOKEN, first, speed.first_token_s), facts | asked))
        elif fresh >= LEAST_PROMPT and first:
            rows.append((Figure(Aspect.PREFILL, fresh / first, speed.prefill_tps), facts))
        slow = [row for row in rows if is_slower(row[0])]
        found = [self._tell(figure, status, model, known) for figure, known in slow]
        return any(found)

    def _judge_queue(self, waited_s: float, count: int) -> None:
        status = self._around.status()
        model = self._model(status)
        if model is not None and status.state in RUNNING:
            facts = {"requests_waiting": count, "waited_s": round(waited_s)}
            self._tell(Figure(Aspect.QUEUE, waited_s, None), status, model, facts)

    def _model(self, status: EngineStatus) -> LocalModel | None:
        path = status.settings.model_path if status.settings is not None else None
        return next((model for model in self._around.models() if model.path == path), None)

    def _tell(
        self,
        figure: Figure,
        status: EngineStatus,
        model: LocalModel,
        facts: dict[str, Any],
    ) -> bool:
        """Publish it, once; returns whether there is a reason."""
        machine = self._around.machine()
        seen = course_facts(self._around.samples(COURSE_S), status.started_at)
        whole = seen | file_facts(model) | host_facts(machine, model.size_bytes) | facts
        found = look_for_reason(figure, status, machine, whole)
        cause = found.finding.cause if found.finding is not None else ""
        once = (status.started_at, figure.aspect, cause)
        with self._lock:
            if once in self._told:
                return bool(cause)
            self._told = {row for row in self._told if row[0] == status.started_at} | {once}
        self._bus.publish(SlownessSeen(self._with_ways(found, status, model), self._clock()))
        return bool(cause)

    def _with_ways(self, found: Slowness, status: EngineStatus, model: LocalModel) -> Slowness:
        if found.finding is None or status.settings is None:
            return found
        ways = ways_out(found.finding.cause, status.settings, model, self._around.pricing)
        return replace(found, ways=ways)
