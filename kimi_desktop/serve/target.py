"""What the gateway asks: the engine that runs, as an order for its process. Pure."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Protocol

from kimi_desktop.backends.types import Endpoint, EngineState, EngineStatus

ATTACHED_SLOTS = 8
"""Requests at once to a server that is not ours, which queues what is more itself."""
_SPLIT_SUFFIX = re.compile(r"-\d{5}-of-\d{5}$")
_ANSWERING = (EngineState.READY, EngineState.GENERATING)


class EngineLink(Protocol):
    """What the gateway needs of the engine."""

    @property
    def status(self) -> EngineStatus:
        """Now."""

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it listens, while it is ready."""


def target_of(engine: EngineLink) -> dict[str, Any] | None:
    """Where it listens and what it serves (``relay.Target``); None while nobody would answer."""
    status, endpoint = engine.status, engine.endpoint
    if status.state not in _ANSWERING or endpoint is None:
        return None
    if status.attached is not None:
        return {
            "url": endpoint.url,
            "api_key": endpoint.api_key,
            "model": status.attached.model,
            "slots": ATTACHED_SLOTS,
        }
    if status.settings is None:
        return None
    return {
        "socket_path": str(endpoint.socket_path) if endpoint.socket_path else None,
        "port": endpoint.port,
        "api_key": endpoint.api_key,
        "model": model_name(status.settings.model_path),
        "max_tokens": status.settings.context // max(status.settings.n_parallel, 1),
        "slots": status.settings.n_parallel,
    }


def model_name(path: Path) -> str:
    """What clients call the model: the file's name without ending and part number."""
    return _SPLIT_SUFFIX.sub("", path.stem)
