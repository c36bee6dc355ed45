"""Serving a checkpoint with vLLM from the library: legal splits, the answer in words, consent."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from kimi_desktop.backends.model_code import CodeFile, ModelCode
from kimi_desktop.backends.types import EngineKind
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.planner.vllm_types import Split
from kimi_desktop.ui.models.library_table import RowAction
from tests.support import scripted_data

CODE = ModelCode((CodeFile("modeling_kimi.py", "ab" * 32), CodeFile("tokenization.py", "cd" * 32)))


@pytest.fixture
def checkpoint(services):
    model = scripted_data.checkpoint_model(services.models.folders[0])
    services.models.set_models(*services.models.models, model)
    return model


@pytest.fixture
def opened(page, overlays, checkpoint, qtbot):
    def open_sheet():
        page.act(RowAction.START, checkpoint)
        qtbot.waitUntil(lambda: "Planning" not in overlays[-1].answer.text())
        return overlays[-1]

    return open_sheet


def wishes(services):
    return [args[1] for name, args in services.desk.calls if name == "servers.find"]


def test_it_says_whether_it_fits_and_starts_what_was_chosen(opened, services, asked, qtbot):
    sheet = opened()
    assert sheet.build.text() == "vLLM 0.25.1"
    assert sheet.answer.text().startswith("vLLM ")
    assert not sheet.code.isVisible()
    assert wishes(services)[0].split is None


def test_only_legal_sizes_are_offered_and_asked_for(opened, services, qtbot):
    sheet = opened()
    assert sheet.tensor_row.isVisible()
    sheet.tensor.chosen.emit("2")
    assert wishes(services)[-1].split == Split(tensor=2)
    sheet.tensor.chosen.emit("auto")
    assert wishes(services)[-1].split is None


def test_the_context_is_a_number_or_nothing(opened, services, qtbot):
    sheet = opened()
    for text in ("many", "0", "-5", "1" * 30):
        sheet.context.setText(text)
        qtbot.keyClick(sheet.context, Qt.Key.Key_Return)
        assert len(wishes(services)) == 1
    sheet.context.setText("8192")
    qtbot.keyClick(sheet.context, Qt.Key.Key_Return)
    assert wishes(services)[-1].context == 8192
    sheet.context.setText("")
    qtbot.keyClick(sheet.context, Qt.Key.Key_Return)
    assert wishes(services)[-1].context is None


def test_the_models_code_runs_only_when_allowed(opened, services, asked, qtbot):
    services.engine.gpu_build = False  # a build for the processor starts without a plan of GPUs
    services.servers.code = CODE
    sheet = opened()
    assert "modeling_kimi.py  abababababab…" in sheet.code.text()
    assert not sheet.start_button.isEnabled()
    sheet.allow.setChecked(True)
    assert sheet.start_button.isEnabled()
    qtbot.mouseClick(sheet.start_button, Qt.MouseButton.LeftButton)
    (started,) = asked["start_wanted"]
    assert started.kind is EngineKind.VLLM
    assert started.server.trusted_code == CODE.digest


def test_without_vllm_or_with_a_damaged_model_it_does_not_start(opened, services, qtbot):
    services.engine.vllm = None
    sheet = opened()
    assert "vLLM was not found" in sheet.build.text()
    assert not sheet.start_button.isEnabled()
    services.servers.error = ModelError(ErrorCode.MODEL_NOT_FOUND, {"path": "/m/config.json"})
    sheet = opened()
    assert "/m/config.json" in sheet.answer.text()
    assert not sheet.start_button.isEnabled()
