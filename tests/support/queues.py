"""A queue of downloads with a real worker process, as the app has it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import psutil

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus
from kimi_desktop.downloads.service import Downloads, TokenOf
from tests.support.heard import Heard

WAIT_S = 60.0


class Queue:
    """Use as a context manager; a second one in the same home is a restart of the app."""

    def __init__(
        self,
        home: Path,
        *,
        command: Sequence[str] | None = None,
        token_of: TokenOf = lambda _origin: None,
        resumes: bool = True,
    ) -> None:
        self.home = home
        self.io = IoLoop()
        self.bus = EventBus()
        self.heard = Heard(self.bus)
        self.settings = SettingsStore(home / "settings.json")
        self.downloads = Downloads(
            self.io,
            self.bus,
            home / "downloads.sqlite3",
            self.settings,
            token_of=token_of,
            command=command,
            resumes=resumes,
        )

    def __enter__(self) -> Queue:
        self.downloads.start().result(WAIT_S)
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.downloads.close()
        self.io.close()

    def one(self, key: str) -> DownloadStatus:
        return next(status for status in self.downloads.downloads if status.id == key)

    def until(self, key: str, holds: Callable[[DownloadStatus], object]) -> DownloadStatus:
        """Wait until a download is as it should be."""
        end = time.monotonic() + WAIT_S
        while not holds(status := self.one(key)):
            assert time.monotonic() < end, status
            time.sleep(0.02)
        return status

    def until_state(self, key: str, *states: DownloadState) -> DownloadStatus:
        return self.until(key, lambda status: status.state in states)


def workers() -> list[psutil.Process]:
    """The worker processes of this one."""
    return [p for p in psutil.Process().children() if p.status() != psutil.STATUS_ZOMBIE]


def nobody_left() -> bool:
    for _ in range(200):
        if not workers():
            return True
        time.sleep(0.05)
    return False
