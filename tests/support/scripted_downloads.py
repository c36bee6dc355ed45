"""The queue of downloads of the scripted services: no network, no disk, no worker.

``set_downloads`` and ``progress`` play what the worker would tell; commands change the list as the
real queue does and are recorded on the desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, time
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.messages.text import Text
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.units import GIB
from kimi_desktop.downloads.jobs import job_id
from kimi_desktop.downloads.preflight_types import Level, Preflight, Row, row
from kimi_desktop.downloads.queue_types import (
    DownloadFile,
    DownloadFinished,
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
    DownloadStatus,
    MeasuredSource,
    PartState,
    PartStatus,
    PreparedDownload,
)
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from kimi_desktop.downloads.verify.types import PartState as FoundState
from kimi_desktop.downloads.verify.types import (
    PartVerdict,
    VerifyProgressed,
    VerifyReport,
)
from kimi_desktop.models.hash_record import Witness
from tests.support.scripted_desk import Desk

COMMIT = "5a1f0c3e9b7d2468ace013579bdf02468ace1357"
HUBS = ("https://huggingface.co", "https://hf-mirror.com", "https://modelscope.cn")
SHARD_BYTES = 42 * GIB
MEASURED_AT = datetime.combine(datetime.now().date(), time(14, 5)).timestamp()
"""Today, whenever that is: pictures and tests say the time alone."""


def kimi_spec(folder: Path, shards: int = 14, quantization: str = "UD-Q4_K_XL") -> DownloadSpec:
    """Kimi K2.6 in so many parts, offered by three hubs."""
    repo = "unsloth/Kimi-K2.6-GGUF"
    files = []
    for number in range(1, shards + 1):
        name = f"Kimi-K2.6-{quantization}-{number:05}-of-{shards:05}.gguf"
        sources = tuple(
            Source(
                HubKind.MODELSCOPE if "modelscope" in endpoint else HubKind.HUGGINGFACE,
                endpoint,
                repo,
                COMMIT,
                name,
            )
            for endpoint in HUBS
        )
        files.append(FileJob(name, SHARD_BYTES, f"{number:064x}", None, sources))
    return DownloadSpec(
        f"{repo} {quantization}", str(folder / repo), tuple(files), "modified-mit", COMMIT
    )


def status_for(spec: DownloadSpec, state: DownloadState, **changes: Any) -> DownloadStatus:
    """A download of ``spec`` as the window sees it."""
    endpoints = dict.fromkeys(s.endpoint for job in spec.files for s in job.sources)
    status = DownloadStatus(
        id=job_id(spec),
        title=spec.title,
        folder=spec.folder,
        state=state,
        total_bytes=spec.total_bytes,
        shards=len(spec.files),
        sources=tuple(endpoints),
        licence=spec.licence,
        commit=spec.commit,
    )
    return replace(status, **changes)


def preflight_rows(*, stops: bool = False) -> tuple[Row, ...]:
    """Rows as the real check words them."""
    space = {"path": "/home/ada/models", "needed": "596 GB", "free": "2.02 TB", "lacking": "96 GB"}
    files = ", ".join(f"Kimi-K2.6-UD-Q4_K_XL-0000{n}-of-00014.gguf" for n in (1, 2, 3))
    found = [
        row("sources", Level.OK, "sources", count=3, hosts="huggingface.co, hf-mirror.com, "
            "modelscope.cn"),
        row("proof", Level.OK, "proven", count=15),
        row("licence", Level.OK, "licence", repo="unsloth/Kimi-K2.6-GGUF", host="huggingface.co",
            licence="modified-mit", revision=COMMIT[:12]),
    ]  # fmt: skip
    if stops:
        space |= {"free": "500 GB"}
        return (
            row("space", Level.STOP, "space_short", **space),
            row("sources", Level.WARN, "disagree", host="huggingface.co", files=files),
            *found,
        )
    return (row("space", Level.OK, "space", **space), *found)


def bad_report(folder: Path) -> VerifyReport:
    """One part with a bad piece, one that is another, the others right."""
    names = [f"Kimi-K2.6-UD-Q2_K_XL-{n:05}-of-00008.gguf" for n in range(1, 9)]
    size = 42 * GIB
    parts = [PartVerdict(n, FoundState.OK, size, size, witness=Witness.LISTING) for n in names]
    piece = 16 * 2**20
    parts[2] = replace(parts[2], state=FoundState.ALTERED, bad_ranges=((piece, 2 * piece),))
    parts[5] = replace(parts[5], state=FoundState.SWAPPED, other=names[6])
    return VerifyReport(str(folder), tuple(parts), 8 * size, 160.0)


class ScriptedVerify:
    """Implements the window's VerifyService: every model is as ``report`` says."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.report: VerifyReport | None = None

    def progress(self, path: Path, done: int, total: int, bytes_per_s: float = 1e9) -> None:
        left = (total - done) / bytes_per_s
        self._bus.publish(VerifyProgressed(str(path), done, total, bytes_per_s, left))

    def verify(self, path: Path) -> Operation[VerifyReport]:
        good = PartVerdict("model.gguf", FoundState.OK, GIB, GIB, witness=Witness.LISTING)
        report = self.report or VerifyReport(str(path), (good,), GIB, 1.0)
        return self._desk.operation("verify.verify", report, path)

    def repair(self, report: VerifyReport) -> Operation[DownloadStatus | None]:
        return self._desk.operation("verify.repair", None, report)


