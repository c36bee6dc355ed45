"""Scripted misbehaviour: which request does what."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """What goes wrong with an answer. Several may hold at once."""

    status: int | None = None
    headers: tuple[tuple[str, str | None], ...] = ()
    """Added or, with None, left out."""
    body: bytes | None = None
    cut_after: int | None = None
    """Send so many bytes of the body, then close."""
    reset: bool = False
    """... by RST instead of FIN."""
    stall_s: float = 0.0
    """Before the body."""
    ignore_range: bool = False
    shift: int = 0
    """Answer a range that begins so much later."""
    total: int | None = None
    """Another total in the Content-Range."""
    flip_at: int | None = None
    """Change the byte at this offset of the file."""
    extra: bytes = b""
    """After the last byte."""


@dataclass
class FaultScript:
    """Faults by path and by which request it is. Thread-safe."""

    _rules: list[tuple[re.Pattern[str], frozenset[int] | None, Fault]] = field(default_factory=list)
    _seen: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, pattern: str, fault: Fault, *, requests: tuple[int, ...] | None = None) -> None:
        """``requests`` counts from 1 per pattern; None = every one."""
        wanted = None if requests is None else frozenset(requests)
        with self._lock:
            self._rules.append((re.compile(pattern), wanted, fault))

    def clear(self) -> None:
        with self._lock:
            self._rules.clear()
            self._seen.clear()

    def next(self, path: str) -> Fault:
        """What happens to this request."""
        with self._lock:
            found = Fault()
            for number, (pattern, wanted, fault) in enumerate(self._rules):
                if not pattern.search(path):
                    continue
                key = f"{number} {pattern.pattern}"
                self._seen[key] = self._seen.get(key, 0) + 1
                if wanted is None or self._seen[key] in wanted:
                    found = fault
            return found
