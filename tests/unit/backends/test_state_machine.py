"""The state machine: every arrow, no other, and streams counted under any order of calls."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kimi_desktop.backends.state_machine import (
    ANSWERING,
    RUNNING,
    TRANSITIONS,
    EngineStateMachine,
)
from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.base.errors import BackendError, ErrorCode

S = EngineState


def at(state: EngineState) -> tuple[EngineStateMachine, list[EngineStatus]]:
    published: list[EngineStatus] = []
    machine = EngineStateMachine(published.append)
    paths = {
        S.STOPPED: [],
        S.STARTING: [S.STARTING],
        S.LOADING: [S.STARTING, S.LOADING],
        S.READY: [S.STARTING, S.LOADING, S.READY],
        S.GENERATING: [S.STARTING, S.LOADING, S.READY, S.GENERATING],
        S.STOPPING: [S.STARTING, S.STOPPING],
        S.FAILED: [S.STARTING, S.FAILED],
    }
    for step in paths[state]:
        machine.move(step)
    published.clear()
    return machine, published


@pytest.mark.parametrize("target", list(S))
@pytest.mark.parametrize("source", list(S))
def test_only_the_arrows_that_are_drawn(source: EngineState, target: EngineState) -> None:
    machine, published = at(source)
    if target in TRANSITIONS[source]:
        assert machine.move(target).state is target
        assert [status.state for status in published] == [target]
    else:
        with pytest.raises(ValueError, match="->"):
            machine.move(target)
        assert published == []
        assert machine.status.state is source


def test_the_drawing_has_the_same_arrows() -> None:
    from tests.support.engine_programs import REPOSITORY  # noqa: PLC0415

    text = (REPOSITORY / "docs" / "engine-states.md").read_text(encoding="utf-8")
    drawn = {
        (left.strip().lower(), right.partition(":")[0].strip().lower())
        for left, arrow, right in (line.partition("-->") for line in text.splitlines())
        if arrow and "[*]" not in left and ":" in right
    }
    assert drawn == {(a.value, b.value) for a, targets in TRANSITIONS.items() for b in targets}


def test_a_new_start_forgets_the_last_run() -> None:
    machine, _ = at(S.READY)
    machine.move(S.FAILED, error=BackendError(ErrorCode.ENGINE_EXITED), log_tail=("x",), pid=None)
    status = machine.move(S.STARTING)
    assert status == EngineStatus(S.STARTING)


def test_progress_is_published_without_a_change_of_state() -> None:
    machine, published = at(S.LOADING)
    machine.update(load_fraction=0.5)
    assert published == [dataclasses.replace(machine.status, load_fraction=0.5)]


class Streams(RuleBasedStateMachine):
    """Streams that begin and end while the engine comes and goes."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[EngineStatus] = []
        self.machine = EngineStateMachine(self.published.append)
        self.open = 0

    @rule()
    def begin(self) -> None:
        self.machine.begin_stream()
        self.open += 1

    @precondition(lambda self: self.open > 0)
    @rule()
    def end(self) -> None:
        self.machine.end_stream()
        self.open -= 1

    @rule(wanted=st.sampled_from([s for s in S if s is not S.GENERATING]))
    def go(self, wanted: EngineState) -> None:
        if wanted in TRANSITIONS[self.machine.status.state]:
            if wanted is S.STARTING:
                self.open = 0
            if wanted is not S.READY or self.open == 0:
                self.machine.move(wanted)

    @invariant()
    def generating_means_an_open_stream(self) -> None:
        state = self.machine.status.state
        if state is S.GENERATING:
            assert self.open > 0
        if state is S.READY:
            assert self.open == 0
        assert (state in ANSWERING) <= (state in RUNNING)

    @invariant()
    def every_change_was_published(self) -> None:
        if self.published:
            assert self.published[-1] == self.machine.status


TestStreams = Streams.TestCase
