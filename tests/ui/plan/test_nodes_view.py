"""The Plan page: one model on several machines with vLLM, line by line."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.planner.vllm_types import Split
from kimi_desktop.ui.language import LanguageSwitch
from tests.support import scripted_data
from tests.ui.plan.conftest import deliver


@pytest.fixture
def view(page, bridge, planned, qtbot):
    """Of a checkpoint, opened."""
    model = scripted_data.checkpoint_model(planned.models.folders[0])
    planned.models.set_models(*planned.models.models, model)
    bridge.navigation.open_plan(model.id)
    deliver()
    nodes = page.served.nodes
    assert not nodes.nodes.isVisible()  # folded away
    qtbot.mouseClick(nodes.fold, Qt.MouseButton.LeftButton)
    return nodes


def texts(view) -> list[str]:
    """As a shell reads them."""
    shown = [block.lines.toPlainText() for block in view.blocks if block.isVisible()]
    return [text.replace(" \\\n  ", " ") for text in shown]


def test_every_machine_has_a_line_to_copy(view, qtbot):
    assert texts(view) == []
    view.nodes.setText("10.0.0.1, 10.0.0.2=gpu2")
    deliver()
    head, other, verb = texts(view)
    assert "--node-rank 0" in head
    assert "--host 127.0.0.1" in head
    assert other.endswith("--headless")
    assert "VLLM_HOST_IP=10.0.0.2" in other
    assert verb.startswith("kimi-desktop nodes ")
    assert " 10.0.0.1 10.0.0.2=gpu2 --tp 2 --pp 2 " in verb  # two machines with two GPUs each
    assert verb.endswith("--run")
    assert view.sentence.text().startswith("vLLM serves")
    qtbot.mouseClick(view.blocks[1].copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == other


def test_lines_follow_what_is_chosen(view, page):
    view.nodes.setText("10.0.0.1 10.0.0.2")
    deliver()
    page.served.planning.wish(split=Split(4), context=8192)
    deliver()
    head = texts(view)[0]
    assert "--tensor-parallel-size 4" in head
    assert "--max-model-len 8192" in head
    page.served.planning.wish(split=Split(1))
    deliver()
    assert "1 GPUs cannot be dealt out to 2 machines" in view.problem.text()
    assert texts(view) == []


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("10.0.0.1", "1 machines were named"),
        ("10.0.0.1 8.8.8.8", "not an address of a private network"),
        ("10.0.0.1 10.0.0.2=-oProxyCommand=x", "no name for ssh"),
    ],
)
def test_what_is_wrong_is_said_in_place(view, typed, words):
    view.nodes.setText(typed)
    deliver()
    assert words in view.problem.text()
    assert texts(view) == []
    view.nodes.clear()
    deliver()
    assert not view.problem.isVisible()


def test_a_check_over_ssh(view, planned, qtbot):
    assert not view.check.isEnabled()
    view.nodes.setText("10.0.0.1 10.0.0.2=gpu2")
    deliver()
    planned.desk.hold.add("servers.check_nodes")
    qtbot.mouseClick(view.check, Qt.MouseButton.LeftButton)
    assert view.check.text() == "Checking"
    planned.desk.release("servers.check_nodes")
    qtbot.waitUntil(view.checked.isVisible)
    assert "gpu2 (10.0.0.2): vLLM 0.25.1, NVIDIA H200" in view.checked.text()
    assert view.checked.text().endswith("can serve together.")
    view.nodes.setText("10.0.0.1 10.0.0.3=gpu3")
    deliver()
    assert not view.checked.isVisible()  # those are others


def test_a_check_that_fails_keeps_the_lines(view, planned, qtbot):
    view.nodes.setText("10.0.0.1 10.0.0.2=gpu2")
    deliver()
    params = {"node": "gpu2 (10.0.0.2)", "detail": "No route to host"}
    planned.servers.nodes_error = BackendError(ErrorCode.NODE_UNREACHABLE, params)
    qtbot.mouseClick(view.check, Qt.MouseButton.LeftButton)
    deliver()
    assert "No route to host" in view.problem.text()
    assert len(texts(view)) == 3


def test_in_chinese(view, qapp):
    view.nodes.setText("10.0.0.1 10.0.0.2")
    switch = LanguageSwitch(qapp)
    try:
        switch.choose(LanguageChoice.ZH_CN)
        deliver()
        assert view.fold.text() == "多台机器"
        assert "没有加密" in view._warning.text()
    finally:
        switch.choose(LanguageChoice.EN)
