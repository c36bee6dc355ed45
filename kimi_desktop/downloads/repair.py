"""What to fetch again when a whole file has the wrong hash. Blocking: it reads the file.

Nobody publishes hashes of pieces, but two things can be compared: the disk with what came off the
wire, and what came off the wire with what comes another time, from another source if there is one.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from kimi_desktop.downloads.part_file import PartFile

MAX_ROUNDS = 4
"""How often a piece may be fetched before the file is given up."""


@dataclass(slots=True)
class Repair:
    """The memory of one file's repair."""

    rounds: int = 0
    pieces_replaced: int = 0
    """Found to have been wrong, for the counter that people see."""
    _seen: dict[int, list[bytes]] = field(default_factory=dict)
    _fetched: set[int] = field(default_factory=set)

    def plan(self, part: PartFile, stopped: threading.Event) -> tuple[int, ...]:
        """The pieces to fetch again; none when that is hopeless.

        Raises:
            OSError: the file cannot be read.
        """
        self.rounds += 1
        if self.rounds > MAX_ROUNDS:
            return ()
        spoiled = self._spoiled_on_disk(part, stopped)
        if spoiled:
            for piece in spoiled:
                self._seen.setdefault(piece, []).append(b"what the disk made of it")
            return spoiled
        pieces = range(part.coverage.n_pieces)
        fetched = self._fetched or set(pieces)
        for piece in fetched:
            self._seen.setdefault(piece, []).append(part.hashes[piece])
        doubtful = tuple(piece for piece in pieces if not self._agreed(piece))
        self._fetched = set(doubtful)
        return doubtful

    def settle(self, hashes: Sequence[bytes]) -> None:
        """The file is right now: count what was not."""
        self.pieces_replaced = sum(seen[0] != hashes[piece] for piece, seen in self._seen.items())

    def _spoiled_on_disk(self, part: PartFile, stopped: threading.Event) -> tuple[int, ...]:
        spoiled = []
        for piece in range(part.coverage.n_pieces):
            if stopped.is_set():
                break
            if part.read_hash(piece) != part.hashes[piece]:
                spoiled.append(piece)
        return tuple(spoiled)

    def _agreed(self, piece: int) -> bool:
        """What the file has now came at least twice."""
        seen = self._seen.get(piece, [])
        return len(seen) > 1 and seen.count(seen[-1]) > 1
