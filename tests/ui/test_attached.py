"""A model of another server in the window: chosen, attached, lost, left."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.types import EngineState, EngineStatus
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.chat.start_panel import Beginning, StartPanel
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.pages import standard_pages
from kimi_desktop.ui.widgets.chip import Dot
from tests.support.scripted_other_servers import FOUND, LAB, SILENT, VLLM

KIMI = "moonshotai/Kimi-K2.6"
GONE = BackendError(ErrorCode.SERVER_LOST, {"name": "Lab", "detail": "Connection refused"})


@pytest.fixture
def window(qtbot, bridge, services) -> MainWindow:
    services.other_servers.set_servers(LAB, SILENT, FOUND)
    frame = MainWindow(bridge, standard_pages())
    qtbot.addWidget(frame)
    frame.show()
    qtbot.waitExposed(frame)
    QApplication.processEvents()
    return frame


def titles(window) -> list[str]:
    return [entry.title for entry in window.overlays.current.entries()]


def confirm(qtbot, window) -> None:
    qtbot.mouseClick(window.overlays.current.confirm_button, Qt.MouseButton.LeftButton)


def lose(services) -> None:
    attached = services.other_servers.attachment("Lab", KIMI)
    services.engine.set_status(EngineStatus(EngineState.FAILED, attached=attached, error=GONE))


def test_the_picker_lists_what_servers_have_below_the_library(window, services):
    window.overlays.open_picker()
    assert services.desk.called("other_servers.freshen") == 1
    rows = titles(window)
    below = rows[rows.index("Other servers") + 1 :]
    assert below[:4] == [KIMI, "Office", "gemma3:270m", "qwen3:32b"]
    entries = {entry.title: entry for entry in window.overlays.current.entries()}
    assert entries[KIMI].detail == "Lab · context 131,072"
    assert entries["gemma3:270m"].detail == "Ollama · Q8_0 · 268.10M · 292 MB"
    assert "Connection refused" in entries["Office"].detail


def test_the_picker_follows_the_servers(window, services):
    window.overlays.open_picker()
    services.other_servers.set_servers(FOUND)
    assert KIMI not in titles(window)
    services.other_servers.set_servers()
    assert "Other servers" not in titles(window)


def test_hundreds_of_models_are_searched_not_scrolled(qtbot, window, services):
    model = VLLM.models[0]
    many = tuple(dataclasses.replace(model, id=f"model-{number:03}") for number in range(300))
    report = dataclasses.replace(VLLM, models=many)
    services.other_servers.set_servers(dataclasses.replace(LAB, report=report))
    window.overlays.open_picker()
    assert "270 more on Lab: type a part of the name" in titles(window)
    qtbot.keyClicks(window.overlays.current.field, "lab 123")
    assert "model-123" in titles(window)
    assert "model-001" not in titles(window)


def test_choosing_asks_then_attaches_and_the_frame_says_so(qtbot, window, services):
    window.overlays.open_picker()
    qtbot.keyClicks(window.overlays.current.field, "moonshotai")
    qtbot.keyClick(window.overlays.current.field, Qt.Key.Key_Down)
    qtbot.keyClick(window.overlays.current.field, Qt.Key.Key_Up)
    qtbot.keyClick(window.overlays.current.field, Qt.Key.Key_Return)
    assert services.desk.called("other_servers.attach") == 0  # an engine of ours runs
    confirm(qtbot, window)
    assert services.desk.calls[-1] == ("other_servers.attach", ("Lab", KIMI))
    bar = window.top_bar
    assert bar.pill.texts() == (KIMI, "Lab", "")
    assert bar.state_button().word() == "Attached"
    assert bar.switch_button().text() == "Detach"
    assert window.status_bar.cells()[2].text == "Context 0 / 131,072"
    window.overlays.open_picker()
    assert [e.title for e in window.overlays.current.entries() if e.marked] == [KIMI]


def test_detached_it_stays_the_one_that_start_means(qtbot, window, services):
    services.other_servers.attach("Lab", KIMI)
    qtbot.mouseClick(window.top_bar.switch_button(), Qt.MouseButton.LeftButton)
    assert services.desk.called("engine.stop") == 1
    assert window.top_bar.pill.texts() == (KIMI, "Lab", "· not attached")
    assert window.top_bar.switch_button().text() == "Attach"
    qtbot.mouseClick(window.top_bar.switch_button(), Qt.MouseButton.LeftButton)
    assert services.desk.calls[-1] == ("other_servers.attach", ("Lab", KIMI))
    assert services.desk.called("other_servers.attach") == 2


def test_from_server_to_server_nothing_is_asked_unless_it_answers(qtbot, window, services, bridge):
    services.other_servers.attach("Lab", KIMI)
    bridge.navigation.attach("Ollama", "gemma3:270m")
    assert services.desk.calls[-1] == ("other_servers.attach", ("Ollama", "gemma3:270m"))
    services.chats.send(services.chats.new_chat(), "Hello")
    bridge.navigation.attach("Lab", KIMI)
    assert services.desk.called("other_servers.attach") == 2
    confirm(qtbot, window)
    assert services.desk.called("other_servers.attach") == 3


def test_a_model_of_the_library_takes_its_place_for_good(window, services, bridge):
    services.other_servers.attach("Lab", KIMI)
    model = services.models.models[0]
    bridge.navigation.start_engine(services.engine.settings_for(model))
    assert services.desk.called("engine.start") == 1
    assert bridge.settings.other_servers.chosen == ""
    assert window.top_bar.pill.texts()[0] == model.title
    assert window.top_bar.switch_button().text() == "Stop engine"


def test_a_server_that_was_removed_is_said(window, services, bridge):
    services.engine.set_state(EngineState.STOPPED)
    bridge.navigation.attach("Nobody", "x")
    (bar,) = window.notices.bars()
    assert "no server called “Nobody”" in bar.text()


def test_lost_it_is_named_with_its_ways_out(qtbot, window, services):
    lose(services)
    bar = window.top_bar
    assert bar.pill.texts() == (KIMI, "Lab", "· not reached")
    assert bar.pill.dot is Dot.BAD
    assert bar.state_button().word() == "Failed"
    qtbot.mouseClick(bar.state_button(), Qt.MouseButton.LeftButton)
    assert not window.failure.isVisible()  # the Chat page tells it in place
    shown = [each for each in window.findChildren(EngineFailurePanel) if each.isVisible()]
    assert len(shown) == 1
    panel = shown[0].panel
    assert panel.accessibleName() == "Lab no longer answers: Connection refused."
    assert panel.log_button().isHidden()
    assert [button.text() for button in panel.fix_buttons()] == [
        "Attach", "Open Settings", "Choose a model",
    ]  # fmt: skip
    panel.fix_buttons()[0].click()
    assert services.desk.calls[-1] == ("other_servers.attach", ("Lab", KIMI))


def test_the_log_is_there_again_for_an_engine(qtbot, bridge, services):
    services.other_servers.set_servers(LAB)
    panel = EngineFailurePanel(bridge)
    qtbot.addWidget(panel)
    lose(services)
    assert panel.panel.log_button().isHidden()
    services.engine.set_failed(services.models.models[0], BackendError(ErrorCode.ENGINE_EXITED))
    assert not panel.panel.log_button().isHidden()


def test_an_empty_chat_names_model_server_and_program(qtbot, bridge, services):
    services.other_servers.set_servers(LAB)
    panel = StartPanel(bridge)
    qtbot.addWidget(panel)
    services.other_servers.attach("Lab", KIMI)
    panel.refresh()
    assert panel.beginning is Beginning.LOADED
    assert panel.state_text() == "Lab · vLLM 0.32.0 · Attached"
    assert panel.load_button.isHidden()
    assert not panel.where.isHidden()
    assert panel.where.text() == "What you write is sent to 192.168.1.5."
    services.engine.stop()
    panel.refresh()
    assert panel.state_text() == "Lab · Not attached"
    assert panel.load_button.text() == "Attach"


def test_on_this_computer_nothing_is_sent_anywhere(qtbot, bridge, services):
    services.other_servers.set_servers(FOUND)
    panel = StartPanel(bridge)
    qtbot.addWidget(panel)
    services.other_servers.attach("Ollama", "gemma3:270m")
    panel.refresh()
    assert panel.where.isHidden()


def test_the_switch_for_thinking_is_there_where_it_reaches_the_model(window, services):
    page = window.page("chat")
    services.other_servers.attach("Lab", KIMI)
    assert page.composer.thinking.isVisible()
    services.other_servers.attach("Ollama", "gemma3:270m")
    assert not page.composer.thinking.isVisible()
    assert page.inspector.load.isHidden()


def test_in_chinese(qapp, window, services):
    services.other_servers.attach("Lab", KIMI)
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert window.top_bar.switch_button().text() == "断开"
        services.engine.set_status(services.engine.status)
        assert window.top_bar.state_button().word() == "已连接"
    finally:
        switch.choose(LanguageChoice.EN)
