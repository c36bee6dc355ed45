"""Imports of the scripted services: what is found and what becomes of it is set by the test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.imports.types import (
    FoundFile,
    FoundModel,
    ImportedFile,
    ImportedModel,
    ImportProgressed,
    LinkKind,
    Origin,
    Outcome,
    Witness,
)
from tests.support.scripted_desk import Desk

GB = 10**9


def found(origin: Origin, name: str, place: str, size_gb: float) -> FoundModel:
    """A model of another program in one file."""
    size = int(size_gb * GB)
    file = FoundFile(Path(place) / "m.gguf", "m.gguf", size, "a" * 64, None, Witness.STORE)
    return FoundModel(origin, name, Path(place), (file,))


FOUND = (
    found(Origin.HUGGINGFACE, "unsloth/Kimi-K2.6-GGUF",
          "/home/ada/.cache/huggingface/hub/models--unsloth--Kimi-K2.6-GGUF", 583.7),
    found(Origin.LM_STUDIO, "lmstudio-community/Kimi-Dev-72B-GGUF",
          "/home/ada/.lmstudio/models/lmstudio-community/Kimi-Dev-72B-GGUF", 47.4),
    found(Origin.OLLAMA, "library/qwen3", "/usr/share/ollama/.ollama/models", 5.2),
)  # fmt: skip


class ScriptedImports:
    """``found`` is what the usual places hold; ``outcome`` becomes of every file."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.found: tuple[FoundModel, ...] = FOUND
        self.error: KimiError | None = None
        self.outcome = Outcome.LINKED
        self.link: LinkKind | None = LinkKind.HARD_LINK

    def find(self, path: Path | None = None) -> Operation[tuple[FoundModel, ...]]:
        if self.error is not None:
            return self._desk.failed("imports.find", self.error, path)
        return self._desk.operation("imports.find", self.found, path)

    def find_of_ollama(self, name: str) -> Operation[FoundModel]:
        if self.error is not None:
            return self._desk.failed("imports.find_of_ollama", self.error, name)
        return self._desk.operation("imports.find_of_ollama", FOUND[-1], name)

    def run(self, models: Sequence[FoundModel]) -> Operation[tuple[ImportedModel, ...]]:
        result = tuple(
            ImportedModel(
                model,
                Path("/home/ada/models") / model.name,
                tuple(
                    ImportedFile(file, self.outcome, "b" * 64, self.link, "played")
                    for file in model.files
                ),
            )
            for model in models
        )
        return self._desk.operation("imports.run", result, tuple(models))

    def progress(self, done_bytes: int, total_bytes: int) -> None:
        """An import is under way."""
        self._bus.publish(ImportProgressed(done_bytes, total_bytes, "m.gguf"))
