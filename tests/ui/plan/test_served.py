"""The Plan page for a folder of safetensors: vLLM's choices left, its answer right."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt

from kimi_desktop.backends.types import EngineState, EngineStatus, VllmSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.planner.vllm_types import ServerWishes, Split
from kimi_desktop.ui.language import LanguageSwitch
from tests.support import scripted_data
from tests.ui.plan.conftest import deliver


@pytest.fixture
def checkpoint(planned):
    model = scripted_data.checkpoint_model(planned.models.folders[0])
    planned.models.set_models(*planned.models.models, model)
    return model


@pytest.fixture
def served(page, bridge, planned, checkpoint):
    """The page with the checkpoint on it."""
    bridge.navigation.open_plan(checkpoint.id)
    deliver()
    return page


def test_a_checkpoint_is_planned_beside_the_files_for_llama_cpp(served, checkpoint):
    panel = served.choices
    assert panel.model.currentText() == f"{checkpoint.title} · safetensors"
    assert panel.engine.currentText() == "vLLM 0.25.1"
    assert served.served.form.isVisible()
    assert not panel.placement.isVisible()
    assert not panel.quantizations.isVisible()
    answer = served.served.answer
    assert answer.isVisible()
    assert not served.answer.isVisible()
    assert answer.sentence.text().startswith("vLLM serves")
    assert answer.devices.isVisible()
    assert served.served.start.isEnabled()


def test_choosing_in_the_list_goes_there_and_back(page, planned, checkpoint):
    select = page.choices.model
    for key, is_served in ((checkpoint.id, True), ("Kimi K2.6", False), (checkpoint.id, True)):
        place = select.findData(key)
        select.setCurrentIndex(place)
        select.activated.emit(place)
        deliver()
        assert page.served.form.isVisible() == is_served
        assert page.choices.placement.isVisible() != is_served
        assert page.answer.isVisible() != is_served


def test_a_search_of_before_does_not_come_in_between(served):
    served.planning.changed.emit()
    served.planning.refresh()
    deliver()
    assert served.served.form.isVisible()
    assert served.served.answer.isVisible()


def test_choices_are_kept_when_the_page_goes_and_taken_back(served, planned, checkpoint, qtbot):
    served.served.planning.wish(split=Split(), context=4096)
    deliver()
    assert served.choices.reset.isEnabled()
    served.hide()
    kept = planned.engine.settings_for(checkpoint).server
    assert kept.wishes == ServerWishes(split=Split(), context=4096)
    served.show()
    qtbot.mouseClick(served.choices.reset, Qt.MouseButton.LeftButton)
    deliver()
    assert served.served.planning.special == VllmSettings()
    assert not served.choices.reset.isEnabled()
    served.hide()
    assert planned.engine.settings_for(checkpoint).server == VllmSettings()


def test_start_selects_the_model_and_starts_what_was_chosen(
    served, bridge, planned, checkpoint, qtbot
):
    started = []
    bridge.navigation.start_wanted.connect(started.append)
    served.served.planning.wish(context=4096)
    deliver()
    qtbot.mouseClick(served.served.start, Qt.MouseButton.LeftButton)
    (settings,) = started
    assert settings.server.wishes.context == 4096
    assert bridge.settings.models.selected == checkpoint.id
    planned.engine.set_status(EngineStatus(EngineState.READY, settings=settings))
    deliver()
    assert served.served.start.text() == "Running with this plan"
    served.served.planning.wish(context=2048)
    deliver()
    assert served.served.start.text() == "Start with this plan"
    assert served.served.start.isEnabled()


def test_another_python_is_asked_and_the_choices_stay(served, planned, bridge):
    served.served.planning.wish(context=4096)
    planned.engine.vllm = None
    bridge.save_settings(lambda s: s)
    deliver()
    assert "vLLM was not found" in served.served.answer.engine.text()
    assert served.choices.engine.currentText() == "Not installed"
    assert served.served.planning.wishes.context == 4096


def test_its_failure_is_shown_in_place(served, planned, checkpoint):
    error = BackendError(ErrorCode.ENGINE_NO_PLAN, {"name": checkpoint.title})
    planned.engine.set_failed(checkpoint, error)
    deliver()
    assert served.served.failure.isVisible()
    planned.engine.set_failed(planned.models.models[0], error)
    deliver()
    assert not served.served.failure.isVisible()


def test_the_library_and_the_machine_may_change_below_it(served, planned, checkpoint):
    planned.models.set_models(
        *planned.models.models[:-1], dataclasses.replace(checkpoint, parts_total=21)
    )
    deliver()
    assert served.served.model.parts_total == 21
    assert served.served.form.isVisible()
    box = scripted_data.two_gpu_box()
    planned.machine.set_machine(dataclasses.replace(box, gpus=box.gpus[:1]))
    deliver()
    assert "cannot serve" in served.served.answer.sentence.text()
    planned.models.set_models(*planned.models.models[:-1])
    deliver()
    assert served.served.model is None
    assert served.choices.placement.isVisible()


def test_a_checkpoint_alone_is_enough_for_the_page(plan_page, bridge, planned, checkpoint):
    planned.models.set_models(checkpoint)
    page = plan_page(bridge)
    assert page.served.form.isVisible()
    assert not page.empty.isVisible()


def test_it_speaks_chinese(served, bridge, qapp):
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        deliver()
        assert served.served.start.text() == "按此方案启动"
        assert "张量并行" in served.served.form.split._fields["tensor"]._label.text()
    finally:
        switch.choose(LanguageChoice.EN)
        deliver()
