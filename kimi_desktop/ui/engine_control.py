"""Starting and stopping the engine for every page, asking first where text would be lost. Qt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject

from kimi_desktop.backends.types import Attachment, EngineState, LoadSettings
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.settings import Settings
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import USABLE, loaded_model, meant


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

        None takes what the engine had, else what was chosen last, be it a model of the library or
        of another server; without any the list of models opens.
        """
        remote = self._remote() if settings is None else None
        if remote is not None:
            self.attach(remote.server, remote.model)
            return
        wanted = settings or self._last_settings()
        if wanted is None:
            self._bridge.navigation.open_picker()
        else:
            self._replace(lambda: self._start(wanted))

    def attach(self, server: str, model: str) -> None:
        """Use a model of another server; asks before a running engine is ended for it."""
        self._replace(lambda: self._attach(server, model))

    def _replace(self, begin: Callable[[], None]) -> None:
        """Begin with another one, after a question where something would be lost."""
        status = self._bridge.services.engine.status
        if self._bridge.services.chats.generating_chat is not None and status.state in USABLE:
            self._ask(
                self.tr("An answer is being written. Load the model all the same?"),
                self.tr("The answer stops; the text so far is kept."),
                self.tr("Stop and load"),
                begin,
            )
        elif status.state in USABLE and status.attached is None:
            self._ask(
                self.tr("Restart the engine?"),
                self.tr("The model that runs now is ended first; chats stay as they are."),
                self.tr("Restart"),
                begin,
            )
        else:
            begin()

    def stop(self) -> None:
        """End the engine."""
        operation = self._bridge.services.engine.stop()
        self._bridge.watch(operation, on_error=self._bridge.navigation.report)

    def _remote(self) -> Attachment | None:
        services = self._bridge.services
        return meant(services.engine.status, services.models.models, self._bridge.settings).remote

    def _last_settings(self) -> LoadSettings | None:
        services = self._bridge.services
        status = services.engine.status
        selected = self._bridge.settings.models.selected
        model = loaded_model(status, services.models.models, selected)
        if model is None:
            return None
        same = status.settings is not None and status.settings.model_path == model.path
        return status.settings if same else services.engine.settings_for(model)

    def _attach(self, server: str, model: str) -> None:
        try:
            operation = self._bridge.services.other_servers.attach(server, model)
        except KimiError as error:  # it was removed meanwhile
            self._bridge.navigation.report(error)
            return
        self._bridge.watch(operation, on_error=self._on_start_failed)

    def _start(self, settings: LoadSettings) -> None:
        if self._bridge.settings.other_servers.chosen:
            self._bridge.save_settings(_without_server)
        operation = self._bridge.services.engine.start(settings)
        self._bridge.watch(operation, on_error=self._on_start_failed)

    def _on_start_failed(self, error: BaseException) -> None:
        """The failure panel says it already when the engine's state does."""
        status = self._bridge.services.engine.status
        if status.state is not EngineState.FAILED or status.error is None:
            self._bridge.navigation.report(error)


def _without_server(settings: Settings) -> Settings:
    """A model of the library is what Start means again."""
    others = dataclasses.replace(settings.other_servers, chosen="", model="")
    return dataclasses.replace(settings, other_servers=others)
