"""Newer versions of models as the window sees them: frozen data and an event."""

from __future__ import annotations

from dataclasses import dataclass

from kimi_desktop.base.events import Event


@dataclass(frozen=True, slots=True)
class NewerVersion:
    """A hub has other files under the names of a model that is here."""

    model_id: str
    wanted: str
    """What the sheet before a download is asked for: ``owner/name:QUANTIZATION``."""
    here: str
    """The commit that is here, for people."""
    there: str
    """The newest one, for people."""


@dataclass(frozen=True, slots=True)
class NewerVersionsFound(Event):
    """Another list of them."""

    versions: tuple[NewerVersion, ...]
