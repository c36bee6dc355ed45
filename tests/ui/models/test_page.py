"""The Models page: actions, details, folders, offers, drops, empty states."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDropEvent,
    QGuiApplication,
)
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import DownloadError, ErrorCode, SettingsError
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.operation import Cancelled
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.downloads.newer_types import NewerVersion
from kimi_desktop.models.hash_record import Verified, Witness
from kimi_desktop.models.types import ScanProgressed
from kimi_desktop.models.will_load import Finding, Found
from kimi_desktop.ui.dates import day_text, time_text
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.models.drop import dropped_file, dropped_folders
from kimi_desktop.ui.models.library_table import RowAction
from kimi_desktop.ui.models.serve_sheet import ServeSheet
from kimi_desktop.ui.models.table_model import Column
from tests.support import scripted_data
from tests.support.scripted_checks import BUILD
from tests.ui.models.test_rows import companion


def select(page, model):
    page.library.table.select(model.id)


# details


def test_whether_the_engine_would_load_it(page, services, qtbot):
    assert page.details.loads.text() == message("loads.known", Language.EN, build=BUILD)
    other = services.models.models[0]
    services.checks.findings[other.id] = (
        Found(Finding.ARCHITECTURE, {"name": "kimi-k3", "floor": ""}),
    )
    select(page, other)
    qtbot.waitUntil(lambda: "kimi-k3" in page.details.loads.text())
    assert not page.details.loads.isHidden()


def test_nobody_can_say_whether_it_loads(page, services):
    other = services.models.models[0]
    services.checks.findings[other.id] = (Found(Finding.NOT_ASKED, {"build": BUILD}),)
    select(page, other)
    assert page.details.loads.isHidden()


def test_the_answer_of_a_model_that_is_left_is_not_shown(page, services, qtbot):
    first, second = services.models.models[:2]
    services.checks.findings[first.id] = (Found(Finding.TENSOR_TYPE, {"name": "q9"}),)
    services.desk.hold.add("checks.will_load")
    asked = services.desk.called("checks.will_load")
    select(page, first)
    qtbot.waitUntil(lambda: services.desk.called("checks.will_load") > asked)
    select(page, second)
    services.desk.hold.clear()
    services.desk.release("checks.will_load")
    qtbot.waitUntil(lambda: not page.details.loads.isHidden())
    assert "q9" not in page.details.loads.text()


def test_the_chosen_model_is_shown_first(page, services):
    assert page.details.title.text() == "Kimi K2.6"
    assert page.details.chip.text() == "Running"
    assert page.details.facts() == {
        "File size": "584 GB",
        "Parts": "14 of 14",
        "Verified": "not yet",
        "Weights": "543.9 GiB",
        "Parameters": "1.03 T",
        "Architecture": "deepseek2",
        "Layers": "61",
        "Experts": "384, 8 per token",
        "Trained context": "256K tokens",
        "KV cache (f16)": "70,272 bytes per token",
        "Chat template": "in the file",
        "Thinking": "yes",
    }


def test_the_demo_says_that_it_is_one(page, services):
    select(page, services.models.models[3])
    facts = page.details.facts()
    assert facts["Chat template"] == "none in the file"
    assert "Thinking" not in facts
    assert "Experts" not in facts
    assert page.details.start.text() == "Start"


def test_a_wreck_names_the_field_and_what_to_do(page, services):
    select(page, services.models.models[5])
    assert "general.architecture" in page.details.problem.text()
    assert page.details.problem.isVisible()
    assert page.details.advice.isVisible()
    assert not page.details.start.isVisible()
    assert not page.details.plan.isVisible()
    assert page.details.copy.isVisible()


def test_companions_are_listed_with_their_model(page, services, tmp_path):
    folder = services.models.folders[0]
    projector = companion(folder / "mmproj-kimi-k2.6-F16.gguf")
    services.models.set_models(*services.models.models, projector)
    lines = page.details._companions.text()  # the private label is what people read
    assert lines == "mmproj-kimi-k2.6-F16 · Projector · 900 MB"

    select(page, projector)  # its owner stands for it
    assert page.details.title.text() == "Kimi K2.6"

    lone = companion(folder / "elsewhere" / "mmproj-F16.gguf")
    services.models.set_models(*services.models.models, lone)
    select(page, lone)
    assert page.details.advice.text().startswith("The part of a model that sees images")
    assert not page.details.start.isVisible()


def test_a_checkpoint_says_what_runs_it(page, services, overlays):
    folder = services.models.folders[0]
    model = scripted_data.checkpoint_model(folder)
    services.models.set_models(*services.models.models, model)
    select(page, model)
    assert "vLLM and SGLang can" in page.details.advice.text()
    assert page.details.start.isVisible()
    assert not page.details.plan.isVisible()
    assert "Chat template" not in page.details.facts()
    assert page.details._note.full_text() == "for vLLM, SGLang"
    page.act(RowAction.START, model)
    assert isinstance(overlays[-1], ServeSheet)


def test_when_it_was_verified_and_by_whom(page, services):
    first, *others = services.models.models
    at = scripted_data.NOW
    services.models.set_models(
        dataclasses.replace(first, verified=Verified(at, Witness.LISTING)), *others
    )
    select(page, first)
    day = f"{day_text(at)}, {time_text(at)}"
    assert page.details.facts()["Verified"] == day
    rows = page.library.table.rows
    row = rows.row_at(rows.line_of(first.id))
    assert rows.text(row, Column.VERIFIED) == day_text(at)
    index = rows.index(rows.line_of(first.id), Column.NAME)
    assert f"verified {day_text(at)}" in index.data(Qt.ItemDataRole.AccessibleTextRole)
    services.models.set_models(
        dataclasses.replace(first, verified=Verified(at, Witness.NOBODY)), *others
    )
    assert page.details.facts()["Verified"] == f"{day}, against nothing but itself"
    page.library.table.sort_by(Column.VERIFIED, True)
    assert rows.row_at(0).model.id == first.id


def test_a_drive_that_is_gone_is_shown(page, services, asked):
    away = Path("/media/ada/usb/models")
    gone = scripted_data.missing_model(away)
    services.models.folders = (*services.models.folders, away)
    services.models.missing_folders = (away,)
    services.models.set_models(*services.models.models, gone)
    select(page, gone)
    assert page.details.chip.text() == "Missing"
    assert str(away) in page.details.problem.text().replace("\u200b", "")
    assert not page.details.start.isVisible()
    assert not page.details.folder.isVisible()
    row = page.library.folders.rows()[-1]
    assert row.contents.text() == "not there: is its drive connected?"
    assert not row.open.isEnabled()
    assert row.forget.isEnabled()
    page.act(RowAction.START, gone)
    assert asked["problem_met"] == [gone.problem]


def test_what_changed_meanwhile_is_noticed_when_the_page_is_shown(page, services, qtbot):
    looks = services.desk.called("models.freshen")
    assert looks == 1
    page.hide()
    page.show()
    assert services.desk.called("models.freshen") == 2
    assert page.library.refresh.isEnabled()


# actions


def test_start_chooses_the_model_and_asks_the_window(page, services, bridge, asked, qtbot):
    starter = services.models.models[3]
    select(page, starter)
    qtbot.mouseClick(page.details.start, Qt.MouseButton.LeftButton)
    assert asked["start_wanted"] == [services.engine.settings_for(starter)]
    assert bridge.settings.models.selected == starter.id


def test_the_running_model_is_chatted_with(page, services, asked, qtbot):
    assert page.details.start.text() == "Chat with it"
    qtbot.mouseClick(page.details.start, Qt.MouseButton.LeftButton)
    assert asked["new_chat_wanted"]
    assert not asked["start_wanted"]

    services.engine.set_state(EngineState.STOPPED)
    assert page.details.start.text() == "Start"
    assert page.details.chip.text() == "Ready"


def test_enter_on_a_wreck_says_what_is_wrong(page, services, asked):
    broken = services.models.models[5]
    page.act(RowAction.START, broken)
    assert asked["problem_met"] == [broken.problem]


def test_enter_on_a_companion_says_why_not(page, services, asked, tmp_path):
    page.act(RowAction.START, companion(tmp_path / "mmproj.gguf"))
    assert "not started by itself" in asked["note_made"][0]


def test_open_in_plan_names_the_model(page, services, asked, qtbot):
    qtbot.mouseClick(page.details.plan, Qt.MouseButton.LeftButton)
    assert asked["page_wanted"] == ["plan"]
    assert asked["plan_wanted"] == [services.models.models[1].id]


def test_the_path_is_copied_as_it_is(page, services, qtbot):
    qtbot.mouseClick(page.details.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == str(services.models.models[1].path)


@pytest.mark.parametrize("opens", [True, False])
def test_show_in_folder_opens_it_or_says_that_nothing_can(
    page, services, asked, qtbot, monkeypatch, opens
):
    opened = []

    def open_url(url: QUrl) -> bool:
        opened.append(Path(url.toLocalFile()))
        return opens

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    qtbot.mouseClick(page.details.folder, Qt.MouseButton.LeftButton)
    folder = services.models.models[1].path.parent
    assert opened == [folder]
    assert [str(folder) in note for note in asked["note_made"]] == ([] if opens else [True])


# scanning and folders


def test_refresh_reads_again_and_says_how_far_it_is(page, services, qtbot):
    services.desk.hold.add("models.scan")
    qtbot.mouseClick(page.library.refresh, Qt.MouseButton.LeftButton)
    assert not page.library.refresh.isEnabled()
    assert page.library.header._note.full_text() == "Looking for models"
    services.bus.publish(ScanProgressed(120, 300))
    assert page.library.header._note.full_text() == "120 of 300 models read"

    services.desk.release("models.scan")
    qtbot.waitUntil(page.library.refresh.isEnabled)
    assert page.library.header._note.full_text() == "6 models, 1.73 TB"


def test_a_scan_of_somebody_else_changes_nothing_but_the_rows(page, services):
    services.bus.publish(ScanProgressed(1, 2))
    assert page.library.header._note.full_text() == "6 models, 1.73 TB"


def test_folders_are_added_shown_opened_and_forgotten(
    page, services, asked, qtbot, monkeypatch, tmp_path
):
    more = tmp_path / "more models"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: str(more))
    qtbot.mouseClick(page.library.add, Qt.MouseButton.LeftButton)
    assert services.desk.calls[-1] == ("models.add_folder", (more,))
    first, second = page.library.folders.rows()
    assert first.contents.text() == "6 models, 1.73 TB"
    assert not first.forget.isVisible()
    assert second.contents.text() == "no models found"

    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url) or True)
    qtbot.mouseClick(second.open, Qt.MouseButton.LeftButton)
    assert Path(opened[0].toLocalFile()) == more

    qtbot.mouseClick(second.forget, Qt.MouseButton.LeftButton)
    assert services.desk.calls[-1] == ("models.remove_folder", (more,))
    assert len(page.library.folders.rows()) == 1
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_no_choice_no_folder(page, services, qtbot, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: "")
    qtbot.mouseClick(page.library.add, Qt.MouseButton.LeftButton)
    assert not services.desk.called("models.add_folder")


def test_a_choice_that_cannot_be_saved_is_reported(page, services, asked, qtbot, tmp_path):
    services.desk.hold.add("models.add_folder")
    page.add_folder(tmp_path / "mine")
    error = SettingsError(ErrorCode.SETTINGS_NOT_SAVED, {"path": "x", "detail": "full"})
    services.desk.fail("models.add_folder", error)
    qtbot.waitUntil(lambda: asked["problem_met"] == [error])
    assert page.library.refresh.isEnabled()


# drag and drop


def drop(page, *paths: Path) -> bool:
    """Drag and drop files onto the page; False when it does not take them."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    place = QPointF(100, 100)
    keys = (Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton)
    enter = QDragEnterEvent(place.toPoint(), *keys, Qt.KeyboardModifier.NoModifier)
    enter.ignore()
    QApplication.sendEvent(page, enter)
    if not enter.isAccepted():
        return False
    assert page.veil.isVisible()
    covered = page.veil.grab().toImage()
    assert covered.size() == page.size()
    assert covered.pixelColor(24, 200) != covered.pixelColor(4, 200)  # frame and ground
    QApplication.sendEvent(page, QDropEvent(place, *keys, Qt.KeyboardModifier.NoModifier))
    assert not page.veil.isVisible()
    return True


