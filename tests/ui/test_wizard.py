"""The set-up: four steps by keyboard and mouse, skipping, going back, failures in place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import DownloadError, ErrorCode, HardwareError
from kimi_desktop.base.messages import Language, describe_error
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.machine.types import MeasuredPart
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.widgets.chip import Verdict
from kimi_desktop.ui.wizard.machine_step import MachineStep
from kimi_desktop.ui.wizard.model_step import SMALL_CHAT, STARTER, ModelStep
from kimi_desktop.ui.wizard.page import WizardPage
from kimi_desktop.ui.wizard.runs_step import RunsStep
from kimi_desktop.ui.wizard.start_step import StartStep
from tests.support import machines, scripted_data
from tests.support.scripted_services import ScriptedServices


@pytest.fixture
def services(fresh_services: ScriptedServices) -> ScriptedServices:
    return fresh_services


@pytest.fixture
def bridge(fresh_bridge: Bridge) -> Bridge:
    return fresh_bridge


@pytest.fixture
def wizard(qtbot, bridge: Bridge) -> WizardPage:
    page = WizardPage(bridge)
    qtbot.addWidget(page)
    page.resize(1280, 756)
    page.show()
    qtbot.waitExposed(page)
    QApplication.processEvents()
    return page


MACHINE, RUNS, MODEL, START = range(4)


def steps(wizard: WizardPage) -> tuple[MachineStep, ModelStep, StartStep]:
    machine, runs, model, start = wizard.steps
    assert isinstance(machine, MachineStep)
    assert isinstance(runs, RunsStep)
    assert isinstance(model, ModelStep)
    assert isinstance(start, StartStep)
    return machine, model, start


def test_the_keyboard_alone_gets_to_the_first_chat(qtbot, wizard, services, bridge):
    asked = []
    bridge.navigation.chat_wanted.connect(asked.append)

    def press_return() -> None:
        qtbot.waitUntil(lambda: wizard.next_button.hasFocus() and wizard.next_button.isEnabled())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)

    press_return()  # the machine
    assert wizard.number == RUNS
    press_return()  # what runs here
    assert wizard.number == MODEL
    press_return()  # the demo model
    qtbot.waitUntil(lambda: wizard.number == START)
    assert wizard.next_button.text() == "Start the model"
    press_return()
    # The frame starts engines; here nobody listens but the test.
    model = services.models.models[0]
    services.engine.start(services.engine.settings_for(model))
    assert wizard.next_button.text() == "Say hello"
    press_return()

    assert bridge.settings.window.wizard_done
    assert bridge.settings.models.selected == model.id
    (chat_id,) = asked
    question, answer = services.chats.messages(chat_id)
    assert question.text == "Hello! What can you do?"
    assert answer.text == ""


def test_the_machine_is_looked_at_once(qtbot, wizard, services):
    machine, _, _ = steps(wizard)
    assert services.desk.called("machine.probe") == 1
    assert {row.part for row in machine.rows} >= {"cpu", "memory", "gpu", "disk"}
    assert machine.note.text() == "Checked in 0.8 s"
    wizard.show_step(MODEL)
    wizard.show_step(MACHINE)
    assert services.desk.called("machine.probe") == 1
    qtbot.mouseClick(machine.again, Qt.MouseButton.LeftButton)
    assert services.desk.called("machine.probe") == 2


def test_speeds_are_measured_once_and_shown(qtbot, services, bridge):
    services.desk.hold.add("machine.measure")
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    wizard.show()
    machine, _, _ = steps(wizard)
    qtbot.waitUntil(lambda: services.desk.called("machine.measure") == 1)
    assert machine.measure.text() == "Cancel"
    assert not machine.again.isEnabled()
    services.machine.progress(MeasuredPart.DISK, 0.4)
    assert machine.note.text() == "Measuring disk speed: 40%"
    services.desk.release("machine.measure")
    services.machine.set_machine(services.machine.measured())
    qtbot.waitUntil(machine.again.isEnabled)
    assert machine.measure.text() == "Measure again"
    seen = {row.part: row.seen for row in machine.rows}
    assert seen["memory_speed"] == "262.0 GB/s measured"
    assert seen["disk_speed"] == "6.4 GB/s measured"
    wizard.show_step(RUNS)
    wizard.show_step(MACHINE)
    assert services.desk.called("machine.measure") == 1


def test_measuring_can_be_cancelled_and_begun_again(qtbot, services, bridge):
    services.desk.hold.add("machine.measure")
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    wizard.show()
    machine, _, _ = steps(wizard)
    qtbot.waitUntil(lambda: machine.measure.text() == "Cancel")
    qtbot.mouseClick(machine.measure, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: machine.measure.text() == "Measure speeds")
    services.desk.hold.clear()
    qtbot.mouseClick(machine.measure, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: machine.measure.text() == "Measure again")
    assert services.desk.called("machine.measure") == 2


def test_a_hidden_step_measures_nothing(services, bridge, qtbot):
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    assert services.desk.called("machine.measure") == 0


def test_a_look_that_takes_long_says_what_it_looks_at(qtbot, services, bridge):
    services.desk.hold.add("machine.probe")
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    machine, _, _ = steps(wizard)
    assert machine.note.text() == "Looking at processor, memory, GPUs and disks"
    assert not machine.again.isEnabled()
    services.machine.set_machine(scripted_data.two_gpu_box())
    services.desk.release("machine.probe")
    qtbot.waitUntil(machine.again.isEnabled)
    assert any("RTX PRO 6000" in row.seen for row in machine.rows)


def test_a_look_that_fails_is_said_in_place_and_can_be_repeated(qtbot, services, bridge):
    services.desk.hold.add("machine.probe")
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    wizard.show()
    machine, _, _ = steps(wizard)
    error = HardwareError(ErrorCode.MACHINE_PROBE_FAILED, {"part": "CPU", "detail": "no /proc"})
    services.desk.fail("machine.probe", error)
    qtbot.waitUntil(machine.again.isEnabled)
    assert machine.problem.isVisible()
    services.desk.hold.clear()
    qtbot.mouseClick(machine.again, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(machine.rows))
    assert not machine.problem.isVisible()


def runs_step(wizard: WizardPage) -> RunsStep:
    step = wizard.steps[RUNS]
    assert isinstance(step, RunsStep)
    return step


def test_what_runs_here_is_told_before_a_download(qtbot, wizard, services):
    services.machine.set_machine(scripted_data.two_gpu_box())
    wizard.show_step(RUNS)
    step = runs_step(wizard)
    qtbot.waitUntil(lambda: bool(step.rows))
    titles = [row.title() for row in step.rows]
    assert titles[:2] == ["Kimi K2.7 Code", "Kimi K2.6"]
    first = step.rows[0]
    assert first.chip.text() == "Fits in VRAM + RAM"
    assert first.chip.verdict is Verdict.OK
    said = first.accessibleName()
    assert "UD-Q4_K_XL · Near-lossless" in said
    assert "tok/s" in said
    assert "584 GB" in said
    assert "loads in" in first.toolTip()
    assert wizard.next_button.text() == "Next: first model"


def test_an_engine_that_leaves_the_gpus_alone_is_told(qtbot, wizard, services):
    services.machine.set_machine(scripted_data.two_gpu_box())
    wizard.show_step(RUNS)
    step = runs_step(wizard)
    qtbot.waitUntil(lambda: bool(step.rows))
    assert not step.engine_note.isVisible()
    services.discover.no_gpu_engine = True
    step.enter()
    qtbot.waitUntil(step.engine_note.isVisible)


def test_what_does_not_fit_is_shown_on_request(qtbot, wizard, services):
    services.machine.set_machine(scripted_data.cpu_only_box())
    wizard.show_step(RUNS)
    step = runs_step(wizard)
    qtbot.waitUntil(lambda: bool(step.rows))
    few = len(step.rows)
    assert step.more.text() == "Show 7 more that do not fit"
    qtbot.mouseClick(step.more, Qt.MouseButton.LeftButton)
    assert len(step.rows) == few + 7
    assert step.rows[-1].chip.verdict is Verdict.BAD
    qtbot.mouseClick(step.more, Qt.MouseButton.LeftButton)
    assert len(step.rows) == few


def test_another_look_prices_the_list_anew(qtbot, wizard, services):
    services.machine.set_machine(scripted_data.cpu_only_box())
    wizard.show_step(RUNS)
    step = runs_step(wizard)
    qtbot.waitUntil(lambda: bool(step.rows))
    services.machine.set_machine(scripted_data.two_gpu_box())
    qtbot.waitUntil(lambda: step.rows[0].title() == "Kimi K2.7 Code")


def test_a_machine_for_nothing_of_the_family_says_so(qtbot, wizard, services):
    tiny = dataclasses.replace(
        scripted_data.cpu_only_box(), memory=machines.memory(3.0, 2.0), gpu_note="no_gpu"
    )
    services.machine.set_machine(tiny)
    wizard.show_step(RUNS)
    step = runs_step(wizard)
    qtbot.waitUntil(step.more.isVisible)
    assert step.nothing.sentence().startswith("No model of the family fits")
    assert not step.rows


def test_without_a_look_there_is_no_list(qtbot, services, bridge):
    services.desk.hold.add("machine.probe")
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    wizard.show_step(RUNS)
    step = runs_step(wizard)
    assert "not been looked at" in step.nothing.sentence()


def test_skip_and_back_work_on_every_step(qtbot, wizard, bridge):
    assert not wizard.back_button.isEnabled()
    pages = []
    bridge.navigation.page_wanted.connect(pages.append)
    for _ in range(3):
        qtbot.mouseClick(wizard.skip_button, Qt.MouseButton.LeftButton)
    assert wizard.number == START
    assert not wizard.next_button.isEnabled()
    _, _, start = steps(wizard)
    assert start.no_model.sentence() == "No model is chosen yet."
    qtbot.mouseClick(start.no_model.button, Qt.MouseButton.LeftButton)
    assert wizard.number == MODEL
    for number in (RUNS, MACHINE):
        qtbot.keyClick(wizard, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
        assert wizard.number == number
    for _ in range(4):
        qtbot.mouseClick(wizard.skip_button, Qt.MouseButton.LeftButton)
    assert bridge.settings.window.wizard_done
    assert pages == ["chat"]


def test_tab_reaches_every_control(qtbot, wizard):
    wizard.show_step(MODEL)
    _, model, _ = steps(wizard)
    wanted = {wizard.next_button, wizard.back_button, wizard.skip_button, model.folder_button}
    seen = set()
    for _ in range(12):
        seen.add(QApplication.focusWidget())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
    assert wanted <= seen
    assert model.option(STARTER) in seen


def test_the_download_shows_bytes_and_can_be_cancelled(qtbot, wizard, services):
    services.desk.hold.add("models.fetch_first_chat")
    wizard.show_step(MODEL)
    _, model, _ = steps(wizard)
    qtbot.mouseClick(model.option(SMALL_CHAT), Qt.MouseButton.LeftButton)
    assert wizard.next_button.text() == "Download and go on"
    qtbot.mouseClick(wizard.next_button, Qt.MouseButton.LeftButton)
    assert not wizard.next_button.isEnabled()
    services.models.progress(160_000_000, 640_000_000, "downloading")
    assert model.progress.facts().startswith("160 MB of 640 MB (25%)")
    services.models.progress(1_000, 640_000_000, "checking")
    assert model.progress.title() == "Checking every byte (SHA-256)"

    qtbot.mouseClick(model.progress.cancel_button, Qt.MouseButton.LeftButton)

    qtbot.waitUntil(wizard.next_button.isEnabled)
    assert wizard.number == MODEL
    assert not model.problem.isVisible()


def test_a_download_that_fails_is_said_in_place(qtbot, wizard, services):
    services.models.first_chat_error = DownloadError(
        ErrorCode.DOWNLOAD_OFFLINE, {"hosts": "a, b", "host": "a", "detail": "x", "hubs": "a"}
    )
    wizard.show_step(MODEL)
    _, model, _ = steps(wizard)
    model.option(SMALL_CHAT).setChecked(True)
    qtbot.mouseClick(wizard.next_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(model.problem.isVisible)
    assert model.problem.text() == describe_error(services.models.first_chat_error, Language.EN)[0]
    assert wizard.next_button.isEnabled()


def test_leaving_the_step_ends_the_download(qtbot, wizard, services):
    services.desk.hold.add("models.install_starter")
    wizard.show_step(MODEL)
    qtbot.mouseClick(wizard.next_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(wizard.skip_button, Qt.MouseButton.LeftButton)
    _, model, _ = steps(wizard)
    qtbot.waitUntil(model.can_go_on)
    assert wizard.number == START


def test_models_in_a_folder_are_offered_and_chosen(qtbot, wizard, services, bridge):
    wizard.show_step(MODEL)
    _, model, _ = steps(wizard)
    mine = scripted_data.kimi_model(Path("/srv/models"))
    services.models.models = (mine,)
    model.add_folder("/srv/models")
    qtbot.waitUntil(lambda: model.chosen() == mine.id)
    assert model.option(mine.id).title() == "Kimi K2.6 UD-Q4_K_XL"
    qtbot.mouseClick(wizard.next_button, Qt.MouseButton.LeftButton)
    assert bridge.settings.models.selected == mine.id
    assert wizard.number == START


def test_a_folder_without_a_model_says_so(qtbot, wizard, services):
    wizard.show_step(MODEL)
    _, model, _ = steps(wizard)
    model.add_folder("/srv/empty")
    qtbot.waitUntil(model.problem.isVisible)
    assert model.problem.text().startswith("No GGUF model")


def test_without_the_starter_packages_only_the_network_is_left(qtbot, services, bridge):
    services.models.starter_available = False
    wizard = WizardPage(bridge)
    qtbot.addWidget(wizard)
    wizard.show_step(MODEL)
    _, model, _ = steps(wizard)
    assert model.chosen() == SMALL_CHAT
    with pytest.raises(KeyError):
        model.option(STARTER)


def start_with_the_demo(wizard: WizardPage, services: ScriptedServices) -> StartStep:
    services.models.install_starter()
    wizard.show_step(MODEL)
    wizard.step.go_on()
    _, _, start = steps(wizard)
    return start


def test_loading_shows_bytes_and_can_be_cancelled(qtbot, wizard, services, bridge):
    start = start_with_the_demo(wizard, services)
    bridge.navigation.stop_wanted.connect(services.engine.stop)
    services.desk.hold.add("engine.start")
    services.engine.start(services.engine.settings_for(services.models.models[0]))
    assert start.progress.isVisible()
    assert not wizard.next_button.isEnabled()
    services.engine.set_state(EngineState.LOADING, load_fraction=0.5)
    assert start.progress.title() == "Loading the model into memory"
    assert start.progress.gauge.share == 0.5
    qtbot.mouseClick(start.progress.cancel_button, Qt.MouseButton.LeftButton)
    assert services.engine.status.state is EngineState.STOPPED
    assert wizard.next_button.text() == "Start the model"


def test_an_engine_that_fails_is_explained_in_place(qtbot, wizard, services):
    start = start_with_the_demo(wizard, services)
    broken = scripted_data.broken_model(Path("/srv/models"))
    assert broken.problem is not None
    services.engine.set_failed(services.models.models[0], broken.problem)
    assert start.failure.isVisible()
    assert wizard.next_button.isEnabled()
    services.engine.set_ready(services.models.models[0])
    assert not start.failure.isVisible()


def test_the_language_changes_every_step(qtbot, qapp, wizard):
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert wizard.next_button.text() == "下一步：看看能运行什么"
        machine, model, _ = steps(wizard)
        assert machine.again.text() == "重新检测"
        assert "核" in machine.rows[0].detail
        assert model.option(STARTER).title().startswith("演示模型")
    finally:
        switch.choose(LanguageChoice.EN)
