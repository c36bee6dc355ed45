"""The log over the window: what decided is marked and in sight, decoys are greyed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from kimi_desktop.backends.types import EngineFacts, EngineState, EngineStatus, LoadSettings
from kimi_desktop.base.errors import BackendError, ErrorCode
from kimi_desktop.diagnosis.failure import Pricing, read_failure
from kimi_desktop.planner.types import LoadForecast
from kimi_desktop.ui.log_view import LogView, read_log
from kimi_desktop.ui.theme import color, tokens

KV = "E llama_init_from_model: failed to allocate buffer for kv cache"
DECOY = "E common_init_result: failed to fit params to free device memory"
LINES = (*(f"I line {n}" for n in range(300)), KV, *(f"I more {n}" for n in range(200)))
PRICING = Pricing(lambda *_: LoadForecast(()), lambda settings, _: settings)


@pytest.fixture
def failed() -> EngineStatus:
    return EngineStatus(
        EngineState.FAILED,
        settings=LoadSettings(Path("/m/k.gguf")),
        error=BackendError(ErrorCode.ENGINE_OUT_OF_MEMORY, {"detail": KV}),
        facts=EngineFacts(code=1, phase="load", log=LINES),
        started_at=1.0,
    )


def test_the_line_that_decided_is_marked_and_in_sight(qtbot, failed):
    reading = read_failure(failed, None, None, PRICING)
    text, decisive, decoys = read_log(failed, reading, "what is left of the log")
    assert text.splitlines()[decisive[0]] == KV
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(1000, 700)
    host.show()
    view = LogView(host, text, decisive, decoys)
    view.open()
    assert view.view.textCursor().block().text() == KV
    marks = view.view.extraSelections()
    grounds = [m.format.background().color() for m in marks if m.cursor.block().text() == KV]
    assert color(tokens().warn_soft) in grounds
    view.copy_button.click()
    assert QGuiApplication.clipboard().text() == text


def test_the_next_marked_line_and_round_again(qtbot):
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(1000, 700)
    view = LogView(host, "\n".join(LINES), (300, 10))
    assert not view.next_button.isHidden()
    view.next_button.click()
    assert view.view.textCursor().blockNumber() == 10
    view.next_button.click()
    assert view.view.textCursor().blockNumber() == 300


def test_decoys_are_greyed(qtbot):
    host = QWidget()
    qtbot.addWidget(host)
    view = LogView(host, f"a\n{DECOY}\nb", (), (1,))
    (mark,) = view.view.extraSelections()
    assert mark.format.foreground().color() == color(tokens().muted)
    assert mark.cursor.block().text() == DECOY


def test_another_engine_has_nothing_marked(failed):
    reading = read_failure(failed, None, None, PRICING)
    for status in (
        dataclasses.replace(failed, started_at=2.0),
        EngineStatus(EngineState.READY, started_at=1.0),
    ):
        assert read_log(status, reading, "log") == ("log", (), ())
    assert read_log(failed, None, "log") == ("log", (), ())
