"""How fast the sources of a download are, as a person compares them. Blocking."""

from __future__ import annotations

import time

from kimi_desktop.downloads.hubs.hub import TokenOf
from kimi_desktop.downloads.hubs.speed import measure
from kimi_desktop.downloads.queue_types import MeasuredSource, PreparedDownload
from kimi_desktop.downloads.types import DownloadSpec


def measured_of(prepared: PreparedDownload) -> tuple[MeasuredSource, ...]:
    """What was measured just now, before the download; () when nothing was."""
    now = time.time()
    return tuple(
        MeasuredSource(endpoint, rate, now)
        for endpoint, rate in zip(prepared.sources, prepared.speeds, strict=False)
    )


def measure_sources(spec: DownloadSpec, token_of: TokenOf) -> tuple[MeasuredSource, ...]:
    """Ask every source of the largest file for a few megabytes of it, one after the other."""
    largest = max(spec.files, key=lambda job: job.size_bytes)
    found = measure(largest.sources, largest.size_bytes, token_of=token_of)
    now = time.time()
    return tuple(MeasuredSource(one.source.endpoint, one.bytes_per_s, now) for one in found)
