"""Models that are elsewhere, of the scripted services: the real catalogue, priced at once."""

from __future__ import annotations

from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.discover_types import SearchRow
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.models.catalogue_types import License
from kimi_desktop.models.references import parse_reference
from kimi_desktop.models.types import LocalModel, ModelState
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.offer_types import (
    FileWords,
    OfferedFile,
    OfferedModel,
    PlannedFile,
)
from kimi_desktop.planner.offer_words import file_words, planned_words
from kimi_desktop.planner.offers import best_file, offered_file, offers_for
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.report import plan_model, plan_speed
from tests.support.measured import model_facts
from tests.support.scripted_desk import Desk
from tests.support.scripted_machine import ScriptedMachine

OTHER = "org/Some-48B-A3B-GGUF"


class ScriptedDiscover:
    """The catalogue for the scripted machine."""

    def __init__(self, desk: Desk, machine: ScriptedMachine) -> None:
        self._desk = desk
        self._machine = machine
        self.no_gpu_engine = False
        self.error: KimiError | None = None
        self.found: tuple[SearchRow, ...] = (
            SearchRow(OTHER, 12_345, 67, "apache-2.0", False, "2026-10-01T10:00:00Z"),
            SearchRow("unsloth/Kimi-K2.6-GGUF", 90_000, 800, "other", True, "", "Kimi K2.6"),
        )

    def offers(self) -> Operation[tuple[OfferedModel, ...]]:
        machine = self._machine.machine
        found = () if machine is None else offers_for(shipped_catalogue(), machine)
        return self._desk.operation("discover.offers", found)

    @property
    def lacks_gpu_engine(self) -> bool:
        return self.no_gpu_engine

    def search(self, text: str) -> Operation[tuple[SearchRow, ...]]:
        if self.error is not None:
            return self._desk.failed("discover.search", self.error, text)
        return self._desk.operation("discover.search", self.found, text)

    def is_reference(self, text: str) -> bool:
        return parse_reference(text) is not None

    def look(self, text: str) -> Operation[OfferedModel]:
        if self.error is not None:
            return self._desk.failed("discover.look", self.error, text)
        machine = self._machine.machine
        assert machine is not None
        files = (
            offered_file("Some-48B-A3B", "Q8_0", OTHER, 52 * 10**9, machine),
            offered_file("Some-48B-A3B", "Q4_K_M", OTHER, 30 * 10**9, machine),
        )
        model = OfferedModel(
            id=OTHER, name=OTHER, released="", total_parameters=None, active_parameters=None,
            context_tokens=None, modalities=(), license=License("apache-2.0", True, None),
            files=files, best=best_file(files), is_catalogued=False,
        )  # fmt: skip
        return self._desk.operation("discover.look", model, text)

    def plan(self, repo: str, quantization: str) -> Operation[PlannedFile]:
        if self.error is not None:
            return self._desk.failed("discover.plan", self.error, repo, quantization)
        machine = self._machine.machine
        assert machine is not None
        facts = model_facts("kimi-k2.6.q4_x")
        plan = plan_model(facts, machine, Wishes())
        local = LocalModel(
            id=f"{repo}:{quantization}", path=Path(f"{quantization}.gguf"), title=facts.name,
            size_bytes=584 * 10**9, parts_present=0, parts_total=14, state=ModelState.PARTIAL,
            facts=facts, problem=None,
        )  # fmt: skip
        speed = plan_speed(shape_of(facts), plan, machine)
        planned = PlannedFile(local, plan, speed)
        return self._desk.operation("discover.plan", planned, repo, quantization)

    def planned_words(
        self, file: OfferedFile, planned: PlannedFile, language: Language
    ) -> FileWords:
        return planned_words(file, planned, language)

    def words(self, file: OfferedFile, language: Language) -> FileWords:
        return file_words(file, language)