def test_a_dropped_file_adds_its_folder_and_is_selected(page, services, tmp_path, qtbot):
    folder = tmp_path / "dropped"
    folder.mkdir()
    file = folder / "new-Q4_K_M.gguf"
    file.touch()
    assert drop(page, file)
    assert services.desk.calls[-1] == ("models.add_folder", (folder,))
    new = dataclasses.replace(scripted_data.starter_model(folder), id=str(file), path=file)
    services.models.set_models(*services.models.models, new)
    assert page.library.table.current_row().model == new
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_a_dropped_folder_is_added(page, services, tmp_path, qtbot):
    assert drop(page, tmp_path)
    assert services.desk.calls[-1] == ("models.add_folder", (tmp_path,))
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_a_folder_inside_the_library_is_only_read_again(page, services, asked, qtbot, tmp_path):
    services.models.folders = (tmp_path,)
    inside = tmp_path / "deeper"
    inside.mkdir()
    assert drop(page, inside)
    assert not services.desk.called("models.add_folder")
    assert services.desk.called("models.scan") == 1
    assert "in the library already" in asked["note_made"][0]
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_other_files_are_not_taken(page, services, tmp_path):
    note = tmp_path / "notes.txt"
    note.touch()
    assert not drop(page, note)
    assert not page.veil.isVisible()


