"""The settings decide theme and language, at the start and whenever they change."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtWidgets import QLabel

from kimi_desktop.base.messages import Language
from kimi_desktop.base.settings import LanguageChoice, ThemeChoice
from kimi_desktop.ui import missing_font, theme
from kimi_desktop.ui.appearance import Appearance
from kimi_desktop.ui.language import language
from kimi_desktop.ui.main_window import MainWindow
from kimi_desktop.ui.navigation import PAGES
from kimi_desktop.ui.notices import Notices
from kimi_desktop.ui.pages import Page
from kimi_desktop.ui.tokens import DARK, LIGHT


def choose(bridge, **values):
    bridge.update_settings(
        lambda s: dataclasses.replace(s, window=dataclasses.replace(s.window, **values))
    )


@pytest.fixture
def appearance(qapp, bridge):
    choose(bridge, theme=ThemeChoice.LIGHT, language=LanguageChoice.EN)
    owner = Appearance(qapp, bridge)
    yield owner
    owner.language.choose(LanguageChoice.EN)
    owner.deleteLater()


def test_a_change_of_the_settings_is_seen_at_once(qtbot, appearance, bridge):
    window = MainWindow(bridge, [Page(name, name, lambda _: QLabel()) for name in PAGES])
    qtbot.addWidget(window)
    window.show()
    assert theme.tokens() is LIGHT
    before = window.top_bar.grab().toImage()

    choose(bridge, theme=ThemeChoice.DARK, language=LanguageChoice.ZH_CN)

    assert theme.tokens() is DARK
    assert language() is Language.ZH_CN
    qtbot.waitUntil(lambda: window.top_bar.switch_button().text() == "停止引擎")
    assert window.top_bar.grab().toImage() != before


@pytest.mark.parametrize(
    ("choice", "has_font", "warned"),
    [
        (LanguageChoice.ZH_CN, False, True),
        (LanguageChoice.ZH_CN, True, False),
        (LanguageChoice.EN, False, False),
    ],
)
def test_chinese_without_a_font_is_said_in_english(
    qtbot, appearance, bridge, monkeypatch, choice, has_font, warned
):
    monkeypatch.setattr(missing_font, "has_chinese_font", lambda: has_font)
    choose(bridge, language=choice)
    notices = Notices()
    qtbot.addWidget(notices)
    missing_font.warn_without_chinese_font(notices)
    assert bool(notices.bars()) is warned
    if warned:
        assert notices.bars()[0].text().isascii()
