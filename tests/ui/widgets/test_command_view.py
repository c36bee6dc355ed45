"""The command line: quoting for both shells, pairs that stay together, colours of the theme."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui.theme import Theme, tokens
from kimi_desktop.ui.widgets.command_view import CommandView, shell_line

COMMAND = ("llama-server", "-m", "/srv/my models/k.gguf", "-ngl", "-1", "--jinja", "--temp", "1.0")
words = st.lists(st.text(st.characters(blacklist_categories=("Cs", "Cc"))), min_size=1)


@given(words)
def test_a_posix_shell_reads_back_the_words(command: list[str]):
    assert shlex.split(shell_line(command, windows=False)) == command


def windows_split(line: str) -> list[str]:
    """The C runtime's rules: backslashes count before a quote only."""
    found, word, quoted, there, at = [], "", False, False, 0
    while at < len(line):
        slashes = 0
        while at < len(line) and line[at] == "\\":
            slashes, at = slashes + 1, at + 1
        if at < len(line) and line[at] == '"':
            word += "\\" * (slashes // 2)
            if slashes % 2:
                word += '"'
            else:
                quoted, there = not quoted, True
            at += 1
            continue
        word += "\\" * slashes
        if at == len(line):
            break
        if line[at].isspace() and not quoted:
            if word or there:
                found.append(word)
            word, there = "", False
        else:
            word += line[at]
        at += 1
    return [*found, word] if word or there else found


@given(words)
def test_windows_reads_back_the_words(command: list[str]):
    assert windows_split(shell_line(command, windows=True)) == command


@pytest.mark.parametrize("windows", [False, True])
def test_plain_words_need_no_quotes(windows: bool):
    assert shell_line(("a", "-b", "1"), windows=windows) == "a -b 1"


def test_what_is_selected_is_what_is_shown(qtbot):
    view = CommandView()
    qtbot.addWidget(view)
    view.show_command(COMMAND)
    view._text.selectAll()
    copied = view._text.createMimeDataFromSelection().text()
    assert shlex.split(copied) == list(COMMAND)


def test_a_template_keeps_its_lines(qtbot):
    view = CommandView()
    qtbot.addWidget(view)
    view.show_command(
        ("llama-server", "--chat-template", "{% for m in messages %}\n<b>{{ m }}</b>")
    )
    assert "\n<b>{{ m }}</b>" in view._text.toPlainText()
    assert view.line().endswith("<b>{{ m }}</b>'")


def test_flags_take_the_colour_of_the_theme(qtbot, qapp: QApplication):
    dresser = Theme(qapp)
    dresser.choose(ThemeChoice.LIGHT)
    view = CommandView()
    qtbot.addWidget(view)
    view.show_command(COMMAND)
    view.show()
    for choice in (ThemeChoice.DARK, ThemeChoice.LIGHT):
        dresser.choose(choice)
        assert tokens().code_function.lower() in view._text.toHtml().lower()


def test_the_box_is_as_high_as_its_text(qtbot):
    view = CommandView()
    qtbot.addWidget(view)
    view.show_command(COMMAND)
    view.resize(800, 400)
    view.show()
    wide = view._text.height()
    view.resize(220, 400)
    qtbot.waitUntil(lambda: view._text.height() > wide)
    assert view._text.accessibleName() == ""
    view.set_label("Command line")
    assert view._text.accessibleName() == "Command line"


def test_focus_is_shown_on_the_box(qtbot):
    view = CommandView()
    qtbot.addWidget(view)
    view.show_command(COMMAND)
    view.show()
    before = view.grab().toImage()
    view.setFocus()
    QApplication.sendEvent(view._text, QFocusEvent(QFocusEvent.Type.FocusIn))
    qtbot.waitUntil(lambda: view.grab().toImage() != before)
