"""All downloads in memory, as kept and as shown. On the IO thread; saves in the pool.

Publishes DownloadsChanged and DownloadProgressed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.downloads.job_status import status_of
from kimi_desktop.downloads.jobs import Job, JobStore, moved, next_of
from kimi_desktop.downloads.queue_types import (
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
    DownloadStatus,
    PartStatus,
)
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.downloads.versions import differs

log = logging.getLogger(__name__)

_RESTING = (DownloadState.PAUSED, DownloadState.READY, DownloadState.FAILED)


class JobList:
    """The jobs of one profile.

    Args:
        io: whose thread this is.
        bus: where it publishes.
        store: where jobs are kept.
    """

    def __init__(self, io: IoLoop, bus: EventBus, store: JobStore) -> None:
        self._io = io
        self._bus = bus
        self._store = store
        self._jobs: dict[str, Job] = {}
        self._others: dict[str, Job] = {}
        self._live: dict[str, DownloadStatus] = {}
        self._parts: dict[str, tuple[PartStatus, ...]] = {}
        """As last told, for those that nobody has in hand."""
        self.changed = asyncio.Event()
        """Set once at the next change; wait for the one that you took before you looked."""
        self.shown: tuple[DownloadStatus, ...] = ()
        """All of them in the order of the queue. Any thread may read it."""

    async def load(self, *, resumes: bool) -> None:
        """Read what is kept; what was running is queued again.

        ``resumes`` False: what others left is only remembered, for ``find``.
        """
        try:
            jobs = await self._io.in_pool(self._store.load)
        except DownloadError as error:  # the files are found again when they are asked for
            log.error("the queue cannot be read: %s", error)  # noqa: TRY400 - no trace needed
            return
        if not resumes:
            self._others = {job.id: job for job in jobs}
            return
        self._jobs = {job.id: _as_kept(job) for job in jobs}
        self.tell_all()

    @property
    def all(self) -> tuple[Job, ...]:
        """The jobs."""
        return tuple(self._jobs.values())

    @property
    def next(self) -> Job | None:
        """Whose turn it is."""
        return next_of(self.all)

    @property
    def end(self) -> float:
        """The position behind all."""
        others = (*self._others.values(), *self._jobs.values())
        return max((job.position for job in others), default=-1.0) + 1

    def find(self, key: str) -> Job | None:
        """One of them, or one that was kept by somebody else."""
        return self._jobs.get(key) or self._others.get(key)

    def that_differ(self, spec: DownloadSpec) -> tuple[Job, ...]:
        """Those that want a file of this download in another version, whoever kept them."""
        everyone = (*self._jobs.values(), *self._others.values())
        return tuple(job for job in everyone if differs(job.spec, spec))

    def job(self, key: str) -> Job:
        """One of them.

        Raises:
            DownloadError: UNKNOWN.
        """
        job = self._jobs.get(key)
        if job is None:
            raise DownloadError(ErrorCode.DOWNLOAD_UNKNOWN)
        return job

    def __contains__(self, key: str) -> bool:
        return key in self._jobs

    def status(self, key: str) -> DownloadStatus:
        """One of them as it is shown.

        Raises:
            DownloadError: UNKNOWN.
        """
        return self._live.get(key) or self._resting(self.job(key))

    def _resting(self, job: Job) -> DownloadStatus:
        status = status_of(job)
        parts = self._parts.get(job.id, ())
        return status if job.state is DownloadState.READY else replace(status, parts=parts)

    async def put(self, job: Job) -> None:
        """Another state of a job, or a new one: kept, and told."""
        before = self._jobs.get(job.id)
        if job.state not in _RESTING:
            job = replace(job, rested_at=None)
        elif before is None or before.state is not job.state:
            job = replace(job, rested_at=time.time())
        self._jobs[job.id] = job
        self.tell_all()
        await self.save(job)

    async def save(self, *jobs: Job) -> None:
        """Keep jobs."""
        try:
            await self._io.in_pool(self._store.save, jobs)
        except DownloadError as error:  # it goes on without; the next start finds the files
            log.error("the queue cannot be saved: %s", error)  # noqa: TRY400 - no trace needed

    async def move(self, key: str, index: int) -> None:
        """To another place."""
        self.job(key)
        self._jobs = {job.id: job for job in moved(self.all, key, index)}
        self.tell_all()
        await self.save(*self.all)

    async def swap(self, older: Job, left: Job | None) -> None:
        """Another job, or none, in the place of one; kept by whoever kept that."""
        jobs = self._others if older.id in self._others else self._jobs
        await self.remove(older.id)
        if left is not None:
            jobs[left.id] = _as_kept(left)
            self.tell_all()
            await self.save(jobs[left.id])

    async def remove(self, key: str) -> None:
        """Forget one.

        Raises:
            DownloadError: QUEUE_FAILED: it will be back after a restart.
        """
        self._jobs.pop(key, None)
        self._others.pop(key, None)
        self._live.pop(key, None)
        self._parts.pop(key, None)
        self.tell_all()
        await self._io.in_pool(self._store.remove, key)

    def note_live(self, status: DownloadStatus) -> None:
        """What is shown of one that is running."""
        before = self.status(status.id)
        self._live[status.id] = status
        self._parts[status.id] = status.parts
        self.shown = tuple(status if one.id == status.id else one for one in self.shown)
        self._pulse()
        self._bus.publish(DownloadProgressed(status))
        if status.state is not before.state:
            self._bus.publish(DownloadsChanged(self.shown))

    def count_live(self, key: str) -> Job | None:
        """Take the counts that are shown into the job; None when it was removed."""
        job, live = self._jobs.get(key), self._live.get(key)
        if job is not None and live is not None:
            job = replace(job, done_bytes=live.done_bytes, shards_done=live.shards_done)
            self._jobs[key] = job
        return job

    def end_live(self, key: str) -> Job | None:
        """Nobody has it in hand any more."""
        job = self.count_live(key)
        self._live.pop(key, None)
        return job

    def tell_all(self) -> None:
        """The list is another one."""
        order = sorted(self._jobs.values(), key=lambda job: (-job.priority, job.position))
        self.shown = tuple(self.status(job.id) for job in order)
        self._pulse()
        self._bus.publish(DownloadsChanged(self.shown))

    def _pulse(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


def _as_kept(job: Job) -> Job:
    """A job that nobody has in hand: what was running is in the queue."""
    was_running = job.state in (DownloadState.DOWNLOADING, DownloadState.VERIFYING)
    return replace(job, state=DownloadState.QUEUED) if was_running else job
