"""The Plan page: what moves, what follows, what it says when something is missing."""

from __future__ import annotations

import dataclasses
import shlex

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from kimi_desktop.backends.types import EngineKind, EngineState
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.base.units import format_gib
from kimi_desktop.models.types import ModelState
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.plan.page import PlanPage
from kimi_desktop.ui.widgets.chip import Verdict
from tests.support import scripted_data
from tests.support.scripted_services import ScriptedServices
from tests.ui.plan.conftest import price_for_real, real_forecast


def spare_gib(page: PlanPage, number: int) -> float:
    """GiB spare on the nth device shown (negative: short), as its legend says."""
    last = page.answer.device_views()[number].legend.accessibleName().rpartition(", ")[2]
    word, _, size = last.partition(" ")
    return float(size.replace(",", "")) * (-1 if word == "Short" else 1)


def test_it_opens_with_the_chosen_model_as_it_was_last_loaded(page, planned):
    plan = page.choices.plan
    chosen = planned.models.models[2]
    assert plan.model == chosen
    assert plan.settings.context == planned.engine.settings_for(chosen).context
    assert page.choices.model.currentText() == "Kimi K2.6 · 1.03 T"
    assert [m.facts.quantization for m in page.choices.quantizations.models()] == [
        "Q4_K_M",
        "Q4_X",
        "Q2_K",
    ]
    assert page.choices.quantizations.row(chosen.id).isChecked()
    assert not page.choices.reset.isEnabled()


def test_the_answer_is_the_planners(page, planned):
    plan = page.choices.plan
    machine = planned.machine.machine
    forecast = real_forecast(plan.settings, plan.model, machine)
    views = page.answer.device_views()
    assert len(views) == 3
    for view, device in zip(views, forecast.devices, strict=True):
        assert view.bar.used_bytes == device.used_bytes
        parts = {"Weights": device.weights_bytes, "Compute": device.compute_bytes or 0}
        for name, size in parts.items():
            assert f"{name} {format_gib(size, unit=False)}" in view.legend.accessibleName()
    assert "not forecast" not in views[0].legend.accessibleName()
    facts = page.answer.facts()
    assert facts["File size"] == ("584 GB", "14 files · 543.6 GiB of weights")
    assert facts["KV cache"] == ("8.58 GiB", "70,272 bytes per token at f16")
    assert facts["RAM free now"] == ("745.6 GiB", "of 755.4 GiB")
    assert facts["VRAM free now"] == ("190.0 GiB", "of 191.2 GiB")


def test_no_speed_is_shown(page):
    words = [widget.accessibleName() for widget in page.findChildren(QWidget)]
    texts = [w.text() for w in page.findChildren(QWidget) if hasattr(w, "text")]
    assert not any("tok/s" in text for text in [*words, *texts])


def test_every_slider_prices_again(page):
    choices = page.choices
    before = page.answer.device_views()[2].bar.used_bytes
    choices.expert_layers.set_value(60)
    more_in_ram = page.answer.device_views()[2].bar.used_bytes
    assert more_in_ram > before
    assert choices.plan.settings.n_cpu_moe == 61

    kv = page.answer.facts()["KV cache"][0]
    choices.context.set_value(0)
    assert choices.plan.settings.context == 4096
    assert page.answer.facts()["KV cache"][0] != kv
    assert "4K context" in page.answer.sentence.text()

    on_gpu = page.answer.device_views()[1].bar.used_bytes
    choices.gpu_layers.set_value(0)
    assert page.answer.device_views()[1].bar.used_bytes < on_gpu


def test_arrow_keys_move_a_slider(page, qtbot):
    slider = page.choices.context.slider
    slider.setFocus()
    before = page.choices.plan.settings.context
    qtbot.keyClick(slider, Qt.Key.Key_Right)
    assert page.choices.plan.settings.context > before


def test_kv_type_and_parallel_chats_count(page, qtbot):
    kv = page.answer.device_views()[0].bar.used_bytes
    qtbot.mouseClick(page.choices.cache_type.segment("q8_0"), Qt.MouseButton.LeftButton)
    assert page.choices.plan.settings.cache_type == "q8_0"
    assert page.answer.device_views()[0].bar.used_bytes < kv

    page.choices.parallel.choose(4)
    page.choices.parallel.activated.emit(page.choices.parallel.currentIndex())
    assert page.choices.plan.settings.n_parallel == 4


