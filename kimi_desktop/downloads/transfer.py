"""One download from begin to end: starts the threads, watches over them, tells how it goes.

Runs in the worker; ``run`` occupies the calling thread. What the threads share is in ``Board``.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Mapping

from kimi_desktop.base.units import KIB, MIB
from kimi_desktop.downloads.answers import Cure, TroubleError
from kimi_desktop.downloads.board import Board, Options, Tell
from kimi_desktop.downloads.connection import Connection, Work
from kimi_desktop.downloads.dispatch import Dispatch
from kimi_desktop.downloads.file_work import FileState
from kimi_desktop.downloads.finisher import Finisher
from kimi_desktop.downloads.folder_lock import FolderLock
from kimi_desktop.downloads.pace import Governor, Speed, Throttle
from kimi_desktop.downloads.part_file import PARTIAL_FOLDER
from kimi_desktop.downloads.types import DownloadSpec

TICK_S = 0.25
SLOW_SHARE = 0.05
SLOW_AFTER_S = 30
DEAD_SLOW_BYTES_PER_S = KIB
DEAD_SLOW_AFTER_S = 60
JOIN_S = 3.0
SPACE_EVERY_S = 10.0


class Transfer:
    """Fetches and proves the files of a spec.

    Args:
        spec: what to have and where.
        tell: called with plain dicts, from several threads: progress four times a second, and
            every file that was proven.
        options: see there.
    """

    def __init__(self, spec: DownloadSpec, tell: Tell, options: Options | None = None) -> None:
        options = options or Options()
        self._tell = tell
        self._board = Board(spec, options)
        self.stopped = self._board.stopped
        self.throttle = Throttle(options.bytes_per_s)
        self.tokens: Mapping[str, str] = options.tokens
        self._connections = [Connection(n, self) for n in range(max(options.most_connections, 1))]
        self._dispatch = Dispatch(self._board, self._connections)
        self._finisher = Finisher(self._board, tell)
        self._governor = Governor(len(self._connections))
        self._host = ""
        self._received_bytes = 0
        self._hash_rate = 0.0
        self._shown_bytes = 0
        self._alive_at = time.monotonic()
        self._alive_mark = 0
        self._space_due_at = 0.0

    # what may be asked meanwhile, from any thread

    def stop(self) -> None:
        """End soon; ``run`` returns. Everything that came is kept."""
        self.stopped.set()
        self._abort_lines()
        self._board.notify()

    def wake(self) -> None:
        """The computer slept, or somebody wants another try now: all connections anew."""
        self._board.sources.forgive()
        self._abort_lines()
        self._alive_at = time.monotonic()
        self._board.notify()

    def prefer(self, endpoint: str | None) -> None:
        """Fetch from this endpoint from now on, where it has the file."""
        self._board.sources.preferred = endpoint
        for connection in self._connections:
            work = connection.work
            if work is None or work.source.endpoint == endpoint:
                continue
            if any(source.endpoint == endpoint for source in work.job.sources):
                connection.line.abort()

    @property
    def complete(self) -> bool:
        """Every file is there and proven."""
        return all(file.state is FileState.DONE for file in self._board.files)

    # the run

    def run(self) -> None:
        """Have every file, proven and under its name; or return early after ``stop``.

        Raises:
            DownloadError: the first reason why a file is not there; FOLDER_BUSY when another
                process downloads into the folder. All that came is kept.
        """
        self._board.check_names()
        try:
            with FolderLock(self._board.folder / PARTIAL_FOLDER):
                self._run()
        except OSError as error:
            self._board.disk_failed(error)
        self._tell_progress(0.0)
        if self._board.failure is not None:
            raise self._board.failure
        for file in self._board.files:
            if file.error is not None:
                raise file.error

    def _run(self) -> None:
        threads: list[threading.Thread] = []
        try:
            self._board.take_stock()
            self._board.look_at_others()
            self._tell_progress(0.0)
            threads = [*self._connections, *self._finisher.threads()]
            for thread in threads:
                thread.start()
            self._watch()
        except OSError as error:
            self._board.disk_failed(error)
        finally:
            self.stop()
            for thread in threads:
                thread.join(JOIN_S)
            self._board.close()

    def _abort_lines(self) -> None:
        for connection in self._connections:
            connection.line.abort()

    def _watch(self) -> None:
        speed, hashing = Speed(), Speed()
        before, hashed, second = 0, 0, time.monotonic()
        while not self._is_over_within(TICK_S):
            speed.add(self._received_bytes - before)
            hashing.add(self._finisher.hashed_bytes - hashed)
            before, hashed = self._received_bytes, self._finisher.hashed_bytes
            self._hash_rate = hashing.bytes_per_s
            if time.monotonic() - second >= 1.0:
                second = time.monotonic()
                self._each_second(speed.bytes_per_s)
            self._tell_progress(speed.bytes_per_s)

    def _is_over_within(self, seconds: float) -> bool:
        board = self._board
        with board.changed:
            return board.changed.wait_for(
                lambda: self.stopped.is_set() or board.all_over, timeout=seconds
            )

    def _each_second(self, bytes_per_s: float) -> None:
        if self.throttle.bytes_per_s is None:
            self._governor.observe(bytes_per_s)
        self._watch_speeds()
        if time.monotonic() >= self._space_due_at:
            self._space_due_at = time.monotonic() + SPACE_EVERY_S
            self._board.look_at_space()
        mark = self._received_bytes + self._finisher.hashed_bytes
        if mark != self._alive_mark:
            self._alive_mark, self._alive_at = mark, time.monotonic()
        trouble = self._board.sources.trouble()
        with self._board.changed:
            if trouble and time.monotonic() - self._alive_at > self._board.options.patience_s:
                self._board.failure = trouble
                self.stopped.set()
            self._board.changed.notify_all()  # pauses may be over

    def _watch_speeds(self) -> None:
        """Replace connections that are far behind the others, or as good as dead."""
        busy = []
        for connection in self._connections:
            connection.sample()
            if connection.work is not None:
                busy.append(connection)
            else:
                connection.slow_s = connection.dead_s = 0
        if not busy or self.throttle.bytes_per_s is not None:
            return
        median = statistics.median(connection.speed.bytes_per_s for connection in busy)
        for connection in busy:
            rate = connection.speed.bytes_per_s
            is_slow = len(busy) > 1 and rate < median * SLOW_SHARE
            connection.slow_s = connection.slow_s + 1 if is_slow else 0
            connection.dead_s = connection.dead_s + 1 if rate < DEAD_SLOW_BYTES_PER_S else 0
            if connection.slow_s >= SLOW_AFTER_S or connection.dead_s >= DEAD_SLOW_AFTER_S:
                connection.slow_s = connection.dead_s = 0
                connection.line.abort()

    def _tell_progress(self, bytes_per_s: float) -> None:
        board = self._board
        with board.changed:
            files = board.files
            durable = min(sum(file.durable_bytes for file in files), board.total_bytes)
            self._shown_bytes = max(self._shown_bytes, durable)
            is_fetching = any(not file.is_over and not file.is_verifying for file in files)
            busy = sum(connection.work is not None for connection in self._connections)
            trouble = board.sources.trouble() if is_fetching and not busy else None
            facts = {
                "event": "progress",
                "done": self._shown_bytes,
                "total": board.total_bytes,
                "files_done": sum(file.state is FileState.DONE for file in files),
                "files": len(files),
                "files_failed": sum(file.state is FileState.FAILED for file in files),
                "bytes_per_s": bytes_per_s,
                "hashed": sum(file.hashed_bytes for file in files),
                "hashed_per_s": self._hash_rate,
                "verifying": None
                if is_fetching
                else next((file.index + 1 for file in files if file.is_verifying), None),
                "repairing": any(file.repair.rounds and not file.is_over for file in files),
                "replaced": sum(file.repair.pieces_replaced for file in files),
                "endpoint": self._host,
                "connections": busy,
                "parts": [file.shown for file in files],
                "retry_in_s": board.sources.pause_s if trouble else None,
                "waiting": trouble and {"code": trouble.code.value, "params": dict(trouble.params)},
            }
        self._tell(facts)

    # what connections ask and report

    def next_work(self, connection: Connection) -> Work | None:
        """See ``Master``."""
        board = self._board
        with board.changed:
            while not self.stopped.is_set() and not board.all_over:
                if self._may_work(connection):
                    try:
                        work = self._dispatch.pick(connection, self._governor.target)
                    except OSError as error:
                        board.disk_failed(error)
                        return None
                    if work is not None:
                        return work
                board.changed.wait(TICK_S)
        return None

    def _may_work(self, connection: Connection) -> bool:
        """As many as the governor wants, the first of them first as long as they can."""
        target = self._governor.target
        if connection.number < target:
            return True
        busy = sum(other.work is not None for other in self._connections)
        return busy < target and self._dispatch.goes_on_alone(connection)

    def wrote(self, connection: Connection, work: Work, count: int) -> None:
        """See ``Master``."""
        with self._board.changed:
            self._received_bytes += count
            self._host = work.source.endpoint
        if not work.has_bytes:
            work.has_bytes = True
            self._board.sources.note_bytes(work.job, work.source)
        connection.unpraised_bytes += count
        if connection.unpraised_bytes >= MIB:
            connection.unpraised_bytes = 0
            self._board.sources.note_progress(work.source)

    def ended(self, connection: Connection, work: Work, trouble: TroubleError | None) -> None:
        """See ``Master``."""
        board = self._board
        with board.changed:
            board.files[work.index].connections -= 1
            connection.last_file = work.index
            for lease in work.leases:
                work.part.give_back(lease)
            if trouble is not None:
                board.sources.note(work.job, work.source, trouble)
                if trouble.cure is Cure.WAIT:
                    self._governor.allow_fewer()
            board.changed.notify_all()

    def disk_failed(self, error: OSError) -> None:
        """See ``Master``."""
        self._board.disk_failed(error)

    def broke(self, error: BaseException) -> None:
        """See ``Master``."""
        self._board.broke(error)
