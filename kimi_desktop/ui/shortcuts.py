"""The keyboard shortcuts of the window, in one table: bound, shown in tooltips, and listed.

Qt thread. ``Ctrl`` is the Command key on macOS, as Qt has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QKeySequence

from kimi_desktop.ui.navigation import PAGES

KEYS = {
    "new_chat": "Ctrl+N",
    "palette": "Ctrl+K",
    "picker": "Ctrl+L",
    "rail": "Ctrl+B",
    **{f"page_{name}": f"Ctrl+{number}" for number, name in enumerate(PAGES, start=1)},
    "settings": "Ctrl+,",
    "shortcuts": "Ctrl+/",
    "stop": "Esc",
    "regenerate": "Ctrl+R",
    "copy_answer": "Ctrl+Shift+C",
    "quit": "Ctrl+Q",
}


def shortcut(action: str) -> str:
    """Its keys as this system writes them."""
    return QKeySequence(KEYS[action]).toString(QKeySequence.SequenceFormat.NativeText)


@dataclass(frozen=True, slots=True)
class ShortcutRow:
    """One line of the list."""

    keys: str
    words: str


def shortcut_rows(*, enter_sends: bool) -> tuple[ShortcutRow, ...]:
    """All of them in words, in the order of the list."""
    translate = QCoreApplication.translate
    newline = "Shift+Enter" if enter_sends else "Enter"
    send = "Enter" if enter_sends else "Ctrl+Enter"
    pages = f"{shortcut('page_chat')} – {shortcut('page_settings').rpartition('+')[2]}"
    return tuple(
        ShortcutRow(keys, words)
        for keys, words in (
            (shortcut("new_chat"), translate("Shortcuts", "New chat")),
            (shortcut("palette"), translate("Shortcuts", "Search chats and commands")),
            (shortcut("picker"), translate("Shortcuts", "Choose a model")),
            (pages, translate("Shortcuts", "Go to a page")),
            (shortcut("settings"), translate("Shortcuts", "Settings")),
            (shortcut("rail"), translate("Shortcuts", "Show or hide the names in the rail")),
            (send, translate("Shortcuts", "Send the message")),
            (newline, translate("Shortcuts", "New line")),
            (shortcut("stop"), translate("Shortcuts", "Stop the answer")),
            (shortcut("regenerate"), translate("Shortcuts", "Answer again")),
            (shortcut("copy_answer"), translate("Shortcuts", "Copy the last answer")),
            (shortcut("shortcuts"), translate("Shortcuts", "This list")),
            (shortcut("quit"), translate("Shortcuts", "Quit")),
        )
    )
