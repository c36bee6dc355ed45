"""Other servers as frozen data. A key is never in any of these."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from kimi_desktop.backends.types import ServerProgram
from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """A server that the user named, or Ollama where it was found."""

    name: str
    url: str
    """Of its API, without a slash at the end: "http://192.168.1.5:8000/v1"."""
    is_found: bool = False
    """Nobody named it: it listens where Ollama does."""


@dataclass(frozen=True, slots=True)
class OfferedByServer:
    """A model of a server, as far as the server describes it."""

    id: str
    """As requests call it."""
    owned_by: str = ""
    context: int | None = None
    """Tokens that prompt and answer share."""
    size_bytes: int | None = None
    quantization: str = ""
    parameters: str = ""
    """"1.0T"."""
    is_gguf: bool = False
    """Its file is one that this app can load itself."""


@dataclass(frozen=True, slots=True)
class ServerReport:
    """What a server said when it was last asked."""

    url: str
    """That of the entry, or what was found below it."""
    program: ServerProgram
    version: str = ""
    models: tuple[OfferedByServer, ...] = ()
    is_healthy: bool | None = None
    """Of its /health; None where it has none."""

    def find(self, model_id: str) -> OfferedByServer | None:
        """The model of that name."""
        return next((model for model in self.models if model.id == model_id), None)


class KeyPlace(StrEnum):
    """Where the key of a server is kept."""

    KEYRING = "keyring"
    SESSION = "session"
    """Nowhere: it is gone when the app ends."""
    FILE = "file"


@dataclass(frozen=True, slots=True)
class OtherServer:
    """An entry with all that is known of it."""

    entry: ServerEntry
    key_place: KeyPlace | None = None
    """None = there is no key."""
    report: ServerReport | None = None
    """Of the last check that went well; None before the first."""
    problem: KimiError | None = None
    """What the last check met."""


@dataclass(frozen=True, slots=True)
class ServerDraft:
    """What the user typed."""

    name: str
    url: str
    key: str | None = field(default=None, repr=False)
    """None leaves the kept one as it is, "" drops it."""
    key_in_file: bool = False
    """The user agreed to a file, should there be no keyring."""


@dataclass(frozen=True, slots=True)
class OtherServersChanged(Event):
    """There is another entry, or one was asked."""

    servers: tuple[OtherServer, ...]