def simple_spec(
    folder: Path, repo: str, quantization: str, shards: int, size_gb: float, *, hubs: int = 3
) -> DownloadSpec:
    """Any repository in equal parts."""
    files = []
    for number in range(1, shards + 1):
        name = f"{repo.partition('/')[2]}-{quantization}-{number:05}-of-{shards:05}.gguf"
        sources = tuple(
            Source(HubKind.HUGGINGFACE, endpoint, repo, COMMIT, name) for endpoint in HUBS[:hubs]
        )
        files.append(FileJob(name, int(size_gb * 1e9 / shards), f"{number:064x}", None, sources))
    return DownloadSpec(f"{repo} {quantization}", str(folder / repo), tuple(files), "mit", COMMIT)


def busy_queue(folder: Path) -> tuple[DownloadStatus, ...]:
    """One of each: under way, verifying, paused, failed, waiting, done."""
    done, waits = PartStatus(PartState.DONE, 1.0), PartStatus(PartState.WAITING)
    coming, checking = PartStatus(PartState.COMING, 0.51), PartStatus(PartState.CHECKING, 0.4)
    whole = PartStatus(PartState.COMING, 1.0)
    gb = 10**9
    return (
        status_for(
            simple_spec(folder, "unsloth/Kimi-K2.6-GGUF", "UD-Q4_K_XL", 14, 583.7),
            DownloadState.DOWNLOADING,
            done_bytes=int(271.4 * gb),
            hashed_bytes=int(250.2 * gb),
            shards_done=6,
            bytes_per_s=212.6e6,
            eta_s=1469.0,
            connections=8,
            source="huggingface.co",
            measured=tuple(
                MeasuredSource(hub, rate, MEASURED_AT)
                for hub, rate in zip(HUBS, (213e6, 96e6, 148e6), strict=True)
            ),
            parts=(*(done,) * 6, coming, *(waits,) * 7),
        ),
        status_for(
            simple_spec(folder, "unsloth/Kimi-K2.7-Code-GGUF", "UD-Q4_K_XL", 14, 583.7, hubs=1),
            DownloadState.VERIFYING,
            done_bytes=int(583.7 * gb),
            hashed_bytes=int(266.9 * gb),
            shards_done=6,
            verifying_shard=7,
            bytes_per_s=2.1e9,
            eta_s=151.0,
            source="huggingface.co",
            parts=(*(done,) * 6, checking, *(whole,) * 7),
        ),
        status_for(
            simple_spec(
                folder, "ymcki/Kimi-Linear-48B-A3B-Instruct-GGUF", "Q4_K_M", 1, 29.7, hubs=2
            ),
            DownloadState.PAUSED,
            done_bytes=int(11.9 * gb),
            preferred=HUBS[1],
            rested_at=MEASURED_AT + 900.0,
        ),
        status_for(
            simple_spec(folder, "unsloth/Kimi-K2.6-GGUF", "UD-Q2_K_XL", 8, 340.0, hubs=1),
            DownloadState.FAILED,
            done_bytes=int(339.9 * gb),
            shards_done=7,
            shards_failed=1,
            reason=DownloadError(
                ErrorCode.DOWNLOAD_HASH_MISMATCH,
                {
                    "file": "Kimi-K2.6-UD-Q2_K_XL-00003-of-00008.gguf",
                    "host": "huggingface.co",
                    "found": "9f2c44d0…",
                    "expected": "5a1f0c3e…",
                },
            ),
            parts=(done, done, PartStatus(PartState.DAMAGED, 1.0), *(done,) * 5),
        ),
        status_for(
            simple_spec(folder, "unsloth/Kimi-VL-A3B-Thinking-2506-GGUF", "Q8_0", 2, 17.9),
            DownloadState.QUEUED,
        ),
        status_for(
            simple_spec(folder, "gabriellarson/Moonlight-16B-A3B-Instruct-GGUF", "Q8_0", 1, 17.0),
            DownloadState.QUEUED,
        ),
        status_for(
            simple_spec(folder, "unsloth/Kimi-Dev-72B-GGUF", "Q4_K_M", 1, 47.4),
            DownloadState.READY,
            done_bytes=int(47.4 * gb),
            shards_done=1,
            rested_at=MEASURED_AT - 3600.0,
        ),
    )


