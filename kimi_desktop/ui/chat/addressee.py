"""Whom a message in a chat is written to, and starting that where nothing runs. Qt thread."""

from __future__ import annotations

from kimi_desktop.backends.types import EngineState
from kimi_desktop.models.types import ModelState
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.engine_words import Meant, meant, remote_title

IDLE = frozenset({EngineState.STOPPED, EngineState.STOPPING})


def addressee(bridge: Bridge, chat_id: int) -> Meant:
    """What runs, loads or was tried; else what answered here last; else what Start would bring."""
    services = bridge.services
    models = services.models.models
    if services.engine.status.state in IDLE:
        last = services.chats.model_of(chat_id)
        for model in models:
            if last == str(model.path) and model.state is ModelState.READY:
                return Meant(model)
    return meant(services.engine.status, models, bridge.settings)


def key_of(to: Meant) -> str:
    """How messages keep it; "" while that is not known."""
    if to.model is not None:
        return str(to.model.path)
    remote = to.remote
    return f"{remote.server}: {remote.model}" if remote is not None and remote.model else ""


def title_of(to: Meant) -> str:
    """Its name; "" for nothing."""
    if to.model is not None:
        return to.model.title
    return remote_title(to.remote) if to.remote is not None else ""


def waited_for(bridge: Bridge, chat_id: int) -> str:
    """The name of what a chat's message waits for; "" = whatever is ready."""
    key = bridge.services.chats.queued_model(chat_id)
    models = bridge.services.models.models
    return next((model.title for model in models if str(model.path) == key), key)


def wake(bridge: Bridge, to: Meant) -> None:
    """Start it where nothing runs; without anything to start the list of models opens."""
    services, go = bridge.services, bridge.navigation
    if services.engine.status.state not in IDLE:
        return
    if to.model is not None:
        go.start_engine(services.engine.settings_for(to.model))
    elif to.remote is not None:
        go.attach(to.remote.server, to.remote.model)
    else:
        go.open_picker()
