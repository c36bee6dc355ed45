"""The small instruct model that is offered when there is no other. On the IO thread.

It goes through the same queue as everything else, before all others, and with little patience:
somebody waits for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from kimi_desktop.base.assets import asset
from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.downloads.choose import Wish
from kimi_desktop.downloads.hubs.hub import Hub, HubClient, TokenOf, known_hubs
from kimi_desktop.downloads.prepare import Preparer
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus
from kimi_desktop.downloads.service import Downloads
from kimi_desktop.downloads.types import DownloadSpec
from kimi_desktop.models import catalogue_types
from kimi_desktop.models.references import RepoReference

PATIENCE_S = 20.0

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, phase: "downloading" or "checking")"""
Prepare = Callable[[Path], DownloadSpec]
"""From the models folder to the download. Blocking."""


class FirstChat:
    """Fetches and proves the model (``models.service.Fetcher``).

    Args:
        io: whose pool prepares.
        downloads: the queue.
        prepare: asks the hubs.
    """

    def __init__(self, io: IoLoop, downloads: Downloads, prepare: Prepare) -> None:
        self._io = io
        self._downloads = downloads
        self._prepare = prepare

    async def fetch_first_chat(self, folder: Path, progress: Progress) -> Path:
        """Have the file in ``folder``; goes on with what an earlier run began.

        Raises:
            DownloadError: it could not be fetched or proven.
        """
        spec = await self._io.in_pool(self._prepare, folder)
        status = await self._downloads.enqueue(spec, first=True, patience_s=PATIENCE_S)
        try:
            status = await self._downloads.until_over(
                status.id, lambda status: progress(*_step(status))
            )
        except asyncio.CancelledError:
            self._downloads.pause(status.id)
            raise
        if status.reason is not None:
            raise status.reason
        if status.state is not DownloadState.READY:  # paused on the Downloads tab
            raise asyncio.CancelledError
        return Path(spec.folder) / spec.files[0].target


def prepare_first_chat(
    models_folder: Path,
    token_of: TokenOf = lambda _origin: None,
    hubs: Callable[[], Sequence[Hub]] = known_hubs,
    data_file: Path | None = None,
) -> DownloadSpec:
    """Ask the hubs for the model of ``hubs.json``. Blocking.

    Args:
        models_folder: where models go.
        token_of: see ``Downloads``.
        hubs: those there are, the preferred first.
        data_file: instead of the one that ships.

    Raises:
        DownloadError: no hub offers it, or something stands against it.
    """
    data = json.loads((data_file or asset("hubs.json")).read_text(encoding="utf-8"))
    model = data["first_chat"]
    preparer = Preparer(HubClient(token_of), token_of, hubs=hubs)
    reference = RepoReference(catalogue_types.Hub.HUGGINGFACE, model["repo"])
    prepared = preparer.prepare(reference, models_folder, wish=Wish(path=model["file"]))
    for row in prepared.preflight.stops:
        params = {"host": model["repo"], "detail": row.sentence(Language.EN).rstrip(".")}
        raise DownloadError(ErrorCode.DOWNLOAD_REFUSED, params)
    return prepared.spec


def _step(status: DownloadStatus) -> tuple[int, int, str]:
    checking = status.state in (DownloadState.VERIFYING, DownloadState.READY)
    return status.done_bytes, status.total_bytes, "checking" if checking else "downloading"
