"""Settings: tokens of hubs, masked, checked, kept with consent; the hub asked first."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QLineEdit

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.downloads.hubs.account_types import TokenPlace
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.settings.page import SettingsPage
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support.scripted_hubs import HUGGING_FACE

SECRET = "hf_aSecretOfTheTests"


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path))


@pytest.fixture
def page(qtbot, bridge) -> SettingsPage:
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.resize(1200, 900)
    widget.show()
    qtbot.waitUntil(lambda: len(widget.hubs.rows) >= 3)
    return widget


@pytest.fixture
def row(page):
    return page.hubs.rows[HUGGING_FACE]


def click(qtbot, widget) -> None:
    QApplication.processEvents()  # what has just appeared gets its place
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_the_keyring_is_asked_when_somebody_looks(bridge, services, qtbot):
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    assert services.desk.called("hubs.look") == 0
    widget.show()
    assert services.desk.called("hubs.look") == 1
    qtbot.waitUntil(lambda: len(widget.hubs.rows) == 3)


def test_without_a_token(row):
    assert row.state.text() == "No token: public models only."
    assert row.give.isVisible()
    assert not row.check.isVisible()
    assert not row.forget.isVisible()
    assert not row.chip.isVisible()


def test_a_token_is_given_masked_checked_and_named(qtbot, row, services):
    click(qtbot, row.give)
    assert row.form.field.hasFocus()
    assert row.form.field.echoMode() is QLineEdit.EchoMode.Password
    assert not row.form.in_file.isVisible()
    assert not row.form.save.isEnabled()
    qtbot.keyClicks(row.form.field, SECRET)
    services.desk.hold.add("hubs.set_token")
    click(qtbot, row.form.save)
    assert row.form.save.text() == "Checking"
    assert not row.form.field.isEnabled()
    services.desk.release("hubs.set_token")
    qtbot.waitUntil(row.check.isVisible)
    assert services.desk.calls[-1] == ("hubs.set_token", (HUGGING_FACE, SECRET, False))
    assert row.chip.text() == "ada"
    assert row.chip.verdict is Verdict.OK
    assert row.state.text() == "Kept in the system’s keyring."
    assert not row.form.isVisible()
    assert row.form.field.text() == ""


def test_the_eye_shows_it_for_a_moment(qtbot, row):
    row.open_form()
    click(qtbot, row.form.look)
    assert row.form.field.echoMode() is QLineEdit.EchoMode.Normal
    assert row.form.look.icon_name() == "eye-off"
    click(qtbot, row.form.cancel)
    assert not row.form.isVisible()
    assert row.form.field.echoMode() is QLineEdit.EchoMode.Password
    assert row.give.hasFocus()


def test_a_wrong_token_is_said_in_place_and_stays_to_be_mended(qtbot, row, services):
    services.hubs.error = DownloadError(ErrorCode.HUB_BAD_TOKEN, {"host": "huggingface.co"})
    row.open_form()
    qtbot.keyClicks(row.form.field, SECRET)
    qtbot.keyClick(row.form.field, Qt.Key.Key_Return)
    qtbot.waitUntil(row.problem.isVisible)
    assert "does not know the token" in row.problem.text()
    assert row.form.isVisible()
    assert row.form.field.text() == SECRET
    assert row.form.field.isEnabled()
    assert row.chip.isHidden()


def test_without_a_keyring_the_file_is_offered_and_not_ticked(qtbot, page, services):
    row = page.hubs.rows[HUGGING_FACE]
    row.show_account(services.hubs.set_account(HUGGING_FACE, can_keep=False))
    row.open_form()
    assert row.form.in_file.isVisible()
    assert not row.form.in_file.isChecked()
    assert "no keyring" in row.form.hint.text()
    row.form.in_file.setChecked(True)
    qtbot.keyClicks(row.form.field, SECRET)
    click(qtbot, row.form.save)
    qtbot.waitUntil(row.check.isVisible)
    assert services.desk.calls[-1][1][2] is True
    assert row.state.text() == "Kept in a file that only you can read."


def test_checked_and_forgotten(qtbot, row, services):
    row.show_account(services.hubs.set_account(HUGGING_FACE, place=TokenPlace.KEYRING, owner="ada"))
    services.hubs.error = DownloadError(ErrorCode.DOWNLOAD_OFFLINE, {"host": "huggingface.co"})
    click(qtbot, row.check)
    qtbot.waitUntil(row.problem.isVisible)
    assert "cannot be reached" in row.problem.text()
    assert row.chip.text() == "Not checked"
    services.hubs.error = None
    click(qtbot, row.check)
    qtbot.waitUntil(lambda: not row.problem.isVisible())
    click(qtbot, row.forget)
    qtbot.waitUntil(lambda: row.state.text() == "No token: public models only.")


@pytest.mark.parametrize(
    ("place", "words", "is_ours"),
    [
        (TokenPlace.ENVIRONMENT, "From an environment variable.", False),
        (TokenPlace.OTHER_PROGRAM, "From “hf auth login”.", False),
        (TokenPlace.SESSION, "Known until the app is closed; kept nowhere.", True),
    ],
)
def test_tokens_of_others_are_named_and_left_alone(row, services, place, words, is_ours):
    row.show_account(services.hubs.set_account(HUGGING_FACE, place=place))
    assert row.state.text() == words
    assert row.chip.text() == "Token kept"
    assert row.forget.isVisible() is is_ours


def test_the_page_that_makes_tokens(qtbot, row, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    row.open_form()
    assert row.form.page.toolTip() == f"{HUGGING_FACE}/settings/tokens"
    click(qtbot, row.form.page)
    assert opened == [f"{HUGGING_FACE}/settings/tokens"]


def test_a_hub_of_ones_own_goes_first(qtbot, page, services):
    page.hubs.endpoint.setText("https://hub.example.org")
    page.hubs.endpoint.editingFinished.emit()
    qtbot.waitUntil(lambda: len(page.hubs.rows) == 4)
    assert next(iter(page.hubs.rows)) == "https://hub.example.org"
    asked = services.desk.called("hubs.set_endpoint")
    page.hubs.endpoint.editingFinished.emit()  # nothing new
    assert services.desk.called("hubs.set_endpoint") == asked
    services.hubs.error = DownloadError(ErrorCode.HUB_BAD_ADDRESS, {"address": "ftp://x"})
    page.hubs.endpoint.setText("ftp://x")
    page.hubs.endpoint.editingFinished.emit()
    qtbot.waitUntil(lambda: page.hubs.endpoint.failed)
    assert "ftp://x" in page.hubs.endpoint.accessibleDescription()


def test_the_environment_goes_before_the_field(bridge, services, qtbot):
    services.hubs.from_environment = True
    services.hubs.endpoint = "https://from.environment"
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.show()
    qtbot.waitUntil(lambda: widget.hubs.endpoint.text() == "https://from.environment")
    assert widget.hubs.endpoint.isReadOnly()


def test_other_pages_lead_here(qtbot, page, bridge, row):
    page.resize(900, 400)
    QApplication.processEvents()
    bridge.navigation.open_settings("hubs")
    qtbot.waitUntil(row.give.hasFocus)
    assert 0 <= page._hubs_heading.mapTo(page, page._hubs_heading.rect().topLeft()).y() < 60


def test_the_language_changes_all_of_it(qapp, row, services):
    row.show_account(services.hubs.set_account(HUGGING_FACE, place=TokenPlace.KEYRING, owner="ada"))
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert row.state.text() == "保存在系统钥匙串中。"
        assert row.forget.text() == "清除"
    finally:
        switch.choose(LanguageChoice.EN)


def test_looking_for_newer_versions_is_a_setting(page, services):
    assert page.hubs.newer.isChecked()
    page.hubs.newer.click()
    assert not services.store.settings.hubs.looks_for_newer
