"""Settings: every change holds at once, follows changes from elsewhere, and is saved."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from kimi_desktop.base.settings import LanguageChoice, ThemeChoice
from kimi_desktop.ui.settings.page import SettingsPage


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("KIMI_DESKTOP_HOME", str(tmp_path))


@pytest.fixture
def page(qtbot, bridge) -> SettingsPage:
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    widget.resize(1200, 900)
    widget.show()
    return widget


def test_language_theme_and_enter(qtbot, page, bridge):
    qtbot.mouseClick(page.language.segment("zh_CN"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(page.theme.segment("dark"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(page.enter_sends, Qt.MouseButton.LeftButton)
    window = bridge.settings.window
    assert window.language is LanguageChoice.ZH_CN
    assert window.theme is ThemeChoice.DARK
    assert not window.enter_sends


def test_the_arrow_keys_choose_in_a_segmented_control(qtbot, page, bridge):
    page.theme.segment("system").setFocus()
    qtbot.keyClick(page.theme.segment("system"), Qt.Key.Key_Right)
    assert bridge.settings.window.theme is ThemeChoice.LIGHT


def test_it_follows_changes_from_elsewhere(page, bridge):
    bridge.update_settings(
        lambda s: dataclasses.replace(
            s, window=dataclasses.replace(s.window, theme=ThemeChoice.LIGHT)
        )
    )
    assert page.theme.key() == "light"


def test_folders_come_and_go_but_the_default_stays(qtbot, page, services):
    default = services.models.folders[0]
    page.folders.add_folder(Path("/srv/more"))
    assert [row.path() for row in page.folders.rows] == [str(default), str(Path("/srv/more"))]
    (remove,) = page.folders.remove_buttons
    qtbot.mouseClick(remove, Qt.MouseButton.LeftButton)
    assert [row.path() for row in page.folders.rows] == [str(default)]
    assert services.desk.calls[-1] == ("models.remove_folder", (Path("/srv/more"),))


def test_the_engine_program_is_kept_and_cleared(qtbot, page, bridge):
    told = []
    bridge.navigation.note_made.connect(told.append)
    page.engine.llama.field.setText(" /opt/llama/llama-server ")
    qtbot.keyClick(page.engine.llama.field, Qt.Key.Key_Return)
    assert bridge.settings.engine.llama_server == "/opt/llama/llama-server"
    assert len(told) == 1
    qtbot.mouseClick(page.engine.llama.clear_button, Qt.MouseButton.LeftButton)
    assert bridge.settings.engine.llama_server == ""
    assert page.engine.llama.field.text() == ""
    assert not page.engine.llama.clear_button.isEnabled()


def test_about_has_versions_and_licences(qtbot, page, bridge):
    qtbot.mouseClick(page.about.copy_button, Qt.MouseButton.LeftButton)
    text = QGuiApplication.clipboard().text()
    assert "Kimi Desktop" in text
    assert "llama.cpp b11549" in text
    assert not page.about.licences.isVisible()
    qtbot.mouseClick(page.about.licences_button, Qt.MouseButton.LeftButton)
    assert page.about.licences.isVisible()
    assert page.about.licences_button.text() == "Hide licences"


def test_run_the_set_up_again(qtbot, page, bridge):
    with qtbot.waitSignal(bridge.navigation.wizard_wanted):
        qtbot.mouseClick(page.wizard_button, Qt.MouseButton.LeftButton)


def test_every_control_has_a_name(page):
    for widget in page.findChildren(QWidget):
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisibleTo(page):
            assert widget.accessibleName() or getattr(widget, "text", str)(), widget


def test_the_first_question_can_be_switched_off(qtbot, page, bridge):
    switch = page.engine.first_question
    assert switch.isChecked()
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert not bridge.settings.engine.first_question


def test_which_engine_serves_folders_is_chosen(qtbot, bridge, services):
    widget = SettingsPage(bridge)
    qtbot.addWidget(widget)
    card = widget.engine
    assert card.server_engine.key() == "vllm"
    card.server_engine.chosen.emit("sglang")
    assert bridge.settings.engine.server_engine == "sglang"
    card.sglang.field.setText("/opt/sglang/bin/python")
    card.sglang.field.editingFinished.emit()
    assert bridge.settings.engine.sglang_python == "/opt/sglang/bin/python"
    assert card.server_engine.key() == "sglang"
