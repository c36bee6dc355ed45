"""What a server says about when to come back. Pure.

Hugging Face sends its quota with every answer, so it is the reason of a 429 only when nothing is
left of it; other servers, and proxies in between, send Retry-After as seconds or as a date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MOST_WAIT_S = 3600.0
"""Nobody waits longer for a header; it is asked again then."""

_QUOTA = re.compile(r'"[^"]*"\s*;\s*r\s*=\s*(\d{1,9})\s*;\s*t\s*=\s*(\d{1,9})')


def wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds until the next request may be made; None when the server names no time.

    Args:
        headers: of an answer with status 429 or 503; names in any case are found when the mapping
            finds them (``http.client`` and ``httpx`` both do).
    """
    quota = _QUOTA.search(headers.get("RateLimit") or "")
    if quota and quota[1].strip("0") == "":
        return min(float(quota[2]) + 1.0, MOST_WAIT_S)  # their clock counts whole seconds
    after = (headers.get("Retry-After") or "").strip()
    if after.isascii() and after.isdigit():
        return min(float(after[:9]), MOST_WAIT_S)
    then = _date(after)
    if then is None:
        return None
    # Against the server's own clock: the local one may be wrong.
    now = _date(headers.get("Date") or "") or datetime.now(UTC)
    return min(max((then - now).total_seconds(), 0.0), MOST_WAIT_S)


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
