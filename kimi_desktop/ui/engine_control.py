"""Starting and stopping the engine for every page, asking first where text would be lost. Qt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject

from kimi_desktop.backends.types import EngineState, LoadSettings
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import USABLE, loaded_model


class Ask(Protocol):
    """How the window puts a question."""

    def __call__(
        self, question: str, detail: str, confirm: str, on_confirm: Callable[[], None]
    ) -> None:
        """Call ``on_confirm`` when the user says yes."""


class EngineControl(QObject):
    """What Start, Stop and every restart go through."""

    def __init__(self, bridge: Bridge, ask: Ask) -> None:
        super().__init__()
        self._bridge = bridge
        self._ask = ask

    def start(self, settings: LoadSettings | None = None) -> None:
        """Start; asks before a running engine is ended for it.

        None takes the model that the engine had, else the chosen one; without any the list of
        models opens.
        """
        wanted = settings or self._last_settings()
        if wanted is None:
            self._bridge.navigation.open_picker()
        elif self._bridge.services.engine.status.state not in USABLE:
            self._start(wanted)
        elif self._bridge.services.chats.generating_chat is None:
            self._ask(
                self.tr("Restart the engine?"),
                self.tr("The model that runs now is ended first; chats stay as they are."),
                self.tr("Restart"),
                lambda: self._start(wanted),
            )
        else:
            self._ask(
                self.tr("An answer is being written. Load the model all the same?"),
                self.tr("The answer stops; the text so far is kept."),
                self.tr("Stop and load"),
                lambda: self._start(wanted),
            )

    def stop(self) -> None:
        """End the engine."""
        operation = self._bridge.services.engine.stop()
        self._bridge.watch(operation, on_error=self._bridge.navigation.report)

    def _last_settings(self) -> LoadSettings | None:
        services = self._bridge.services
        status = services.engine.status
        selected = self._bridge.settings.models.selected
        model = loaded_model(status, services.models.models, selected)
        if model is None:
            return None
        same = status.settings is not None and status.settings.model_path == model.path
        return status.settings if same else services.engine.settings_for(model)

    def _start(self, settings: LoadSettings) -> None:
        operation = self._bridge.services.engine.start(settings)
        self._bridge.watch(operation, on_error=self._on_start_failed)

    def _on_start_failed(self, error: BaseException) -> None:
        """The failure panel says it already when the engine's state does."""
        status = self._bridge.services.engine.status
        if status.state is not EngineState.FAILED or status.error is None:
            self._bridge.navigation.report(error)