def test_what_is_on_the_web_is_not_taken(page):
    data = QMimeData()
    data.setUrls([QUrl("https://example.org/model.gguf")])
    assert dropped_folders(data) == ()
    assert dropped_file(data) is None


def test_leaving_takes_the_veil_away(page):
    page.veil.appear()
    QApplication.sendEvent(page, QDragLeaveEvent())
    assert not page.veil.isVisible()


# offers


def test_an_empty_library_has_one_button_and_two_offers(
    fresh_services, fresh_bridge, models_page, qtbot, monkeypatch, tmp_path
):
    page = models_page(fresh_bridge)
    qtbot.waitUntil(page.library.nothing.button.isVisible)
    assert not page.details.isVisible()
    assert [card.isVisible() for card in page.library.offers.cards()] == [True, True]
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: str(tmp_path))
    qtbot.mouseClick(page.library.nothing.button, Qt.MouseButton.LeftButton)
    assert fresh_services.desk.called("models.add_folder") == 1
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_a_library_that_nobody_looked_through_is_not_called_empty(
    fresh_services, fresh_bridge, models_page, qtbot
):
    fresh_services.desk.hold.add("models.scan")
    page = models_page(fresh_bridge)
    assert page.library.nothing.sentence().startswith("Looking through the folders")
    assert not page.library.nothing.button.isVisible()

    fresh_services.desk.release("models.scan")
    qtbot.waitUntil(page.library.nothing.button.isVisible)
    assert page.library.nothing.sentence().startswith("No model yet.")


