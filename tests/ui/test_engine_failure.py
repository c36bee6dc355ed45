"""The failure panel: the right ways out for each cause, and its buttons do what they say."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from kimi_desktop.backends.defaults import is_plannable
from kimi_desktop.backends.types import EngineFacts, EngineState, EngineStatus
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.diagnosis.types import Beyond, FailureRead, SystemWay
from kimi_desktop.machine.holders import Holder
from kimi_desktop.ui import engine_failure
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_failure import EngineFailurePanel
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.widgets.memory_bar import MemoryBar
from tests.support.scripted_services import ScriptedServices, lived_in


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


KV_LINE = "E llama_init_from_model: failed to allocate buffer for kv cache"


def fail_of_memory(services) -> None:
    model = next(model for model in services.models.models if is_plannable(model))
    settings = dataclasses.replace(services.engine.settings_for(model), n_ubatch=512)
    services.engine.set_status(
        EngineStatus(
            EngineState.FAILED,
            settings=settings,
            error=BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY),
            facts=EngineFacts(code=1, phase="load", log=("I loading", KV_LINE, "E exiting")),
            log_tail=("E exiting",),
            started_at=5.0,
        )
    )


@pytest.fixture
def real_services(tmp_path) -> ScriptedServices:
    """Models with real headers, so that the planner prices the ways out."""
    return lived_in(tmp_path, real=True)


def test_a_diagnosed_failure_shows_cause_line_and_priced_ways(qtbot, real_services):
    services = real_services
    bridge = Bridge(services)
    panel = EngineFailurePanel(bridge)
    qtbot.addWidget(panel)
    fail_of_memory(services)
    assert panel.panel.accessibleName() == "The KV cache does not fit."
    shown = [label.text() for label in panel.findChildren(QLabel)]
    assert KV_LINE in shown
    assert any(text.startswith("KV cache f16") for text in shown)
    assert any("Frees" in text and "GiB" in text for text in shown)
    first = panel.panel.fix_buttons()[0]
    assert first.text() == "Apply and start"
    with qtbot.waitSignal(bridge.navigation.start_wanted) as start:
        first.click()
    assert start.args[0].cache_type == "q8_0"
    box = panel.panel.step_down_box()
    assert not box.isHidden()
    box.click()
    assert services.store.settings.engine.step_down
    assert services.diagnosis.tried == [("cache", start.args[0])]
    panel.panel.copy_button().click()
    assert '"kv_cache_oom"' in QGuiApplication.clipboard().text()
    bridge.close()


def fail_with(services, line: str) -> None:
    error = BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": line})
    facts = EngineFacts(code=1, phase="load", log=(line,))
    services.engine.set_failed(services.models.models[1], error, facts)


def test_a_cut_file_leads_to_its_verification(qtbot, panel, services, bridge):
    fail_with(services, "E tensor 'x' data is not within the file bounds, model is corrupted")
    first = panel.panel.fix_buttons()[0]
    assert first.text() == "Verify"
    with qtbot.waitSignal(bridge.navigation.verify_wanted) as wanted:
        first.click()
    assert wanted.args == [services.models.models[1].id]


def test_a_program_on_the_card_is_ended_after_asking(qtbot, panel, services, bridge, monkeypatch):
    holder = Holder(4242, 1.0, "python3.11", 0, 40 * 2**30)
    way = SystemWay(Beyond.END_PROGRAM, holder=holder)
    fail_with(services, "E failed to allocate buffer for kv cache")
    latest = services.diagnosis.latest
    services.diagnosis.latest = dataclasses.replace(latest, beyond=(way,))
    services.bus.publish(FailureRead(services.diagnosis.latest))
    qtbot.waitUntil(lambda: panel.panel.fix_buttons()[0].text() == "End it…")
    made: list[object] = []
    bridge.navigation.overlay_wanted.connect(made.append)
    panel.panel.fix_buttons()[0].click()
    window = QWidget()
    qtbot.addWidget(window)
    question = made[0](window)
    with qtbot.waitSignal(bridge.navigation.start_wanted):
        question.confirm_button.click()
    assert ("diagnosis.end_program", (holder,)) in services.desk.calls


def test_a_limit_is_copied(qtbot, panel, services, bridge):
    way = SystemWay(Beyond.LINE, line="ulimit -n 65536")
    fail_with(services, "E failed to allocate buffer for kv cache")
    services.diagnosis.latest = dataclasses.replace(
        services.diagnosis.latest, ways=(), beyond=(way,)
    )
    services.bus.publish(FailureRead(services.diagnosis.latest))
    qtbot.waitUntil(lambda: panel.panel.fix_buttons()[0].text() == "Copy")
    with qtbot.waitSignal(bridge.navigation.note_made):
        panel.panel.fix_buttons()[0].click()
    assert QGuiApplication.clipboard().text() == "ulimit -n 65536"


def test_the_full_memory_is_shown_for_causes_of_memory_alone(qtbot, panel, services):
    fail_with(services, "E failed to allocate buffer for kv cache")
    bars = [bar for bar in panel.findChildren(MemoryBar) if not bar.parentWidget().isHidden()]
    assert len(bars) == 1
    fail_with(services, "E tensor 'x' data is not within the file bounds, model is corrupted")
    qtbot.waitUntil(lambda: bars[0].parentWidget().isHidden())
