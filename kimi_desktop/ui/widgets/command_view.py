"""The command line: flags in their own colour, wrapped between pairs, selectable. Qt thread."""

from __future__ import annotations

import html
import re
import shlex
import sys
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QMimeData, QSize, Qt
from PySide6.QtGui import QFocusEvent, QPaintEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import QSizePolicy, QTextBrowser, QVBoxLayout, QWidget

from kimi_desktop.ui.theme import mono_font, tokens
from kimi_desktop.ui.tokens import RADIUS, SMALL_PX
from kimi_desktop.ui.widgets.painting import box, painter_on

LONG = 48
"""Words from this length on may be broken at their spaces and hyphens."""
JOINER = "\u2060"
"""Keeps a line from being broken after a hyphen; taken out again when text is copied."""

_NEEDS_QUOTES = re.compile(r'[\s"&|<>^%]')


def shell_line(command: Sequence[str], *, windows: bool = sys.platform == "win32") -> str:
    """The command as one line to paste into the system's shell."""
    if not windows:
        return shlex.join(command)
    return " ".join(_windows_word(word) for word in command)


def _windows_word(word: str) -> str:
    """Quoted as the C runtime of Windows reads it."""
    if word and not _NEEDS_QUOTES.search(word):
        return word
    escaped = re.sub(r'(\\*)"', r'\1\1\\"', word)
    return '"' + re.sub(r"(\\+)$", r"\1\1", escaped) + '"'


def _pairs(command: Sequence[str]) -> list[list[str]]:
    """Each flag with its value, which stay on one line."""
    groups: list[list[str]] = []
    for word in command:
        is_value = bool(groups) and groups[-1][0].startswith("-") and len(groups[-1]) == 1
        if is_value and not _is_flag(word):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not word.lstrip("-")[:1].isdigit()


def _shown(word: str) -> str:
    """A word as HTML: quoted for the shell, its lines kept, not broken at spaces if it is short."""
    text = html.escape(shell_line([word]))
    if len(text) < LONG:
        text = text.replace(" ", "&nbsp;").replace("-", f"-{JOINER}")
    return text.replace("\n", "<br>")


class CommandView(QWidget):
    """A box of code that is as high as its text."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._command: tuple[str, ...] = ()
        self._text = _Text(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.addWidget(self._text)
        self.setFocusProxy(self._text)

    def set_label(self, label: str) -> None:
        """The accessible name."""
        self._text.setAccessibleName(label)

    def show_command(self, command: Sequence[str]) -> None:
        """Show the words of a command."""
        if tuple(command) != self._command:
            self._command = tuple(command)
            self._render()

    def line(self) -> str:
        """The command, quoted for this system's shell."""
        return shell_line(self._command)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The box; with an accent border while the text has the focus."""
        del event
        t = tokens()
        painter = painter_on(self)
        focused = self._text.hasFocus()
        border, width = (t.accent, 2.0) if focused else (t.line, 1.0)
        box(painter, self.rect().toRectF(), RADIUS, fill=t.code, border=border, width=width)
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        """Colours are inside the text, so a switch of the theme renders it again."""
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._render()
        super().changeEvent(event)

    def _render(self) -> None:
        flag = tokens().code_function
        parts = []
        for group in _pairs(self._command):
            words = [_shown(word) for word in group]
            if group[0].startswith("-"):
                words[0] = f'<span style="color:{flag}">{words[0]}</span>'
            parts.append("&nbsp;".join(words))
        self._text.show_html(" ".join(parts))


class _Text(QTextBrowser):
    """Read-only text without a frame; its height follows its width."""

    def __init__(self, box_: CommandView) -> None:
        super().__init__()
        self._box = box_
        self.setProperty("bare", True)
        self.setOpenLinks(False)
        self.setTabChangesFocus(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(0)
        self.document().setDefaultFont(mono_font(SMALL_PX))
        self.setFont(mono_font(SMALL_PX))

    def show_html(self, text: str) -> None:
        self.setHtml(text)
        self._fit()

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        text = self.textCursor().selection().toPlainText()
        data.setText(text.replace(JOINER, ""))
        return data

    def sizeHint(self) -> QSize:
        return QSize(200, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._box.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._box.update()

    def _fit(self) -> None:
        self.document().setTextWidth(self.viewport().width())
        height = round(self.document().size().height()) + 2
        if height != self.minimumHeight():
            self.setFixedHeight(height)
