"""One download in the hands of one worker process. On the IO thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import DownloadSettings
from kimi_desktop.downloads.child import WorkerProcess, error_from
from kimi_desktop.downloads.hubs.addresses import origin_of
from kimi_desktop.downloads.hubs.hub import TokenOf
from kimi_desktop.downloads.jobs import Job
from kimi_desktop.downloads.queue_types import DownloadState

_PASSING = frozenset(
    {
        ErrorCode.DOWNLOAD_NO_SPACE,
        ErrorCode.DOWNLOAD_PART_GONE,
        ErrorCode.DOWNLOAD_NOT_WRITTEN,
        ErrorCode.DOWNLOAD_HELD,
        ErrorCode.DOWNLOAD_FOLDER_BUSY,
        ErrorCode.DOWNLOAD_VOLUME_GONE,
        ErrorCode.DOWNLOAD_OTHER_VERSION,
    }
)
"""Reasons of this computer: the download pauses until they have passed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    state: DownloadState
    reason: KimiError | None = None
    crashed: bool = False
    """The worker ended without a word."""


def worker_options(job: Job, settings: DownloadSettings, token_of: TokenOf) -> dict[str, Any]:
    """``board.Options`` of a job, as JSON. Blocking: it asks the keyring."""
    endpoints = {source.endpoint for file in job.spec.files for source in file.sources}
    tokens = {origin: token_of(origin) for origin in map(origin_of, endpoints)}
    return {
        "bytes_per_s": settings.bytes_per_s or None,
        "most_connections": settings.connections,
        "preferred": job.preferred,
        "patience_s": job.patience_s,
        "asked_at": job.asked_at,
        "reuse": not job.done_bytes,
        "tokens": {origin: token for origin, token in tokens.items() if token},
    }


class JobRun:
    """Run it once; ``stop`` and ``send`` meanwhile.

    Args:
        io: whose thread this is.
        job: what to do.
        command: of the worker.
    """

    def __init__(self, io: IoLoop, job: Job, command: Sequence[str]) -> None:
        self._io = io
        self._command = command
        self.job = job
        self.options: Mapping[str, Any] = {}
        """For the worker; to be set before it runs."""
        self.then: DownloadState | None = None
        """What the download becomes when it was asked to stop."""
        self.ended = asyncio.Event()
        self._worker: WorkerProcess | None = None

    async def run(self, on_facts: Callable[[Mapping[str, Any]], None]) -> Outcome:
        """To the end, whatever that is. What the worker tells goes to ``on_facts``."""
        if await self._io.in_pool(_volume_is_gone, self.job):
            return _paused(self.job, ErrorCode.DOWNLOAD_VOLUME_GONE)
        last: Mapping[str, Any] = {}
        order = {"spec": self.job.spec.to_json(), "options": dict(self.options)}
        try:
            async with WorkerProcess(self._io, order, self._command) as worker:
                self._worker = worker
                if self.then is not None:  # asked while it was being started
                    worker.stop()
                async for facts in worker.events():
                    last = facts
                    on_facts(facts)
        except DownloadError as error:
            return Outcome(self.then or DownloadState.FAILED, error, crashed=self.then is None)
        match last["event"]:
            case "done":
                return Outcome(DownloadState.READY)
            case "failed" if self.then is None:
                return await self._failed(error_from(last))
        return Outcome(self.then or DownloadState.QUEUED)

    async def _failed(self, error: KimiError) -> Outcome:
        is_written = error.code is not ErrorCode.DOWNLOAD_NOT_WRITTEN
        if not is_written and await self._io.in_pool(_volume_is_gone, self.job):
            return _paused(self.job, ErrorCode.DOWNLOAD_VOLUME_GONE)
        passes = error.code in _PASSING
        return Outcome(DownloadState.PAUSED if passes else DownloadState.FAILED, error)

    def stop(self, then: DownloadState) -> None:
        """Let it end; it becomes ``then``."""
        self.then = then
        if self._worker is not None:
            self._worker.stop()

    def send(self, **command: object) -> None:
        """Tell the worker something."""
        if self._worker is not None:
            self._worker.send(command)


def _volume_is_gone(job: Job) -> bool:
    """The folder of a download that had begun is not there: its drive is not connected.

    Never made anew in that case: it would fill another drive from zero.
    """
    return job.done_bytes > 0 and not Path(job.spec.folder).is_dir()


def _paused(job: Job, code: ErrorCode) -> Outcome:
    error = DownloadError(code, {"path": job.spec.folder})
    return Outcome(DownloadState.PAUSED, error)
