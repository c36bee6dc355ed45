"""From a fresh profile to a streamed answer of the real 270 M model, in both languages."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.chat.types import Finish
from kimi_desktop.machine.types import Result
from kimi_desktop.ui.wizard.runs_step import RunsStep
from tests.e2e.conftest import OpenDesk

pytestmark = [pytest.mark.e2e, pytest.mark.real_model]

WORDS = {
    LanguageChoice.EN: (
        "Your machine",
        "Install and go on",
        "Chat",
        "Start the model",
        "Say hello",
    ),
    LanguageChoice.ZH_CN: ("你的机器", "安装并继续", "对话", "启动模型", "打个招呼"),
}


@pytest.mark.parametrize("language", [LanguageChoice.EN, LanguageChoice.ZH_CN])
def test_wizard_to_a_streamed_answer(open_desk: OpenDesk, language: LanguageChoice) -> None:
    desk = open_desk(language=LanguageChoice.EN.value)
    wizard, bar = desk.wizard, desk.app.window.top_bar
    assert not desk.app.window.rail.isVisible()

    # The language is switched in the top bar, with the mouse.
    desk.click(bar.language_control().segment(language.value))
    desk.wait(lambda: desk.core.store.settings.window.language is language)

    # 1. The machine has been looked at, in that language.
    desk.wait(lambda: desk.core.machine.machine is not None)
    assert wizard.step.title() == WORDS[language][0]
    machine = desk.core.machine.machine
    assert machine is not None
    rows = desk.core.machine.check_rows(machine, language_of(language))
    assert {row.part for row in rows} >= {"cpu", "memory", "gpu", "disk"}
    assert all(row.result is not Result.FAILED or row.seen for row in rows)
    desk.click(wizard.next_button)

    # 2. The real catalogue is priced for this very machine.
    desk.wait(lambda: wizard.number == 1)
    runs = wizard.step
    assert isinstance(runs, RunsStep)
    desk.wait(lambda: bool(runs.rows) or runs.more.isVisible())
    desk.click(wizard.next_button)

    # 3. The starter model is assembled and checked.
    desk.wait(lambda: wizard.number == 2)
    assert wizard.next_button.text() == WORDS[language][1]
    desk.wait(wizard.next_button.hasFocus)
    desk.press(Qt.Key.Key_Return)
    desk.wait(lambda: wizard.number == 3)

    # 4. The engine starts, with the keyboard again, and says hello on the chat page.
    for words in WORDS[language][3:]:
        desk.wait(lambda words=words: wizard.next_button.text() == words)
        desk.wait(wizard.next_button.hasFocus)
        desk.press(Qt.Key.Key_Return)
    desk.wait_ready()
    desk.wait(desk.app.window.rail.isVisible)
    assert desk.app.window.page_name == "chat"
    assert desk.app.window.titles()["chat"] == WORDS[language][2]
    desk.wait(lambda: desk.messages and desk.messages[-1].finish is not Finish.GENERATING)

    # And a question of one's own is answered.
    desk.ask("What is the capital of France?")
    answer = desk.wait_answer()
    assert "Paris" in answer.text
    assert answer.stats is not None
    assert answer.stats.decode_tokens_per_s > 0
    assert answer.stats.first_token_s is not None
    desk.wait(lambda: desk.core.monitor.history(60))
    sample = desk.core.monitor.history(60)[-1]
    assert sample.engine_rss_bytes
    assert desk.core.engine.status.state is EngineState.READY


def language_of(choice: LanguageChoice):
    from kimi_desktop.ui.language import wanted_language  # noqa: PLC0415

    return wanted_language(choice)


def test_the_next_start_remembers(open_desk: OpenDesk) -> None:
    desk = open_desk(language=LanguageChoice.EN.value)
    wizard = desk.wizard
    desk.click(wizard.next_button)
    for number in (2, 3):
        desk.wait(wizard.next_button.hasFocus)
        desk.press(Qt.Key.Key_Return)
        desk.wait(lambda number=number: wizard.number == number)
    for words in WORDS[LanguageChoice.EN][3:]:
        desk.wait(lambda words=words: wizard.next_button.text() == words)
        desk.wait(wizard.next_button.hasFocus)
        desk.press(Qt.Key.Key_Return)
    desk.wait(desk.app.window.rail.isVisible)
    desk.ask("What is the capital of Italy?")
    before = desk.wait_answer()

    desk = open_desk()
    assert desk.app.window.rail.isVisible()
    desk.wait(lambda: desk.core.models.models)
    (chat, *_) = desk.core.chats.chats()
    desk.chat.open_chat(chat.id)
    assert desk.messages[-1].text == before.text
