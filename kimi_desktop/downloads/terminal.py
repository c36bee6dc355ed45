"""The verb ``download``: what will be fetched, how far it is, how it ended. Main thread.

The same queue, worker and files as in the window: what Ctrl+C interrupts here goes on there, or by
the same command again.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import asdict
from typing import Any, TextIO

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.base.terminal import json_text, one_line, printable
from kimi_desktop.base.units import format_duration, format_file_size, format_rate
from kimi_desktop.downloads.hubs.hub import TokenOf
from kimi_desktop.downloads.preflight_types import Level
from kimi_desktop.downloads.progress_line import ProgressLine
from kimi_desktop.downloads.queue_types import (
    DownloadProgressed,
    DownloadsChanged,
    DownloadState,
    DownloadStatus,
    PreparedDownload,
)
from kimi_desktop.downloads.service import Downloads
from kimi_desktop.downloads.types import DownloadSpec

POLL_S = 0.1


class DownloadVerb:
    """Runs one download in the terminal.

    Args:
        paths: of the profile, whose queue it joins.
        language: of the texts.
        token_of: the token that belongs to an origin.
        json_output: JSON lines instead of text.
        out: where results go.
        progress_out: where the progress bar goes, if it is a terminal.
    """

    def __init__(
        self,
        paths: AppPaths,
        language: Language,
        token_of: TokenOf,
        *,
        json_output: bool = False,
        out: TextIO | None = None,
        progress_out: TextIO | None = None,
    ) -> None:
        self._paths = paths
        self._token_of = token_of
        self._teller = _Teller(language, json_output, out or sys.stdout, progress_out or sys.stderr)

    def fetch(self, prepared: PreparedDownload) -> None:
        """Tell what will be fetched, and fetch and prove it.

        Raises:
            DownloadError: it may not start (DOWNLOAD_STOPPED), or could not be fetched or proven.
            KeyboardInterrupt: everything that came is kept.
        """
        self._teller.prepared(prepared)
        if not prepared.preflight.may_start:
            raise DownloadError(ErrorCode.DOWNLOAD_STOPPED, {"title": prepared.spec.title})
        self.run(prepared.spec)

    def run(self, spec: DownloadSpec) -> None:
        """Fetch and prove it; raises like ``fetch``."""
        io, bus = IoLoop(), EventBus()
        downloads = Downloads(
            io,
            bus,
            self._paths.downloads_file,
            SettingsStore(self._paths.settings_file),
            token_of=self._token_of,
            resumes=False,
        )
        run = _Run(bus, self._teller)
        try:
            downloads.start().result()
            run.key = downloads.add(spec).result().id
            try:
                status = run.wait(downloads)
            except KeyboardInterrupt:
                self._teller.interrupted(downloads.pause(run.key).result())
                raise
            self._teller.ended(status)
            if status.reason is not None:
                raise status.reason
        finally:
            downloads.close()
            io.close()


class _Run:
    """Hears of one download and waits for its end."""

    def __init__(self, bus: EventBus, teller: _Teller) -> None:
        self.key = ""
        self._teller = teller
        self._moved = threading.Event()
        self._latest: DownloadStatus | None = None
        bus.subscribe(self._hear)

    def wait(self, downloads: Downloads) -> DownloadStatus:
        """Show how far it is until it is over or paused."""
        while True:
            status = next(one for one in downloads.downloads if one.id == self.key)
            if status.is_over or status.state is DownloadState.PAUSED:
                return status
            if self._moved.wait(POLL_S):
                self._moved.clear()
                self._teller.progress(self._latest or status)

    def _hear(self, event: Event) -> None:
        if isinstance(event, DownloadProgressed):
            self._latest = event.status
            self._moved.set()
        elif isinstance(event, DownloadsChanged):
            self._moved.set()


class _Teller:
    """Text for people, or JSON lines."""

    def __init__(
        self, language: Language, json_output: bool, out: TextIO, progress_out: TextIO
    ) -> None:
        self._language = language
        self._json = json_output
        self._out = out
        self._line = ProgressLine(progress_out)
        self._shards_done = 0
        self._trouble = ""

    def prepared(self, found: PreparedDownload) -> None:
        """What is about to be fetched, and what a person should know of it."""
        spec, preflight = found.spec, found.preflight
        if self._json:
            rows = [
                {
                    "topic": row.topic,
                    "level": row.level.value,
                    "text": row.sentence(self._language),
                    "next": row.next_step(self._language),
                }
                for row in preflight.rows
            ]
            self._object(
                event="prepared",
                title=spec.title,
                folder=spec.folder,
                commit=spec.commit,
                licence=spec.licence,
                total_bytes=preflight.total_bytes,
                missing_bytes=preflight.missing_bytes,
                sources=list(found.sources),
                files=[asdict(job) for job in spec.files],
                rows=rows,
            )
            return
        self._say(
            "plan",
            title=spec.title,
            count=len(spec.files),
            size=format_file_size(preflight.total_bytes),
            missing=format_file_size(preflight.missing_bytes),
            commit=spec.commit[:12],
        )
        self._say("to", path=spec.folder)
        for row in preflight.rows:
            if row.level is not Level.OK:
                told = f"{row.sentence(self._language)} {row.next_step(self._language)}"
                self._out.write(printable(told) + "\n")
        self._out.flush()

    def progress(self, status: DownloadStatus) -> None:
        """How far it is."""
        if self._json:
            self._object(event="progress", **describe(status))
            return
        fraction = status.done_bytes / max(status.total_bytes, 1)
        self._line.show(fraction, progress_text(status, self._language))
        trouble = ""
        if status.waiting is not None:
            trouble = " ".join(describe_error(status.waiting, self._language))
        if trouble and trouble != self._trouble:
            self._line.clear()
            self._out.write(f"{printable(trouble)}\n")
        elif not self._line.is_shown and status.shards_done > self._shards_done:
            self._out.write(one_line(progress_text(status, self._language)) + "\n")
        self._out.flush()
        self._trouble, self._shards_done = trouble, status.shards_done

    def ended(self, status: DownloadStatus) -> None:
        """How it ended."""
        self._line.clear()
        if self._json:
            self._object(event="ended", **describe(status))
        elif status.state is DownloadState.READY:
            size = format_file_size(status.total_bytes)
            self._say("ready", title=status.title, size=size, path=status.folder)

    def interrupted(self, status: DownloadStatus) -> None:
        """Ctrl+C."""
        self._line.clear()
        if self._json:
            self._object(event="ended", **describe(status))
        else:
            self._say("interrupted", size=format_file_size(status.done_bytes))

    def _say(self, key: str, **params: str | int) -> None:
        self._out.write(message(f"downloads.{key}", self._language, **params) + "\n")

    def _object(self, **facts: Any) -> None:  # noqa: ANN401
        self._out.write(json_text(facts) + "\n")
        self._out.flush()


def describe(status: DownloadStatus) -> dict[str, Any]:
    """A download as an object: bytes, bytes per second, seconds."""
    return {
        "id": status.id,
        "title": status.title,
        "folder": status.folder,
        "state": status.state.value,
        "total_bytes": status.total_bytes,
        "done_bytes": status.done_bytes,
        "hashed_bytes": status.hashed_bytes,
        "shards": status.shards,
        "shards_done": status.shards_done,
        "shards_failed": status.shards_failed,
        "bytes_per_s": round(status.bytes_per_s),
        "eta_s": None if status.eta_s is None else round(status.eta_s, 1),
        "source": status.source,
        "repairing": status.is_repairing,
        "pieces_replaced": status.pieces_replaced,
        "waiting": _code(status.waiting),
        "retry_in_s": status.retry_in_s,
        "reason": _code(status.reason),
    }


def progress_text(status: DownloadStatus, language: Language) -> str:
    """``45 %  263 GB of 584 GB  112 MB/s  47 min left  6/14  huggingface.co``."""
    parts = [
        f"{100 * status.done_bytes // max(status.total_bytes, 1)} %",
        message(
            "downloads.line.bytes",
            language,
            done=format_file_size(status.done_bytes),
            total=format_file_size(status.total_bytes),
        ),
    ]
    if status.verifying_shard is not None:
        parts.append(
            message(
                "downloads.state.verifying_shard",
                language,
                shard=status.verifying_shard,
                shards=status.shards,
            )
        )
    if status.bytes_per_s:  # nothing comes while it waits
        parts.append(format_rate(status.bytes_per_s))
    if status.eta_s is not None:
        left = format_duration(status.eta_s, language)
        parts.append(message("downloads.line.left", language, time=left))
    if status.verifying_shard is not None:
        return "  ".join(parts)
    parts.append(f"{status.shards_done}/{status.shards}")
    if status.source:
        parts.append(status.source)
    return "  ".join(parts)


def _code(error: KimiError | None) -> dict[str, Any] | None:
    return None if error is None else {"code": error.code.value, "params": dict(error.params)}
