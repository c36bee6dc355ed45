"""The failure panel: the right ways out for each cause, and its buttons do what they say."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui import engine_failure
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.language import LanguageSwitch


@pytest.fixture
def panel(qtbot, bridge, monkeypatch) -> EngineFailurePanel:
    # The sentences have their own tests; here each code only needs some.
    monkeypatch.setattr(
        engine_failure, "describe_error", lambda error, spoken: (str(error), spoken.value)
    )
    widget = EngineFailurePanel(bridge)
    qtbot.addWidget(widget)
    return widget


def fail(services, code: ErrorCode) -> None:
    services.engine.set_failed(services.models.models[0], BackendError(code))


@pytest.mark.parametrize(
    ("code", "actions"),
    [
        (ErrorCode.ENGINE_BAD_MODEL, ["Choose a model", "Restart"]),
        (ErrorCode.MODEL_PART_MISSING, ["Choose a model", "Restart"]),
        (ErrorCode.ENGINE_NOT_FOUND, ["Open Settings", "Restart"]),
        (ErrorCode.ENGINE_OUT_OF_MEMORY, ["Change settings", "Choose a model", "Restart"]),
        (ErrorCode.ENGINE_KILLED, ["Restart", "Change settings", "Choose a model"]),
    ],
)
def test_each_cause_has_its_ways_out(panel, services, code, actions):
    fail(services, code)
    assert [button.text() for button in panel.panel.fix_buttons()] == actions


def test_it_comes_and_goes_with_the_state(qtbot, panel, services):
    assert panel.isHidden()
    assert not panel.is_failure
    with qtbot.waitSignal(panel.shown_changed) as told:
        fail(services, ErrorCode.ENGINE_EXITED)
    assert told.args == [True]
    assert panel.is_failure
    with qtbot.waitSignal(panel.shown_changed) as told:
        services.engine.set_state(EngineState.STARTING)
    assert told.args == [False]


def test_the_ways_out_lead_there(qtbot, panel, services, bridge):
    fail(services, ErrorCode.ENGINE_OUT_OF_MEMORY)
    change, other, again = panel.panel.fix_buttons()
    go = bridge.navigation
    with qtbot.waitSignal(go.page_wanted) as page:
        change.click()
    assert page.args == ["plan"]
    with qtbot.waitSignal(go.picker_wanted):
        other.click()
    with qtbot.waitSignal(go.start_wanted) as start:
        again.click()
    assert start.args == [services.engine.status.settings]
    fail(services, ErrorCode.ENGINE_NOT_EXECUTABLE)
    with qtbot.waitSignal(go.page_wanted) as page:
        panel.panel.fix_buttons()[0].click()
    assert page.args == ["settings"]
    with qtbot.waitSignal(go.log_wanted):
        panel.panel.log_button().click()


def test_diagnostics_are_copied_and_it_says_so(qtbot, panel, services, bridge):
    fail(services, ErrorCode.ENGINE_EXITED)
    with qtbot.waitSignal(bridge.navigation.note_made):
        panel.panel.copy_button().click()
    text = QGuiApplication.clipboard().text()
    assert "engine.exited" in text
    assert "EPYC" in text


def test_it_speaks_the_language_of_the_window(qapp, panel, services):
    fail(services, ErrorCode.ENGINE_EXITED)
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert panel.panel.fix_buttons()[0].text() == "重新启动"
    finally:
        switch.choose(LanguageChoice.EN)
