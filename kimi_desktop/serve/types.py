"""The gateway as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event


class ServeState(StrEnum):
    """Whether others can reach the engine."""

    OFF = "off"
    STARTING = "starting"
    ON = "on"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reach:
    """Where the gateway listens."""

    port: int
    address: str = ""
    """Of this machine in a local network, besides 127.0.0.1; "" = nowhere else."""
    encrypted: bool = False
    """At that address, by TLS."""


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A program that may connect."""

    name: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class LiveRequest:
    """A request that is being answered, or waits for its turn."""

    number: int
    client: str
    path: str
    began_at: float
    """time.time()"""
    waits: bool


@dataclass(frozen=True, slots=True)
class DoneRequest:
    """A request that was answered or refused; neither its body nor its answer is kept."""

    client: str
    path: str
    began_at: float
    seconds: float
    status: int
    """HTTP; 499: the program went away before the end."""


@dataclass(frozen=True, slots=True)
class RefusedRequests:
    """Requests of one minute that were refused for one reason."""

    at: float
    """time.time() at which the minute began."""
    status: int
    """HTTP: 401 no or a wrong key, 403 a wrong host, 413 too large, 429 too many, and so on."""
    count: int
    peer: str
    """The address that the last one came from."""


@dataclass(frozen=True, slots=True)
class ServeStatus:
    """What the Serve page shows."""

    state: ServeState
    url: str = ""
    """http://127.0.0.1:8080/v1; in the local network with this machine's address, or https."""
    address: str = ""
    """The address in the local network that is served, too, or will be once it is switched on."""
    certificate: Path | None = None
    """What programs on other machines trust (PEM); None = what is sent is not encrypted."""
    fingerprint: str = ""
    """Of that certificate, SHA-256."""
    api_key: str = field(default="", repr=False)
    running: int = 0
    served: int = 0
    """Requests answered since it was switched on."""
    error: KimiError | None = None
    model: str = ""
    """The id that requests name; "" while it is off or no engine is ready."""
    clients: tuple[ClientKey, ...] = ()
    """Programs with a key of their own, besides ``api_key``."""
    live: tuple[LiveRequest, ...] = ()
    """The oldest first."""
    done: tuple[DoneRequest, ...] = ()
    """The last fifty, the newest first."""
    refused: tuple[RefusedRequests, ...] = ()
    """Of the last ten minutes at the time of the last request."""


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
