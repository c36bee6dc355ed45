"""The experiments behind the scripted services: steps that the test takes."""

from __future__ import annotations

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.monitor.experiment_types import Experiment, ExperimentProgressed, ExperimentWish
from tests.support.scripted_desk import Desk


class ScriptedExperiments:
    """``ui.bridge.ExperimentService``."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.rows: tuple[Experiment, ...] = ()
        self.result = Experiment(1, 0.0, "", "", "", ())  # type: ignore[arg-type]

    def run(self, wish: ExperimentWish) -> Operation[Experiment]:
        return self._desk.operation("experiments.run", self.result, wish)

    def step(self, experiment: Experiment, now: str) -> None:
        """A value is being measured."""
        self._bus.publish(ExperimentProgressed(experiment, now))

    def kept(self) -> Operation[tuple[Experiment, ...]]:
        return self._desk.operation("experiments.kept", self.rows)