class ScriptedDownloads:
    """Implements the window's DownloadService."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self._list: tuple[DownloadStatus, ...] = ()
        self._limit: int | None = None
        self.rows: tuple[Row, ...] = (
            Row("space", Level.OK, Text("There is enough space.", "空间足够。")),
        )
        self.prepare_error: KimiError | None = None
        self.speeds: tuple[float, ...] = (213e6, 96e6, 148e6)
        self.has_projector = False
        self.here_bytes = 0

    # what the test plays

    def set_downloads(self, *downloads: DownloadStatus) -> None:
        """Another list."""
        self._list = downloads
        self._bus.publish(DownloadsChanged(downloads))

    def progress(self, key: str, **changes: Any) -> DownloadStatus:
        """One moved on; publishes what the real queue would."""
        before = self._find(key)
        after = replace(before, **changes)
        self._replace(after, tell=after.state is not before.state)
        self._bus.publish(DownloadProgressed(after))
        if after.is_over and not before.is_over:
            self._bus.publish(DownloadFinished(after))
        return after

    # what the window asks

    @property
    def downloads(self) -> tuple[DownloadStatus, ...]:
        return self._list

    @property
    def speed_limit(self) -> int | None:
        return self._limit

    def files(self, key: str) -> tuple[DownloadFile, ...]:
        status = next((one for one in self._list if one.id == key), None)
        if status is None:
            return ()
        size = status.total_bytes // status.shards
        return tuple(
            DownloadFile(f"Kimi-K2.6-{n:05}-of-{status.shards:05}.gguf", size, f"{n:064x}", HUBS)
            for n in range(1, status.shards + 1)
        )

    def prepare(
        self, text: str, folder: Path, *, include: Sequence[str] = (), source: str | None = None
    ) -> Operation[PreparedDownload]:
        if self.prepare_error is not None:
            return self._desk.failed("downloads.prepare", self.prepare_error, text)
        spec = kimi_spec(folder)
        if self.has_projector:
            sources = tuple(replace(s, path="mmproj-F16.gguf") for s in spec.files[0].sources)
            projector = FileJob("mmproj-F16.gguf", 900_000_000, "b" * 64, None, sources)
            spec = replace(spec, files=(*spec.files, projector))
        total = spec.total_bytes
        preflight = Preflight(self.rows, total, total - self.here_bytes, total, 2 * total)
        prepared = PreparedDownload(spec, preflight, HUBS, self.speeds)
        return self._desk.operation("downloads.prepare", prepared, text, include, source)

    def add(self, spec: DownloadSpec, *, first: bool = False) -> Operation[DownloadStatus]:
        status = status_for(spec, DownloadState.QUEUED)
        rest = tuple(one for one in self._list if one.id != status.id)
        self.set_downloads(*((status, *rest) if first else (*rest, status)))
        return self._desk.operation("downloads.add", status, spec, first)

    def pause(self, key: str) -> Operation[DownloadStatus]:
        return self._turn("downloads.pause", key, DownloadState.PAUSED)

    def resume(self, key: str) -> Operation[DownloadStatus]:
        return self._turn("downloads.resume", key, DownloadState.QUEUED)

    def retry(self, key: str) -> Operation[DownloadStatus]:
        return self._turn("downloads.retry", key, DownloadState.QUEUED)

    def start_now(self, key: str) -> Operation[DownloadStatus]:
        return self._turn("downloads.start_now", key, DownloadState.QUEUED)

    def move(self, key: str, index: int) -> Operation[None]:
        one = self._find(key)
        rest = [other for other in self._list if other.id != key]
        rest.insert(index, one)
        self.set_downloads(*rest)
        return self._desk.operation("downloads.move", None, key, index)

    def prefer(self, key: str, endpoint: str | None) -> Operation[DownloadStatus]:
        status = replace(self._find(key), preferred=endpoint)
        self._replace(status, tell=True)
        return self._desk.operation("downloads.prefer", status, key, endpoint)

    def measure(self, key: str) -> Operation[DownloadStatus]:
        before = self._find(key)
        rates = zip(before.sources, self.speeds, strict=False)
        now = MEASURED_AT + 60.0
        status = replace(before, measured=tuple(MeasuredSource(e, r, now) for e, r in rates))
        self._replace(status, tell=True)
        return self._desk.operation("downloads.measure", status, key)

    def cancel(self, key: str, *, keep_partial: bool = False) -> Operation[None]:
        self.set_downloads(*(one for one in self._list if one.id != key))
        return self._desk.operation("downloads.cancel", None, key, keep_partial)

    def forget(self, key: str) -> Operation[None]:
        self.set_downloads(*(one for one in self._list if one.id != key))
        return self._desk.operation("downloads.forget", None, key)

    def network_changed(self) -> Operation[None]:
        return self._desk.operation("downloads.network_changed", None)

    def set_speed_limit(self, bytes_per_s: int | None) -> Operation[None]:
        self._limit = bytes_per_s
        return self._desk.operation("downloads.set_speed_limit", None, bytes_per_s)

    def _turn(self, name: str, key: str, state: DownloadState) -> Operation[DownloadStatus]:
        if all(one.id != key for one in self._list):
            return self._desk.failed(name, DownloadError(ErrorCode.DOWNLOAD_UNKNOWN), key)
        status = replace(
            self._find(key), state=state, reason=None, waiting=None, bytes_per_s=0.0, eta_s=None
        )
        self._replace(status, tell=True)
        return self._desk.operation(name, status, key)

    def _find(self, key: str) -> DownloadStatus:
        return next(one for one in self._list if one.id == key)

    def _replace(self, status: DownloadStatus, *, tell: bool) -> None:
        self._list = tuple(status if one.id == status.id else one for one in self._list)
        if tell:
            self._bus.publish(DownloadsChanged(self._list))
