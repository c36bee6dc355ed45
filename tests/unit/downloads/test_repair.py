"""What is fetched again when a whole file is wrong."""

from __future__ import annotations

import threading
from pathlib import Path

from kimi_desktop.downloads.part_file import PartFile
from kimi_desktop.downloads.repair import MAX_ROUNDS, Repair
from tests.support.part_files import PIECE, content_of, fill, open_part

NOT_STOPPED = threading.Event()


def fetch_again(part: PartFile, pieces: tuple[int, ...], *, wrong: tuple[int, ...] = ()) -> None:
    """What comes the next time, some of it wrong."""
    for piece in pieces:
        part.lose(piece)
    content = bytearray(content_of())
    for piece in wrong:
        content[piece * PIECE] ^= 1
    while (lease := part.take(PIECE)) is not None:
        part.write(lease, memoryview(content)[lease.position : lease.end])
        part.give_back(lease)


def spoil(part: PartFile, piece: int) -> None:
    with part.path.open("r+b") as file:
        file.seek(piece * PIECE + 5)
        byte = file.read(1)
        file.seek(piece * PIECE + 5)
        file.write(bytes([byte[0] ^ 1]))


def test_what_the_disk_spoiled_is_fetched_alone(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part)
    spoil(part, 3)
    repair = Repair()
    assert repair.plan(part, NOT_STOPPED) == (3,)
    fetch_again(part, (3,))
    repair.settle([part.hashes[n] for n in range(8)])
    assert repair.pieces_replaced == 1
    part.close()


def test_what_came_twice_alike_is_believed_and_the_rest_asked_again(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fetch_again(part, (), wrong=(2,))
    repair = Repair()
    everything = repair.plan(part, NOT_STOPPED)
    assert everything == tuple(range(8))
    fetch_again(part, everything, wrong=(5,))  # another slip elsewhere
    doubtful = repair.plan(part, NOT_STOPPED)
    assert doubtful == (2, 5)
    fetch_again(part, doubtful)
    # Piece 2 came right twice; piece 5 as in the first round.
    assert repair.plan(part, NOT_STOPPED) == ()
    repair.settle([part.hashes[n] for n in range(8)])
    assert repair.pieces_replaced == 1  # only piece 2 was wrong when the repair began
    part.close()


def test_what_is_always_the_same_cannot_be_repaired(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fetch_again(part, (), wrong=(2,))
    repair = Repair()
    fetch_again(part, repair.plan(part, NOT_STOPPED), wrong=(2,))
    assert repair.plan(part, NOT_STOPPED) == ()
    part.close()


def test_it_ends_after_a_few_rounds(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part)
    repair = Repair()
    for _ in range(MAX_ROUNDS):
        spoil(part, 1)
        assert repair.plan(part, NOT_STOPPED)
        fetch_again(part, (1,))
    spoil(part, 1)
    assert repair.plan(part, NOT_STOPPED) == ()
    part.close()


def test_a_stop_interrupts_the_reading(tmp_path: Path) -> None:
    part = open_part(tmp_path)
    fill(part)
    spoil(part, 3)
    stopped = threading.Event()
    stopped.set()
    assert 3 in Repair().plan(part, stopped)  # nothing was read: everything is in doubt
    part.close()
