"""Settings: servers that somebody else runs; keys masked, and gone from the form at once."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit

from kimi_desktop.backends.attached.types import ServerDraft
from kimi_desktop.base.errors import BackendError, DownloadError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.models.page import ModelsPage
from kimi_desktop.ui.settings.page import SettingsPage
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support.scripted_other_servers import FOUND, LAB, SILENT, VLLM

URL = "http://10.0.0.7:8000/v1"
SECRET = "sk-aSecretOfTheTests"


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path))


@pytest.fixture
def page(qtbot, bridge, services) -> SettingsPage:
    services.other_servers.set_servers(LAB, SILENT, FOUND)
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.resize(1200, 900)
    widget.show()
    qtbot.waitUntil(lambda: len(widget.servers.rows) == 3)
    return widget


def click(qtbot, widget) -> None:
    QApplication.processEvents()  # what has just appeared gets its place
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def test_servers_are_asked_when_somebody_looks(bridge, services, qtbot):
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    assert services.desk.called("other_servers.look") == 0
    widget.show()
    assert services.desk.called("other_servers.look") == 1
    assert services.desk.called("other_servers.freshen") == 1


def test_rows_say_what_is_known(page):
    lab = page.servers.rows["Lab"]
    assert (lab.chip.text(), lab.chip.verdict) == ("vLLM 0.32.0", Verdict.OK)
    assert lab.state.text() == "key in the system's keyring · 1 model"
    assert lab.models.text() == "moonshotai/Kimi-K2.6 · context 131,072"
    assert lab.problem.isHidden()
    office = page.servers.rows["Office"]
    assert office.chip.text() == "No answer"
    assert "Connection refused" in office.problem.text()
    assert office.use.isHidden()
    ollama = page.servers.rows["Ollama"]
    assert ollama.state.text() == "found on this computer · 2 models"
    assert ollama.edit.isHidden()
    assert ollama.remove.isHidden()
    assert [line.model.id for line in ollama.files] == ["gemma3:270m", "qwen3:32b"]
    assert ollama.models.isHidden()
    assert lab.files == ()


def test_long_lists_are_cut(page, services):
    many = tuple(dataclasses.replace(VLLM.models[0], id=f"m{number}") for number in range(9))
    report = dataclasses.replace(VLLM, models=many)
    services.other_servers.set_servers(dataclasses.replace(LAB, report=report))
    assert page.servers.rows["Lab"].models.text().splitlines()[-1] == "and 5 more"


def test_one_is_added_with_a_masked_key(qtbot, page, services):
    click(qtbot, page.servers.add)
    form = page.servers.form
    assert form.name.hasFocus()
    assert form.key.echoMode() is QLineEdit.EchoMode.Password
    assert form.in_file.isHidden()
    assert form.drop.isHidden()
    assert not form.save.isEnabled()
    qtbot.keyClicks(form.name, "Box")
    qtbot.keyClicks(form.url, URL)
    qtbot.keyClicks(form.key, SECRET)
    services.desk.hold.add("other_servers.save")
    click(qtbot, form.save)
    assert form.save.text() == "Checking"
    assert not form.url.isEnabled()
    services.desk.release("other_servers.save")
    qtbot.waitUntil(form.isHidden)
    assert services.desk.calls[-1] == (
        "other_servers.save", (ServerDraft("Box", URL, SECRET), ""),
    )  # fmt: skip
    assert form.key.text() == ""
    assert "Box" in page.servers.rows


def test_a_refusal_is_said_in_place_and_what_was_typed_stays(qtbot, page, services):
    services.other_servers.error = BackendError(
        ErrorCode.SERVER_BAD_KEY, {"name": "Box", "detail": "401"}
    )
    page.servers.open_form()
    form = page.servers.form
    form.name.setText("Box")
    form.url.setText(URL)
    qtbot.keyClicks(form.key, SECRET)
    qtbot.keyClick(form.key, Qt.Key.Key_Return)
    qtbot.waitUntil(form.problem.isVisible)
    assert "does not accept the API key" in form.problem.text()
    assert (form.key.text(), form.url.text()) == (SECRET, URL)
    assert form.save.isEnabled()
    click(qtbot, form.cancel)
    assert form.isHidden()
    assert form.key.text() == ""
    assert page.servers.add.hasFocus()


def test_without_a_keyring_the_file_is_offered_and_not_ticked(qtbot, bridge, services):
    services.other_servers.can_keep = False
    page = SettingsPage(bridge)
    qtbot.addWidget(page)
    page.show()
    page.servers.open_form()
    form = page.servers.form
    qtbot.waitUntil(lambda: not form.in_file.isHidden())
    assert not form.in_file.isChecked()
    assert "no keyring" in form.hint.text()


def test_the_eye_shows_it_for_a_moment(qtbot, page):
    page.servers.open_form()
    form = page.servers.form
    click(qtbot, form.look)
    assert form.key.echoMode() is QLineEdit.EchoMode.Normal
    click(qtbot, form.cancel)
    assert form.key.echoMode() is QLineEdit.EchoMode.Password


@pytest.mark.parametrize(
    ("typed", "drops", "key"), [("", False, None), ("", True, ""), ("n", 1, "n")]
)
def test_editing_leaves_changes_or_drops_the_key(qtbot, page, services, typed, drops, key):
    row = page.servers.rows["Lab"]
    click(qtbot, row.edit)
    assert row.form.url.text() == LAB.entry.url
    assert row.form.key.text() == ""  # it never comes out
    assert row.form.drop.isVisible()
    row.form.key.setText(typed)
    row.form.drop.setChecked(drops)
    row.form.name.setText("Cellar")
    click(qtbot, row.form.save)
    qtbot.waitUntil(lambda: "Cellar" in page.servers.rows)
    draft = ServerDraft("Cellar", LAB.entry.url, key)
    assert ("other_servers.save", (draft, "Lab")) in services.desk.calls
    assert "Lab" not in page.servers.rows


def test_checking_and_removing(qtbot, page, services):
    row = page.servers.rows["Lab"]
    services.other_servers.problem = SILENT.problem
    services.desk.hold.add("other_servers.check")
    click(qtbot, row.check)
    assert row.check.text() == "Checking"
    services.desk.release("other_servers.check")
    qtbot.waitUntil(row.problem.isVisible)
    assert row.models.isVisible()  # what was known stays
    click(qtbot, row.remove)
    qtbot.waitUntil(lambda: "Lab" not in page.servers.rows)


def test_chatting_with_the_only_model_or_a_choice(qtbot, page, bridge):
    with qtbot.waitSignal(bridge.navigation.attach_wanted) as wanted:
        click(qtbot, page.servers.rows["Lab"].use)
    assert wanted.args == ["Lab", "moonshotai/Kimi-K2.6"]
    with qtbot.waitSignal(bridge.navigation.picker_wanted):
        click(qtbot, page.servers.rows["Ollama"].use)


def test_a_file_of_ollama_is_taken_into_the_library(qtbot, page, bridge, services):
    line = page.servers.rows["Ollama"].files[0]
    with qtbot.waitSignal(bridge.navigation.import_wanted) as wanted:
        click(qtbot, line.use)
    assert services.desk.calls[-1] == ("imports.find_of_ollama", ("gemma3:270m",))
    models = ModelsPage(bridge)
    qtbot.addWidget(models)
    bridge.navigation.import_model(*wanted.args)
    assert services.desk.calls[-1] == ("imports.run", ((wanted.args[0],),))


def test_a_file_that_is_not_found_is_said(qtbot, page, bridge, services):
    services.imports.error = DownloadError(ErrorCode.SERVER_NOT_IN_STORE, {"model": "qwen3:32b"})
    with qtbot.waitSignal(bridge.navigation.problem_met) as met:
        click(qtbot, page.servers.rows["Ollama"].files[1].use)
    assert met.args == [services.imports.error]


def test_files_of_ollama_elsewhere_are_not_offered(page, services):
    entry = dataclasses.replace(FOUND.entry, url="http://192.168.1.9:11434/v1")
    services.other_servers.set_servers(dataclasses.replace(FOUND, entry=entry))
    row = page.servers.rows["Ollama"]
    assert row.files == ()
    assert row.models.text().splitlines()[0].startswith("gemma3:270m · Q8_0")


def test_other_pages_lead_here(qtbot, page, bridge):
    page.resize(900, 400)
    QApplication.processEvents()
    bridge.navigation.open_settings("servers")
    qtbot.waitUntil(page.servers.rows["Lab"].check.hasFocus)


def test_the_language_changes_all_of_it(qapp, page):
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        row = page.servers.rows["Lab"]
        assert row.state.text() == "密钥存于系统钥匙串 · 1 个模型"
        assert row.edit.text() == "编辑…"
        assert page.servers.add.text() == "添加…"
    finally:
        switch.choose(LanguageChoice.EN)
