"""One connection of a transfer: asks for a range, checks the answer, writes what comes.

Each runs in a thread of its own in the worker. What to fetch, and what to do after a failure, is
for ``Transfer``; a connection only reports.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kimi_desktop.base.errors import DownloadError
from kimi_desktop.base.units import KIB
from kimi_desktop.downloads import answers
from kimi_desktop.downloads.answers import Request, TroubleError
from kimi_desktop.downloads.coverage import Lease
from kimi_desktop.downloads.hubs.addresses import file_url, origin_of
from kimi_desktop.downloads.line import AbortedError, Line, RangeAnswer
from kimi_desktop.downloads.pace import Speed, Throttle
from kimi_desktop.downloads.part_file import PartFile
from kimi_desktop.downloads.types import FileJob, Source

BLOCK_BYTES = 256 * KIB
"""Collected before it is written and hashed: fits into the caches of every core."""
FLUSH_S = 0.25
"""On a slow line a block is written when it is so old."""


@dataclass(slots=True, eq=False)
class Work:
    """What a connection fetches next."""

    index: int
    """Of the file in its download."""
    job: FileJob
    part: PartFile
    source: Source
    leases: list[Lease]
    whole: bool = False
    """The server knows no ranges: one stream from the first byte, of which the leases are kept."""
    has_bytes: bool = False
    """Some of it has come."""
    began_at: float = field(default_factory=time.monotonic)


class Master(Protocol):
    """What a connection needs of its transfer."""

    stopped: threading.Event
    throttle: Throttle
    tokens: Mapping[str, str]
    """By origin."""

    def next_work(self, connection: Connection) -> Work | None:
        """Wait for something to fetch; None = it is over."""

    def wrote(self, connection: Connection, work: Work, count: int) -> None:
        """Bytes are in the file."""

    def ended(self, connection: Connection, work: Work, trouble: TroubleError | None) -> None:
        """The work is done as far as it got; what is left of its leases is to be given back."""

    def disk_failed(self, error: OSError) -> None:
        """Nothing can be written: the end."""

    def broke(self, error: BaseException) -> None:
        """Something that nobody foresaw: the end."""


class _DiskError(Exception):
    """An OSError of the disk, kept apart from those of the network."""


class Connection(threading.Thread):
    """One of the connections. ``start`` it; it ends by itself when there is nothing left."""

    def __init__(self, number: int, master: Master) -> None:
        super().__init__(name=f"connection-{number}", daemon=True)
        self.number = number
        self.line = Line()
        self.work: Work | None = None
        self.received_bytes = 0
        """In all; the transfer samples it for speeds."""
        self.speed = Speed()
        self.slow_s = 0
        """Seconds in a row in which it was far behind the others ..."""
        self.dead_s = 0
        """... and in which next to nothing came."""
        self.last_file: int | None = None
        self.unpraised_bytes = 0
        """Written since its source was last told to be good."""
        self._sampled_bytes = 0
        self._master = master
        self._buffer = memoryview(bytearray(BLOCK_BYTES))

    def run(self) -> None:
        """Fetch until there is nothing left."""
        try:
            while (work := self._master.next_work(self)) is not None:
                self._do(work)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody must wait for it
            self._master.broke(error)
        finally:
            self.line.close()

    def _do(self, work: Work) -> None:
        self.work = work
        trouble: TroubleError | None = None
        try:
            trouble = self._fetch(work)
        except _DiskError as error:
            cause = error.__cause__
            assert isinstance(cause, OSError)
            self._master.disk_failed(cause)
        finally:
            self.work = None
            self._master.ended(self, work, trouble)

    def leads_to(self, source: Source) -> str | None:
        """See ``Line.leads_to``; on the connection's own thread."""
        return self.line.leads_to(file_url(source))

    def sample(self) -> None:
        """Take the speed of the last second; by the watching thread."""
        count = self.received_bytes - self._sampled_bytes
        self._sampled_bytes += count
        self.speed.add(count)

    def _fetch(self, work: Work) -> TroubleError | None:
        """What went wrong, None when nothing did."""
        lease = work.leases[0]
        start = 0 if work.whole else lease.position
        end = None if work.whole else lease.end - 1
        token = self._master.tokens.get(origin_of(work.source.endpoint))
        request = Request(work.job, work.source, start, has_token=token is not None)
        url = file_url(work.source)
        try:
            with self.line.ask(url, start, end, token) as answer:
                answers.check(answer, request)
                self._receive(work, answer, request)
        except AbortedError:
            return None
        except (TroubleError, DownloadError, OSError, http.client.HTTPException) as error:
            trouble = answers.of_exception(error, request)
            if trouble.cure in (answers.Cure.RESOLVE, answers.Cure.WRONG):
                self.line.forget(url)
            return trouble
        return None

    def _receive(self, work: Work, answer: RangeAnswer, request: Request) -> None:
        position = request.start
        for lease in work.leases:
            position = self._skip(answer, position, lease.position, request)
            position = self._fill(work, lease, answer, position)
            # Another connection may have taken the rest over meanwhile.
            if lease.left > 0:
                raise answers.short_body(request)

    def _skip(self, answer: RangeAnswer, position: int, start: int, request: Request) -> int:
        """Read over what is there already, where the server sends everything."""
        while position < start:
            count = answer.readinto(self._buffer[: min(start - position, len(self._buffer))])
            if not count:
                raise answers.short_body(request)
            position += count
            self._account(count)
        return position

    def _fill(self, work: Work, lease: Lease, answer: RangeAnswer, position: int) -> int:
        """Receive one lease. Returns where the stream stands."""
        throttle = self._master.throttle
        buffer, fill = self._buffer, 0
        began = time.monotonic()
        try:
            while (left := lease.left - fill) > 0:
                most = throttle.most_at_once(len(buffer) - fill)
                count = answer.readinto(buffer[fill : fill + min(left, most)])
                if not count:
                    break
                fill += count
                self._account(count)
                if fill == len(buffer) or time.monotonic() - began >= FLUSH_S:
                    self._write(work, lease, buffer[:fill])
                    position, fill = position + fill, 0
                    began = time.monotonic()
        except (OSError, http.client.HTTPException):
            if fill:  # what came before the line broke is good
                self._write(work, lease, buffer[:fill])
            raise
        if fill:
            self._write(work, lease, buffer[:fill])
        return position + fill

    def _account(self, count: int) -> None:
        self.received_bytes += count
        self._master.throttle.take(count, self._master.stopped)
        if self._master.stopped.is_set():
            raise AbortedError

    def _write(self, work: Work, lease: Lease, data: memoryview) -> None:
        try:
            count = work.part.write(lease, data)
        except OSError as error:
            raise _DiskError from error
        self._master.wrote(self, work, count)