def test_too_much_is_said_drawn_and_can_be_started_all_the_same(page, bridge, qtbot):
    started = []
    bridge.navigation.start_wanted.connect(started.append)
    page.choices.expert_layers.set_value(0)

    assert page.answer.chip.verdict is Verdict.BAD
    assert page.answer.chip.text().endswith("short")
    assert "Keep more expert layers in RAM." in page.answer.advice.text()
    assert page.answer.device_views()[1].bar.over_budget
    assert spare_gib(page, 1) < 0
    assert not page.answer.start.isEnabled()
    assert page.answer.anyway.isVisible()
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert not started

    qtbot.mouseClick(page.answer.anyway, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)
    assert started == [page.choices.plan.settings]


def test_start_takes_the_plan_and_chooses_its_model(page, planned, bridge, qtbot):
    started = []
    bridge.navigation.start_wanted.connect(started.append)
    small = planned.models.models[0]
    qtbot.mouseClick(page.choices.quantizations.row(small.id), Qt.MouseButton.LeftButton)
    page.choices.expert_layers.set_value(60)
    assert page.answer.start.isEnabled()

    qtbot.mouseClick(page.answer.start, Qt.MouseButton.LeftButton)

    (settings,) = started
    assert settings.model_path == small.path
    assert settings.n_cpu_moe == 61
    assert bridge.settings.models.selected == small.id
    assert not page.choices.reset.isEnabled()


def test_the_running_plan_says_so(page, planned):
    settings = page.choices.plan.settings
    status = planned.engine.status
    planned.engine.set_status(dataclasses.replace(status, settings=settings))
    assert page.answer.start.text() == "Running with this plan"
    assert not page.answer.start.isEnabled()
    page.choices.context.set_value(0)
    assert page.answer.start.text() == "Start with this plan"

    planned.engine.set_state(EngineState.STOPPED)
    page.choices.context.set_value(page.choices.context.slider.maximum())
    assert page.answer.start.text() == "Start with this plan"


def test_another_quantization_keeps_the_plan(page, planned, qtbot):
    page.choices.context.set_value(3)
    wanted = page.choices.plan.settings.context
    other = planned.models.models[0]
    qtbot.mouseClick(page.choices.quantizations.row(other.id), Qt.MouseButton.LeftButton)
    plan = page.choices.plan
    assert plan.model == other
    assert plan.settings.model_path == other.path
    assert plan.settings.context == wanted
    assert page.answer.facts()["File size"][0] == "373 GB"
    assert other.path.name in page.answer.command.line()


def test_every_quantization_gets_its_verdict(page, planned, qtbot):
    chips = [page.choices.quantizations.chip(m.id) for m in planned.models.models[:3]]
    qtbot.waitUntil(lambda: all(not chip.isHidden() for chip in chips))
    page.choices.expert_layers.set_value(60)
    qtbot.waitUntil(lambda: all(chip.verdict is Verdict.OK for chip in chips))
    page.choices.expert_layers.set_value(0)
    qtbot.waitUntil(lambda: all(chip.verdict is Verdict.BAD for chip in chips))


def test_another_model_brings_its_own_plan(page, planned):
    page.choices.model.choose("Llama 3.1 8B")
    page.choices.model.activated.emit(page.choices.model.currentIndex())
    plan = page.choices.plan
    assert plan.model == planned.models.models[3]
    assert plan.settings.context == 4096
    assert page.choices.expert_layers.isHidden()
    assert page.choices.gpu_layers.slider.maximum() == 33


def test_reset_takes_everything_back(page, qtbot):
    before = page.choices.plan
    page.choices.context.set_value(0)
    page.choices.gpu_layers.set_value(10)
    assert page.choices.reset.isEnabled()
    qtbot.mouseClick(page.choices.reset, Qt.MouseButton.LeftButton)
    assert page.choices.plan == before
    assert not page.choices.reset.isEnabled()


