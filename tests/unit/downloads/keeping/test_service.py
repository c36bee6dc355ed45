"""The keeper with the real library: choices and chats follow, the library is looked at again."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError, ModelError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.downloads.keeping import moving
from kimi_desktop.downloads.keeping.moving import WAITING_FOLDER, Mover
from kimi_desktop.downloads.keeping.service import Keeper
from kimi_desktop.downloads.keeping.types import Moved, MoveProgressed
from kimi_desktop.models.service import LocalModels
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import write_model, write_set
from tests.unit.downloads.keeping.test_removal import Bin
from tests.unit.models.test_checkpoint_row import checkpoint

WAIT_S = 60


class NoFetcher:
    async def fetch_first_chat(self, folder: Path, progress: object) -> Path:
        raise DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": str(folder)})


class Desk:
    def __init__(self, home: Path) -> None:
        paths = AppPaths.under(home / "profile")
        paths.make()
        self.io, self.bus = IoLoop(), EventBus()
        self.events: list[Event] = []
        self.bus.subscribe(self.events.append)
        self.store = SettingsStore(paths.settings_file)
        self.library = LocalModels(
            io=self.io,
            bus=self.bus,
            store=self.store,
            paths=paths,
            kv_rule=kv_bytes_per_token,
            fetcher=NoFetcher(),
        )
        self.default = paths.default_models_folder
        self.other = home / "other"
        self.other.mkdir()
        self.library.add_folder(self.other).result(WAIT_S)
        self.trash = Bin(home / "bin")
        self.used: set[str] = set()
        self.renamed: list[tuple[str, str]] = []
        self.keeper = self.make_keeper()

    def make_keeper(self, *, trash: bool = True) -> Keeper:
        return Keeper(
            self.io,
            self.bus,
            self.store,
            self.library,
            in_use=lambda model: model.id in self.used,
            renamed=lambda old, new: self.renamed.append((old, new)),
            trash=self.trash if trash else None,
        )

    def model(self, name: str) -> LocalModel:
        found = {m.path.name: m for m in self.library.scan().result(WAIT_S)}
        return found[name]

    def names(self) -> list[str]:
        return sorted(model.path.name for model in self.library.models)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.keeper.close()
    made.io.close()


def code_of(error: pytest.ExceptionInfo[KimiError]) -> ErrorCode:
    return error.value.code


def test_removed_and_restored(desk: Desk) -> None:
    write_model(desk.default / "org" / "m-Q4_0.gguf")
    model = desk.model("m-Q4_0.gguf")
    removal = desk.keeper.look_at_removal(model).result(WAIT_S)
    removed = desk.keeper.remove(removal).result(WAIT_S)
    assert desk.names() == []
    desk.keeper.restore(removed).result(WAIT_S)
    assert desk.names() == ["m-Q4_0.gguf"]


def test_what_is_loaded_stays(desk: Desk) -> None:
    write_model(desk.default / "m.gguf")
    model = desk.model("m.gguf")
    desk.used.add(model.id)
    removal = desk.keeper.look_at_removal(model).result(WAIT_S)
    for run in (desk.keeper.remove, desk.keeper.remove_for_good):
        with pytest.raises(ModelError) as caught:
            run(removal).result(WAIT_S)
        assert code_of(caught) is ErrorCode.MODEL_IN_USE
    with pytest.raises(ModelError) as caught:
        desk.keeper.move(model, desk.other).result(WAIT_S)
    assert code_of(caught) is ErrorCode.MODEL_IN_USE
    assert model.path.exists()


def test_without_a_trash_it_can_only_go_for_good(desk: Desk) -> None:
    write_model(desk.default / "m.gguf")
    model = desk.model("m.gguf")
    keeper = desk.make_keeper(trash=False)
    removal = keeper.look_at_removal(model).result(WAIT_S)
    with pytest.raises(ModelError) as caught:
        keeper.remove(removal).result(WAIT_S)
    assert code_of(caught) is ErrorCode.MODEL_NO_TRASH
    keeper.remove_for_good(removal).result(WAIT_S)
    assert desk.names() == []
    keeper.close()


def test_a_move_takes_choices_and_chats_along(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Mover, "_rename_all", lambda _mover: False)
    monkeypatch.setattr(moving, "PROGRESS_S", 0.0)
    root = desk.default / "org" / "name"
    paths = write_set(root, "m-Q4_0", 2)
    write_model(root / "mmproj-F16.gguf", {"general.type": "mmproj"})
    model = desk.model(paths[0].name)
    desk.store.update(
        lambda s: dataclasses.replace(
            s,
            models=dataclasses.replace(s.models, selected=model.id),
            engine=dataclasses.replace(s.engine, loads={model.id: {"context": 4096}}),
        )
    )
    (place,) = desk.keeper.places(model).result(WAIT_S)
    assert place.folder == desk.other
    assert place.fits
    assert place.same_volume
    moved = desk.keeper.move(model, desk.other).result(WAIT_S)
    assert moved.new_id == str(desk.other / "org" / "name" / paths[0].name)
    assert moved.copied_bytes > 0
    assert desk.renamed == [(model.id, moved.new_id)]
    settings = desk.store.settings
    assert settings.models.selected == moved.new_id
    assert settings.engine.loads == {moved.new_id: {"context": 4096}}
    assert not root.exists()
    assert {m.path for m in desk.library.models} == {
        Path(moved.new_id),
        desk.other / "org" / "name" / "mmproj-F16.gguf",
    }
    assert desk.library.models[0].verified is not None
    told = [event for event in desk.events if isinstance(event, MoveProgressed)]
    assert told[-1].model_id == model.id


def test_a_checkpoint_moves_whole_to_a_folder_that_is_new(desk: Desk, tmp_path: Path) -> None:
    folder = checkpoint(desk.default / "org" / "Tiny-Llama")
    model = desk.model("Tiny-Llama")
    new = tmp_path / "new drive"
    found = desk.keeper.look_at_place(model, new).result(WAIT_S)
    assert found.writable
    moved = desk.keeper.move(model, new).result(WAIT_S)
    assert (new / "org" / "Tiny-Llama" / "tokenizer.json").exists()
    assert not folder.exists()
    assert moved.new_id == str(new / "org" / "Tiny-Llama")
    assert new in desk.library.folders
    assert [model.id for model in desk.library.models] == [moved.new_id]


def test_a_cancelled_move_leaves_nothing_behind(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Mover, "_rename_all", lambda _mover: False)
    monkeypatch.setattr(moving, "PROGRESS_S", 0.0)
    write_model(desk.default / "m.gguf")
    model = desk.model("m.gguf")
    moves: list[Operation[Moved]] = []
    begun = threading.Event()

    def cancel(event: Event) -> None:
        if isinstance(event, MoveProgressed):
            begun.wait(WAIT_S)
            moves[0].cancel()

    desk.bus.subscribe(cancel)
    moves.append(desk.keeper.move(model, desk.other))
    begun.set()
    with pytest.raises(CancelledError):
        moves[0].result(WAIT_S)
    desk.keeper.close()
    assert model.path.exists()
    assert not (desk.other / WAITING_FOLDER).exists()
    assert desk.renamed == []


def test_a_place_that_cannot_be_looked_at(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write_model(desk.default / "m.gguf")
    model = desk.model("m.gguf")

    def gone(_folder: Path) -> object:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("kimi_desktop.downloads.keeping.service.look_at_volume", gone)
    assert desk.keeper.places(model).result(WAIT_S) == ()
    with pytest.raises(ModelError) as caught:
        desk.keeper.look_at_place(model, desk.other).result(WAIT_S)
    assert code_of(caught) is ErrorCode.MODEL_NOT_MOVED
