"""Which hub a file is fetched from next: the preferred one that is able and willing. Thread-safe.

Keeps what every source did to every file, and how long every endpoint wants to be left alone. No
thread of its own; the connections of the worker report and ask.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.downloads.answers import Cure, TroubleError
from kimi_desktop.downloads.pace import Clock, backoff_s
from kimi_desktop.downloads.types import FileJob, Source

JITTER_SHARE = 0.1
MOST_JITTER_S = 15.0
PROBE_S = 15.0
"""How often an unreachable hub is tried again."""
MAX_WRONG = 2
"""Answers that cannot be right, before the source is left for this file."""
MAX_RESOLVES = 3
"""New addresses in a row that were refused at once."""


@dataclass(slots=True)
class _Endpoint:
    failures: int = 0
    paused_until: dict[str, float] = field(default_factory=dict)
    """By the origin that wants to be left alone: the hub's, or that of its CDN; "" = all of it."""
    trouble: DownloadError | None = None

    def pause_until(self, direct: str | None = None) -> float:
        """For requests by way of the hub; with ``direct`` for those to that origin alone."""
        origins = self.paused_until if direct is None else ("", direct)
        return max((self.paused_until.get(origin, 0.0) for origin in origins), default=0.0)


@dataclass(slots=True)
class _OfFile:
    """What one source did with one file."""

    wrong: int = 0
    resolves: int = 0
    whole_only: bool = False
    dead: DownloadError | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Where to ask, and how long not yet."""

    source: Source
    wait_s: float
    whole_only: bool
    """One stream from the first byte: the server knows no ranges."""


def jitter_s(wait_s: float) -> float:
    """On top of a pause that was asked for: not everybody is back in the same moment."""
    return random.uniform(0.0, min(1.0 + wait_s * JITTER_SHARE, MOST_JITTER_S))


@dataclass(slots=True)
class SourceChoice:
    """The book of one transfer."""

    clock: Clock = time.monotonic
    jitter: Callable[[float], float] = jitter_s
    preferred: str | None = None
    """The endpoint that the user chose."""
    _endpoints: dict[str, _Endpoint] = field(default_factory=dict)
    _files: dict[tuple[str, Source], _OfFile] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(
        self,
        job: FileJob,
        avoid: frozenset[Source] = frozenset(),
        direct: Callable[[Source], str | None] = lambda _source: None,
    ) -> Choice | None:
        """The best source now; None when every one was given up.

        Args:
            job: the file.
            avoid: sources to take only if there is no other.
            direct: the origin that a signed address leads to without asking the hub, if there is
                one: the hub may want its rest meanwhile.
        """
        with self._lock:
            now = self.clock()
            alive = [s for s in job.sources if self._of(job, s).dead is None]
            if not alive:
                return None

            def wait_s(source: Source) -> float:
                return max(self._at(source).pause_until(direct(source)) - now, 0.0)

            def rank(source: Source) -> tuple[bool, float, bool]:
                return source in avoid, wait_s(source), source.endpoint != self.preferred

            best = min(alive, key=rank)  # the first of equals: the order of the job
            return Choice(best, wait_s(best), self._of(job, best).whole_only)

    def error_of(self, job: FileJob) -> DownloadError | None:
        """Why a file cannot be had: what its preferred source said."""
        with self._lock:
            errors = (self._of(job, source).dead for source in job.sources)
            return next((error for error in errors if error is not None), None)

    def trouble(self) -> DownloadError | None:
        """Why nothing comes, where nothing came since it happened."""
        with self._lock:
            troubles = (endpoint.trouble for endpoint in self._endpoints.values())
            return next((trouble for trouble in troubles if trouble is not None), None)

    @property
    def pause_s(self) -> float:
        """Seconds until one of the endpoints in trouble is asked again."""
        with self._lock:
            now = self.clock()
            ends = [one.pause_until() for one in self._endpoints.values() if one.trouble]
            return max(min(ends, default=now) - now, 0.0)

    def note(self, job: FileJob, source: Source, trouble: TroubleError) -> None:
        """A request failed."""
        with self._lock:
            of_file = self._of(job, source)
            match trouble.cure:
                case Cure.ANOTHER:
                    of_file.dead = trouble.error
                case Cure.WHOLE:
                    of_file.whole_only = True
                case Cure.WRONG:
                    of_file.wrong += 1
                    if of_file.wrong >= MAX_WRONG:
                        of_file.dead = trouble.error
                case Cure.RESOLVE:
                    of_file.resolves += 1
                    if of_file.resolves >= MAX_RESOLVES:
                        of_file.dead = trouble.error
                case Cure.RETRY | Cure.WAIT | Cure.OFFLINE:
                    self._pause(self._at(source), trouble)

    def note_bytes(self, job: FileJob, source: Source) -> None:
        """The first bytes of an answer: this signature was good."""
        with self._lock:
            self._of(job, source).resolves = 0
            self._at(source).trouble = None

    def note_progress(self, source: Source) -> None:
        """A good deal came: earlier failures do not lengthen the next pause any more."""
        with self._lock:
            self._at(source).failures = 0

    def forgive(self) -> None:
        """Begin anew, as after sleep or when somebody presses "try now"."""
        with self._lock:
            self._endpoints.clear()
            self._files.clear()

    def _pause(self, endpoint: _Endpoint, trouble: TroubleError) -> None:
        now = self.clock()
        endpoint.trouble = trouble.error
        origin = trouble.origin if "://" in trouble.origin else ""
        before = endpoint.paused_until.get(origin, 0.0)
        if trouble.wait_s is not None:
            if before < now + trouble.wait_s:
                until = now + trouble.wait_s + self.jitter(trouble.wait_s)
                endpoint.paused_until[origin] = until
            return
        if now < before:  # several connections met the same trouble
            return
        endpoint.failures += 1
        wait = backoff_s(endpoint.failures)
        if trouble.cure is Cure.OFFLINE:
            wait = min(wait, PROBE_S)
        endpoint.paused_until[origin] = now + wait

    def _at(self, source: Source) -> _Endpoint:
        return self._endpoints.setdefault(source.endpoint, _Endpoint())

    def _of(self, job: FileJob, source: Source) -> _OfFile:
        return self._files.setdefault((job.target, source), _OfFile())
