"""When paused downloads may go on by themselves, and whether the computer slept. Blocking."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.units import GIB
from kimi_desktop.downloads.jobs import Job
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus
from kimi_desktop.downloads.surroundings import missing_bytes

SLEPT_AFTER_S = 30.0
GIVE_WAY_AFTER_S = 60.0
SPARE_BYTES = GIB
SPARE_SHARE = 50
_EVERYWHERE = frozenset({ErrorCode.DOWNLOAD_OFFLINE, ErrorCode.DOWNLOAD_PORTAL})
"""Reasons to wait that hold for every download."""


def may_go_on(job: Job) -> bool:
    """What a paused download waited for has come: space, its drive, the end of a virus scan."""
    if job.state is not DownloadState.PAUSED or job.reason is None:
        return False
    folder = Path(job.spec.folder)
    match job.reason.code:
        case ErrorCode.DOWNLOAD_NO_SPACE:
            # What partial files take already, they need no more.
            missing = missing_bytes(job.spec)
            try:
                free = shutil.disk_usage(folder).free
            except OSError:
                return False
            return free >= missing + missing // SPARE_SHARE + SPARE_BYTES
        case ErrorCode.DOWNLOAD_VOLUME_GONE:
            return folder.is_dir() and os.access(folder, os.W_OK)
        case ErrorCode.DOWNLOAD_HELD:
            return True
    return False


def needs_network(status: DownloadStatus) -> bool:
    """It waits, and not for a server: nobody can be reached from here."""
    return status.waiting is not None and status.waiting.code in _EVERYWHERE


class Patience:
    """Notices a server that keeps its download waiting: others need not wait behind it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None

    def is_over(self, status: DownloadStatus) -> bool:
        """Whether the download has waited for a minute, and not because there is no network."""
        if status.waiting is None or needs_network(status):
            self._since = None
            return False
        now = self._clock()
        if self._since is None:
            self._since = now
        return now - self._since > GIVE_WAY_AFTER_S


class SleepWatch:
    """Notices that the computer slept: a clock jumped while nobody looked.

    Some systems' monotonic clock goes on in sleep, others' stops; the wall clock of all goes on.
    A wall clock that was set looks the same and costs a few new connections.
    """

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clocks = (wall, monotonic)
        self._last = (wall(), monotonic())

    def has_slept(self) -> bool:
        """Whether more than half a minute went by since the last call, a second ago."""
        now = tuple(clock() for clock in self._clocks)
        gap = max(there - before for there, before in zip(now, self._last, strict=True))
        self._last = (now[0], now[1])
        return gap > SLEPT_AFTER_S