def test_the_demo_is_installed_shown_and_no_longer_offered(
    fresh_services, fresh_bridge, models_page, qtbot
):
    page = models_page(fresh_bridge)
    card = page.library.offers.starter
    fresh_services.desk.hold.add("models.install_starter")
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    assert card.progress.isVisible()
    assert card.progress.title() == "Putting the demo model together"
    assert not page.library.offers.chat.button.isEnabled()

    fresh_services.models.progress(100_000_000, 253_000_000, "assembling")
    assert card.progress.gauge.share == pytest.approx(0.395, abs=0.001)
    assert card.progress.facts().startswith("100 MB of 253 MB (40%)")
    fresh_services.models.progress(200_000_000, 253_000_000, "checking")
    assert card.progress.title() == "Checking every byte (SHA-256)"

    fresh_services.models.set_models(scripted_data.starter_model(fresh_services.models.folders[0]))
    fresh_services.desk.release("models.install_starter")
    qtbot.waitUntil(card.isHidden)
    assert page.details.title.text() == "Gemma 3 270M"
    assert page.library.offers.chat.isVisible()
    assert page.library.offers.chat.button.isEnabled()


def test_cancel_ends_it_without_a_complaint(fresh_services, fresh_bridge, models_page, qtbot):
    page = models_page(fresh_bridge)
    card = page.library.offers.starter
    fresh_services.desk.hold.add("models.install_starter")
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(card.progress.cancel_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(card.button.isVisible)
    assert not card.progress.isVisible()
    assert not card.failure.isVisible()
    assert card.button.text() == "Install"
    assert not card.has_failed


def test_a_failed_download_says_why_and_can_be_tried_again(
    fresh_services, fresh_bridge, models_page, qtbot
):
    page = models_page(fresh_bridge)
    card = page.library.offers.chat
    error = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})
    fresh_services.models.first_chat_error = error
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(card.failure.isVisible)
    assert card.failure.text() == "huggingface.co cannot be reached."
    assert card.advice.isVisible()
    assert card.button.text() == "Try again"

    fresh_services.models.first_chat_error = None
    qtbot.mouseClick(card.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not card.is_busy)
    assert page.details.title.text() == "Small Instruct 0.6B"
    assert not card.failure.isVisible()


