"""Which bytes of a file are there, which are on their way and which nobody fetches yet. Pure.

Owns no thread and no lock: ``PartFile`` calls it under its own. Bytes are handed out as leases;
every byte belongs to one lease at a time, so that two connections never write the same place.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kimi_desktop.base.units import MIB

PIECE_BYTES = 16 * MIB
"""The unit of the journal: what a kill -9 may cost per connection."""
SPLIT_FLOOR_BYTES = 4 * MIB
"""A rest that is smaller stays with the connection that has it."""


@dataclass(slots=True, eq=False)
class Lease:
    """Bytes that one connection fetches, in order. ``end`` may shrink when another helps."""

    position: int
    """The next byte to come."""
    end: int
    """Behind the last one."""

    @property
    def left(self) -> int:
        """Bytes still to come."""
        return self.end - self.position


class Coverage:
    """The accounts of one file.

    Args:
        size_bytes: of the whole file, at least 1.
        piece_bytes: unit of completion.
        have: numbers of pieces that are there already.
    """

    def __init__(
        self, size_bytes: int, *, piece_bytes: int = PIECE_BYTES, have: Iterable[int] = ()
    ) -> None:
        self.size_bytes = size_bytes
        self.piece_bytes = piece_bytes
        self.n_pieces = -(-size_bytes // piece_bytes)
        self._done = bytearray(self.n_pieces)
        self._partly: dict[int, int] = {}
        self._leases: list[Lease] = []
        self._prefix = 0
        self.written_bytes = 0
        """Bytes in the file, those of unfinished pieces included."""
        for piece in have:
            if not self._done[piece]:
                self._done[piece] = 1
                self.written_bytes += self.piece_length(piece)
        self._free = list(self._gaps())

    def piece_length(self, piece: int) -> int:
        """Its bytes; the last one may be short."""
        return min(self.piece_bytes, self.size_bytes - piece * self.piece_bytes)

    def is_done(self, piece: int) -> bool:
        """All of it was written."""
        return bool(self._done[piece])

    @property
    def complete(self) -> bool:
        """Every piece is done."""
        return self.prefix_pieces == self.n_pieces

    @property
    def prefix_pieces(self) -> int:
        """How many pieces from the start on are done without a gap."""
        while self._prefix < self.n_pieces and self._done[self._prefix]:
            self._prefix += 1
        return self._prefix

    @property
    def free_bytes(self) -> int:
        """Bytes that nobody fetches yet."""
        return sum(end - start for start, end in self._free)

    @property
    def leases(self) -> tuple[Lease, ...]:
        """What is being fetched."""
        return tuple(self._leases)

    def keep_part(self, piece: int, length: int) -> None:
        """The first ``length`` bytes of an unfinished piece are there already.

        To be called before anything is leased.
        """
        start = piece * self.piece_bytes
        self._partly[piece] = length
        self.written_bytes += length
        self._cut_free(start, start + length)

    def take(self, want_bytes: int) -> Lease | None:
        """Lease the first free bytes: about ``want_bytes``, up to the end of a piece."""
        if not self._free:
            return None
        start, end = self._free[0]
        cut = (start + want_bytes) // self.piece_bytes * self.piece_bytes
        if cut <= start:
            cut = (start // self.piece_bytes + 1) * self.piece_bytes
        cut = min(cut, end)
        if cut == end:
            self._free.pop(0)
        else:
            self._free[0] = (cut, end)
        return self._leased(start, cut)

    def take_all(self) -> list[Lease]:
        """Lease everything that is free: for a server that sends only whole files."""
        free, self._free = self._free, []
        return [self._leased(start, end) for start, end in free]

    def split(self, lease: Lease, *, at_least: int = SPLIT_FLOOR_BYTES) -> Lease | None:
        """Lease the second half of another's rest, or None when that is too small."""
        if lease.left < 2 * at_least:
            return None
        middle = lease.position + lease.left // 2
        boundary = middle // self.piece_bytes * self.piece_bytes
        if lease.position + at_least <= boundary:
            middle = boundary
        end, lease.end = lease.end, middle
        return self._leased(middle, end)

    def claim(self, lease: Lease, count: int) -> int:
        """Move the lease on by what came; how many of these bytes are still the lease's own."""
        own = max(min(count, lease.left), 0)
        lease.position += own
        return own

    def give_back(self, lease: Lease) -> None:
        """End a lease; what did not come is free again."""
        self._leases.remove(lease)
        if lease.left > 0:
            self._add_free(lease.position, lease.end)

    def wrote(self, piece: int, count: int) -> bool:
        """So many bytes of a piece were written; whether it has all of them: ``finish`` it then."""
        self.written_bytes += count
        have = self._partly.pop(piece, 0) + count
        if have < self.piece_length(piece):
            self._partly[piece] = have
            return False
        return True

    def finish(self, piece: int) -> None:
        """A piece that has all its bytes is written down: from now on it is done."""
        self._done[piece] = 1

    def lose(self, piece: int) -> None:
        """A finished piece turned out wrong: its bytes are free again."""
        if not self._done[piece]:
            return
        self._done[piece] = 0
        self._prefix = min(self._prefix, piece)
        length = self.piece_length(piece)
        self.written_bytes -= length
        start = piece * self.piece_bytes
        self._add_free(start, start + length)

    def _leased(self, start: int, end: int) -> Lease:
        lease = Lease(start, end)
        self._leases.append(lease)
        return lease

    def _gaps(self) -> Iterator[tuple[int, int]]:
        """The runs of bytes of pieces that are not done."""
        start: int | None = None
        for piece in range(self.n_pieces):
            if self._done[piece]:
                if start is not None:
                    yield start, piece * self.piece_bytes
                start = None
            elif start is None:
                start = piece * self.piece_bytes
        if start is not None:
            yield start, self.size_bytes

    def _cut_free(self, start: int, end: int) -> None:
        kept = []
        for left, right in self._free:
            if left < start:
                kept.append((left, min(right, start)))
            if right > end:
                kept.append((max(left, end), right))
        self._free = [(left, right) for left, right in kept if left < right]

    def _add_free(self, start: int, end: int) -> None:
        at = bisect.bisect(self._free, (start, end))
        if at < len(self._free) and self._free[at][0] == end:
            end = self._free.pop(at)[1]
        if at and self._free[at - 1][1] == start:
            at -= 1
            start = self._free.pop(at)[0]
        self._free.insert(at, (start, end))
