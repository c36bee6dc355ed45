"""Diagnosis behind the scripted services: the real reading, at once and on the caller's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kimi_desktop.backends.types import EngineState, EngineStateChanged
from kimi_desktop.base.events import Event
from kimi_desktop.base.operation import Operation
from kimi_desktop.diagnosis.bundle import bundle_text
from kimi_desktop.diagnosis.failure import Pricing, Tried, read_failure
from kimi_desktop.diagnosis.kept import kept_failure
from kimi_desktop.diagnosis.types import FailureRead, FailureReading, KeptFailure, WayOut
from kimi_desktop.machine.holders import Holder
from kimi_desktop.monitor.run_types import RunFacts, RunRecord

if TYPE_CHECKING:
    from tests.support.scripted_services import ScriptedServices


class ScriptedDiagnosis:
    """``ui.bridge.DiagnosisService`` without a pool."""

    def __init__(self, services: ScriptedServices) -> None:
        self._services = services
        self.latest: FailureReading | None = None
        self.tried: list[Tried] = []
        self.holders: tuple[Holder, ...] = ()
        self.kept: dict[int, tuple[RunFacts, ...]] = {}
        services.bus.subscribe(self._on_event)

    def note_tried(self, way: WayOut) -> None:
        self.tried.append((way.key, way.settings))

    def of_run(self, run: RunRecord) -> Operation[tuple[KeptFailure, ...]]:
        facts = (kept_failure(one, run.started_at) for one in self.kept.get(run.id, ()))
        found = tuple(one for one in facts if one is not None)
        return self._services.desk.operation("diagnosis.of_run", found, run.id)

    def end_program(self, holder: Holder) -> Operation[None]:
        return self._services.desk.operation("diagnosis.end_program", None, holder)

    def bundle_text(self) -> str:
        found = self.latest
        return bundle_text(found.evidence, found.diagnosis) if found else ""

    def _on_event(self, event: Event) -> None:
        if not isinstance(event, EngineStateChanged):
            return
        status, services = event.status, self._services
        if status.state is not EngineState.FAILED or status.facts is None:
            self.latest = None
            return
        path = status.settings.model_path if status.settings else None
        model = next((model for model in services.models.models if model.path == path), None)
        pricing = Pricing(services.engine.forecast, services.plans.arrange)
        self.latest = read_failure(
            status, model, services.machine.machine, pricing, self.tried, holders=self.holders
        )
        services.bus.publish(FailureRead(self.latest))
