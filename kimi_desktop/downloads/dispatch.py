"""Which connection fetches what next. No thread of its own: called under the board's condition.

First every connection has a file for itself, which so arrives in order and is hashed on the way.
When there are more connections than files they share one, each a few pieces ahead of the other;
and near the end the slowest rest is halved again and again, so that 99 % never crawls.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from kimi_desktop.downloads.board import Board
from kimi_desktop.downloads.connection import Connection, Work
from kimi_desktop.downloads.coverage import SPLIT_FLOOR_BYTES, Lease
from kimi_desktop.downloads.file_work import FileWork
from kimi_desktop.downloads.pace import unit_bytes
from kimi_desktop.downloads.source_choice import Choice

HELP_AFTER_S = 2.0
"""A rest that takes longer is shared with a connection that has nothing to do."""
MEASURED_AFTER_S = 1.0
"""Before that a connection's speed says nothing."""


class Dispatch:
    """Hands out leases."""

    def __init__(self, board: Board, connections: Sequence[Connection]) -> None:
        self._board = board
        self._connections = connections

    def pick(self, connection: Connection, n_connections: int) -> Work | None:
        """Something to fetch, or None at the moment.

        Args:
            connection: who asks.
            n_connections: how many are at work.

        Raises:
            OSError: a partial file cannot be made.
        """
        for file in self._in_order(connection):
            choice = self._choice_for(file, connection)
            if choice is None or choice.wait_s > 0:
                continue
            if choice.whole_only and file.connections:
                continue
            leases = self._take(file, choice, connection, n_connections)
            if leases:
                return self._work(file, choice, leases)
        return self._help(connection)

    def goes_on_alone(self, connection: Connection) -> bool:
        """Others must wait until they may ask the hub; this connection need not ask it."""
        sources = self._board.sources
        for file in self._board.files:
            if file.is_over or not file.free_bytes:
                continue
            usual = sources.choose(file.job, file.avoid)
            own = sources.choose(file.job, file.avoid, connection.leads_to)
            if usual and own and usual.wait_s > 0 and own.wait_s <= 0:
                return True
        return False

    def _take(
        self, file: FileWork, choice: Choice, connection: Connection, n_connections: int
    ) -> list[Lease]:
        part = self._board.open(file)
        if choice.whole_only:
            return part.take_all()
        left = sum(other.free_bytes for other in self._board.files if not other.is_over)
        rate = connection.speed.bytes_per_s
        lease = part.take(unit_bytes(rate, left, n_connections, part.piece_bytes))
        return [lease] if lease else []

    def _in_order(self, connection: Connection) -> list[FileWork]:
        """Files with bytes to fetch: its own, one that nobody has, the one with most to do."""

        def rank(file: FileWork) -> tuple[bool, float, int]:
            is_own = file.index == connection.last_file and file.connections == 0
            load = -file.free_bytes / file.connections if file.connections else float("-inf")
            return not is_own, load, file.index

        return sorted((f for f in self._board.files if not f.is_over and f.free_bytes), key=rank)

    def _choice_for(self, file: FileWork, connection: Connection) -> Choice | None:
        choice = self._board.sources.choose(file.job, file.avoid, connection.leads_to)
        if choice is None and not file.connections:
            self._board.give_up(file, self._board.sources.error_of(file.job))
        return choice

    def _help(self, connection: Connection) -> Work | None:
        """Take over half of what another connection will be at for long."""
        now = time.monotonic()
        slowest: tuple[float, FileWork, Lease] | None = None
        for other in self._connections:
            work = other.work
            if work is None or work.whole or now - work.began_at < MEASURED_AFTER_S:
                continue
            lease = work.leases[0]
            eta_s = lease.left / max(other.speed.bytes_per_s, 1.0)
            if eta_s > HELP_AFTER_S and (slowest is None or eta_s > slowest[0]):
                slowest = (eta_s, self._board.files[work.index], lease)
        if slowest is None:
            return None
        _, file, lease = slowest
        choice = self._choice_for(file, connection)
        if choice is None or choice.wait_s > 0 or choice.whole_only or file.part is None:
            return None
        floor = min(SPLIT_FLOOR_BYTES, file.part.piece_bytes // 4)
        half = file.part.split(lease, at_least=max(floor, 1))
        return self._work(file, choice, [half]) if half else None

    def _work(self, file: FileWork, choice: Choice, leases: list[Lease]) -> Work:
        assert file.part is not None
        file.connections += 1
        file.used.add(choice.source)
        return Work(file.index, file.job, file.part, choice.source, leases, whole=choice.whole_only)
