"""From a hub's name to a verified row of the library, and away again, with everything real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.downloads.hubs import tokens
from kimi_desktop.downloads.queue_types import DownloadState
from kimi_desktop.models.types import ModelState
from kimi_desktop.ui.download_sheet import DownloadSheet
from kimi_desktop.ui.models.page import ModelsPage
from kimi_desktop.ui.models.remove_sheet import RemoveSheet
from kimi_desktop.ui.widgets.button import Button
from tests.e2e.conftest import Desk, OpenDesk
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub

pytestmark = pytest.mark.e2e

REPO, FILE = "org/tiny-kimi-GGUF", "tiny-kimi-Q8_0.gguf"


@pytest.fixture
def hub(tiny_kimi: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # no other hub is within reach
    monkeypatch.setattr(tokens, "system_keyring", lambda: None)  # leave the developer's alone
    with LocalHub(REPO, [HubFile(FILE, content=tiny_kimi.read_bytes())]) as running:
        running.repos[0].tags = ("gguf",)
        monkeypatch.setenv("HF_ENDPOINT", running.endpoint)
        yield running


@pytest.fixture
def desk(hub: LocalHub, models_folder: Path, open_desk: OpenDesk) -> Desk:
    desk = open_desk(language="en", wizard_done=True)
    desk.wait(lambda: desk.core.machine.machine)
    return desk


def models_page(desk: Desk) -> ModelsPage:
    desk.app.window.show_page("models")
    page = desk.app.window.page("models")
    assert isinstance(page, ModelsPage)
    return page


def add_from_discover(desk: Desk, page: ModelsPage) -> None:
    """Search, pick the file, look at the sheet, add it."""
    page.show_tab("discover")
    discover = page.discover
    assert discover is not None
    desk.click(discover.search)
    desk.type(REPO)
    desk.click(discover.go)
    desk.wait(
        lambda: [card for card in discover.cards if any(f.repo == REPO for f in card.model.files)]
    )
    desk.wait(discover.details.download.isVisible)
    desk.click(discover.details.download)
    desk.wait(lambda: desk.app.window.findChildren(DownloadSheet))
    (preflight,) = desk.app.window.findChildren(DownloadSheet)
    desk.wait(lambda: preflight.spec)
    assert preflight.spec is not None
    assert "apache-2.0" in preflight.note.text()
    desk.click(preflight.add_button)


def test_found_fetched_verified_and_in_the_library(
    desk: Desk, models_folder: Path, tiny_kimi: Path
) -> None:
    page = models_page(desk)
    add_from_discover(desk, page)
    desk.wait(lambda: [m for m in desk.core.models.models if m.state is ModelState.READY])
    (status,) = desk.core.downloads.downloads
    assert status.state is DownloadState.READY

    page.show_tab("downloads")
    assert page.downloads is not None
    desk.wait(lambda: page.downloads is not None and page.downloads.finished)
    (row,) = page.downloads.finished.values()
    assert row.status.id == status.id

    place = models_folder / REPO / FILE
    assert place.read_bytes() == tiny_kimi.read_bytes()
    (model,) = desk.core.models.models
    assert model.path == place
    page.show_tab("library")
    desk.wait(lambda: page.library.table.current_row() is not None)
    shown = page.details.shown_model()
    assert shown is not None
    assert shown.verified is not None
    desk.wait(page.details.start.isEnabled)


def test_a_spoiled_file_is_named_and_repaired(
    desk: Desk, hub: LocalHub, models_folder: Path, tiny_kimi: Path
) -> None:
    page = models_page(desk)
    add_from_discover(desk, page)
    desk.wait(lambda: [m for m in desk.core.models.models if m.state is ModelState.READY])
    place = models_folder / REPO / FILE
    right = tiny_kimi.read_bytes()
    spoiled = bytearray(right)
    spoiled[len(right) // 2] ^= 1
    place.write_bytes(spoiled)

    page.show_tab("library")
    desk.wait(lambda: page.library.table.current_row() is not None)
    desk.click(page.details.verify)
    (model,) = desk.core.models.models
    key = f"verify {model.id}"
    desk.wait(lambda: page.library.tasks.report(key) is not None)
    card = page.library.tasks.report(key)
    assert card is not None
    assert FILE in card.accessibleName()
    (repair,) = (b for b in card.findChildren(Button) if b.text().startswith("Repair"))
    desk.click(repair)
    desk.wait(lambda: place.exists() and place.read_bytes() == right)


def test_deleted_for_good_where_there_is_no_trash(desk: Desk, models_folder: Path) -> None:
    page = models_page(desk)
    add_from_discover(desk, page)
    desk.wait(lambda: [m for m in desk.core.models.models if m.state is ModelState.READY])
    page.show_tab("library")
    desk.wait(lambda: page.library.table.current_row() is not None)
    desk.click(page.details.remove)
    desk.wait(lambda: desk.app.window.findChildren(RemoveSheet))
    (removal,) = desk.app.window.findChildren(RemoveSheet)
    desk.click(removal.confirm_button)
    desk.wait(lambda: removal.confirm_button.text() == "Delete for good")
    assert (models_folder / REPO / FILE).exists()
    desk.click(removal.confirm_button)
    desk.wait(lambda: not desk.core.models.models)
    assert not (models_folder / REPO / FILE).exists()
