"""What the engine of the scripted services says of models: nobody is asked."""

from __future__ import annotations

from kimi_desktop.base.operation import Operation
from kimi_desktop.models.types import LocalModel
from kimi_desktop.models.will_load import Finding, Found, LoadVerdict
from tests.support.scripted_desk import Desk

BUILD = "llama.cpp b11549"


class ScriptedChecks:
    """``findings`` by model id; every other model loads."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.findings: dict[str, tuple[Found, ...]] = {}

    def will_load(self, model: LocalModel) -> Operation[LoadVerdict]:
        found = self.findings.get(model.id, (Found(Finding.KNOWN),))
        return self._desk.operation("checks.will_load", LoadVerdict(BUILD, found), model.id)
