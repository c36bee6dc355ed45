"""Scripted misbehaviour: which request does what."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field

Headers = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True)
class Fault:
    """What goes wrong with an answer. Several may hold at once."""

    status: int | None = None
    headers: Headers = ()
    """Added or, with None, left out."""
    body: bytes | None = None
    cut_after: int | None = None
    """Send so many bytes of the body, then close."""
    reset: bool = False
    """... by RST instead of FIN."""
    stall_s: float = 0.0
    """A silence without a reset ..."""
    stall_after: int = 0
    """... once so many bytes of the body are out."""
    bytes_per_s: float | None = None
    """A trickle."""
    ignore_range: bool = False
    """200 and the whole file whatever is asked."""
    plain_status: bool = False
    """200 with the right Content-Range."""
    shift: int = 0
    """Answer a range that begins so much later."""
    total: int | None = None
    """Another total in the Content-Range."""
    flip_at: int | None = None
    """Change the byte at this offset of the file."""
    extra: bytes = b""
    """After the last byte."""
    swap: str | None = None
    """Send the bytes of this path of the newest commit instead."""
    gzip: bool = False
    """Compress although nobody asked for it."""


def captive_portal() -> Fault:
    """The sign-in page of a hotel, with status 200."""
    return Fault(
        status=200,
        body=b"<!DOCTYPE html><html><body>Please sign in</body></html>",
        headers=(("Content-Type", "text/html; charset=utf-8"), ("X-Repo-Commit", None)),
    )


def too_many_requests(bucket: str = "api", *, wait_s: int = 1) -> Fault:
    """The hub's own 429, as its quota headers tell it."""
    return Fault(
        status=429,
        headers=(
            ("RateLimit", f'"{bucket}";r=0;t={wait_s}'),
            ("RateLimit-Policy", f'"fixed window";"{bucket}";q=500;w=300'),
        ),
    )


def retry_later(after: str, *, status: int = 429) -> Fault:
    """A proxy's 429 or 503: quota is left, ``after`` is in seconds or an HTTP date."""
    return Fault(
        status=status,
        headers=(("Retry-After", after), ("RateLimit", '"api";r=400;t=200')),
    )


def expired_signature() -> Fault:
    """What a CDN says of an address that was good an hour ago."""
    return Fault(
        status=403,
        body=b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
        headers=(("Content-Type", "application/xml"),),
    )


def not_satisfiable(length: int) -> Fault:
    """416: the object is only so long."""
    return Fault(status=416, headers=(("Content-Range", f"bytes */{length}"),))


def redirect(location: str, *, status: int = 302) -> Fault:
    """To anywhere: a loop, plain http, file:, a private address."""
    return Fault(status=status, body=b"", headers=(("Location", location),))


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    requests: frozenset[int] | None
    origin: str | None
    fault: Fault


@dataclass
class FaultScript:
    """Faults by path and by which request it is; the last rule that fits wins. Thread-safe."""

    _rules: list[_Rule] = field(default_factory=list)
    _seen: dict[int, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(
        self,
        pattern: str,
        fault: Fault,
        *,
        requests: tuple[int, ...] | None = None,
        origin: str | None = None,
    ) -> None:
        """``requests`` counts from 1 per rule, None = every one; ``origin`` as in the log."""
        wanted = None if requests is None else frozenset(requests)
        with self._lock:
            self._rules.append(_Rule(re.compile(pattern), wanted, origin, fault))

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()
            self._seen.clear()

    def next(self, path: str, origin: str) -> Fault:
        """What happens to this request."""
        with self._lock:
            found = Fault()
            for number, rule in enumerate(self._rules):
                if rule.origin not in (None, origin) or not rule.pattern.search(path):
                    continue
                self._seen[number] = self._seen.get(number, 0) + 1
                if rule.requests is None or self._seen[number] in rule.requests:
                    found = rule.fault
            return found
