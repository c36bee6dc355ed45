"""Folders and drives that are gone: shown from memory, forgotten only on request."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.models.inventory import Inventory, same_rows
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import LocalModel, ModelFormat, ModelState
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import write_model, write_set
from tests.unit.models.test_checkpoint_row import checkpoint


class Machine:
    """A default folder, and one on a drive that can be unplugged."""

    def __init__(self, home: Path) -> None:
        self.default = home / "default"
        self.drive = home / "media" / "usb"
        self.folder = self.drive / "models"
        self.mounts = {str(self.drive), "/"}
        self.file = home / "data" / "library.json"
        self.folder.mkdir(parents=True)
        self.inventory = self.start()
        self.library = Library(kv_bytes_per_token)

    def start(self) -> Inventory:
        return Inventory(self.file, self.default, lambda place: place in self.mounts)

    @property
    def folders(self) -> tuple[Path, Path]:
        return self.default, self.folder

    def look(self) -> tuple[LocalModel, ...]:
        missing = self.inventory.missing(self.folders)
        present = [folder for folder in self.folders if folder not in missing]
        models = self.library.scan(present)
        self.inventory.note(present, missing, models)
        return (*models, *self.inventory.remembered(missing))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_default_folder_is_empty_until_it_held_something(machine: Machine) -> None:
    assert machine.inventory.missing(machine.folders) == ()
    write_model(machine.default / "m.gguf")
    machine.look()
    shutil.rmtree(machine.default)
    assert machine.inventory.missing(machine.folders) == (machine.default,)


def test_an_added_folder_that_is_gone_is_missing_even_if_nothing_was_in_it(
    machine: Machine,
) -> None:
    shutil.rmtree(machine.drive)
    assert machine.inventory.missing(machine.folders) == (machine.folder,)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("leaves", ["nothing", "an empty mount point"])
def test_an_unplugged_drive_is_shown_from_memory(
    machine: Machine, leaves: str, restarted: bool
) -> None:
    write_set(machine.folder, "Big-Q4_K_M", 3)
    checkpoint(machine.folder / "Tiny-Llama")
    write_model(machine.default / "here.gguf")
    before = {model.id: model for model in machine.look()}
    shutil.move(machine.folder, machine.file.parent / "aside")
    if leaves == "nothing":
        machine.drive.rmdir()
    else:
        machine.folder.mkdir()
        machine.mounts.discard(str(machine.drive))
    if restarted:
        machine.inventory = machine.start()
    after = {model.id: model for model in machine.look()}
    assert set(after) == set(before)
    gone = [model for model in after.values() if model.state is ModelState.MISSING]
    assert len(gone) == 2
    for model in gone:
        then = before[model.id]
        assert (model.title, model.size_bytes, model.format) == (
            then.title,
            then.size_bytes,
            then.format,
        )
        assert model.problem is not None
        assert model.problem.code is ErrorCode.MODEL_FOLDER_MISSING
        assert model.problem.params["path"] == str(machine.folder)
        assert model.facts is not None
        assert then.facts is not None
        assert model.facts.quantization == then.facts.quantization
        assert not model.is_startable
    assert {model.format for model in gone} == set(ModelFormat)
    # Looked at again while it is gone, and when it is back.
    assert {model.id for model in machine.look()} == set(before)
    shutil.rmtree(machine.drive, ignore_errors=True)
    shutil.move(machine.file.parent / "aside", machine.folder)
    machine.mounts.add(str(machine.drive))
    assert {model.state for model in machine.look()} == {ModelState.READY}


def test_a_model_that_was_removed_from_a_drive_that_is_there_is_gone(machine: Machine) -> None:
    path = write_model(machine.folder / "m.gguf")
    machine.look()
    path.unlink()
    assert machine.look() == ()
    assert json.loads(machine.file.read_text())["folders"] == {}


def test_a_folder_that_is_no_longer_looked_into_is_forgotten(machine: Machine) -> None:
    write_model(machine.folder / "m.gguf")
    machine.look()
    machine.inventory.note([machine.default], [], ())
    shutil.rmtree(machine.drive)
    assert machine.inventory.remembered([machine.folder]) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"folders": []}',
        '{"folders": {"/x": 3}}',
        '{"folders": {"/x": {"mount": "", "models": [3]}}}',
        '{"folders": {"/x": {"mount": "", "models": [{"id": "a"}]}}}',
    ],
)
def test_a_damaged_memory_is_no_memory(machine: Machine, text: str) -> None:
    machine.file.parent.mkdir(parents=True)
    machine.file.write_text(text)
    assert machine.start().remembered([Path("/x")]) == ()


def test_a_memory_that_cannot_be_written_is_no_failure(machine: Machine) -> None:
    machine.file.parent.write_text("a file where the folder should be")
    write_model(machine.folder / "m.gguf")
    assert len(machine.look()) == 1


def test_rows_that_say_the_same(machine: Machine) -> None:
    write_set(machine.folder, "big", 2)[1].unlink()
    first = machine.look()
    assert same_rows(first, machine.look())
    machine.mounts.discard(str(machine.drive))
    gone, again = machine.look(), machine.look()
    assert gone[0].problem is not again[0].problem
    assert same_rows(gone, again)
    assert not same_rows(first, gone)
    assert not same_rows(first, ())
