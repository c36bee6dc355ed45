"""Discover: the family priced, files picked and planned, searches, failures in place."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.models.discover_view import DiscoverView
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support import machines, scripted_data
from tests.support.scripted_discover import OTHER

OFFLINE = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})


@pytest.fixture
def view(page) -> DiscoverView:
    page.show_tab("discover")
    QApplication.processEvents()
    assert page.discover is not None
    return page.discover


def click(qtbot, widget) -> None:
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_the_family_is_there_and_the_first_one_open(qtbot, view):
    qtbot.waitUntil(lambda: len(view.cards) == 12)
    first = view.cards[0]
    assert first.model.name == "Kimi K2.7 Code"
    assert first.is_open
    assert first.rows[0].title() == "UD-Q8_K_XL"
    assert not any(card.is_open for card in view.cards[1:])
    assert "closed" in view.cards[1].head.accessibleName()
    assert "Modified MIT" in first.head.detail
    best = next(row for row in first.rows if row.isChecked())
    assert best.file == first.model.best
    assert "suits this machine best" in best.accessibleName()
    assert view.details.title.text() == "Kimi K2.7 Code"
    assert view.details.basis.text() == "Estimate by size"
    assert "Licence: Modified MIT" in view.details.facts()


def test_rows_are_made_when_a_card_is_opened(qtbot, view):
    qtbot.waitUntil(lambda: bool(view.cards))
    card = view.cards[1]
    assert card.rows == []
    click(qtbot, card.head)
    assert len(card.rows) == len(card.model.files)
    assert view.details.title.text() == card.model.name
    click(qtbot, card.head)
    assert not card.is_open
    assert not card.rows[0].isVisible()


def test_a_model_without_known_files_says_so(qtbot, view):
    qtbot.waitUntil(lambda: bool(view.cards))
    empty = next(card for card in view.cards if not card.model.files)
    click(qtbot, empty.head)
    assert "No GGUF file is known yet" in empty.rows[0].accessibleName()
    assert not empty.rows[0].isEnabled()


def test_the_keyboard_picks_a_file(qtbot, view):
    qtbot.waitUntil(lambda: bool(view.cards))
    row = view.cards[0].rows[0]
    row.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(row, Qt.Key.Key_Space)
    assert view.details.chip.text() == row.verdict_text()
    assert "UD-Q8_K_XL" in view.details._quantization.text()


def test_a_file_is_planned_by_its_header(qtbot, view, services):
    qtbot.waitUntil(lambda: bool(view.cards))
    services.desk.hold.add("discover.plan")
    click(qtbot, view.details.plan)
    assert view.details.cancel.isVisible()
    assert not view.details.plan.isVisible()
    assert QApplication.focusWidget() is view.details.cancel
    services.desk.release("discover.plan")
    qtbot.waitUntil(lambda: view.details.basis.text() == "By its header")
    assert not view.details.plan.isVisible()
    assert not view.details.cancel.isVisible()
    assert "layers are on" in view.details.reasons.text()
    assert view.details.sentence.text().startswith("Fits in VRAM + RAM")
    # Another file, and back: what was read stays read.
    view.cards[0].rows[0].setChecked(True)
    assert view.details.basis.text() == "Estimate by size"
    view.cards[0].pick(view.cards[0].model.best)
    assert view.details.basis.text() == "By its header"


def test_reading_can_be_cancelled(qtbot, view, services):
    qtbot.waitUntil(lambda: bool(view.cards))
    services.desk.hold.add("discover.plan")
    click(qtbot, view.details.plan)
    click(qtbot, view.details.cancel)
    qtbot.waitUntil(view.details.plan.isVisible)
    assert not view.details.failure.isVisible()


def test_another_file_ends_the_reading(qtbot, view, services):
    qtbot.waitUntil(lambda: bool(view.cards))
    services.desk.hold.add("discover.plan")
    click(qtbot, view.details.plan)
    view.cards[0].rows[0].setChecked(True)
    assert view.details.plan.isVisible()


def test_a_header_that_cannot_be_read_is_said_in_place(qtbot, view, services):
    qtbot.waitUntil(lambda: bool(view.cards))
    services.discover.error = OFFLINE
    click(qtbot, view.details.plan)
    qtbot.waitUntil(view.details.failure.isVisible)
    assert view.details.failure.text() == describe_error(OFFLINE, Language.EN)[0]
    assert view.details.plan.isVisible()
    services.discover.error = None
    click(qtbot, view.details.plan)
    qtbot.waitUntil(lambda: view.details.basis.text() == "By its header")


def test_the_name_of_a_file_can_be_copied(qtbot, view, asked):
    qtbot.waitUntil(lambda: bool(view.cards))
    click(qtbot, view.details.copy)
    name = "unsloth/Kimi-K2.7-Code-GGUF:UD-Q4_K_XL"
    assert QGuiApplication.clipboard().text() == name
    assert asked["note_made"] == [f"Copied: {name}"]


def test_a_search_finds_repositories(qtbot, view, services):
    view.search.setText("48B")
    services.desk.hold.add("discover.search")
    qtbot.keyClick(view.search, Qt.Key.Key_Return)
    assert view.nothing.sentence() == "Asking the hub for “48B”"
    assert not view.cards
    services.desk.release("discover.search")
    qtbot.waitUntil(lambda: len(view.results.rows) == 2)
    assert "12,345 downloads" in view.results.rows[0].detail()
    assert "terms to accept first" in view.results.rows[1].detail()
    click(qtbot, view.results.rows[0])
    qtbot.waitUntil(lambda: len(view.cards) == 1)
    assert view.cards[0].model.id == OTHER
    assert view.search.text() == OTHER
    assert view.details.title.text() == OTHER
    click(qtbot, view.back)
    qtbot.waitUntil(lambda: len(view.cards) == 12)
    assert view.search.text() == ""
    assert not view.back.isVisible()


def test_a_pasted_address_is_looked_at_straight_away(qtbot, view, services):
    view.search.setText(f"https://huggingface.co/{OTHER}")
    click(qtbot, view.go)
    qtbot.waitUntil(lambda: len(view.cards) == 1)
    assert services.desk.called("discover.search") == 0
    assert services.desk.called("discover.look") == 1
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: len(view.cards) == 12)


def test_a_search_without_a_result(qtbot, view, services):
    services.discover.found = ()
    view.search.setText("nothing like it")
    click(qtbot, view.go)
    qtbot.waitUntil(lambda: "is called “nothing like it”" in view.nothing.sentence())
    view.search.clear()
    click(qtbot, view.go)
    qtbot.waitUntil(lambda: len(view.cards) == 12)


def test_a_search_that_fails_is_said_in_place_and_repeated(qtbot, view, services):
    services.discover.error = OFFLINE
    view.search.setText("48B")
    click(qtbot, view.go)
    qtbot.waitUntil(view.problem.isVisible)
    assert "huggingface.co" in view.problem.text()
    services.discover.error = None
    click(qtbot, view.again)
    qtbot.waitUntil(lambda: len(view.results.rows) == 2)
    assert not view.problem.isVisible()


def test_an_old_answer_does_not_replace_a_new_one(qtbot, view, services):
    services.desk.hold.add("discover.search")
    view.search.setText("first")
    click(qtbot, view.go)
    services.desk.hold.clear()
    view.search.setText(OTHER)
    click(qtbot, view.go)
    qtbot.waitUntil(lambda: len(view.cards) == 1)
    QApplication.processEvents()
    assert not view.results.rows


def test_another_look_at_the_machine_prices_anew(qtbot, view, services):
    qtbot.waitUntil(lambda: bool(view.cards))
    click(qtbot, view.cards[4].head)
    name = view.cards[4].model.name
    services.machine.set_machine(scripted_data.cpu_only_box())
    qtbot.waitUntil(lambda: view.cards[0].model.name != "Kimi K2.7 Code")
    assert {card.model.name for card in view.cards if card.is_open} >= {name}
    assert view.cards[0].chip.verdict is Verdict.OK


def test_gpus_without_an_engine_for_them_are_named(qtbot, page, services):
    services.discover.no_gpu_engine = True
    page.show_tab("discover")
    assert page.discover is not None
    assert page.discover.engine_note.isVisible()
    page.show_tab("library")
    services.discover.no_gpu_engine = False
    page.show_tab("discover")
    assert not page.discover.engine_note.isVisible()


def test_before_the_machine_was_looked_at(qtbot, bridge, services, models_page):
    services.machine.machine = None
    page = models_page(bridge)
    page.show_tab("discover")
    assert page.discover is not None
    assert "is being looked at" in page.discover.nothing.sentence()
    services.machine.set_machine(machines.machine())
    qtbot.waitUntil(lambda: len(page.discover.cards) == 12)


def test_narrow_rows_give_up_the_size_first(qtbot, page, view):
    qtbot.waitUntil(lambda: bool(view.cards))
    row = view.cards[0].rows[0]
    assert row._row._cells[-1].isVisible()
    page.resize(904, 532)  # in the smallest window
    QApplication.processEvents()
    assert not row._row._cells[-1].isVisible()
    assert row._row._cells[0].width() >= 100


def test_tabs_have_counts_and_arrows(qtbot, page):
    tabs = page.tabs
    assert tabs.key() == "library"
    assert tabs.tab("library").accessibleName() == "Library, 6"
    tabs.tab("library").setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(tabs.tab("library"), Qt.Key.Key_Right)
    assert tabs.key() == "discover"
    assert page._stack.currentWidget() is page.discover


def test_the_language_changes_all_of_it(qtbot, qapp, view):
    qtbot.waitUntil(lambda: bool(view.cards))
    click(qtbot, view.details.plan)
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert view.details.basis.text() == "依据文件头"
        assert "可放入显存" in view.cards[0].chip.text()
        assert "词元/秒" in view.cards[0].rows[0].accessibleName()
        assert "层" in view.details.reasons.text()
    finally:
        switch.choose(LanguageChoice.EN)


def test_a_licence_that_nobody_confirmed_is_marked(qtbot, view):
    qtbot.waitUntil(lambda: bool(view.cards))
    linear = next(card for card in view.cards if card.model.id == "kimi-linear-48b")
    click(qtbot, linear.head)
    assert "(not confirmed)" in view.details.facts()


def test_a_disk_without_room_is_said_in_the_row(qtbot, view, services):
    small = dataclasses.replace(scripted_data.two_gpu_box(), disks=(machines.disk(free_gb=100),))
    services.machine.set_machine(small)
    qtbot.waitUntil(
        lambda: bool(view.cards) and "No disk has room" in view.cards[0].rows[0].accessibleName()
    )


def test_a_gated_repository_leads_to_the_tokens(qtbot, view, services, bridge):
    heard = []
    bridge.navigation.settings_wanted.connect(heard.append)
    params = {"repo": "org/x", "page": "https://huggingface.co/org/x"}
    services.discover.error = DownloadError(ErrorCode.HUB_GATED_NO_TOKEN, params)
    view.search.setText("org/x")
    click(qtbot, view.go)
    qtbot.waitUntil(view.token.isVisible)
    click(qtbot, view.token)
    assert heard == ["hubs"]
    services.discover.error = OFFLINE
    click(qtbot, view.again)
    qtbot.waitUntil(lambda: "huggingface.co" in view.problem.text())
    assert not view.token.isVisible()


def test_so_does_a_header_that_is_gated(qtbot, view, services):
    qtbot.waitUntil(lambda: bool(view.cards))
    params = {"repo": "org/x", "page": "https://huggingface.co/org/x"}
    services.discover.error = DownloadError(ErrorCode.HUB_GATED, params)
    click(qtbot, view.details.plan)
    qtbot.waitUntil(view.details.token.isVisible)


def test_a_file_is_downloaded_after_a_question(qtbot, view, bridge):
    heard = []
    bridge.navigation.download_wanted.connect(heard.append)
    qtbot.waitUntil(lambda: bool(view.cards))
    click(qtbot, view.details.download)
    assert heard == ["unsloth/Kimi-K2.7-Code-GGUF:UD-Q4_K_XL"]
