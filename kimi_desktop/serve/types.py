"""The gateway as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event


class ServeState(StrEnum):
    """Whether others can reach the engine."""

    OFF = "off"
    STARTING = "starting"
    ON = "on"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ServeStatus:
    """What the Serve page shows."""

    state: ServeState
    url: str = ""
    """http://127.0.0.1:8080/v1"""
    api_key: str = field(default="", repr=False)
    running: int = 0
    served: int = 0
    """Requests answered since it was switched on."""
    error: KimiError | None = None
    model: str = ""
    """The id that requests name; "" while it is off or no engine is ready."""


class SnippetKind(StrEnum):
    """What runs the lines."""

    CURL = "curl"
    PYTHON = "python"
    """Any Python 3, nothing to install."""
    OPENAI = "openai"
    """Python with the openai package."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A few lines that talk to the gateway and run as they stand."""

    kind: SnippetKind
    text: str = field(repr=False)
    """With address, key and model filled in."""


@dataclass(frozen=True, slots=True)
class ServeChanged(Event):
    """The gateway was switched, failed, or served a request (at most 4 a second)."""

    status: ServeStatus
