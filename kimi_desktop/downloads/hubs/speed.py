"""How fast each source is right now: a few megabytes of the file itself. Blocking (pool).

One after the other, since on a slow line two at once measure each other. What was read is thrown
away; it is seconds and megabytes before hours and hundreds of gigabytes.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.downloads.hubs.addresses import file_url, origin_of
from kimi_desktop.downloads.line import RangeAnswer, open_range
from kimi_desktop.downloads.types import Source

PROBE_BYTES = 8 * 2**20
PROBE_S = 2.5
BLOCK_BYTES = 64 * 1024

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class SourceSpeed:
    """What a source gave."""

    source: Source
    bytes_per_s: float
    """From the first byte on; 0 when there was none."""
    first_byte_s: float | None
    """From the request, redirects included; None when there was none."""


def measure(
    sources: Sequence[Source],
    size_bytes: int,
    *,
    token_of: Callable[[str], str | None] = lambda _origin: None,
    clock: Clock = time.monotonic,
) -> tuple[SourceSpeed, ...]:
    """All sources, the fastest first; those that gave nothing last, in their order.

    Args:
        sources: of one file.
        size_bytes: of that file.
        token_of: the token of an origin.
        clock: seconds.
    """
    found = [_probe(source, size_bytes, token_of, clock) for source in sources]
    return tuple(sorted(found, key=lambda one: -one.bytes_per_s))


def _probe(
    source: Source, size_bytes: int, token_of: Callable[[str], str | None], clock: Clock
) -> SourceSpeed:
    nothing = SourceSpeed(source, 0.0, None)
    # Not the head of the file: that is what every cache has.
    start = size_bytes // 3
    end = min(start + PROBE_BYTES, size_bytes) - 1
    began = clock()
    try:
        token = token_of(origin_of(source.endpoint))
        with open_range(file_url(source), start, end, token=token) as answer:
            sent = answer.content_range
            if sent is None or (sent.start, sent.total) != (start, size_bytes):
                return nothing
            return _timed(source, answer, began, clock)
    except (DownloadError, OSError, http.client.HTTPException):
        return nothing


def _timed(source: Source, answer: RangeAnswer, began: float, clock: Clock) -> SourceSpeed:
    buffer = memoryview(bytearray(BLOCK_BYTES))
    head = answer.readinto(buffer[:1])
    first = clock()
    count = 0
    while head and clock() - first < PROBE_S and (more := answer.readinto(buffer)):
        count += more
    if not head:
        return SourceSpeed(source, 0.0, None)
    seconds = max(clock() - first, 1e-6)
    return SourceSpeed(source, (count + head) / seconds, first - began)
