"""From a first start to a streaming answer, by keyboard alone, in both languages."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.settings import LanguageChoice
from kimi_desktop.ui.appearance import Appearance
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.pages import standard_pages
from kimi_desktop.ui.wizard.page import WizardPage
from tests.support.scripted_data import starter_model


@pytest.fixture
def window(qtbot, qapp, fresh_bridge, tmp_path, request):
    fresh_bridge.update_settings(
        lambda s: dataclasses.replace(
            s, window=dataclasses.replace(s.window, language=request.param)
        )
    )
    appearance = Appearance(qapp, fresh_bridge)
    frame = MainWindow(fresh_bridge, standard_pages(), wizard=WizardPage)
    qtbot.addWidget(frame)
    frame.show()
    qtbot.waitUntil(lambda: frame.stack.count() == 1)
    yield frame
    appearance.language.choose(LanguageChoice.EN)
    appearance.deleteLater()


@pytest.mark.parametrize(
    ("window", "hello"),
    [
        (LanguageChoice.EN, "Hello! What can you do?"),
        (LanguageChoice.ZH_CN, "你好！你能做些什么？"),
    ],
    indirect=["window"],
    ids=["en", "zh"],
)
def test_wizard_to_answer(qtbot, window, fresh_services, fresh_bridge, hello):
    services = fresh_services
    wizard = window.stack.currentWidget()
    assert isinstance(wizard, WizardPage)

    def press_next() -> None:
        qtbot.waitUntil(lambda: wizard.next_button.hasFocus() and wizard.next_button.isEnabled())
        qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)

    press_next()  # the machine
    press_next()  # what runs here
    services.desk.hold = {"models.install_starter", "engine.start"}
    press_next()
    assert QApplication.focusWidget() is wizard.step.busy_control
    services.models.set_models(starter_model(services.models.folders[0]))
    services.desk.release("models.install_starter")
    qtbot.waitUntil(lambda: wizard.number == 2)
    press_next()
    services.engine.set_state(EngineState.LOADING, load_fraction=0.5)
    assert QApplication.focusWidget() is wizard.step.busy_control
    services.engine.set_state(EngineState.READY)
    press_next()

    qtbot.waitUntil(lambda: type(window.stack.currentWidget()).__name__ == "ChatPage")
    assert window.rail.isVisible()
    assert window.status_bar.isVisible()
    assert fresh_bridge.settings.window.wizard_done
    chat_id = services.chats.generating_chat
    assert chat_id is not None
    assert services.chats.messages(chat_id)[0].text == hello
    services.chats.stream("Once upon a time")
    services.chats.finish()
    assert window.status_bar.cells()[0].value == "18.4"
