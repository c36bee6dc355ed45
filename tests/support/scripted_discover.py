"""Models that are elsewhere, of the scripted services: the real catalogue, priced at once."""

from __future__ import annotations

from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner.offer_types import FileWords, OfferedFile, OfferedModel
from kimi_desktop.planner.offer_words import file_words
from kimi_desktop.planner.offers import offers_for
from tests.support.scripted_desk import Desk
from tests.support.scripted_machine import ScriptedMachine


class ScriptedDiscover:
    """The catalogue for the scripted machine."""

    def __init__(self, desk: Desk, machine: ScriptedMachine) -> None:
        self._desk = desk
        self._machine = machine

    def offers(self) -> Operation[tuple[OfferedModel, ...]]:
        machine = self._machine.machine
        found = () if machine is None else offers_for(shipped_catalogue(), machine)
        return self._desk.operation("discover.offers", found)

    def words(self, file: OfferedFile, language: Language) -> FileWords:
        return file_words(file, language)