def test_who_has_a_chat_model_is_not_offered_another(page, services):
    assert page.library.offers.isHidden()
    services.models.set_models(services.models.models[3])
    assert page.library.offers.chat.isVisible()
    assert page.library.offers.starter.isHidden()


def test_without_its_packages_the_demo_is_not_offered(fresh_services, fresh_bridge, models_page):
    fresh_services.models.starter_available = False
    page = models_page(fresh_bridge)
    assert page.library.offers.starter.isHidden()


def test_a_cancelled_scan_is_no_news(page, services, asked, qtbot):
    services.desk.hold.add("models.scan")
    page.refresh()
    services.desk.fail("models.scan", Cancelled())
    qtbot.waitUntil(page.library.refresh.isEnabled)
    assert asked["problem_met"] == []


# everything together


def test_every_control_is_reached_by_tab_and_has_a_name(page, services, tmp_path):
    services.models.add_folder(tmp_path)
    services.models.set_models(services.models.models[3])
    stops = [
        widget
        for widget in page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
    ]
    assert len(stops) >= 9
    for stop in stops:
        text = stop.text() if hasattr(stop, "text") and callable(stop.text) else ""
        assert stop.accessibleName() or text, stop


@pytest.mark.parametrize("width", [904, 1224, 1864])
def test_nothing_is_cut_off_at_the_sides(page, services, width):
    services.models.set_models(*services.models.models[3:])
    page.resize(width, 532)
    QApplication.processEvents()
    for area in (page.library, *page.details.findChildren(type(page.library).__mro__[1])):
        assert area.widget().width() <= area.viewport().width(), area


def test_find_and_refresh_have_their_keys(page, services, qtbot):
    page.activateWindow()
    page.library.table.setFocus()
    qtbot.keyClick(page, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(page.library.filter.hasFocus)
    qtbot.keyClick(page, Qt.Key.Key_F5)
    assert services.desk.called("models.scan") == 1
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_words_follow_the_language(page, services, qapp):
    select(page, services.models.models[5])
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert page.library.add.text() == "添加文件夹…"
        assert page.details.chip.text() == "已损坏"
        assert "文件头已损坏" in page.details.problem.text()
        assert page.library.header._note.full_text() == "6 个模型，1.73 TB"
        assert page.library.table.rows.column_name(Column.QUANTIZATION) == "量化"
        assert page.library.folders.rows()[0].contents.text() == "6 个模型，1.73 TB"
        assert page.library.offers.chat.button.text() == "下载"
        assert list(page.details.facts()) == ["文件大小", "校验时间"]
    finally:
        switch.choose(LanguageChoice.EN)
        QApplication.processEvents()
    assert page.library.add.text() == "Add a folder…"
    assert page.details.chip.text() == "Damaged"


def test_a_newer_version_is_said_and_leads_to_the_sheet(page, services, bridge, qtbot):
    model = services.models.models[0]
    select(page, model)
    assert page.details.newer.isHidden()
    services.newer.set_found(NewerVersion(model.id, "org/model:Q4_K_M", "a" * 12, "b" * 12))
    select(page, model)
    assert not page.details.newer.isHidden()
    assert "bbbbbbbbbbbb; here is aaaaaaaaaaaa" in page.details.newer_label.text()
    wanted = []
    bridge.navigation.download_wanted.connect(wanted.append)
    page.details.newer.click()
    assert wanted == ["org/model:Q4_K_M"]


def test_newer_versions_are_looked_for_when_shown_and_when_asked(page, services, asked, qtbot):
    models = services.models.models
    assert ("newer.look", (models, False)) in services.desk.calls
    page.act(RowAction.LOOK, models[0])
    assert services.desk.calls[-1] == ("newer.look", (models, True))
    qtbot.waitUntil(lambda: len(asked["note_made"]) == 1)
