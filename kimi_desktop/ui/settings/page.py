"""Settings: language, theme, keys, folders, the engine's program, about. Qt thread.

Every change holds at once and is saved at once; there is no OK button.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from kimi_desktop.base.events import Event
from kimi_desktop.base.settings import LanguageChoice, Settings, ThemeChoice
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.settings.about import AboutCard
from kimi_desktop.ui.settings.builds import BuildsCard
from kimi_desktop.ui.settings.folders import DataCard, EngineCard, FoldersCard
from kimi_desktop.ui.settings.hubs import HubsCard
from kimi_desktop.ui.settings.rows import SettingRow, SettingsCard
from kimi_desktop.ui.settings.servers import ServersCard
from kimi_desktop.ui.settings.workers import WorkersCard
from kimi_desktop.ui.widgets.button import Button
from kimi_desktop.ui.widgets.card import Heading, PageHeader, ScrollPage
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.toggle import Switch

COLUMN_WIDTH = 760


class SettingsPage(QWidget):
    """A column of cards."""

    def __init__(self, bridge: Bridge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._header = PageHeader()
        self._looks_heading, self._chat_heading = Heading(), Heading()
        self._models_heading, self._engine_heading = Heading(), Heading()
        self._data_heading, self._about_heading = Heading(), Heading()
        self._hubs_heading, self._builds_heading = Heading(), Heading()
        self._workers_heading = Heading()
        self._servers_heading = Heading()
        self.language = Segmented()
        self.theme = Segmented()
        self.enter_sends = Switch()
        self.wizard_button = Button(icon="sparkle")
        self._language_row = SettingRow(self.language)
        self._theme_row = SettingRow(self.theme)
        self._enter_row = SettingRow(self.enter_sends)
        self._wizard_row = SettingRow(self.wizard_button)
        self.folders = FoldersCard(bridge)
        self.hubs = HubsCard(bridge)
        self.engine = EngineCard(bridge)
        self.builds = BuildsCard(bridge)
        self.workers = WorkersCard(bridge)
        self.servers = ServersCard(bridge)
        self.data = DataCard()
        self.about = AboutCard(bridge)
        page = self._page = ScrollPage(width=COLUMN_WIDTH)
        page.body.addWidget(self._header)
        for heading, content in (
            (self._looks_heading, SettingsCard(self._language_row, self._theme_row)),
            (self._chat_heading, SettingsCard(self._enter_row)),
            (self._models_heading, self.folders),
            (self._hubs_heading, self.hubs),
            (self._engine_heading, self.engine),
            (self._builds_heading, self.builds),
            (self._workers_heading, self.workers),
            (self._servers_heading, self.servers),
            (self._data_heading, self.data),
            (self._about_heading, self.about),
        ):
            page.body.addSpacing(4)
            page.body.addWidget(heading)
            page.body.addWidget(content)
        page.body.addSpacing(4)
        page.body.addWidget(SettingsCard(self._wizard_row))
        page.body.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(page)
        self.language.chosen.connect(lambda key: self._change(language=LanguageChoice(key)))
        self.theme.chosen.connect(lambda key: self._change(theme=ThemeChoice(key)))
        self.enter_sends.clicked.connect(lambda on: self._change(enter_sends=on))
        self.wizard_button.clicked.connect(bridge.navigation.run_wizard)
        bridge.happened.connect(self._on_event)
        bridge.navigation.settings_wanted.connect(self.show_section)
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def show_section(self, name: str) -> None:
        """Scroll to a section: "hubs", "engine", "builds", "workers", "servers"."""
        if name == "hubs":
            QTimer.singleShot(0, self, self._show_hubs)
        elif name == "engine":
            QTimer.singleShot(0, self, lambda: self._scroll_to(self._engine_heading))
        elif name == "builds":
            QTimer.singleShot(0, self, self._show_builds)
        elif name == "workers":
            QTimer.singleShot(0, self, self._show_workers)
        elif name == "servers":
            QTimer.singleShot(0, self, self._show_servers)

    def _scroll_to(self, heading: Heading) -> None:
        top = heading.mapTo(self._page, heading.rect().topLeft())
        bar = self._page.verticalScrollBar()
        bar.setValue(bar.value() + top.y() - 16)

    def _show_builds(self) -> None:
        self._scroll_to(self._builds_heading)
        self.builds.get.look.setFocus(Qt.FocusReason.OtherFocusReason)
        self.builds.get.ask()

    def _show_workers(self) -> None:
        self._scroll_to(self._workers_heading)
        self.workers.form.address.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_servers(self) -> None:
        self._scroll_to(self._servers_heading)
        rows = list(self.servers.rows.values())
        first = rows[0].check if rows else self.servers.add
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_hubs(self) -> None:
        self._scroll_to(self._hubs_heading)
        for row in self.hubs.rows.values():
            row.give.setFocus(Qt.FocusReason.OtherFocusReason)
            break

    def retranslate(self) -> None:
        """Set the words."""
        self._header.set_title(self.tr("Settings"))
        self._looks_heading.setText(self.tr("Look"))
        self._chat_heading.setText(self.tr("Chat"))
        self._models_heading.setText(self.tr("Models folders"))
        self._engine_heading.setText(self.tr("Engine"))
        self._builds_heading.setText(self.tr("llama.cpp builds"))
        self._workers_heading.setText(self.tr("Several machines"))
        self._hubs_heading.setText(self.tr("Model hubs"))
        self._servers_heading.setText(self.tr("Other servers"))
        self._data_heading.setText(self.tr("Where things are"))
        self._about_heading.setText(self.tr("About"))
        self.language.set_options(
            [
                (LanguageChoice.SYSTEM.value, self.tr("System")),
                (LanguageChoice.EN.value, "English"),
                (LanguageChoice.ZH_CN.value, "简体中文"),
            ]
        )
        self.theme.set_options(
            [
                (ThemeChoice.SYSTEM.value, self.tr("System")),
                (ThemeChoice.LIGHT.value, self.tr("Light")),
                (ThemeChoice.DARK.value, self.tr("Dark")),
            ]
        )
        self._language_row.set_texts(self.tr("Language"), self.tr("Changes at once."))
        self._theme_row.set_texts(
            self.tr("Theme"), self.tr("System follows the desktop, also while the app runs.")
        )
        self._enter_row.set_texts(
            self.tr("Enter sends"),
            self.tr("Shift+Enter makes a new line. Off: Enter does, and Ctrl+Enter sends."),
        )
        self._wizard_row.set_texts(
            self.tr("Set up again"),
            self.tr("Machine check, first model, start. Nothing is deleted."),
        )
        self.wizard_button.setText(self.tr("Run the set-up"))
        self._show(self._bridge.settings)

    def _show(self, settings: Settings) -> None:
        self.language.choose(settings.window.language.value)
        self.theme.choose(settings.window.theme.value)
        self.enter_sends.setChecked(settings.window.enter_sends)

    def _change(self, **values: object) -> None:
        def change(settings: Settings) -> Settings:
            window = dataclasses.replace(settings.window, **values)  # type: ignore[arg-type]
            return dataclasses.replace(settings, window=window)

        self._bridge.save_settings(change)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SettingsChanged):
            self._show(self._bridge.settings)
