"""Theme, language and size change under an open chat, with a live answer in it."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.settings import LanguageChoice, ThemeChoice
from kimi_desktop.ui.chat.code_view import CodeView
from kimi_desktop.ui.chat.item_views import FoldView
from kimi_desktop.ui.chat.message_views import StatsView
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.theme import Theme, tokens


@pytest.fixture
def theme(qapp):
    worn = Theme(qapp)
    worn.choose(ThemeChoice.DARK)
    yield worn
    worn.choose(ThemeChoice.DARK)
    worn.deleteLater()


@pytest.fixture
def speech(qapp):
    switch = LanguageSwitch(qapp)
    yield switch
    switch.choose(LanguageChoice.EN)
    switch.deleteLater()


def of(page, kind):
    return [view for _, view in page.transcript.pool if isinstance(view, kind)]


def corner(page):
    """The colour of the transcript's ground."""
    image = page.transcript.grab().toImage()
    return image.pixelColor(2, image.height() // 2).name()


def test_a_new_theme_repaints_text_and_code(page, theme, services):
    before = page.transcript.select.texts.last_spot()
    assert corner(page) == "#0f1216"
    code = of(page, CodeView)[0]
    theme.choose(ThemeChoice.LIGHT)
    QApplication.processEvents()
    assert corner(page) == "#f7f7f5"
    assert page.transcript.select.texts.last_spot() == before
    code = of(page, CodeView)[0]
    colours = set()
    block = code.pane.document().begin()
    while block.isValid():
        for span in block.layout().formats():
            colours.add(span.format.foreground().color().name())
        block = block.next()
    assert tokens().code_comment.lower() in colours
    assert "#9aa5b3" not in colours, "a colour of the other theme is left"


def test_a_live_answer_goes_on_through_theme_and_language(page, theme, speech, services):
    page.new_chat()
    services.chats.send(page.chat_id, "Go")
    services.chats.stream("One **two", reasoning="hm")
    theme.choose(ThemeChoice.LIGHT)
    services.chats.stream("** three")
    speech.choose(LanguageChoice.ZH_CN)
    services.chats.stream(" four.")
    QApplication.processEvents()
    shown = [view.pane.toPlainText() for _, view in page.transcript.pool if view.pane is not None]
    assert sorted(shown) == ["Go", "One two three four."]
    assert of(page, FoldView)[0].stops()[0].text() == "已思考 12 秒"


def test_chinese_words(page, speech):
    speech.choose(LanguageChoice.ZH_CN)
    QApplication.processEvents()
    stats = of(page, StatsView)[-1]
    assert stats._words.full_text() == (
        "18.4 词元/秒 · 481 词元 · 首字延迟 3.1 秒 · 结束原因：正常结束"
    )
    assert page.composer.input.placeholderText() == "给 Kimi K2.6 发消息"
    assert page.chats.rows.rows[0].chat_id is None
    assert of(page, CodeView)[0].stops()[1].text() == "复制"
    assert page.inspector.sampling.preset.text() == "思考预设"
    speech.choose(LanguageChoice.EN)
    QApplication.processEvents()
    assert page.composer.input.placeholderText() == "Message Kimi K2.6"


@pytest.mark.parametrize("size", [(904, 532), (1224, 732), (1864, 1012)])
def test_nothing_is_wider_than_its_column(page, size):
    page.window().resize(*size)
    QApplication.processEvents()
    transcript = page.transcript
    assert 300 < transcript._width <= 760
    for _, view in transcript.pool:
        assert view.x() + transcript._width <= transcript.width() - 24 + 1
    composer = page.composer
    left = composer.mapTo(page.conversation, composer.rect().topLeft()).x()
    column = transcript.mapTo(page.conversation, transcript.rect().topLeft()).x()
    assert left == column + (transcript.width() - transcript._width) // 2
    assert composer.width() == transcript._width
