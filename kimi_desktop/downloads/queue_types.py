"""Downloads as the window and the terminal see them: frozen data and events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event
from kimi_desktop.downloads.preflight_types import Preflight
from kimi_desktop.downloads.types import DownloadSpec


class DownloadState(StrEnum):
    """Where a download stands; each has one state word (``downloads.state.<value>``)."""

    QUEUED = "queued"
    DOWNLOADING = "downloading"
    VERIFYING = "verifying"
    """Everything has come; the last hashes are being taken."""
    PAUSED = "paused"
    """By the user, or with a reason that may pass: a full disk, a drive that is not connected."""
    READY = "ready"
    """Every file is proven and has its name."""
    FAILED = "failed"
    """With a reason; ``retry`` goes on from what is there."""


class PartState(StrEnum):
    """Where one file of a download stands."""

    WAITING = "waiting"
    COMING = "coming"
    CHECKING = "checking"
    """All of it is there; its hash is being taken."""
    DONE = "done"
    DAMAGED = "damaged"
    """No source could give it as it should be."""


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One file, for the strip."""

    state: PartState
    share: float = 0.0
    """Of its bytes: those on the disk, while it is CHECKING those whose hash was taken; 0 to 1."""


@dataclass(frozen=True, slots=True)
class DownloadFile:
    """One file of a download, for a list."""

    name: str
    size_bytes: int
    sha256: str
    """Empty when only git knows the file."""
    sources: tuple[str, ...]
    """Endpoints, the preferred first."""


@dataclass(frozen=True, slots=True)
class MeasuredSource:
    """What a source gave when it was last measured."""

    endpoint: str
    bytes_per_s: float
    """0 = it did not answer."""
    at: float
    """time.time()"""


@dataclass(frozen=True, slots=True)
class DownloadStatus:
    """One download, now."""

    id: str
    """Stays the same for the same files in the same folder."""
    title: str
    folder: str
    """The model's folder."""
    state: DownloadState
    total_bytes: int
    done_bytes: int = 0
    """On the disk; never less than what was shown before."""
    hashed_bytes: int = 0
    """Of them, those whose hash has been taken."""
    shards: int = 0
    """Files in all."""
    shards_done: int = 0
    """Files that are proven and have their names."""
    shards_failed: int = 0
    """Files that no source could give; the others go on."""
    bytes_per_s: float = 0.0
    """That come; while it is VERIFYING, those whose hash is taken."""
    eta_s: float | None = None
    """Seconds to the end at this speed; None when that is not known."""
    connections: int = 0
    source: str = ""
    """Where the bytes come from: the endpoint's host."""
    sources: tuple[str, ...] = ()
    """Endpoints that offer files of it; ``prefer`` takes one."""
    preferred: str | None = None
    """The endpoint that the user chose."""
    verifying_shard: int | None = None
    """Number (from 1) of the file that is being hashed when nothing else is left to do."""
    is_repairing: bool = False
    """Pieces that turned out wrong are fetched again."""
    pieces_replaced: int = 0
    """So far."""
    waiting: KimiError | None = None
    """Why nothing comes at the moment; it goes on by itself."""
    retry_in_s: float | None = None
    """Seconds to the next try while it waits; ``resume`` tries at once."""
    reason: KimiError | None = None
    """Of PAUSED and FAILED; None when the user paused it."""
    licence: str = ""
    commit: str = ""
    added_at: float = 0.0
    """time.time()"""
    rested_at: float | None = None
    """time.time() when it was PAUSED, or became READY or FAILED; None when that is not known."""
    measured: tuple[MeasuredSource, ...] = ()
    """Of its ``sources``, those that were measured."""
    parts: tuple[PartStatus, ...] = ()
    """Each file, in order; empty when that is not known (never begun in this run of the app)."""

    @property
    def is_over(self) -> bool:
        """Nothing happens to it any more unless somebody asks."""
        return self.state in (DownloadState.READY, DownloadState.FAILED)

    @property
    def is_running(self) -> bool:
        """A worker has it in hand."""
        return self.state in (DownloadState.DOWNLOADING, DownloadState.VERIFYING)


@dataclass(frozen=True, slots=True)
class PreparedDownload:
    """A download that may be added, and what is to be known before its first byte."""

    spec: DownloadSpec
    preflight: Preflight
    """Rows of what was looked at; one that stops means that it must not be added."""
    sources: tuple[str, ...]
    """Endpoints that offer its largest file, the fastest first."""
    speeds: tuple[float, ...] = ()
    """Bytes per second of each source, as just measured; empty when nothing was."""


@dataclass(frozen=True, slots=True)
class DownloadProgressed(Event):
    """One download moved on; four times a second at most."""

    status: DownloadStatus


@dataclass(frozen=True, slots=True)
class DownloadsChanged(Event):
    """The list is another one: added, removed, reordered, or a state changed."""

    downloads: tuple[DownloadStatus, ...]


@dataclass(frozen=True, slots=True)
class DownloadFinished(Event):
    """A download became READY or FAILED: for a notification."""

    status: DownloadStatus
