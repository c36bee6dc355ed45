"""A running engine beside its forecast: what is slow is told once, with its reason if any."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.types import EngineState, EngineStateChanged, EngineStatus, LoadSettings
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import TOPICS
from kimi_desktop.chat.types import AnswerFinished, AnswerStats, Message, Role
from kimi_desktop.diagnosis.failure import Pricing
from kimi_desktop.diagnosis.slow import is_slower, sample_facts
from kimi_desktop.diagnosis.types import Aspect, Figure, Slowness, SlownessSeen
from kimi_desktop.diagnosis.watcher import Surroundings, Watcher
from kimi_desktop.monitor.types import Phase, SampleTaken
from kimi_desktop.planner.speed_types import Band, Resource, SpeedForecast
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.serve.types import LiveRequest
from tests.support import scripted_data as data
from tests.support.samples import gpu_sample, sample

MIB = 2**20
SETTINGS = LoadSettings(Path("/m/k.gguf"), n_gpu_layers=62, n_cpu_moe=40, context=32_768)


def band(low: float, high: float) -> Band:
    return Band(low, (low + high) / 2, high, Resource.RAM)


SPEED = SpeedForecast(
    decode_tps=band(8, 12),
    prefill_tps=band(100, 200),
    first_token_s=band(2, 5),
    prompt_tokens=512,
    load_s=band(100, 200),
)


class Desk:
    """A watcher, and all that it asks."""

    def __init__(self) -> None:
        self.io, self.bus, self.now = IoLoop(), EventBus(), 1000.0
        self.heard: list[Slowness] = []
        self.status = EngineStatus(EngineState.READY, settings=SETTINGS, started_at=900.0)
        self.samples: tuple[Any, ...] = ()
        self.requests: tuple[LiveRequest, ...] = ()
        self.speed: SpeedForecast | None = SPEED
        self.machine = data.two_gpu_box()
        model = dataclasses.replace(data.kimi_model(Path("/m")), path=SETTINGS.model_path)
        self.watcher = Watcher(
            self.io,
            self.bus,
            Surroundings(
                status=lambda: self.status,
                models=lambda: (model,),
                machine=lambda: self.machine,
                samples=lambda _seconds: self.samples,
                requests=lambda: self.requests,
                expected=lambda *_: self.speed,
                pricing=Pricing(lambda *_: LoadForecast(()), lambda settings, _: settings),
            ),
            clock=lambda: self.now,
        )
        self.bus.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        if isinstance(event, SlownessSeen):
            self.heard.append(event.slowness)

    def answer(self, tps: float, **stats: Any) -> bool:
        known = {"tokens": 100, "prompt_tokens": 40, "first_token_s": 0.5} | stats
        message = Message(
            1, Role.ASSISTANT, "x", stats=AnswerStats(decode_tokens_per_s=tps, **known)
        )
        return self.watcher.judge_answer(AnswerFinished(7, message))

    def settle(self) -> list[Slowness]:
        self.io.pool(lambda: None).result(10)
        deadline = time.monotonic() + 10
        while not self.heard and time.monotonic() < deadline:
            time.sleep(0.005)
        return self.heard


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.watcher.close()
    made.io.close()


def decoding(**changes: object):
    return sample(phase=Phase.DECODE, **changes)


def test_as_fast_as_forecast_is_no_news(desk):
    assert desk.answer(9.0) is False
    assert desk.heard == []


def test_a_disk_that_reads_while_it_answers(desk):
    desk.samples = tuple(decoding(engine_read_bytes_per_s=900 * MIB) for _ in range(5))
    assert desk.answer(2.0) is True
    (slow,) = desk.heard
    assert slow.figure == Figure(Aspect.DECODE, 2.0, SPEED.decode_tps)
    assert slow.finding is not None
    assert slow.finding.cause == "mmap_thrash"


def test_a_card_that_is_too_hot(desk):
    hot = gpu_sample(temperature_c=83, throttled=("thermal (hardware)",))
    desk.samples = (decoding(gpus=(hot,), engine_read_bytes_per_s=0.0),)
    assert desk.answer(2.0) is True
    assert desk.heard[0].finding.cause == "thermal_or_power_limit"


def test_too_many_threads_come_with_the_way_out(desk):
    cores = desk.machine.cpu.physical_cores
    settings = dataclasses.replace(SETTINGS, n_threads=4 * cores)
    desk.status = dataclasses.replace(desk.status, settings=settings)
    assert desk.answer(2.0) is True
    (slow,) = desk.heard
    assert slow.finding.cause == "threads_misconfigured"
    assert [way.key for way in slow.ways] == ["threads"]
    assert slow.ways[0].settings.n_threads is None


def test_experts_in_ram_are_planned_and_no_reason(desk):
    desk.machine = dataclasses.replace(
        desk.machine, cpu=dataclasses.replace(desk.machine.cpu, numa_nodes=1)
    )
    assert desk.answer(2.0) is False
    (slow,) = desk.heard
    assert slow.finding is None


def test_it_is_told_once_a_run(desk):
    desk.samples = tuple(decoding(engine_read_bytes_per_s=900 * MIB) for _ in range(5))
    assert desk.answer(2.0) is True
    assert desk.answer(2.0) is True
    assert len(desk.heard) == 1
    desk.status = dataclasses.replace(desk.status, started_at=950.0)
    desk.answer(2.0)
    assert len(desk.heard) == 2


@pytest.mark.parametrize("stats", [{"tokens": 5}, {"tokens": 0}])
def test_a_short_answer_says_nothing(desk, stats):
    assert desk.answer(0.5, **stats) is False
    assert desk.heard == []


def test_a_model_without_a_forecast_says_nothing(desk):
    desk.speed = None
    assert desk.answer(0.5) is False


def test_what_others_took_is_no_reason(desk):
    desk.requests = (LiveRequest(1, "curl", "/v1/x", desk.now, waits=False),)
    desk.bus.publish(SampleTaken(sample()))
    desk.requests = ()
    assert desk.answer(0.5) is False
    assert desk.heard == []
    desk.answer(0.5)
    assert desk.heard


def test_a_conversation_that_is_read_anew_each_turn(desk):
    desk.answer(9.0, prompt_tokens=4000, first_token_s=30.0)
    desk.answer(9.0, prompt_tokens=4200, cached_tokens=0, first_token_s=30.0)
    (slow,) = desk.heard
    assert slow.figure.aspect is Aspect.FIRST_TOKEN
    assert slow.finding.cause == "prompt_reprocessed_each_turn"


def test_a_long_prompt_that_is_read_slowly(desk):
    desk.answer(9.0, prompt_tokens=5000, first_token_s=500.0)
    assert [slow.figure.aspect for slow in desk.heard] == [Aspect.PREFILL]


def test_a_request_that_waits(desk):
    desk.requests = (
        LiveRequest(1, "curl", "/v1/x", desk.now - 60, waits=False),
        LiveRequest(2, "curl", "/v1/x", desk.now - 30, waits=True),
    )
    desk.bus.publish(SampleTaken(sample()))
    (slow,) = desk.settle()
    assert slow.figure == Figure(Aspect.QUEUE, 30.0, None)
    assert slow.finding.cause == "request_queueing"
    (way,) = slow.ways
    assert (way.settings.n_parallel, way.settings.context) == (2, 2 * SETTINGS.context)


def test_the_engines_own_queue_counts_too(desk):
    for at in (1000.0, 1005.0):
        desk.bus.publish(SampleTaken(sample(at, requests_waiting=2.0)))
    desk.bus.publish(SampleTaken(sample(1006.0, requests_waiting=0.0)))  # it began anew
    for at in (1007.0, 1012.0):
        desk.bus.publish(SampleTaken(sample(at, requests_waiting=1.0)))
    desk.io.pool(lambda: None).result(10)
    assert desk.heard == []
    desk.bus.publish(SampleTaken(sample(1018.0, requests_waiting=1.0)))
    (slow,) = desk.settle()
    assert (slow.figure.aspect, slow.figure.measured) == (Aspect.QUEUE, 11.0)
    assert slow.finding.cause == "request_queueing"


def test_others_in_the_engine_are_no_reason_to_be_slow(desk):
    desk.samples = tuple(decoding(engine_read_bytes_per_s=900 * MIB) for _ in range(5))
    desk.bus.publish(SampleTaken(sample(requests_running=2.0)))
    assert desk.answer(2.0) is False
    assert desk.heard == []


def test_a_load_from_a_slow_disk(desk):
    desk.samples = tuple(
        sample(phase=Phase.LOAD, engine_read_bytes_per_s=90 * MIB) for _ in range(3)
    )
    desk.bus.publish(
        EngineStateChanged(dataclasses.replace(desk.status, state=EngineState.LOADING))
    )
    desk.now += 900
    desk.bus.publish(EngineStateChanged(desk.status))
    (slow,) = desk.settle()
    assert (slow.figure.aspect, slow.figure.measured) == (Aspect.LOAD, 900.0)
    assert slow.finding.cause == "slow_load_disk"


@given(st.floats(0.1, 1e4), st.floats(1.0, 10.0))
def test_a_figure_inside_its_band_is_never_slow(low: float, width: float):
    inside = Band(low, low * width, low * width, Resource.RAM)
    for aspect in (Aspect.DECODE, Aspect.LOAD):
        for figure in (low, low * width):
            assert not is_slower(Figure(aspect, figure, inside))


def test_full_memory_says_nothing_while_the_disk_rests():
    full = {"ram_used_bytes": 63 * 2**30}
    resting = sample_facts((decoding(engine_read_bytes_per_s=0.0, **full),), None, 10)
    assert "mem_used_pct" not in resting
    reading = sample_facts((decoding(engine_read_bytes_per_s=50.0 * MIB, **full),), None, 10)
    assert reading["mem_used_pct"] == 98
    assert reading["read_mib_per_token"] == 5.0


@pytest.mark.parametrize("aspect", list(Aspect))
def test_every_figure_has_its_sentence(aspect):
    assert f"diagnosis.slow.{aspect.value}" in TOPICS["diagnosis"]
