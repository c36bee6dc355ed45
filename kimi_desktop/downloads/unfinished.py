"""Downloads that are not whole yet, for the verb ``models``: they are no models before that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_file_size
from kimi_desktop.downloads.jobs import Job, JobStore
from kimi_desktop.downloads.queue_types import DownloadState


def unfinished(file: Path) -> tuple[Job, ...]:
    """What is under way, waits or failed, first in the queue first; () without a queue.

    Args:
        file: the queue of a profile.

    Raises:
        DownloadError: it cannot be read.
    """
    if not file.exists():
        return ()
    store = JobStore(file)
    try:
        return tuple(job for job in store.load() if job.state is not DownloadState.READY)
    finally:
        store.close()


def describe_unfinished(jobs: Sequence[Job]) -> list[dict[str, Any]]:
    """One object each, with the state "partial" of models and how far it has come."""
    return [
        {
            "id": job.spec.folder,
            "title": job.spec.title,
            "state": "partial",
            "size_bytes": job.spec.total_bytes,
            "parts_present": job.shards_done,
            "parts_total": len(job.spec.files),
            "download": {"state": job.state.value, "done_bytes": job.done_bytes},
        }
        for job in jobs
    ]


def unfinished_lines(jobs: Sequence[Job], language: Language) -> list[str]:
    """A line each: ``org/Model Q4_K_M: paused, 120 MB of 560 MB (21 %)``."""
    return [
        message(
            "cli.models.unfinished",
            language,
            title=job.spec.title,
            state=message(f"downloads.state.{job.state.value}", language),
            done=format_file_size(job.done_bytes),
            total=format_file_size(job.spec.total_bytes),
            percent=f"{100 * job.done_bytes / max(job.spec.total_bytes, 1):.0f}",
        )
        for job in jobs
    ]
