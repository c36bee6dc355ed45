"""Dresses the app as the settings say, now and whenever they change. Qt thread.

Built by ``app.py`` after the bridge and before the window, so that the window is born in the
right theme and language.
"""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.events import Event
from kimi_desktop.ui.bridge import Bridge, SettingsChanged
from kimi_desktop.ui.language import LanguageSwitch
from kimi_desktop.ui.theme import Theme


class Appearance(QObject):
    """Owns the theme and the language switch."""

    def __init__(self, app: QApplication, bridge: Bridge) -> None:
        super().__init__(bridge)
        self._bridge = bridge
        self.theme = Theme(app)
        self.language = LanguageSwitch(app)
        for part in (self.theme, self.language):
            part.setParent(self)  # gone with the window behind it, translators included
        self._apply()
        bridge.happened.connect(self._on_event)

    def _apply(self) -> None:
        window = self._bridge.settings.window
        self.language.choose(window.language)
        self.theme.choose(window.theme)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SettingsChanged):
            self._apply()
