"""A day with a Kimi-shaped model: thinking, stop, regenerate, code, a dead engine, serving."""

from __future__ import annotations

import shutil
import subprocess
import sys

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.types import EngineState
from kimi_desktop.chat.types import Finish
from kimi_desktop.serve.types import ServeState, SnippetKind
from kimi_desktop.ui.widgets.chip import Verdict
from tests.e2e.conftest import Desk, OpenDesk

pytestmark = pytest.mark.e2e

CTRL = Qt.KeyboardModifier.ControlModifier
LANGUAGES = ["en", "zh_CN"]


@pytest.fixture(params=LANGUAGES)
def desk(open_desk: OpenDesk, kimi_there: object, request: pytest.FixtureRequest) -> Desk:
    """The window with the model found and its engine running."""
    desk = open_desk(language=request.param, wizard_done=True)
    desk.wait(lambda: desk.core.models.models)
    desk.wait(lambda: desk.core.machine.machine)
    desk.click(desk.app.window.top_bar.switch_button())
    desk.wait_ready()
    return desk


def test_thoughts_code_stop_and_regenerate(desk: Desk) -> None:
    desk.ask("hi")
    answer = desk.wait_answer()
    assert answer.text
    assert answer.reasoning
    assert "<think>" not in answer.text

    desk.ask("show me code")
    assert "```" in desk.wait_answer().text

    desk.ask("forever")
    desk.wait(lambda: len(desk.messages[-1].text) > 200)
    desk.press(Qt.Key.Key_Escape)
    stopped = desk.wait_answer(Finish.STOPPED)
    assert len(stopped.text) > 200

    desk.ask("hi")
    first = desk.wait_answer()
    desk.press(Qt.Key.Key_R, CTRL)
    desk.wait(lambda: desk.messages[-1].versions == 2)
    again = desk.wait_answer()
    assert (again.version, again.versions) == (2, 2)
    assert again.text == first.text

    desk.press(Qt.Key.Key_C, CTRL | Qt.KeyboardModifier.ShiftModifier)
    assert QApplication.clipboard().text() == again.text
    desk.press(Qt.Key.Key_N, CTRL)
    desk.wait(lambda: not desk.messages)


def test_an_engine_killed_in_mid_answer_keeps_the_text_and_restarts(desk: Desk) -> None:
    desk.ask("forever")
    desk.wait(lambda: len(desk.messages[-1].text) > 200)
    for process in desk.engine_processes():
        process.kill()
    failed = desk.wait_answer(Finish.FAILED)
    assert len(failed.text) > 200
    desk.wait(lambda: desk.core.engine.status.state is EngineState.FAILED)
    assert desk.core.engine.status.error is not None
    desk.click(desk.app.window.top_bar.switch_button())
    desk.wait_ready()
    desk.ask("hi")
    assert desk.wait_answer().text


def test_a_message_typed_while_the_model_loads_is_sent_when_ready(desk: Desk) -> None:
    desk.click(desk.app.window.top_bar.switch_button())
    desk.wait(lambda: desk.core.engine.status.state is EngineState.STOPPED)
    desk.click(desk.app.window.top_bar.switch_button())
    desk.ask("hi")
    assert desk.wait_answer().text


def test_stopping_and_leaving_leave_no_process(desk: Desk) -> None:
    processes = desk.engine_processes()
    assert processes
    desk.app.close()
    gone, alive = psutil.wait_procs(processes, timeout=30)
    assert not alive
    assert len(gone) == len(processes)


def test_the_lines_of_the_serve_page_work(desk: Desk) -> None:
    desk.app.window.show_page("serve")
    page = desk.app.window.page("serve")
    desk.click(page.switch)
    desk.wait(lambda: desk.core.serve.status.state is ServeState.ON)
    lines = {snippet.kind: snippet.text for snippet in desk.core.serve.snippets()}
    # A bare system has no curl; the Python lines need nothing.
    ways = [([sys.executable, "-c", lines[SnippetKind.PYTHON]], "")]
    if shutil.which("curl"):
        ways.append((["bash", "-c", lines[SnippetKind.CURL]], "data:"))
    for command, words in ways:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.strip()
        assert words in done.stdout
    desk.wait(lambda: desk.core.serve.status.served == len(ways))


def test_a_plan_is_searched_taken_over_and_started(desk: Desk) -> None:
    """Auto for this very machine, then a context by hand; both run as the command line says."""
    running = desk.core.engine.status
    desk.app.window.show_page("plan")
    page = desk.app.window.page("plan")
    desk.wait(lambda: page.planning.priced)
    assert page.planning.is_auto
    assert page.planning.settings == running.settings
    desk.wait(lambda: not page.answer.start.isEnabled())  # it runs already
    if sys.platform == "linux":  # llama.cpp's own dry run
        desk.wait(page.answer.checked.isVisible)
        assert page.answer.checked.verdict is Verdict.CHECKED

    desk.click(page.choices.placement.mode.segment("manual"))
    page.choices.context.set_value(0)
    wanted = page.planning.settings
    assert wanted.context < running.settings.context
    desk.click(page.answer.start)
    desk.wait(lambda: desk.app.window.overlays.current)
    desk.click(desk.app.window.overlays.current.confirm_button)  # yes, restart
    desk.wait(lambda: desk.core.engine.status.settings == wanted)
    desk.wait_ready()
    [engine] = [p for p in desk.engine_processes() if "-ngl" in p.cmdline()]
    command = desk.core.engine.command_line(wanted)
    words = engine.cmdline()
    start = command.index("-ngl")
    assert tuple(words[words.index("-ngl") :][: len(command) - start]) == command[start:]
    assert desk.core.plans.choices(page.planning.model).settings == wanted


def test_every_page_opens_by_its_key(desk: Desk) -> None:
    window = desk.app.window
    for number, name in enumerate(("chat", "models", "plan", "monitor", "serve", "settings")):
        desk.press(Qt.Key(Qt.Key.Key_1 + number), CTRL)
        desk.wait(lambda name=name: window.page_name == name)
        desk.wait(lambda name=name: window.page(name).isVisible())