def test_a_model_of_the_library_is_planned_on_request(page, planned, bridge):
    bridge.navigation.open_plan(planned.models.models[3].id)
    assert page.choices.plan.model == planned.models.models[3]
    bridge.navigation.open_plan("gone")
    assert page.choices.plan.model == planned.models.models[3]


def test_the_plan_survives_a_scan(page, planned):
    page.choices.context.set_value(0)
    planned.models.set_models(*planned.models.models)
    assert page.choices.plan.settings.context == 4096


def test_a_model_that_is_gone_makes_room_for_another(page, planned):
    gone = page.choices.plan.model
    planned.models.set_models(*(m for m in planned.models.models if m != gone))
    assert page.choices.plan.model in planned.models.models


def test_incomplete_models_are_not_planned(page, planned):
    whole = planned.models.models[3]
    planned.models.set_models(dataclasses.replace(whole, state=ModelState.PARTIAL))
    assert page.choices.model.count() == 0


def test_the_command_line_is_copied_as_one_line(page, planned, qtbot):
    qtbot.mouseClick(page.answer.copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert shlex.split(copied) == list(planned.engine.command_line(page.choices.plan.settings))
    assert page.answer.copy.text() == "Copied"
    qtbot.waitUntil(lambda: page.answer.copy.text() == "Copy")


def test_advanced_opens_and_changes_the_plan(page, qtbot):
    advanced = page.choices.advanced
    assert advanced.fold.summary() == "batch 2,048 · micro-batch 512 · 32 threads"
    assert not advanced.batch.isVisible()
    qtbot.keyClick(advanced.fold, Qt.Key.Key_Space)
    assert advanced.batch.isVisible()

    for select, value in ((advanced.micro_batch, 4096), (advanced.threads, 64)):
        select.choose(value)
        select.activated.emit(select.currentIndex())

    settings = page.choices.plan.settings
    assert (settings.n_ubatch, settings.n_threads) == (4096, 64)
    assert advanced.fold.summary() == "batch 2,048 · micro-batch 4,096 · 64 threads"


def test_without_a_gpu_layers_cannot_be_moved_and_it_says_why(tmp_path, qtbot, plan_page, qapp):
    services = ScriptedServices(tmp_path, machine=scripted_data.cpu_only_box())
    services.models.set_models(scripted_data.starter_model(tmp_path))
    door = Bridge(services)
    page = plan_page(door)
    assert not page.choices.gpu_layers.slider.isEnabled()
    assert len(page.answer.device_views()) == 1
    assert "No GPU driver" in page.choices.no_gpu.text()
    assert not page.choices.choose_engine.isVisible()
    assert page.answer.chip.verdict is Verdict.OK
    door.close()


def test_an_engine_without_gpu_support_leaves_the_gpus_alone(planned, bridge, plan_page, qtbot):
    wanted = []
    bridge.navigation.page_wanted.connect(wanted.append)
    planned.engine.gpu_build = False
    page = plan_page(bridge)
    assert not page.choices.gpu_layers.slider.isEnabled()
    assert "built without GPU support" in page.choices.no_gpu.text()
    qtbot.mouseClick(page.choices.choose_engine, Qt.MouseButton.LeftButton)
    assert wanted == ["settings"]


def test_another_engine_is_planned_for_at_once(page, planned, bridge, tmp_path):
    page.choices.context.set_value(0)
    before = planned.engine.settings_for
    binary = tmp_path / "llama-server"

    def settings_for(model):
        kind = EngineKind.LLAMA_SERVER
        return dataclasses.replace(before(model), kind=kind, binary=binary)

    planned.engine.settings_for = settings_for
    planned.engine.gpu_build = False
    bridge.save_settings(lambda settings: settings)
    settings = page.choices.plan.settings
    assert (settings.binary, settings.context) == (binary, 4096)
    assert not page.choices.gpu_layers.slider.isEnabled()


def test_without_an_engine_it_says_so_in_place_of_the_command(page, planned):
    error = BackendError(ErrorCode.ENGINE_NOT_FOUND, {"path": "llama-server"})
    planned.engine.command_error = error
    page.choices.context.set_value(0)
    assert "llama-server" in page.answer.no_command.text()
    assert page.answer.no_command.isVisible()
    assert not page.answer.command.isVisible()
    assert not page.answer.copy.isEnabled()
    assert not page.answer.start.isEnabled()

    planned.engine.command_error = None
    page.choices.context.set_value(1)
    assert page.answer.command.isVisible()


def test_without_a_model_the_library_is_one_button_away(fresh_bridge, plan_page, qtbot):
    wanted = []
    fresh_bridge.navigation.page_wanted.connect(wanted.append)
    page = plan_page(fresh_bridge)
    assert page.empty.isVisible()
    qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    assert wanted == ["models"]


def test_without_a_look_at_the_machine_it_offers_one(
    fresh_services, fresh_bridge, plan_page, qtbot, tmp_path
):
    page = plan_page(fresh_bridge)
    fresh_services.models.set_models(scripted_data.starter_model(tmp_path))
    assert "needs to know this machine" in page.empty.sentence()
    qtbot.mouseClick(page.empty.button, Qt.MouseButton.LeftButton)
    assert fresh_services.desk.called("machine.probe") == 1
    assert not page.empty.isVisible()
    assert page.answer.device_views()


def test_a_machine_that_changes_is_priced_again(page, planned):
    machine = planned.machine.machine
    one = dataclasses.replace(machine, gpus=machine.gpus[:1])
    planned.machine.set_machine(one)
    assert len(page.answer.device_views()) == 2


def test_every_control_is_reached_by_tab_and_has_a_name(page):
    page.choices.advanced.fold.setChecked(True)
    stops = [
        widget
        for widget in page.findChildren(QWidget)
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
    ]
    assert len(stops) >= 15
    for stop in stops:
        text = stop.text() if hasattr(stop, "text") and callable(stop.text) else ""
        assert stop.accessibleName() or text, stop


@pytest.mark.parametrize("width", [904, 1224, 1864])
def test_nothing_is_cut_off_at_the_sides(page, width, qtbot):
    page.choices.advanced.fold.setChecked(True)
    page.resize(width, 532)
    QApplication.sendPostedEvents()
    QApplication.processEvents()
    for panel in (page.choices, page.answer):
        viewport = panel.parentWidget()
        assert panel.width() <= viewport.width(), type(panel)


def test_words_follow_the_language(page, qapp, qtbot):
    page.choices.expert_layers.set_value(0)
    chips = [page.choices.quantizations.chip(m.id) for m in page.choices.quantizations.models()]
    qtbot.waitUntil(lambda: all(chip.text().endswith("short") for chip in chips))
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        QApplication.processEvents()
        assert page.choices.reset.text() == "重置"
        assert page.answer.start.text() == "按此方案启动"
        assert page.answer.sentence.text().startswith("GPU 1 缺 ")
        assert page.answer.advice.text() == "请把更多专家层留在内存中。"
        assert "权重" in page.answer.device_views()[0].legend.accessibleName()
        assert list(page.answer.facts()) == ["文件大小", "KV 缓存", "当前空闲内存", "当前空闲显存"]
        assert page.choices.advanced.fold.summary() == "批 2,048 · 微批 512 · 32 线程"
        qtbot.waitUntil(lambda: all(chip.text().startswith("缺 ") for chip in chips))
    finally:
        switch.choose(LanguageChoice.EN)
        QApplication.processEvents()
    assert page.choices.reset.text() == "Reset"
    assert page.answer.sentence.text().endswith("there.")


def test_parts_without_a_forecast_are_named_as_such(planned, bridge, plan_page):
    whole = planned.engine.forecast

    def partly(settings, model):
        devices = whole(settings, model).devices
        return LoadForecast(
            tuple(dataclasses.replace(d, compute_bytes=None, overhead_bytes=None) for d in devices)
        )

    planned.engine.forecast = partly
    page = plan_page(bridge)
    for view in page.answer.device_views():
        assert "Compute, Overhead not forecast yet" in view.legend.accessibleName()
    page.choices.expert_layers.set_value(60)
    assert page.answer.chip.text() == "Weights and KV fit"


def test_the_scripted_forecast_needs_no_planner(services, bridge, plan_page):
    """Facts without a geometry, as other tests have them, are enough for the page."""
    page = plan_page(bridge)
    assert page.choices.plan is not None
    price_for_real(services)
    assert not services.engine.forecast(page.choices.plan.settings, page.choices.plan.model).devices
