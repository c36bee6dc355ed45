"""The tokens can be read by everybody, and the theme follows the choice without a restart."""

from __future__ import annotations

import dataclasses
import re

import pytest
from PySide6.QtGui import QFontMetricsF, QPalette
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui import theme
from kimi_desktop.ui.theme import Theme, ui_font
from kimi_desktop.ui.tokens import DARK, LIGHT, Tokens, contrast
from kimi_desktop.ui.widgets.label import Label

BOTH = pytest.mark.parametrize("t", [DARK, LIGHT], ids=["dark", "light"])


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@BOTH
def test_text_is_readable_on_every_ground(t: Tokens):
    grounds = {"window": t.window, "panel": t.panel, "raised": t.raised, "code": t.code}
    for name, ground in grounds.items():
        for ink in (t.text, t.muted):
            assert contrast(ink, ground) >= 4.5, name
    for ground in (t.hover, t.press, t.accent_soft, t.ok_soft, t.warn_soft, t.bad_soft):
        assert contrast(t.text, ground) >= 4.5
    for ground in (t.window, t.panel):
        for ink in (t.accent, t.ok, t.warn, t.bad):
            assert contrast(ink, ground) >= 4.5
    for ink in ("code_keyword", "code_string", "code_number", "code_comment", "code_function"):
        assert contrast(getattr(t, ink), t.code) >= 4.5


@BOTH
def test_words_on_tints_and_buttons_are_readable(t: Tokens):
    for tone in ("accent", "ok", "warn", "bad"):
        assert contrast(getattr(t, tone), getattr(t, f"{tone}_soft")) >= 4.5, tone
    for fill in (t.accent, t.accent_hover, t.accent_press):
        assert contrast(t.on_accent, fill) >= 4.5


@BOTH
def test_controls_stand_out(t: Tokens):
    for ground in (t.window, t.panel, t.raised):
        assert contrast(t.control, ground) >= 3
        assert contrast(t.accent, ground) >= 3
    for part in ("weights", "kv", "compute", "overhead"):
        assert contrast(getattr(t, part), t.window) >= 3, part


@BOTH
def test_tokens_are_colours(t: Tokens):
    for field in dataclasses.fields(t):
        value = getattr(t, field.name)
        if field.name != "dark":
            assert re.fullmatch(r"#[0-9A-F]{6}([0-9A-F]{2})?", value), field.name


def test_a_choice_dresses_the_running_app(qtbot, qapp: QApplication):
    dresser = Theme(qapp)
    label = Label("text", tone="bad")
    qtbot.addWidget(label)
    label.show()
    seen = []
    dresser.choose(ThemeChoice.DARK)  # whatever an earlier test left in force
    dresser.changed.connect(lambda: seen.append(theme.tokens()))

    dresser.choose(ThemeChoice.LIGHT)
    light = label.grab().toImage()
    dresser.choose(ThemeChoice.DARK)
    dark = label.grab().toImage()

    assert seen == [LIGHT, DARK]
    assert qapp.palette().color(QPalette.ColorRole.Window).name().upper() == DARK.window
    assert label.palette().color(QPalette.ColorRole.WindowText).name().upper() == DARK.bad
    assert light != dark


def test_the_system_decides_until_the_user_does(qapp: QApplication):
    dresser = Theme(qapp)
    dresser.choose(ThemeChoice.LIGHT)
    dresser.choose(ThemeChoice.SYSTEM)
    assert theme.tokens() in (DARK, LIGHT)


@pytest.mark.parametrize("size", [12, 13, 20])
def test_figures_have_one_width(qapp: QApplication, size: int):
    metrics = QFontMetricsF(ui_font(size))
    assert len({metrics.horizontalAdvance(figure * 8) for figure in "0123456789"}) == 1


def test_fonts_name_a_chinese_fallback(qapp: QApplication):
    if not theme.has_chinese_font():
        pytest.skip("no Chinese font on this machine")
    assert QFontMetricsF(ui_font()).horizontalAdvance("显存") > 0
