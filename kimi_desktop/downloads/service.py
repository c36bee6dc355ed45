"""The queue of downloads: one at a time in a worker process, the first in line first.

Commands come from any thread and return an Operation; the work is on the IO thread, the job file
is written in the pool. Implements the window's DownloadService. Publishes DownloadProgressed (four
times a second), DownloadsChanged and DownloadFinished.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import Settings, SettingsStore
from kimi_desktop.downloads.child import worker_command
from kimi_desktop.downloads.hubs.hub import TokenOf
from kimi_desktop.downloads.job_list import JobList
from kimi_desktop.downloads.job_run import JobRun, Outcome, worker_options
from kimi_desktop.downloads.job_status import with_progress
from kimi_desktop.downloads.jobs import DAY_S, Job, JobStore, job_id
from kimi_desktop.downloads.measured import measure_sources, measured_of
from kimi_desktop.downloads.partial_files import drop_partial, remove_partial
from kimi_desktop.downloads.preparing import Prepare, preparing
from kimi_desktop.downloads.queue_types import (
    DownloadFile,
    DownloadFinished,
    DownloadState,
    DownloadStatus,
    MeasuredSource,
    PreparedDownload,
)
from kimi_desktop.downloads.types import DownloadSpec, FileJob
from kimi_desktop.downloads.versions import contested, rest_of
from kimi_desktop.downloads.volume import was_removed
from kimi_desktop.downloads.watching import Patience, SleepWatch, may_go_on, needs_network

log = logging.getLogger(__name__)

TICK_S = 1.0
LOOK_AGAIN_S = 10
"""Seconds between two looks at what paused downloads wait for."""
SAVE_EVERY_S = 5.0
MOST_CRASHES = 3
"""Ends of the worker without a byte of progress in between."""
CRASH_PAUSE_S = 1.0
_SETTLED = (DownloadState.PAUSED, DownloadState.READY, DownloadState.FAILED)


class Downloads:
    """The downloads of one profile.

    Args:
        io: whose thread works.
        bus: where it publishes.
        file: of the jobs.
        settings: speed limit and connections.
        token_of: asked when a download starts.
        prepare: from what a person names to a download; blocking.
        command: of the worker.
        resumes: whether unfinished downloads go on by themselves (not in the terminal).
    """

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        file: Path,
        settings: SettingsStore,
        *,
        token_of: TokenOf = lambda _origin: None,
        prepare: Prepare | None = None,
        command: Sequence[str] | None = None,
        resumes: bool = True,
    ) -> None:
        self._io = io
        self._bus = bus
        self._store = JobStore(file)
        self._list = JobList(io, bus, self._store)
        self._settings = settings
        self._token_of = token_of
        self._prepare = prepare or preparing(token_of)
        self._command = tuple(command or worker_command())
        self._resumes = resumes
        self._running: JobRun | None = None
        self._saved_at = 0.0
        self._patience = Patience()
        self._gave_way = False
        self._crashes: dict[str, int] = {}
        self._measured: dict[str, tuple[MeasuredSource, ...]] = {}
        """By folder: what ``prepare`` found, until that download is added."""
        self._measuring: set[str] = set()
        self._loaded = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> Operation[None]:
        """Read the jobs and go on where the last run ended. Returns at once."""
        return self._io.submit(self._start)

    def close(self) -> None:
        """Stop the worker; everything that came is kept. Blocks."""
        self._io.submit(self._close).result()

    # what the window and the terminal ask

    @property
    def downloads(self) -> tuple[DownloadStatus, ...]:
        """All of them, in the order of the queue."""
        return self._list.shown

    @property
    def speed_limit(self) -> int | None:
        """Bytes per second over all connections; None without a limit."""
        return self._settings.settings.downloads.bytes_per_s or None

    def files(self, key: str) -> tuple[DownloadFile, ...]:
        """The files of a download; () when it is no longer there."""
        job = self._list.find(key)
        return () if job is None else tuple(map(_file_of, job.spec.files))

    def prepare(
        self, text: str, folder: Path, *, include: Sequence[str] = (), source: str | None = None
    ) -> Operation[PreparedDownload]:
        """Ask the hubs for what a person names, and look at the drive. Fails as ``Preparer``."""

        async def run() -> PreparedDownload:
            found = await self._io.in_pool(self._prepare, text, folder, tuple(include), source)
            self._measured[found.spec.folder] = measured_of(found)
            return found

        return self._io.submit(run)

    def add(
        self, spec: DownloadSpec, *, first: bool = False, patience_s: float = DAY_S
    ) -> Operation[DownloadStatus]:
        """Put a download into the queue; one that is known goes on.

        ``first``: also before the one that is running. ``patience_s``: how long nothing may come.
        """
        return self._io.submit(lambda: self.enqueue(spec, first=first, patience_s=patience_s))

    def pause(self, key: str) -> Operation[DownloadStatus]:
        """Stop it until ``resume``; everything that came is kept."""
        return self._submit(lambda: self._pause(key))

    def resume(self, key: str) -> Operation[DownloadStatus]:
        """Put a paused or failed one back into the queue; another try now for one that waits."""
        return self._submit(lambda: self._resume(key))

    def retry(self, key: str) -> Operation[DownloadStatus]:
        """The same, and take anew what is there: also in a folder that was emptied meanwhile."""
        return self._submit(lambda: self._resume(key, anew=True))

    def start_now(self, key: str) -> Operation[DownloadStatus]:
        """To the head of the queue; the one that is running waits behind it."""
        return self._submit(lambda: self._start_now(key))

    def move(self, key: str, index: int) -> Operation[None]:
        """To another place in the queue (0 = the first); the running one goes on."""
        return self._submit(lambda: self._list.move(key, index))

    def prefer(self, key: str, endpoint: str | None) -> Operation[DownloadStatus]:
        """Fetch it from this endpoint, where that has the files; None = as prepared."""
        return self._submit(lambda: self._prefer(key, endpoint))

    def measure(self, key: str) -> Operation[DownloadStatus]:
        """Measure every source of it again: a few megabytes and seconds each."""
        return self._submit(lambda: self._measure(key))

    def cancel(self, key: str, *, keep_partial: bool = False) -> Operation[None]:
        """Stop and forget it, and remove its partial files; proven files stay in the library."""
        return self._submit(lambda: self._cancel(key, keep_partial=keep_partial))

    def forget(self, key: str) -> Operation[None]:
        """Take a finished one off the list; its files stay."""
        return self._submit(lambda: self._cancel(key, keep_partial=True))

    def network_changed(self) -> Operation[None]:
        """There is a network again, perhaps: what waits for one tries now."""
        return self._submit(self._network_changed)

    def set_speed_limit(self, bytes_per_s: int | None) -> Operation[None]:
        """Limit all downloads together, from now on; None = no limit."""
        return self._submit(lambda: self._set_speed_limit(bytes_per_s))

    async def until_over(
        self, key: str, progress: Callable[[DownloadStatus], None] | None = None
    ) -> DownloadStatus:
        """Wait until a download is READY, FAILED or PAUSED. On the IO thread."""
        while True:
            changed = self._list.changed
            status = self._list.status(key)
            if progress is not None:
                progress(status)
            if status.is_over or status.state is DownloadState.PAUSED:
                return status
            await changed.wait()

    # begin and end

    async def _start(self) -> None:
        await self._list.load(resumes=self._resumes)
        self._loaded.set()
        self._tasks = [
            self._io.spawn(self._work(), name="downloads"),
            self._io.spawn(self._watch(), name="downloads watch"),
        ]

    async def _close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._list.save(*self._list.all)
        await self._io.in_pool(self._store.close)

    def _submit(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Operation[Any]:
        async def run() -> Any:  # noqa: ANN401
            await self._loaded.wait()
            return await make()

        return self._io.submit(run)

    # commands, on the IO thread

    async def enqueue(
        self, spec: DownloadSpec, *, first: bool = False, patience_s: float = DAY_S
    ) -> DownloadStatus:
        """``add`` for those who are on the IO thread."""
        await self._loaded.wait()
        key = job_id(spec)
        await self._take_over(spec)
        if not self._revive(key):
            measured = self._measured.pop(spec.folder, ())
            job = Job(key, spec, position=self._list.end, measured=measured)
            if (known := self._list.find(key)) is not None:  # with the sources of today
                if not spec.licence:  # a repair knows the files only
                    spec = replace(known.spec, files=spec.files)
                job = replace(
                    known, spec=spec, state=DownloadState.QUEUED, reason=None, asked_at=time.time(),
                    measured=measured or known.measured,
                )  # fmt: skip
                if await self._io.in_pool(was_removed, Path(spec.folder)):
                    job = replace(job, done_bytes=0, shards_done=0)
            await self._list.put(replace(job, priority=1 if first else 0, patience_s=patience_s))
            self._let_pass()
        return self._list.status(key)

    async def _take_over(self, spec: DownloadSpec) -> None:
        """One download per file: those that want another version of a file leave it to this one.

        Of what they had, bytes of files that are the same in both are used; the rest is removed.
        """
        for older in self._list.that_differ(spec):
            await self._stop(older.id, DownloadState.PAUSED)
            if not await self._io.in_pool(drop_partial, contested(older.spec, spec)):
                continue  # another process is at it; the worker says so
            rest = rest_of(older.spec, spec)
            left = replace(older, id=job_id(rest), spec=rest, done_bytes=0) if rest.files else None
            await self._list.swap(older, left)

    async def _pause(self, key: str) -> DownloadStatus:
        job = self._list.job(key)
        was_running = await self._stop(key, DownloadState.PAUSED)
        if not was_running and job.state is DownloadState.QUEUED:
            await self._list.put(replace(job, state=DownloadState.PAUSED, reason=None))
        return self._list.status(key)

    async def _resume(self, key: str, *, anew: bool = False) -> DownloadStatus:
        job = self._list.job(key)
        if not self._revive(key) and (anew or job.state is not DownloadState.READY):
            self._crashes.pop(key, None)
            done = 0 if anew else job.done_bytes
            queued = replace(job, state=DownloadState.QUEUED, reason=None, done_bytes=done)
            if job.reason is not None and job.reason.code is ErrorCode.DOWNLOAD_OTHER_VERSION:
                later = float(job.reason.params["proven_at"])
                queued = replace(queued, asked_at=max(time.time(), later))
            await self._list.put(queued)
            self._let_pass()
        return self._list.status(key)

    async def _start_now(self, key: str) -> DownloadStatus:
        await self._list.move(key, 0)
        job = self._list.job(key)
        if not self._has_in_hand(key) and job.state is not DownloadState.READY:
            urgent = max((other.priority for other in self._list.all), default=0)
            queued = replace(job, state=DownloadState.QUEUED, reason=None, priority=urgent)
            await self._list.put(queued)
            if self._running is not None:
                await self._stop(self._running.job.id, DownloadState.QUEUED)
        return self._list.status(key)

    async def _prefer(self, key: str, endpoint: str | None) -> DownloadStatus:
        await self._list.put(replace(self._list.job(key), preferred=endpoint))
        if self._running is not None and self._has_in_hand(key):
            self._running.send(do="prefer", endpoint=endpoint)
        if endpoint is not None and self.speed_limit is None:  # a probe knows no limit
            self._io.spawn(self._measure(key), name="measure sources")
        return self._list.status(key)

    async def _measure(self, key: str) -> DownloadStatus:
        if key not in self._measuring:
            self._measuring.add(key)
            try:
                spec = self._list.job(key).spec
                found = await self._io.in_pool(measure_sources, spec, self._token_of)
            finally:
                self._measuring.discard(key)
            if key in self._list:
                await self._list.put(replace(self._list.job(key), measured=found))
        return self._list.status(key)

    async def _cancel(self, key: str, *, keep_partial: bool) -> None:
        spec = self._list.job(key).spec
        await self._stop(key, DownloadState.PAUSED)
        try:
            await self._list.remove(key)
        finally:
            if not keep_partial:
                await self._io.in_pool(remove_partial, spec)

    async def _network_changed(self) -> None:
        running = self._running
        if running is not None and needs_network(self._list.status(running.job.id)):
            running.send(do="wake")

    async def _set_speed_limit(self, bytes_per_s: int | None) -> None:
        def change(settings: Settings) -> Settings:
            downloads = replace(settings.downloads, bytes_per_s=bytes_per_s or 0)
            return replace(settings, downloads=downloads)

        if self._running is not None:
            self._running.send(do="limit", bytes_per_s=bytes_per_s)
        await self._io.in_pool(self._settings.update, change)

    def _has_in_hand(self, key: str) -> bool:
        """A worker is at it, and nobody has asked it to stop."""
        running = self._running
        return running is not None and running.job.id == key and running.then is None

    def _revive(self, key: str) -> bool:
        """Another try at once for the one that is running; whether it is."""
        running = self._running
        if running is None or running.job.id != key:
            return False
        if self._list.job(key).state in _SETTLED:
            return False  # it has just ended, and is about to make room
        if running.then is None:
            running.send(do="wake")
        else:  # it is stopping: it goes on right after
            running.then = DownloadState.QUEUED
        return True

    def _let_pass(self) -> None:
        """Stop the running one for a more urgent one."""
        running, urgent = self._running, self._list.next
        if running is None or urgent is None or running.then is not None:
            return
        if urgent.priority > running.job.priority:
            running.stop(DownloadState.QUEUED)

    async def _stop(self, key: str, then: DownloadState) -> bool:
        """Stop the worker if it has this one in hand; whether it had."""
        running = self._running
        if running is None or running.job.id != key:
            return False
        running.stop(then)
        await running.ended.wait()
        return True

    # the queue

    async def _work(self) -> None:
        while True:
            changed = self._list.changed
            job = self._list.next
            if job is None:
                await changed.wait()
            else:
                await self._run(job)

    async def _run(self, job: Job) -> None:
        run = JobRun(self._io, job, self._command)
        self._running = run
        try:
            await self._list.put(replace(job, state=DownloadState.DOWNLOADING, reason=None))
            settings = self._settings.settings.downloads
            run.options = await self._io.in_pool(worker_options, job, settings, self._token_of)
            outcome = await run.run(lambda facts: self._note(job.id, facts))
            now = self._list.end_live(job.id) or job
            if outcome.crashed:
                outcome = await self._after_crash(now, outcome, job.done_bytes)
            await self._settle(now, outcome)
        finally:
            self._list.end_live(job.id)
            self._running = None
            run.ended.set()

    async def _settle(self, job: Job, outcome: Outcome) -> None:
        if outcome.state is DownloadState.READY:
            job = replace(job, done_bytes=job.spec.total_bytes, shards_done=len(job.spec.files))
        # The user may have chosen another source meanwhile.
        kept = self._list.job(job.id)
        job = replace(job, preferred=kept.preferred, measured=kept.measured, priority=0)
        if self._gave_way:
            job = replace(job, position=self._list.end)
            self._gave_way = False
        await self._list.put(replace(job, state=outcome.state, reason=outcome.reason))
        status = self._list.status(job.id)
        if status.is_over:
            self._bus.publish(DownloadFinished(status))

    async def _after_crash(self, job: Job, outcome: Outcome, before_bytes: int) -> Outcome:
        """A worker that was killed is started again; one that ends at once is not, for ever."""
        moved_on = job.done_bytes > before_bytes
        count = 1 if moved_on else self._crashes.get(job.id, 0) + 1
        self._crashes[job.id] = count
        if count > MOST_CRASHES:
            return outcome
        await asyncio.sleep(CRASH_PAUSE_S)
        return Outcome(DownloadState.QUEUED)

    def _note(self, key: str, facts: Mapping[str, Any]) -> None:
        """What the worker tells; four times a second."""
        if facts["event"] != "progress" or key not in self._list:
            return
        status = with_progress(self._list.job(key), facts)
        self._list.note_live(status)
        running = self._running
        if self._patience.is_over(status) and running and not running.then and self._list.next:
            self._gave_way = True
            running.stop(DownloadState.QUEUED)
        if time.monotonic() - self._saved_at >= SAVE_EVERY_S:
            self._saved_at = time.monotonic()
            job = self._list.count_live(key)
            if job is not None:
                self._io.spawn(self._list.save(job), name="save downloads")

    async def _watch(self) -> None:
        """Sleep, and what paused downloads wait for."""
        sleep = SleepWatch()
        seconds = 0
        while True:
            await asyncio.sleep(TICK_S)
            if sleep.has_slept() and self._running is not None:
                self._running.send(do="wake")
            seconds += 1
            if seconds % LOOK_AGAIN_S:
                continue
            for job in self._list.all:
                if job.state is DownloadState.PAUSED and await self._io.in_pool(may_go_on, job):
                    await self._list.put(replace(job, state=DownloadState.QUEUED, reason=None))


def _file_of(job: FileJob) -> DownloadFile:
    endpoints = dict.fromkeys(source.endpoint for source in job.sources)
    return DownloadFile(job.target, job.size_bytes, job.sha256 or "", tuple(endpoints))
