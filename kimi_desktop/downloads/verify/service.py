"""Verifications for the window: each in a worker process. On the IO thread.

Implements the window's VerifyService. Publishes VerifyProgressed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.base.events import EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.downloads.child import WorkerProcess, error_from, worker_command
from kimi_desktop.downloads.queue_types import DownloadStatus
from kimi_desktop.downloads.service import Downloads
from kimi_desktop.downloads.verify.mending import mend
from kimi_desktop.downloads.verify.types import VerifyProgressed, VerifyReport


class VerifyService:
    """Verifies and repairs models.

    Args:
        io: whose thread this is.
        bus: where it publishes.
        downloads: who fetches what is bad.
        command: of the worker.
    """

    def __init__(
        self,
        io: IoLoop,
        bus: EventBus,
        downloads: Downloads,
        *,
        command: Sequence[str] | None = None,
    ) -> None:
        self._io = io
        self._bus = bus
        self._downloads = downloads
        self._command = tuple(command or worker_command())

    def verify(self, path: Path) -> Operation[VerifyReport]:
        """Read a model from begin to end; cancel the operation to stop.

        The operation fails with a DownloadError when nothing is there.
        """
        return self._io.submit(lambda: self._verify(path))

    def repair(self, report: VerifyReport) -> Operation[DownloadStatus | None]:
        """Fetch what a verification found to be wrong, and nothing else, before all others.

        Ends with the download that fetches it, None when renaming was all; fails with a
        DownloadError: DOWNLOAD_NO_REPAIR, DOWNLOAD_FOLDER_BUSY.
        """
        return self._io.submit(lambda: self._repair(report))

    async def _verify(self, path: Path) -> VerifyReport:
        order = {"verify": str(path)}
        last: Mapping[str, Any] = {}
        async with WorkerProcess(self._io, order, self._command) as worker:
            async for facts in worker.events():
                last = facts
                if facts["event"] == "progress":
                    self._tell(path, facts)
        if last["event"] == "failed":
            raise error_from(last)
        return VerifyReport.from_json(last["report"])

    async def _repair(self, report: VerifyReport) -> DownloadStatus | None:
        spec = await self._io.in_pool(mend, report)
        return None if spec is None else await self._downloads.enqueue(spec, first=True)

    def _tell(self, path: Path, facts: Mapping[str, Any]) -> None:
        done, total, rate = facts["done"], facts["total"], facts["bytes_per_s"]
        eta_s = (total - done) / rate if rate > 1 else None
        self._bus.publish(VerifyProgressed(str(path), done, total, rate, eta_s))
