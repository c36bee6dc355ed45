from __future__ import annotations

import pytest

from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.monitor.activity import STALE_S, Activity, Doing
from kimi_desktop.monitor.types import Phase


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def activity(clock: Clock) -> Activity:
    return Activity(clock)


def engine(state: EngineState, pid: int | None = 7) -> EngineStatus:
    return EngineStatus(state, pid=pid)


def test_nothing_yet(activity: Activity) -> None:
    assert activity.engine_pid is None
    assert activity.take() == Doing(Phase.IDLE, None, None)


@pytest.mark.parametrize("state", [EngineState.STARTING, EngineState.LOADING])
def test_loading(activity: Activity, state: EngineState) -> None:
    activity.note_engine(engine(state))
    assert activity.engine_pid == 7
    assert activity.take().phase is Phase.LOAD
    activity.note_engine(engine(EngineState.READY))
    assert activity.take().phase is Phase.LOAD  # it loaded in this second too
    assert activity.take().phase is Phase.IDLE


def test_an_engine_that_ended(activity: Activity) -> None:
    activity.note_engine(engine(EngineState.GENERATING))
    activity.note_engine(engine(EngineState.FAILED, pid=None))
    activity.take()
    assert activity.engine_pid is None
    assert activity.take() == Doing(Phase.IDLE, None, None)


def test_a_whole_answer(activity: Activity, clock: Clock) -> None:
    activity.note_engine(engine(EngineState.GENERATING))
    assert activity.take() == Doing(Phase.PREFILL, None, None)
    activity.note_prefill(0, 4000)
    clock.now += 2
    activity.note_prefill(1000, 4000)
    assert activity.take() == Doing(Phase.PREFILL, None, 500.0)
    clock.now += 2
    activity.note_prefill(4000, 4000)
    activity.note_tokens_per_s(18.4)
    assert activity.take() == Doing(Phase.DECODE, 18.4, 1000.0)
    activity.note_tokens_per_s(18.6)
    # The state says again that it is at work: that changes nothing.
    activity.note_engine(engine(EngineState.GENERATING))
    assert activity.take() == Doing(Phase.DECODE, 18.6, None)
    activity.note_phase(Phase.IDLE)
    activity.note_engine(engine(EngineState.READY))
    assert activity.take() == Doing(Phase.DECODE, 18.6, None)
    assert activity.take() == Doing(Phase.IDLE, None, None)


def test_an_answer_between_two_samples_is_not_lost(activity: Activity) -> None:
    activity.note_tokens_per_s(64.0, prefill=900.0)
    activity.note_phase(Phase.IDLE)
    assert activity.take() == Doing(Phase.DECODE, 64.0, 900.0)
    assert activity.take() == Doing(Phase.IDLE, None, None)


def test_a_silent_stream_has_no_speed(activity: Activity, clock: Clock) -> None:
    activity.note_tokens_per_s(18.4)
    clock.now += STALE_S + 1
    assert activity.take() == Doing(Phase.DECODE, 0.0, None)
    activity.note_tokens_per_s(12.0)
    assert activity.take() == Doing(Phase.DECODE, 12.0, None)


def test_decoding_without_a_known_speed(activity: Activity, clock: Clock) -> None:
    activity.note_phase(Phase.DECODE)
    clock.now += STALE_S + 1
    assert activity.take() == Doing(Phase.DECODE, None, None)


def test_one_note_of_the_prompt_gives_no_speed(activity: Activity) -> None:
    activity.note_prefill(512, 512)
    assert activity.take() == Doing(Phase.PREFILL, None, None)


def test_another_prompt_starts_its_own_measurement(activity: Activity, clock: Clock) -> None:
    activity.note_prefill(4000, 8000)
    clock.now += 1
    activity.note_prefill(100, 2000)
    clock.now += 1
    activity.note_prefill(400, 2000)
    assert activity.take().prefill_tokens_per_s == 300.0


def test_no_speed_any_more_ends_the_answer(activity: Activity) -> None:
    activity.note_tokens_per_s(None)
    assert activity.take() == Doing(Phase.IDLE, None, None)
    activity.note_tokens_per_s(18.4)
    activity.note_tokens_per_s(None)
    assert activity.take() == Doing(Phase.DECODE, 18.4, None)  # it was seen in this second
    assert activity.take() == Doing(Phase.IDLE, None, None)


def test_no_speed_does_not_end_a_load(activity: Activity) -> None:
    activity.note_engine(engine(EngineState.LOADING))
    activity.note_tokens_per_s(None)
    assert activity.take().phase is Phase.LOAD
