"""Imports for the window: found, proven in the background, cancelled, the library looked at."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.imports import importer
from kimi_desktop.downloads.imports.places import Place
from kimi_desktop.downloads.imports.service import Imports
from kimi_desktop.downloads.imports.types import ImportedModel, ImportProgressed, Origin, Outcome
from tests.support.gguf_files import llama_metadata, write_model

WAIT_S = 30


class Desk:
    def __init__(self, home: Path) -> None:
        self.io, self.bus = IoLoop(), EventBus()
        self.events: list[Event] = []
        self.bus.subscribe(self.events.append)
        self.ours = home / "ours"
        self.theirs = home / "theirs"
        self.looks = 0
        places = [Place(Origin.LM_STUDIO, self.theirs), Place(Origin.JAN, home / "none")]
        self.imports = Imports(
            self.io, self.bus, lambda: self.ours, self.look, places=lambda: places
        )

    async def look(self) -> None:
        self.looks += 1


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    write_model(made.theirs / "org" / "one" / "one-Q4_0.gguf", llama_metadata("One"))
    yield made
    made.imports.close()
    made.io.close()


def test_found_proven_linked_and_shown(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "PROGRESS_S", 0.0)
    (model,) = desk.imports.find().result(WAIT_S)
    assert model.name == "org/one"
    (imported,) = desk.imports.run([model]).result(WAIT_S)
    assert [file.outcome for file in imported.files] == [Outcome.LINKED]
    assert (desk.ours / "org" / "one" / "one-Q4_0.gguf").exists()
    assert desk.looks == 1
    assert any(isinstance(event, ImportProgressed) for event in desk.events)


def test_a_folder_of_the_users(desk: Desk, tmp_path: Path) -> None:
    (model,) = desk.imports.find(desk.theirs).result(WAIT_S)
    assert model.origin is Origin.FOLDER
    with pytest.raises(DownloadError) as caught:
        desk.imports.find(tmp_path / "gone").result(WAIT_S)
    assert caught.value.code is ErrorCode.IMPORT_NOT_THERE


def test_cancelled_in_the_middle(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "PROGRESS_S", 0.0)
    monkeypatch.setattr(importer, "BLOCK_BYTES", 512)
    models = desk.imports.find().result(WAIT_S)
    running: list[Operation[tuple[ImportedModel, ...]]] = []
    begun = threading.Event()

    def cancel(event: Event) -> None:
        if isinstance(event, ImportProgressed):
            begun.wait(WAIT_S)
            running[0].cancel()

    desk.bus.subscribe(cancel)
    running.append(desk.imports.run(models))
    begun.set()
    with pytest.raises(CancelledError):
        running[0].result(WAIT_S)
    desk.imports.close()
    assert desk.io.submit(desk.look).result(WAIT_S) is None
    assert desk.looks == 2
