"""Before the first byte: the sheet that asks the hubs, shows what they say, and adds."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.downloads.preflight_types import Level
from kimi_desktop.ui.download_sheet import DownloadSheet
from tests.support.scripted_downloads import HUBS, busy_queue, preflight_rows

WANTED = "unsloth/Kimi-K2.6-GGUF:UD-Q4_K_XL"
OFFLINE = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})


@pytest.fixture
def window(qtbot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    widget.resize(1280, 800)
    widget.show()
    return widget


@pytest.fixture
def open_sheet(window, bridge, qtbot):
    def make() -> DownloadSheet:
        sheet = DownloadSheet(window, bridge, WANTED)
        sheet.open()
        return sheet

    return make


@pytest.fixture
def sheet(open_sheet, services, qtbot) -> DownloadSheet:
    services.downloads.rows = preflight_rows()
    services.downloads.has_projector = True
    made = open_sheet()
    qtbot.waitUntil(made.add_button.isEnabled)
    return made


def click(qtbot, widget) -> None:
    QApplication.processEvents()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_what_would_be_fetched(sheet, services):
    assert sheet.heading.text() == "Download Kimi K2.6 UD-Q4_K_XL"
    assert "revision 5a1f0c3e9b7d · licence: modified-mit" in sheet.note.text()
    assert sheet.amount.text() == "632 GB · 15 files · about 49 min 28 s at 213.0 MB/s"
    assert sheet.projector.text() == "With the projector for images (900 MB)"
    assert sheet.rows.sentences()[0].startswith("596 GB of space is needed")
    assert sheet.add_button.text() == "Download"
    assert not sheet.first_button.isVisible()
    assert services.desk.calls[-1] == ("downloads.prepare", (WANTED, (), None))


def test_added_and_shown(sheet, services, bridge, qtbot):
    offers = []
    bridge.navigation.offer_made.connect(lambda *values: offers.append(values))
    click(qtbot, sheet.add_button)
    qtbot.waitUntil(lambda: len(offers) == 1)
    name, (spec, first) = services.desk.calls[-1]
    assert name == "downloads.add"
    assert len(spec.files) == 15
    assert first is False
    text, action, run = offers[0]
    assert text == "Kimi K2.6 UD-Q4_K_XL is in the queue."
    assert action == "Show downloads"
    pages = []
    bridge.navigation.page_wanted.connect(pages.append)
    run()
    assert pages == ["models"]


def test_without_the_projector(sheet, services, qtbot):
    click(qtbot, sheet.projector)
    assert sheet.amount.text().startswith("631 GB · 14 files")
    click(qtbot, sheet.add_button)
    qtbot.waitUntil(lambda: services.desk.called("downloads.add") == 1)
    (spec, _first) = services.desk.calls[-1][1]
    assert len(spec.files) == 14


def test_another_source_changes_the_time_and_is_kept(sheet, services, qtbot):
    assert sheet.sources.key() == HUBS[0]
    click(qtbot, sheet.sources.segment(HUBS[1]))
    assert "at 96.0 MB/s" in sheet.amount.text()
    click(qtbot, sheet.add_button)
    qtbot.waitUntil(lambda: services.desk.called("downloads.prefer") == 1)
    assert services.desk.calls[-1][1][1] == HUBS[1]


def test_what_is_here_already_counts(open_sheet, services, qtbot):
    services.downloads.here_bytes = 300 * 10**9
    made = open_sheet()
    qtbot.waitUntil(made.add_button.isEnabled)
    assert "300 GB are here already" in made.amount.text()
    made.dismiss()


def test_others_wait_behind_it_if_asked(open_sheet, services, qtbot):
    services.downloads.set_downloads(*busy_queue(Path("/home/ada/models")))
    made = open_sheet()
    qtbot.waitUntil(made.add_button.isEnabled)
    assert made.add_button.text() == "Add to queue"
    click(qtbot, made.first_button)
    qtbot.waitUntil(lambda: services.desk.called("downloads.add") == 1)
    added = next(arguments for name, arguments in services.desk.calls if name == "downloads.add")
    assert added[1] is True


def test_what_stops_it_stops_the_button(open_sheet, services, qtbot):
    services.downloads.rows = preflight_rows(stops=True)
    made = open_sheet()
    qtbot.waitUntil(lambda: bool(made.rows.sentences()))
    assert not made.add_button.isEnabled()
    assert services.downloads.rows[0].level is Level.STOP
    assert "96 GB too little" in made.rows.sentences()[0]
    made.dismiss()


def test_another_folder_asks_again(open_sheet, services, qtbot):
    services.models.folders = (*services.models.folders, Path("/mnt/archive"), Path("/gone"))
    services.models.missing_folders = (Path("/gone"),)
    made = open_sheet()
    assert [made.folder.itemText(i) for i in range(made.folder.count())] == [
        "/home/ada/models",
        "/mnt/archive",
    ]
    before = services.desk.called("downloads.prepare")
    made.folder.setCurrentIndex(1)
    made.folder.activated.emit(1)
    assert services.desk.called("downloads.prepare") == before + 1
    qtbot.waitUntil(made.add_button.isEnabled)
    assert made.spec is not None
    assert made.spec.folder.startswith("/mnt/archive")
    made.dismiss()


def test_while_the_hubs_are_asked(open_sheet, services, qtbot):
    services.desk.hold.add("downloads.prepare")
    made = open_sheet()
    assert "Asking the hubs" in made.note.text()
    assert not made.add_button.isEnabled()
    assert not made.amount.isVisible()
    click(qtbot, made.cancel_button)  # and its question is cancelled
    future, _ = services.desk._held["downloads.prepare"]
    assert future.cancelled()


def test_a_refusal_is_said_in_place_and_tried_again(open_sheet, services, qtbot):
    services.downloads.prepare_error = OFFLINE
    made = open_sheet()
    qtbot.waitUntil(made.failure.isVisible)
    assert made.failure.text() == describe_error(OFFLINE, Language.EN)[0]
    assert not made.token.isVisible()
    assert not made.add_button.isVisible()
    services.downloads.prepare_error = None
    click(qtbot, made.again)
    qtbot.waitUntil(made.add_button.isEnabled)
    assert not made.failure.isVisible()
    made.dismiss()


def test_a_gated_one_leads_to_the_tokens(open_sheet, services, bridge, qtbot):
    heard = []
    bridge.navigation.settings_wanted.connect(heard.append)
    params = {"repo": "org/x", "page": "https://huggingface.co/org/x"}
    services.downloads.prepare_error = DownloadError(ErrorCode.HUB_GATED_NO_TOKEN, params)
    made = open_sheet()
    qtbot.waitUntil(made.token.isVisible)
    click(qtbot, made.token)
    assert heard == ["hubs"]
