"""Serving a checkpoint with vLLM: legal choices, the answer, consent, the same on the Plan page."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.model_code import CodeFile, ModelCode
from kimi_desktop.backends.server_facts import BuildFacts
from kimi_desktop.backends.types import EngineKind, PlanChoices, VllmSettings
from kimi_desktop.base.errors import BackendError, ErrorCode, ModelError
from kimi_desktop.base.units import GIB
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.vllm_types import CacheFormat, ServerWishes, Split
from kimi_desktop.ui.models.library_table import RowAction
from kimi_desktop.ui.models.serve_sheet import ServeSheet
from tests.support import hf_shapes, scripted_data

CODE = ModelCode((CodeFile("modeling_kimi.py", "ab" * 32), CodeFile("tokenization.py", "cd" * 32)))


@pytest.fixture
def checkpoint(services):
    model = scripted_data.checkpoint_model(services.models.folders[0])
    services.servers.shape = hf_shapes.moonlight  # attention with latents, small
    services.models.set_models(*services.models.models, model)
    return model


@pytest.fixture
def opened(page, overlays, checkpoint, qtbot):
    def open_sheet() -> ServeSheet:
        page.act(RowAction.START, checkpoint)
        qtbot.waitUntil(lambda: "Planning" not in overlays[-1].answer.sentence.text())
        settle()
        return overlays[-1]

    return open_sheet


def settle() -> None:
    for _ in range(3):
        QApplication.sendPostedEvents()
        QApplication.processEvents()


def wishes(services):
    return [args[1] for name, args in services.desk.calls if name == "servers.find"]


def pick(select, value) -> None:
    """As a user does: nothing that is off can be taken."""
    place = [item.value for item in select.items()].index(value)
    assert not select.items()[place].why_not
    select.setCurrentIndex(place)
    select.activated.emit(place)
    settle()


def enter(qtbot, field, text: str) -> None:
    field.field.setText(text)
    qtbot.keyClick(field.field, Qt.Key.Key_Return)
    settle()


def test_it_says_whether_it_fits_and_on_which_gpus(opened, services):
    sheet = opened()
    assert sheet.build.text() == "vLLM 0.25.1"
    assert sheet.answer.sentence.text().startswith("vLLM ")
    assert sheet.answer.chip.text() == "Fits"
    assert len(sheet.answer.devices.views()) == 3
    assert "--tensor-parallel-size" in sheet.answer.command.line()
    assert "--tool-call-parser kimi_k2" in sheet.answer.command.line()
    assert sheet.answer.consent.isHidden()
    assert wishes(services)[0].split is None


def test_splits_are_offered_with_what_they_bring_and_refused_with_a_reason(opened, services):
    sheet = opened()
    tensor = sheet.form.split.selects["tensor"]
    assert [item.text for item in tensor.items()] == ["Automatic (2)", "1", "2"]
    pick(tensor, Split(tensor=1))
    assert wishes(services)[-1].split == Split()
    assert tensor.currentText() == "1"
    assert sheet.form.split.selects["pipeline"].currentText() == "1"
    assert sheet.form.preset.currentText() == "Own choices"
    pick(tensor, None)
    assert wishes(services)[-1].split is None
    eight = sheet.form.preset.items()[1]
    assert eight.text == "As in its guide"
    assert "8 GPUs" in eight.why_not
    row = sheet.form.preset.model().index(1, 0)
    assert not row.flags() & Qt.ItemFlag.ItemIsEnabled


def test_a_preset_sets_what_belongs_together(opened, services):
    sheet = opened()
    longest = sheet.form.preset.items()[2]
    pick(sheet.form.preset, longest.value)
    wished = wishes(services)[-1]
    assert wished.split == Split(tensor=2, decode_context=2)
    assert wished.cache is CacheFormat.FP8
    assert sheet.form.preset.currentText() == "Longest context"
    assert sheet.form.cache.currentText() == "FP8"
    pick(sheet.form.preset, ServerWishes())
    assert wishes(services)[-1] == ServerWishes()


def test_every_field_becomes_a_wish_or_a_setting(opened, services, asked, qtbot):
    sheet = opened()
    form = sheet.form
    enter(qtbot, form.context, "8192")
    enter(qtbot, form.share, "80")
    enter(qtbot, form.sequences, "16")
    enter(qtbot, form.batched, "4096")
    enter(qtbot, form.offload, "2")
    pick(form.cache, "fp8")
    qtbot.mouseClick(form.eager, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(form.split.experts, Qt.MouseButton.LeftButton)
    settle()
    pick(form.tools, "hermes")
    pick(form.thoughts, "none")
    form.name.setText(" kimi ")
    qtbot.keyClick(form.name, Qt.Key.Key_Return)
    line = sheet.answer.command.line()
    for part in (
        "--max-model-len 8192", "--gpu-memory-utilization 0.8", "--max-num-seqs 16",
        "--max-num-batched-tokens 4096", "--cpu-offload-gb 2.0", "--kv-cache-dtype fp8",
        "--enforce-eager", "--enable-expert-parallel", "--tool-call-parser hermes",
        "--served-model-name kimi",
    ):  # fmt: skip
        assert part in line, part
    assert "--reasoning-parser" not in line
    qtbot.mouseClick(sheet.start_button, Qt.MouseButton.LeftButton)
    (started,) = asked["start_wanted"]
    assert started.server.wishes == ServerWishes(
        context=8192, memory_share=0.8, n_sequences=16, n_batched_tokens=4096,
        offload_bytes=2 * GIB, cache=CacheFormat.FP8, eager=True,
        split=Split(tensor=2, experts=True),
    )  # fmt: skip
    assert started.server.served_name == "kimi"
    assert (started.server.tool_parser, started.server.reasoning_parser) == ("hermes", "none")


def test_a_number_is_in_its_range_or_nothing(opened, services, qtbot):
    sheet = opened()
    field = sheet.form.share
    for text in ("many", "0", "-5", "101", "1" * 30):
        enter(qtbot, field, text)
        assert len(wishes(services)) == 1
        assert field.field.failed
    enter(qtbot, field, "90")
    assert wishes(services)[-1].memory_share == 0.9
    assert not field.field.failed
    enter(qtbot, field, "")
    assert wishes(services)[-1].memory_share is None


def test_what_the_build_lacks_is_named_and_not_offered(opened, services):
    services.servers.facts = BuildFacts(
        "vLLM 0.18.0",
        ("hermes",),
        False,
        ("--mm-encoder-tp-mode data",),
        frozenset({"pipeline", "eager"}),
    )
    form = opened().form
    assert "--mm-encoder-tp-mode data" in form.lacks.text()
    assert "vLLM 0.18.0" in form.lacks.text()
    why = [item.why_not for item in form.split.selects["pipeline"].items()]
    assert why[1] == ""
    assert "--pipeline-parallel-size" in why[2]
    assert form.cache.items()[1].why_not
    assert [item.why_not for item in form.tools.items() if item.text == "kimi_k2"] != [""]
    assert not form.eager.isEnabled()


def test_a_build_for_the_processor_has_a_cache_in_ram_instead_of_gpus(
    opened, services, asked, qtbot
):
    services.engine.gpu_build = False
    sheet = opened()
    assert sheet.form.split.isHidden()
    assert sheet.form.share.isHidden()
    enter(qtbot, sheet.form.cpu_cache, "2")
    qtbot.mouseClick(sheet.start_button, Qt.MouseButton.LeftButton)
    (started,) = asked["start_wanted"]
    assert started.server.cpu_cache_gib == 2
    assert started.kind is EngineKind.VLLM


def test_the_models_code_runs_only_when_allowed(opened, services, asked, qtbot):
    services.servers.code = CODE
    sheet = opened()
    assert "modeling_kimi.py  abababababab…" in sheet.answer.consent.files.text()
    assert not sheet.start_button.isEnabled()
    assert "--trust-remote-code" not in sheet.answer.command.line()
    qtbot.mouseClick(sheet.answer.consent.allow, Qt.MouseButton.LeftButton)
    assert sheet.start_button.isEnabled()
    assert "--trust-remote-code" in sheet.answer.command.line()
    qtbot.mouseClick(sheet.start_button, Qt.MouseButton.LeftButton)
    (started,) = asked["start_wanted"]
    assert started.server.trusted_code == CODE.digest


def test_allowed_code_can_be_shut_in(opened, services, asked, qtbot):
    services.servers.code = CODE
    sheet = opened()
    consent = sheet.answer.consent
    assert not consent.sandbox.isHidden()
    assert not consent.sandbox.isEnabled()
    qtbot.mouseClick(consent.allow, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(consent.sandbox, Qt.MouseButton.LeftButton)
    assert consent.sandbox.isChecked()
    qtbot.mouseClick(sheet.start_button, Qt.MouseButton.LeftButton)
    (started,) = asked["start_wanted"]
    assert started.server.sandbox
    services.servers.has_sandbox = False
    assert opened().answer.consent.sandbox.isHidden()


def test_a_file_that_changed_while_it_was_looked_at_asks_again(opened, services, qtbot):
    services.servers.code = CODE
    sheet = opened()
    qtbot.mouseClick(sheet.answer.consent.allow, Qt.MouseButton.LeftButton)
    services.servers.code = ModelCode((CodeFile("modeling_kimi.py", "ef" * 32),))
    enter(qtbot, sheet.form.context, "4096")
    assert not sheet.answer.consent.allow.isChecked()
    assert not sheet.start_button.isEnabled()


def test_without_vllm_or_with_a_damaged_model_it_does_not_start(opened, services):
    services.engine.vllm = None
    sheet = opened()
    assert "vLLM was not found" in sheet.answer.engine.text()
    assert not sheet.start_button.isEnabled()
    services.servers.error = ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": "/m/config.json"})
    sheet = opened()
    assert "/m/config.json" in sheet.answer.sentence.text()
    assert not sheet.start_button.isEnabled()


def test_an_engine_that_cannot_be_asked_says_why(opened, services):
    params = {"name": "vLLM", "version": "0.9", "floor": "0.18.0"}
    services.servers.engine_error = BackendError(ErrorCode.ENGINE_TOO_OLD, params)
    sheet = opened()
    assert "0.18.0" in sheet.answer.engine.text()
    assert not sheet.start_button.isEnabled()


def test_cancel_keeps_nothing_and_the_plan_page_is_a_press_away(
    opened, services, bridge, checkpoint, qtbot
):
    sheet = opened()
    enter(qtbot, sheet.form.context, "8192")
    wanted: list[str] = []
    bridge.navigation.plan_wanted.connect(wanted.append)
    qtbot.mouseClick(sheet.plan_button, Qt.MouseButton.LeftButton)
    assert wanted == [checkpoint.id]
    assert services.engine.settings_for(checkpoint).server == VllmSettings()


def test_choices_of_the_last_time_are_there_again(opened, services, checkpoint):
    settings = services.engine.settings_for(checkpoint)
    special = dataclasses.replace(settings.server, wishes=ServerWishes(context=4096))
    kept = dataclasses.replace(settings, server=special)
    services.plans.remember(checkpoint, PlanChoices(Wishes(), kept))
    assert opened().form.context.field.text() == "4096"


def test_tab_scrolls_to_the_control(opened, page, qtbot):
    sheet = opened()
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    sheet.form.fold.click()
    settle()
    sheet.form.eager.setFocus(Qt.FocusReason.TabFocusReason)
    settle()
    assert not sheet.form.eager.visibleRegion().isEmpty()
