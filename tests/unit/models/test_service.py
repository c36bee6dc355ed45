"""The library service: scans, folders, starter, first chat model; events and settings."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from kimi_desktop.base.errors import DownloadError, ErrorCode, ModelError, SettingsError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.models import service
from kimi_desktop.models.service import LocalModels
from kimi_desktop.models.types import LibraryChanged, ScanProgressed, StarterProgress
from kimi_desktop.planner.cache import kv_bytes_per_token
from tests.support.gguf_files import llama_metadata, write_model

TIMEOUT_S = 60


class Fetcher:
    """Stands for the downloads feature: puts a real file there, or fails."""

    def __init__(self) -> None:
        self.error: DownloadError | None = None

    async def fetch_first_chat(
        self, folder: Path, progress: Callable[[int, int, str], None]
    ) -> Path:
        if self.error:
            raise self.error
        progress(1, 2, "downloading")
        return write_model(folder / "chat-Q8_0.gguf", llama_metadata("Small Chat"))


class Desk:
    def __init__(self, home: Path) -> None:
        self.paths = AppPaths.under(home)
        self.paths.make()
        self.io = IoLoop()
        self.bus = EventBus()
        self.events: list[Event] = []
        self.bus.subscribe(self.events.append)
        self.store = SettingsStore(self.paths.settings_file)
        self.fetcher = Fetcher()
        self.models = LocalModels(
            io=self.io,
            bus=self.bus,
            store=self.store,
            paths=self.paths,
            kv_rule=kv_bytes_per_token,
            fetcher=self.fetcher,
        )


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "profile")
    yield made
    made.io.close()


def test_scan_publishes_what_it_found(desk: Desk) -> None:
    assert desk.models.models == ()
    write_model(desk.paths.default_models_folder / "m.gguf")
    found = desk.models.scan().result(TIMEOUT_S)
    assert [model.title for model in found] == ["Tiny Llama"]
    assert desk.models.models == found
    assert desk.events == [LibraryChanged(found, (desk.paths.default_models_folder,))]


def test_a_long_scan_says_how_far_it_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PROGRESS_S", 0.0)
    for name in ("a", "b", "c"):
        write_model(desk.paths.default_models_folder / f"{name}.gguf")
    desk.models.scan().result(TIMEOUT_S)
    steps = [event for event in desk.events if isinstance(event, ScanProgressed)]
    assert steps == [ScanProgressed(1, 3), ScanProgressed(2, 3)]
    assert isinstance(desk.events[-1], LibraryChanged)


def test_folders_are_added_kept_and_forgotten(desk: Desk, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    path = write_model(mine / "m.gguf")
    assert len(desk.models.add_folder(mine).result(TIMEOUT_S)) == 1
    desk.models.add_folder(mine).result(TIMEOUT_S)
    assert desk.models.folders == (desk.paths.default_models_folder, mine)
    assert SettingsStore(desk.paths.settings_file).settings.models.folders == (str(mine),)
    assert desk.models.remove_folder(mine).result(TIMEOUT_S) == ()
    assert desk.models.folders == (desk.paths.default_models_folder,)
    assert path.exists()


def test_a_choice_that_cannot_be_saved_holds_all_the_same(desk: Desk, tmp_path: Path) -> None:
    write_model(tmp_path / "mine" / "m.gguf")
    desk.paths.settings_file.mkdir()  # a folder in its place
    operation = desk.models.add_folder(tmp_path / "mine")
    with pytest.raises(SettingsError):
        operation.result(TIMEOUT_S)
    assert len(desk.models.models) == 1


def test_starter_is_installed_and_found(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def install(
        folder: Path, progress: Callable[[int, int, str], None], _cancelled: threading.Event
    ) -> Path:
        progress(5, 10, "assembling")
        return write_model(folder / "gemma-3-270m-q4_k_m.gguf", llama_metadata("Gemma"))

    monkeypatch.setattr(service, "install_starter", install)
    model = desk.models.install_starter().result(TIMEOUT_S)
    assert model.title == "Gemma"
    assert StarterProgress(5, 10, "assembling") in desk.events
    assert isinstance(desk.events[-1], LibraryChanged)


def test_cancelling_the_starter_stops_the_copy(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = threading.Event(), threading.Event()

    def install(_folder: Path, _progress: object, cancelled: threading.Event) -> Path:
        began.set()
        assert cancelled.wait(TIMEOUT_S)
        ended.set()
        raise CancelledError

    monkeypatch.setattr(service, "install_starter", install)
    operation = desk.models.install_starter()
    assert began.wait(TIMEOUT_S)
    operation.cancel()
    assert ended.wait(TIMEOUT_S)
    assert operation.cancelled


def test_first_chat_is_fetched_and_found(desk: Desk) -> None:
    model = desk.models.fetch_first_chat().result(TIMEOUT_S)
    assert model.title == "Small Chat"
    assert StarterProgress(1, 2, "downloading") in desk.events
    desk.fetcher.error = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})
    with pytest.raises(DownloadError):
        desk.models.fetch_first_chat().result(TIMEOUT_S)


def test_a_file_known_by_another_name_is_found(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_model(desk.paths.default_models_folder / "a.gguf")
    second = desk.paths.default_models_folder / "b.gguf"
    second.hardlink_to(first)
    monkeypatch.setattr(service, "install_starter", lambda *_arguments: second)
    assert desk.models.install_starter().result(TIMEOUT_S).path == first
    gone = desk.paths.default_models_folder / "gone.gguf"
    monkeypatch.setattr(service, "install_starter", lambda *_arguments: gone)
    with pytest.raises(ModelError) as caught:
        desk.models.install_starter().result(TIMEOUT_S)
    assert caught.value.code is ErrorCode.MODEL_NOT_FOUND


def test_starter_availability_is_that_of_the_packages(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "starter_available", lambda: True)
    assert desk.models.starter_available


def test_a_quiet_look_tells_only_news(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = desk.paths.default_models_folder
    write_model(folder / "m.gguf")
    desk.models.scan().result(TIMEOUT_S)
    desk.events.clear()
    desk.models.freshen()  # it was just done
    looked: list[object] = []
    look = desk.models._library.scan
    monkeypatch.setattr(
        desk.models._library, "scan", lambda *a, **k: (looked.append(a), look(*a, **k))[1]
    )
    monkeypatch.setattr(service, "FRESH_S", 0.0)
    for _ in range(2):
        desk.models.freshen()
        settle(desk)
    assert len(looked) == 2
    assert desk.events == []
    write_model(folder / "n.gguf", llama_metadata("New"))
    desk.models.freshen()
    settle(desk)
    (event,) = desk.events
    assert isinstance(event, LibraryChanged)
    assert [model.title for model in event.models] == ["New", "Tiny Llama"]


def test_a_missing_folder_is_told(desk: Desk, tmp_path: Path) -> None:
    away = tmp_path / "away"
    desk.models.add_folder(away).result(TIMEOUT_S)
    assert desk.models.missing_folders == (away,)
    (event,) = [event for event in desk.events if isinstance(event, LibraryChanged)]
    assert event.missing == (away,)
    write_model(away / "m.gguf")
    desk.models.scan().result(TIMEOUT_S)
    assert desk.models.missing_folders == ()


def settle(desk: Desk) -> None:
    """Until the quiet look is over."""
    end = time.monotonic() + TIMEOUT_S
    while desk.models._looking and time.monotonic() < end:
        time.sleep(0.001)

    async def nothing() -> None:
        return

    desk.io.submit(nothing).result(TIMEOUT_S)
