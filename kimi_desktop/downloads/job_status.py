"""From a kept job and the worker's facts to what people see. Pure."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kimi_desktop.downloads.child import error_from
from kimi_desktop.downloads.jobs import Job
from kimi_desktop.downloads.queue_types import DownloadState, DownloadStatus, PartState, PartStatus


def status_of(job: Job) -> DownloadStatus:
    """A download that no worker has in hand."""
    spec = job.spec
    endpoints = dict.fromkeys(source.endpoint for file in spec.files for source in file.sources)
    is_ready = job.state is DownloadState.READY
    return DownloadStatus(
        id=job.id,
        title=spec.title,
        folder=spec.folder,
        state=job.state,
        total_bytes=spec.total_bytes,
        done_bytes=spec.total_bytes if is_ready else job.done_bytes,
        shards=len(spec.files),
        shards_done=len(spec.files) if is_ready else job.shards_done,
        sources=tuple(endpoints),
        preferred=job.preferred,
        reason=job.reason,
        licence=spec.licence,
        commit=spec.commit,
        added_at=job.added_at,
        rested_at=job.rested_at,
        measured=job.measured,
    )


def with_progress(job: Job, facts: Mapping[str, Any]) -> DownloadStatus:
    """A download that is running, by the worker's last ``progress``."""
    done = max(int(facts["done"]), job.done_bytes)
    hashed = int(facts["hashed"])
    waiting = facts["waiting"]
    verifying = facts["verifying"]
    if verifying is None:
        rate, left = float(facts["bytes_per_s"]), job.spec.total_bytes - done
    else:
        rate, left = float(facts["hashed_per_s"]), job.spec.total_bytes - hashed
    return replace(
        status_of(job),
        state=DownloadState.DOWNLOADING if verifying is None else DownloadState.VERIFYING,
        done_bytes=done,
        hashed_bytes=hashed,
        shards_done=int(facts["files_done"]),
        shards_failed=int(facts["files_failed"]),
        bytes_per_s=rate,
        eta_s=left / rate if rate > 1 and left and waiting is None else None,
        connections=int(facts["connections"]),
        source=urllib.parse.urlsplit(str(facts["endpoint"])).hostname or "",
        verifying_shard=verifying,
        is_repairing=bool(facts["repairing"]),
        pieces_replaced=int(facts["replaced"]),
        retry_in_s=facts["retry_in_s"],
        waiting=error_from(waiting) if waiting else None,
        parts=tuple(PartStatus(PartState(s), float(n)) for s, n in facts.get("parts", ())),
    )
