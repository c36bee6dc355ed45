"""This computer and what runs on it: hardware, samples, runs, experiments, workers."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from kimi_desktop.backends.rpc.types import Worker
from kimi_desktop.backends.types import (
    LoadSettings,
)
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.machine.types import CheckRow, Machine, Verdict
from kimi_desktop.monitor.experiment_types import Experiment, ExperimentWish
from kimi_desktop.monitor.history import Row
from kimi_desktop.monitor.run_types import RunRecord
from kimi_desktop.monitor.types import Mark, Sample


class MachineService(Protocol):
    """What this computer is. Publishes MachineProbed."""

    @property
    def machine(self) -> Machine | None:
        """The last look, None before the first."""

    def probe(self) -> Operation[Machine]:
        """Look again."""

    def measure(self) -> Operation[Machine]:
        """Measure RAM, disks and GPU links, some three seconds each.

        Publishes MeasureProgressed, and MachineProbed after every part.
        """

    def lacks_measures(self, machine: Machine) -> bool:
        """Main memory of this machine was never measured."""

    def check_rows(self, machine: Machine, language: Language) -> tuple[CheckRow, ...]:
        """The rows of the hardware check, in words."""

    def verdict(self, machine: Machine, language: Language) -> Verdict:
        """What the machine is good for: tier, one sentence, how the rows came out."""


class MonitorService(Protocol):
    """Samples. Publishes SampleTaken once a second."""

    def history(self, seconds: float) -> tuple[Sample, ...]:
        """The samples of the last ``seconds`` (at most the session's), oldest first."""

    def marks(self) -> tuple[Mark, ...]:
        """The moments of this session that something was said about, oldest first."""

    def export_csv(self, file: Path) -> Operation[Path]:
        """Write the session's samples."""


class ExperimentService(Protocol):
    """Measures value by value. Publishes ExperimentProgressed."""

    def run(self, wish: ExperimentWish) -> Operation[Experiment]:
        """Measure; afterwards the engine is as it was before. Cancelling keeps what was measured.

        Raises (from the operation):
            PlanError: a value that the variable cannot have.
            MonitorError: another one goes on.
        """

    def kept(self) -> Operation[tuple[Experiment, ...]]:
        """Those that were measured, the newest first."""


class RunService(Protocol):
    """The run notebook. Publishes RunsChanged."""

    def samples(self, run_id: int) -> Operation[tuple[Row, ...]]:
        """What the machine did during a run, oldest first."""

    def export_csv(self, run_id: int, file: Path) -> Operation[Path]:
        """Write a run's samples."""

    def runs(self, limit: int = 200) -> Operation[tuple[RunRecord, ...]]:
        """The newest first."""

    def annotate(
        self, run_id: int, *, note: str | None = None, starred: bool | None = None
    ) -> Operation[None]:
        """The user's own words, and the star."""

    def delete(self, run_id: int) -> Operation[None]:
        """Forget a run."""

    def settings_of(self, run: RunRecord) -> LoadSettings | None:
        """Its load settings, as far as this version understands them."""


class WorkerService(Protocol):
    """Other machines that lend llama.cpp their devices. Publishes WorkersChanged."""

    @property
    def workers(self) -> tuple[Worker, ...]:
        """All of them, as of the last event."""

    def add(self, address: str, name: str = "") -> Operation[Worker]:
        """Remember one and check it; fails for an address that none may have."""

    def remove(self, address: str) -> Operation[None]:
        """Forget one."""

    def check(self, address: str) -> Operation[Worker]:
        """Reach it and measure the link; ``error`` says what it met."""

    def join(self, machine: Machine) -> Machine:
        """The machine with the devices that take part in plans now."""
