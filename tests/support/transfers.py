"""Downloads from the local hub by the transfer engine, in this process and with small pieces."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kimi_desktop.downloads.board import Options
from kimi_desktop.downloads.transfer import Transfer
from kimi_desktop.downloads.types import DownloadSpec, FileJob, HubKind, Source
from tests.support.hub.content import HubFile
from tests.support.hub.server import LocalHub

PIECE = 2**16
WAIT_S = 60.0


def source_of(hub: LocalHub, file: HubFile, origin: str = "hub") -> Source:
    """One file of the hub's first repository, from one of its origins."""
    kind = HubKind.MODELSCOPE if origin == "modelscope" else HubKind.HUGGINGFACE
    revision = "master" if origin == "modelscope" else hub.commit
    return Source(kind, hub.endpoints[origin], hub.repo, revision, file.path)


def spec_of(
    hub: LocalHub, folder: Path, origins: Sequence[str] = ("hub",), *, only: Sequence[str] = ()
) -> DownloadSpec:
    """A download of the hub's first repository."""
    jobs = tuple(
        FileJob(
            file.path,
            file.length,
            file.sha256 if file.lfs or "modelscope" in origins else None,
            None if file.lfs else file.git_sha1,
            tuple(source_of(hub, file, origin) for origin in origins),
        )
        for file in hub.files
        if not only or file.path in only
    )
    return DownloadSpec(hub.repo, str(folder), jobs, "apache-2.0", hub.commit)


@dataclass
class Run:
    """One run of a transfer and what it told."""

    spec: DownloadSpec
    options: Options = field(default_factory=lambda: Options(piece_bytes=PIECE))
    told: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.transfer = Transfer(self.spec, self.told.append, self.options)
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def now(self) -> Run:
        """Run to the end.

        Raises:
            DownloadError: as the transfer does.
        """
        self.transfer.run()
        return self

    def start(self) -> Run:
        """Run in a thread; ``wait`` for it."""

        def run() -> None:
            try:
                self.transfer.run()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run)
        self._thread.start()
        return self

    def wait(self) -> Run:
        """For the end of ``start``; raises what the transfer raised."""
        assert self._thread is not None
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
        return self

    def stop(self) -> None:
        self.transfer.stop()
        self.wait()

    @property
    def progress(self) -> list[Mapping[str, Any]]:
        return [facts for facts in self.told if facts["event"] == "progress"]

    @property
    def proven(self) -> list[int]:
        """Numbers of the files that were proven."""
        return sorted(facts["index"] for facts in self.told if facts["event"] == "file")


def assert_whole(hub: LocalHub, folder: Path) -> None:
    """Every file of the hub is there, byte by byte, and nothing of the work is left."""
    for file in hub.files:
        assert (folder / file.path).read_bytes() == file.read(0, file.length)
    assert not (folder / ".kimi-partial").exists()


def sent_bytes(hub: LocalHub, *origins: str) -> int:
    """What left the servers as bodies of files."""
    wanted = origins or ("cdn",)
    return sum(r.sent_bytes for r in hub.log if r.origin in wanted and r.status in (200, 206))
