"""The Downloads tab: rows that live, the queue, what is done, sheets, the disk."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QDesktopServices, QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.downloads.queue_types import DownloadState, PartState, PartStatus
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.models.download_row import DownloadAction
from kimi_desktop.ui.models.download_sheets import CancelSheet, DetailsSheet
from kimi_desktop.ui.models.downloads_view import DownloadsView
from kimi_desktop.ui.models.part_strip import PartStrip
from kimi_desktop.ui.widgets.button import ButtonKind
from tests.support.scripted_downloads import HUBS, busy_queue

GB = 10**9
READY, QUEUED, PAUSED = DownloadState.READY, DownloadState.QUEUED, DownloadState.PAUSED


@pytest.fixture
def busy(services):
    """One download of each kind: (running, verifying, paused, failed, two waiting, one done)."""
    downloads = busy_queue(services.models.folders[0])
    services.downloads.set_downloads(*downloads)
    return downloads


@pytest.fixture
def view(busy, page) -> DownloadsView:
    page.show_tab("downloads")
    QApplication.processEvents()
    assert page.downloads is not None
    return page.downloads


def click(qtbot, widget) -> None:
    QApplication.processEvents()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


# the list


def test_each_has_its_place(view, busy, page):
    assert list(view.rows) == [one.id for one in busy[:4]]
    assert list(view.queue) == [one.id for one in busy[4:6]]
    assert list(view.finished) == [busy[6].id]
    assert page.tabs.tab("downloads").accessibleName() == "Downloads, 6"
    words = [row.state.text() for row in view.queue.values()]
    assert words == ["Queued, next", "Queued"]
    assert view.queue_note.full_text() == (
        "2 downloads · 34.9 GB · starts when Kimi K2.6 UD-Q4_K_XL is done"
    )
    assert view.finished[busy[6].id].state.text() == "Ready, 13:05"
    assert not view.nothing.isVisible()


def test_a_row_says_what_ui_says(view, busy):
    row = view.rows[busy[0].id]
    assert (row.name.text(), row.quantization.text()) == ("Kimi K2.6", "UD-Q4_K_XL")
    assert row.chip.text() == "Downloading"
    assert row.facts.words() == [
        "Shards 6/14",
        "271.4 of 583.7 GB (46%)",
        "212.6 MB/s",
        "24 min 29 s left",
        "8 connections · Hugging Face",
    ]
    assert "Downloading, Shards 6/14" in row.accessibleName()
    assert row.main.text() == "Pause"
    assert row.main.accessibleName() == "Pause: Kimi K2.6"
    assert row.sources.key() == "https://huggingface.co"
    verifying, paused, failed = (view.rows[one.id] for one in busy[1:4])
    assert verifying.chip.text() == "Verifying shard 7 of 14"
    assert verifying.facts.words()[2:4] == ["2.1 GB/s", "2 min 31 s left"]
    assert verifying.main.text() == "Cancel"
    assert paused.facts.words()[-1].startswith("paused by you at 14:20")
    assert paused.main.text() == "Resume"
    assert failed.main.text().startswith("Retry ")
    assert failed.main.text().endswith(" MB")
    assert failed.main.kind is ButtonKind.PRIMARY
    assert "is not what it should be" in failed.advice.text()
    assert "It was set aside and is not used. Try again, or" in failed.advice.text()


def test_figures_live_and_the_row_stays(view, busy, services):
    row = view.rows[busy[0].id]
    services.downloads.progress(busy[0].id, done_bytes=300 * GB, shards_done=7, eta_s=1200.0)
    assert view.rows[busy[0].id] is row
    assert row.facts.words()[0] == "Shards 7/14"
    assert "20 min left" in row.facts.words()
    assert row.strip.value() == round(1000 * 300 / 583.7)


def test_one_that_ends_moves_to_the_finished(view, busy, services):
    services.downloads.progress(busy[0].id, state=READY, done_bytes=busy[0].total_bytes)
    assert busy[0].id not in view.rows
    assert busy[0].id in view.finished
    assert "starts when Kimi K2.7 Code" in view.queue_note.full_text()


def test_none_leads_to_discover(page, services, qtbot):
    page.show_tab("downloads")
    assert page.downloads.nothing.isVisible()
    click(qtbot, page.downloads.nothing.button)
    assert page.tabs.key() == "discover"
    assert not page.downloads.limit.isVisible()


def test_other_pages_lead_here(page, bridge, asked):
    bridge.navigation.open_downloads()
    assert asked["page_wanted"] == ["models"]
    assert page.tabs.key() == "downloads"


# commands


def test_pause_resume_retry(view, busy, services, qtbot):
    click(qtbot, view.rows[busy[0].id].main)
    assert services.desk.calls[-1] == ("downloads.pause", (busy[0].id,))
    click(qtbot, view.rows[busy[2].id].main)
    assert services.desk.calls[-1] == ("downloads.resume", (busy[2].id,))
    click(qtbot, view.rows[busy[3].id].main)
    assert services.desk.calls[-1] == ("downloads.retry", (busy[3].id,))
    assert busy[3].id in view.queue


def test_one_that_waits_says_when_it_tries_again_and_may_try_now(view, busy, services, qtbot):
    offline = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})
    key = busy[0].id
    services.downloads.progress(key, waiting=offline, retry_in_s=40.0, bytes_per_s=0.0, eta_s=None)
    row = view.rows[key]
    assert row.chip.text() == "Waiting"
    assert row.main.text() == "Try now"
    assert row.facts.words()[-2] == "next try in 40 s"
    assert DownloadAction.PAUSE in [action for action, _, _ in row.choices()]
    click(qtbot, row.main)
    assert services.desk.calls[-1] == ("downloads.resume", (key,))


def test_another_source_in_mid_download(view, busy, services, qtbot):
    row = view.rows[busy[0].id]
    click(qtbot, row.sources.segment(HUBS[2]))
    assert services.desk.calls[-1] == ("downloads.prefer", (busy[0].id, HUBS[2]))
    assert row.sources.key() == HUBS[2]


def test_sources_say_what_they_gave_and_are_measured_again(view, busy, services, qtbot):
    row = view.rows[busy[0].id]
    assert row.sources.segment(HUBS[2]).text() == "ModelScope 148"
    assert row.measured.text() == "MB/s, measured at 14:05"
    services.downloads.speeds = (100e6, 0.0, 50e6)
    click(qtbot, row.measure)
    assert services.desk.calls[-1] == ("downloads.measure", (busy[0].id,))
    qtbot.waitUntil(row.measure.isEnabled)
    assert row.sources.segment(HUBS[2]).text() == "ModelScope 50"
    assert row.measured.text() == "MB/s, measured at 14:06"


def test_a_measurement_that_fails_may_be_asked_again(view, busy, services, asked, qtbot):
    row = view.rows[busy[0].id]
    services.desk.hold.add("downloads.measure")
    click(qtbot, row.measure)
    assert (row.measured.text(), row.measure.isEnabled()) == ("Measuring…", False)
    services.desk.fail("downloads.measure", DownloadError(ErrorCode.DOWNLOAD_UNKNOWN))
    qtbot.waitUntil(row.measure.isEnabled)
    assert row.measured.text().startswith("MB/s")


def test_cancel_of_one_that_is_verified_asks(view, busy, overlays, qtbot):
    row = view.rows[busy[1].id]
    assert DownloadAction.PAUSE in [action for action, _, _ in row.choices()]
    click(qtbot, row.main)
    assert isinstance(overlays[-1], CancelSheet)


def test_the_order_is_changed_by_button_and_keys(view, busy, services, qtbot):
    first, second = busy[4].id, busy[5].id
    assert not view.queue[first].up.isEnabled()
    click(qtbot, view.queue[second].up)
    assert list(view.queue) == [second, first]
    view.queue[first].more.setFocus()
    qtbot.keyClick(view.queue[first].more, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert list(view.queue) == [first, second]
    qtbot.keyClick(view.queue[first].more, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert list(view.queue) == [second, first]
    before = services.desk.called("downloads.move")
    view.act(DownloadAction.UP, second)  # it is the first already
    assert services.desk.called("downloads.move") == before


def drag(qtbot, view, row, height, *, drop=True):
    """Drag a row of the queue to a height of the frame."""
    frame = view.queue_frame
    QApplication.processEvents()
    start = row.name.mapTo(frame, row.name.rect().center())
    qtbot.mousePress(row.name, Qt.MouseButton.LeftButton)
    for y in (start.y() + 1, (start.y() + height) // 2, height):
        move_mouse(frame, QPoint(start.x(), y))
    if drop:
        qtbot.mouseRelease(frame, Qt.MouseButton.LeftButton, pos=QPoint(start.x(), height))


def move_mouse(widget, place) -> None:
    """A move with the button down, which QTest's own does not say."""
    left = Qt.MouseButton.LeftButton
    event = QMouseEvent(
        QEvent.Type.MouseMove, place, widget.mapToGlobal(place), Qt.MouseButton.NoButton, left,
        Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    QApplication.sendEvent(widget, event)


def test_a_row_of_the_queue_is_dragged(view, busy, services, qtbot):
    first, second = (one.id for one in busy[4:6])
    drag(qtbot, view, view.queue[second], 2)
    assert list(view.queue) == [second, first]
    drag(qtbot, view, view.queue[second], view.queue_frame.height() - 2)
    assert list(view.queue) == [first, second]
    moves = services.desk.called("downloads.move")
    drag(qtbot, view, view.queue[first], view.queue[first].y() + 3)  # where it was
    drag(qtbot, view, view.queue[second], 2, drop=False)
    assert view.queue_frame.findChildren(QWidget, "drop mark")[0].isVisible()
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    qtbot.mouseRelease(view.queue_frame, Qt.MouseButton.LeftButton, pos=QPoint(40, 2))
    assert services.desk.called("downloads.move") == moves
    assert list(view.queue) == [first, second]


def test_a_list_that_changes_ends_the_drag(view, busy, services, qtbot):
    second = busy[5].id
    drag(qtbot, view, view.queue[second], 2, drop=False)
    services.downloads.set_downloads(*busy[:5])
    qtbot.mouseRelease(view.queue_frame, Qt.MouseButton.LeftButton, pos=QPoint(40, 2))
    assert not services.desk.called("downloads.move")


def test_start_now_and_pause_in_the_queue(view, busy, services):
    view.act(DownloadAction.START_NOW, busy[5].id)
    assert services.desk.calls[-1] == ("downloads.start_now", (busy[5].id,))
    view.act(DownloadAction.PAUSE, busy[4].id)
    assert busy[4].id in view.rows


def test_one_without_a_byte_is_cancelled_at_once(view, busy, services, overlays, qtbot):
    click(qtbot, view.queue[busy[4].id].main)
    assert services.desk.calls[-1] == ("downloads.cancel", (busy[4].id, False))
    assert overlays == []


@pytest.mark.parametrize("keep", [True, False])
def test_cancel_asks_what_to_do_with_what_came(view, busy, services, overlays, qtbot, keep):
    view.act(DownloadAction.CANCEL, busy[0].id)
    (sheet,) = overlays
    assert isinstance(sheet, CancelSheet)
    assert sheet.keep_button.text() == "Cancel, keep 271 GB"
    click(qtbot, sheet.keep_button if keep else sheet.delete_button)
    assert services.desk.calls[-1] == ("downloads.cancel", (busy[0].id, keep))
    assert busy[0].id not in view.rows


def test_going_on_changes_nothing(view, busy, services, overlays, qtbot):
    view.act(DownloadAction.CANCEL, busy[0].id)
    click(qtbot, overlays[0].back_button)
    assert services.desk.called("downloads.cancel") == 0


def test_files_and_details(view, busy, overlays, qtbot):
    view.act(DownloadAction.DETAILS, busy[0].id)
    (sheet,) = overlays
    assert isinstance(sheet, DetailsSheet)
    table = sheet.table
    assert table.rowCount() == 14
    assert table.cell(0, 2) == "verified"
    assert table.cell(6, 2) == "51% here"
    assert table.cell(13, 2) == "waiting"
    assert table.cell(0, 4) == "Hugging Face, hf-mirror, ModelScope"
    assert table.data(table.index(0, 3), Qt.ItemDataRole.ToolTipRole) == f"{1:064x}"
    head = Qt.Orientation.Horizontal
    assert table.headerData(3, head, Qt.ItemDataRole.DisplayRole) == "SHA-256"
    click(qtbot, sheet.copy_button)
    text = QGuiApplication.clipboard().text()
    assert "unsloth/Kimi-K2.6-GGUF UD-Q4_K_XL, Downloading" in text
    assert text.count("\n") >= 14
    sheet.dismiss()
    view.act(DownloadAction.DETAILS, busy[3].id)
    assert overlays[-1].problem.isVisible()
    assert overlays[-1].table.cell(2, 2) == "damaged"
    overlays[-1].dismiss()


def test_folder_name_and_library(view, busy, page, services, asked, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or True)
    view.act(DownloadAction.FOLDER, busy[0].id)
    assert Path(opened[0].toLocalFile()) == Path(busy[0].folder)
    view.act(DownloadAction.COPY, busy[0].id)
    assert QGuiApplication.clipboard().text() == busy[0].title
    first, *others = services.models.models
    path = Path(busy[6].folder) / "m.gguf"
    services.models.set_models(dataclasses.replace(first, id=str(path), path=path), *others)
    view.act(DownloadAction.SHOW, busy[6].id)
    assert page.tabs.key() == "library"
    assert page.library.table.current_row().model.path == path


def test_finished_ones_are_taken_off(view, busy, services, qtbot):
    view.act(DownloadAction.FORGET, busy[6].id)
    assert view.finished == {}
    assert services.desk.calls[-1][0] == "downloads.forget"


def test_what_is_no_longer_there_is_left_alone(view, services):
    before = len(services.desk.calls)
    view.act(DownloadAction.PAUSE, "gone")
    assert len(services.desk.calls) == before


def test_menus_have_what_is_possible(view, busy):
    running = [action for action, _, _ in view.rows[busy[0].id].choices()]
    assert DownloadAction.START_NOW not in running
    assert DownloadAction.FORGET not in running
    failed = [action for action, _, _ in view.rows[busy[3].id].choices()]
    assert {DownloadAction.START_NOW, DownloadAction.FORGET} <= set(failed)
    waiting = [action for action, _, _ in view.queue[busy[4].id].choices()]
    assert DownloadAction.PAUSE in waiting
    done = [action for action, _, _ in view.finished[busy[6].id].choices()]
    assert DownloadAction.CANCEL not in done
    for row in (view.rows[busy[0].id], view.queue[busy[4].id]):
        menu = row.menu()
        assert isinstance(menu, QMenu)
        assert len(menu.actions()) == len(row.choices())
        menu.deleteLater()


def test_a_refusal_that_a_token_mends_leads_to_the_tokens(view, busy, services, bridge, qtbot):
    heard = []
    bridge.navigation.settings_wanted.connect(heard.append)
    params = {"repo": "org/x", "page": "https://huggingface.co/org/x"}
    error = DownloadError(ErrorCode.HUB_GATED_NO_TOKEN, params)
    services.downloads.progress(busy[3].id, reason=error)
    click(qtbot, view.rows[busy[3].id].token)
    assert heard == ["hubs"]


def test_commands_that_fail_are_reported(view, busy, services, asked, qtbot):
    services.downloads._list = ()  # it vanished meanwhile
    view._bridge.watch(
        services.downloads.pause(busy[0].id), on_error=view._bridge.navigation.report
    )
    qtbot.waitUntil(lambda: len(asked["problem_met"]) == 1)


# limit and disk


def test_the_speed_limit(view, services):
    assert view.limit.currentText() == "Speed limit: none"
    view.limit.choose(10_000_000)
    view.limit.activated.emit(view.limit.currentIndex())
    assert services.desk.calls[-1] == ("downloads.set_speed_limit", (10_000_000,))
    services.downloads._limit = 3_000_000
    view.retranslate()
    assert view.limit.currentText() == "Speed limit: 3.0 MB/s"


def test_the_disk_says_what_fits(view, busy, services, qtbot):
    qtbot.waitUntil(view.disk.isVisible)
    assert view.disk.legend()[2].startswith("Still to come ")
    assert "free now" in view.disk.free.text()
    assert "after all downloads" in view.disk.free.text()
    huge = dataclasses.replace(busy[4], total_bytes=9_000 * GB)
    services.downloads.set_downloads(*busy[:4], huge)
    assert "too little for all downloads" in view.disk.free.text()


@pytest.mark.parametrize("size", [(1280, 800), (960, 600)])
def test_the_disk_is_seen_whatever_the_length_of_the_list(view, busy, page, services, qtbot, size):
    page.resize(*size)
    qtbot.waitUntil(view.disk.isVisible)
    QApplication.processEvents()
    place = view.disk.mapTo(page, QPoint(0, view.disk.height()))
    assert place.y() <= page.height()
    assert view.disk.visibleRegion().boundingRect() == view.disk.rect()


def test_the_disk_is_looked_at_only_while_it_is_shown(view, page):
    assert view._timer.isActive()
    page.show_tab("library")
    assert not view._timer.isActive()


# painting


def test_many_files_share_cells(qtbot):
    strip = PartStrip()
    qtbot.addWidget(strip)
    strip.resize(100, 8)
    done, coming = PartStatus(PartState.DONE, 1.0), PartStatus(PartState.COMING, 0.5)
    strip.show_parts((done, coming), 0.75, "words")
    assert strip.cells() == (done, coming)
    bad = PartStatus(PartState.DAMAGED, 1.0)
    strip.show_parts((*(done,) * 300, bad, *(PartStatus(PartState.WAITING),) * 300), 0.5, "words")
    cells = strip.cells()
    assert len(cells) <= 15
    states = [cell.state for cell in cells]
    assert states.count(PartState.DAMAGED) == 1
    assert states[0] is PartState.DONE
    assert states[-1] is PartState.WAITING
    assert strip.value() == 500
    assert not strip.grab().isNull()


def test_every_kind_of_row_is_painted(view):
    assert not view.grab().isNull()


def test_the_language_changes_all_of_it(qapp, view, busy):
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        row = view.rows[busy[0].id]
        assert row.chip.text() == "下载中"
        assert row.facts.words()[0] == "分片 6/14"
        assert row.main.text() == "暂停"
        assert view.limit.currentText() == "限速：不限"
        assert view.disk.title.text() == "模型磁盘"
    finally:
        switch.choose(LanguageChoice.EN)


def test_another_version_that_was_proven_meanwhile_is_for_the_user_to_choose(
    view, busy, services, qtbot
):
    params = {"file": "k.gguf", "there": "bbbb", "commit": "aaaa", "proven_at": 1.0}
    reason = DownloadError(ErrorCode.DOWNLOAD_OTHER_VERSION, params)
    services.downloads.progress(busy[2].id, reason=reason)
    row = view.rows[busy[2].id]
    assert row.main.text() == "Keep what is there"
    assert "was proven in another version (bbbb)" in row.facts.words()[-1]
    choice = row.choices()[0]
    assert (choice[0], choice[2]) == (DownloadAction.RESUME, "Fetch this version all the same")
    click(qtbot, row.main)
    qtbot.waitUntil(lambda: busy[2].id not in view.rows)
