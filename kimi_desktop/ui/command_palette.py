"""Ctrl+K: search in chats and commands. Qt thread."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from kimi_desktop.base.settings import LanguageChoice, Settings, ThemeChoice
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.dates import day_text
from kimi_desktop.ui.engine_words import ALIVE
from kimi_desktop.ui.navigation import PAGES
from kimi_desktop.ui.search_list import Entry, SearchOverlay
from kimi_desktop.ui.shortcuts import shortcut

MOST_CHATS = 8


class CommandPalette(SearchOverlay):
    """Chats first, then commands; without a query the newest chats and all commands."""

    def __init__(
        self,
        bridge: Bridge,
        window: QWidget,
        titles: dict[str, str],
        toggle_rail: Callable[[], None],
    ) -> None:
        self._bridge = bridge
        self._titles = titles
        self._toggle_rail = toggle_rail
        super().__init__(
            window,
            self._entries,
            label=QCoreApplication.translate("CommandPalette", "Chats and commands"),
            placeholder=QCoreApplication.translate("CommandPalette", "Search chats and commands"),
        )

    def _entries(self, query: str) -> Sequence[Entry]:
        chats = [
            Entry(
                chat.title or self.tr("New chat"),
                trailing=day_text(chat.updated_at),
                icon="chat",
                run=partial(self._bridge.navigation.open_chat, chat.id),
            )
            for chat in self._bridge.services.chats.chats(query)[:MOST_CHATS]
        ]
        words = query.casefold().split()
        commands = [
            entry
            for entry in self._commands()
            if all(word in entry.title.casefold() for word in words)
        ]
        found: list[Entry] = []
        if commands and query:
            found += [Entry(self.tr("Commands")), *commands]
        if chats:
            found += [Entry(self.tr("Chats")), *chats]
        if commands and not query:
            found += [Entry(self.tr("Commands")), *commands]
        return found or [Entry(self.tr("Nothing found."))]

    def _commands(self) -> list[Entry]:
        go = self._bridge.navigation
        status = self._bridge.services.engine.status
        if status.state not in ALIVE:
            engine = Entry(self.tr("Start the engine"), icon="play", run=go.start_engine)
        elif status.attached is not None:
            engine = Entry(self.tr("Detach from the server"), icon="power", run=go.stop_engine)
        else:
            engine = Entry(self.tr("Stop the engine"), icon="power", run=go.stop_engine)
        pages = [
            Entry(
                self.tr("Go to {page}").format(page=self._titles[name]),
                trailing=shortcut(f"page_{name}"),
                icon=name,
                run=partial(go.show_page, name),
            )
            for name in PAGES
        ]
        return [
            Entry(self.tr("New chat"), trailing=shortcut("new_chat"), icon="plus", run=go.new_chat),
            Entry(
                self.tr("Choose a model"),
                trailing=shortcut("picker"),
                icon="models",
                run=go.open_picker,
            ),
            engine,
            *pages,
            *self._looks(),
            Entry(
                self.tr("Show or hide the names in the rail"),
                trailing=shortcut("rail"),
                icon="panel-left",
                run=self._toggle_rail,
            ),
            Entry(self.tr("Show the engine's log"), icon="file", run=go.show_log),
            Entry(self.tr("Set up again"), icon="sparkle", run=go.run_wizard),
            Entry(
                self.tr("Keyboard shortcuts"),
                trailing=shortcut("shortcuts"),
                icon="keyboard",
                run=go.show_shortcuts,
            ),
        ]

    def _looks(self) -> list[Entry]:
        window = self._bridge.settings.window
        themes = (
            (ThemeChoice.SYSTEM, self.tr("Theme: as the system")),
            (ThemeChoice.LIGHT, self.tr("Theme: light")),
            (ThemeChoice.DARK, self.tr("Theme: dark")),
        )
        languages = (
            (LanguageChoice.EN, "Language: English"),
            (LanguageChoice.ZH_CN, "语言：简体中文"),
        )
        return [
            *(
                Entry(
                    words,
                    icon="eye",
                    marked=window.theme is theme,
                    run=partial(self._change, theme=theme),
                )
                for theme, words in themes
            ),
            *(
                Entry(
                    words,
                    icon="globe",
                    marked=window.language is language,
                    run=partial(self._change, language=language),
                )
                for language, words in languages
            ),
        ]

    def _change(self, **values: ThemeChoice | LanguageChoice) -> None:
        def change(settings: Settings) -> Settings:
            window = dataclasses.replace(settings.window, **values)  # type: ignore[arg-type]
            return dataclasses.replace(settings, window=window)

        self._bridge.save_settings(change)
