"""Which state an engine may go to from which. ``docs/engine-states.md`` draws it.

The status is replaced on the IO thread and may be read on any; every change is published.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from kimi_desktop.backends.types import EngineState, EngineStatus

S = EngineState

TRANSITIONS: Mapping[EngineState, frozenset[EngineState]] = {
    S.STOPPED: frozenset({S.STARTING}),
    S.STARTING: frozenset({S.LOADING, S.READY, S.STOPPING, S.FAILED}),
    S.LOADING: frozenset({S.READY, S.STOPPING, S.FAILED}),
    S.READY: frozenset({S.GENERATING, S.STOPPING, S.FAILED}),
    S.GENERATING: frozenset({S.READY, S.STOPPING, S.FAILED}),
    S.STOPPING: frozenset({S.STOPPED}),
    S.FAILED: frozenset({S.STARTING}),
}

RUNNING = frozenset({S.STARTING, S.LOADING, S.READY, S.GENERATING, S.STOPPING})
"""There is, or will be at once, a process."""
ANSWERING = frozenset({S.READY, S.GENERATING})
"""It takes requests."""


class EngineStateMachine:
    """Holds the status, refuses what makes no sense, and counts who is generating."""

    def __init__(self, publish: Callable[[EngineStatus], None]) -> None:
        self._publish = publish
        self._status = EngineStatus(EngineState.STOPPED)
        self._streams = 0

    @property
    def status(self) -> EngineStatus:
        """Now."""
        return self._status

    def move(self, state: EngineState, **changes: Any) -> EngineStatus:  # noqa: ANN401
        """Go to another state; ``changes`` are fields of the status.

        Raises:
            ValueError: no arrow leads from here to there.
        """
        current = self._status
        if state not in TRANSITIONS[current.state]:
            raise ValueError(f"{current.state} -> {state}")
        if state is EngineState.STARTING:
            self._streams = 0
            current = EngineStatus(EngineState.STARTING)  # nothing of the last run is left
        return self._replace(dataclasses.replace(current, state=state, **changes))

    def update(self, **changes: Any) -> EngineStatus:  # noqa: ANN401
        """Change fields of the status and stay in the state (progress of loading)."""
        return self._replace(dataclasses.replace(self._status, **changes))

    def begin_stream(self) -> None:
        """Somebody begins to read an answer."""
        self._streams += 1
        if self._status.state is EngineState.READY:
            self.move(EngineState.GENERATING)

    def end_stream(self) -> None:
        """Somebody has finished; the last one brings READY back, if the engine still lives."""
        self._streams = max(0, self._streams - 1)
        if self._streams == 0 and self._status.state is EngineState.GENERATING:
            self.move(EngineState.READY)

    def _replace(self, status: EngineStatus) -> EngineStatus:
        self._status = status
        self._publish(status)
        return status
