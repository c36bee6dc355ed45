"""The list under the model pill: what the library holds, and what other servers have.

Enter loads a model, or attaches to it. Qt thread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from kimi_desktop.backends.attached.types import (
    OfferedByServer,
    OtherServer,
    OtherServersChanged,
)
from kimi_desktop.backends.attached.words import model_words
from kimi_desktop.base.events import Event
from kimi_desktop.base.messages import describe_error
from kimi_desktop.base.settings import Settings
from kimi_desktop.base.units import format_file_size
from kimi_desktop.models.types import LibraryChanged, LocalModel
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import ALIVE, loaded_model
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_names import telling_names
from kimi_desktop.ui.search_list import Entry, SearchOverlay

MOST_OF_A_SERVER = 30
"""Hosts list hundreds."""


def select_model(bridge: Bridge, model: LocalModel) -> None:
    """Remember the model as the chosen one."""

    def change(settings: Settings) -> Settings:
        models = dataclasses.replace(settings.models, selected=model.id)
        return dataclasses.replace(settings, models=models)

    bridge.save_settings(change)


class ModelPicker(SearchOverlay):
    """Choosing loads the model, unless it is the one that runs."""

    def __init__(self, bridge: Bridge, window: QWidget) -> None:
        self._bridge = bridge
        bridge.services.models.freshen()
        bridge.services.other_servers.freshen()
        super().__init__(
            window,
            self._entries,
            label=QCoreApplication.translate("ModelPicker", "Models"),
            placeholder=QCoreApplication.translate("ModelPicker", "Search models"),
            width=520,
            start_at_marked=True,
        )
        bridge.happened.connect(self._on_event)

    def _entries(self, query: str) -> Sequence[Entry]:
        services = self._bridge.services
        status = services.engine.status
        models = services.models.models
        loaded = loaded_model(status, models, self._bridge.settings.models.selected)
        running = loaded if status.state in ALIVE else None
        wanted = query.casefold().split()
        told = telling_names(models)
        found: list[Entry] = []
        for model in models:
            served = model.is_served and services.engine.name_of(
                services.engine.settings_for(model)
            )
            if not (model.is_startable or served):
                continue
            quantization = model.facts.quantization if model.facts else ""
            if served:
                quantization = " · ".join(filter(None, [quantization, served]))
            if model.id in told:
                quantization = f"{quantization} · {told[model.id]}"
            haystack = f"{model.title} {quantization}".casefold()
            if all(word in haystack for word in wanted):
                found.append(
                    Entry(
                        model.title,
                        quantization,
                        format_file_size(model.size_bytes),
                        icon="models",
                        marked=running is not None and model.id == running.id,
                        run=partial(self._load, model),
                    )
                )
        if not found:
            nothing = self.tr("No model yet.") if not models else self.tr("No such model.")
            found.append(Entry(nothing))
        return [
            *found,
            *self._of_servers(wanted),
            Entry(
                self.tr("Models: library and folders"),
                icon="folder",
                run=lambda: self._bridge.navigation.show_page("models"),
            ),
            Entry(
                self.tr("Servers: add and check"),
                icon="globe",
                run=lambda: self._bridge.navigation.open_settings("servers"),
            ),
        ]

    def _of_servers(self, wanted: Sequence[str]) -> list[Entry]:
        """What servers of others have, below a heading; nothing when there are none."""
        found: list[Entry] = []
        for server in self._bridge.services.other_servers.servers:
            models = server.report.models if server.report is not None else ()
            if server.problem is not None or not models:
                if not wanted:
                    found.append(self._silent(server))
                continue
            matching = [
                model
                for model in models
                if all(word in f"{model.id} {server.entry.name}".casefold() for word in wanted)
            ]
            found += [self._offered(server, model) for model in matching[:MOST_OF_A_SERVER]]
            more = len(matching) - MOST_OF_A_SERVER
            if more > 0:
                text = self.tr("{count} more on {server}: type a part of the name")
                found.append(Entry(text.format(count=more, server=server.entry.name)))
        return [Entry(self.tr("Other servers")), *found] if found else []

    def _offered(self, server: OtherServer, model: OfferedByServer) -> Entry:
        status = self._bridge.services.engine.status
        attached = status.attached if status.state in ALIVE else None
        name, program = server.entry.name, server.report.program if server.report else ""
        used = attached is not None and (attached.server, attached.model) == (name, model.id)
        facts = model_words(model, language(), program=program)
        return Entry(
            model.id,
            f"{name} · {facts}" if facts else name,
            icon="globe",
            marked=used,
            run=partial(self._attach, name, model.id, used=used),
        )

    def _silent(self, server: OtherServer) -> Entry:
        """One that has nothing to choose from now."""
        detail = self.tr("no models")
        if server.problem is not None:
            detail = describe_error(server.problem, language())[0]
        elif server.report is None:
            detail = self.tr("asking …")
        return Entry(
            server.entry.name,
            detail,
            icon="globe",
            run=lambda: self._bridge.navigation.open_settings("servers"),
        )

    def _attach(self, server: str, model: str, *, used: bool) -> None:
        if not used:
            self._bridge.navigation.attach(server, model)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, LibraryChanged | OtherServersChanged):
            self.refresh_in_place()

    def _load(self, model: LocalModel) -> None:
        services = self._bridge.services
        status = services.engine.status
        select_model(self._bridge, model)
        same = status.settings is not None and status.settings.model_path == model.path
        if not (same and status.state in ALIVE):
            self._bridge.navigation.start_engine(services.engine.settings_for(model))
