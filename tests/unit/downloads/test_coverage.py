"""Who fetches which bytes: every byte once, none forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kimi_desktop.downloads.coverage import Coverage, Lease

PIECE = 10


def test_leases_end_on_a_piece() -> None:
    coverage = Coverage(95, piece_bytes=PIECE, have=[1])
    first = coverage.take(1)
    assert first is not None
    assert (first.position, first.end) == (0, 10)
    second = coverage.take(35)
    assert second is not None
    assert (second.position, second.end) == (20, 50)
    third = coverage.take(1000)
    assert third is not None
    assert (third.position, third.end) == (50, 95)
    assert coverage.take(1) is None
    assert coverage.free_bytes == 0


def test_a_rest_that_came_back_goes_first_and_up_to_the_next_piece() -> None:
    coverage = Coverage(100, piece_bytes=PIECE)
    lease = coverage.take(30)
    assert lease is not None
    assert coverage.claim(lease, 14) == 14
    coverage.give_back(lease)
    again = coverage.take(5)
    assert again is not None
    assert (again.position, again.end) == (14, 20)


def test_helping_takes_the_second_half() -> None:
    coverage = Coverage(100, piece_bytes=PIECE)
    lease = coverage.take(100)
    assert lease is not None
    helper = coverage.split(lease, at_least=4)
    assert helper is not None
    assert (lease.end, helper.position, helper.end) == (50, 50, 100)
    coverage.claim(lease, 43)
    assert coverage.split(lease, at_least=4) is None  # 7 bytes: nobody helps with that
    small = coverage.split(helper, at_least=20)
    assert small is not None
    assert small.position == 70
    within = coverage.split(lease, at_least=2)
    assert within is not None
    assert (lease.end, within.position, within.end) == (46, 46, 50)  # no piece ends in there


def test_bytes_past_a_shrunk_end_are_not_the_leases_own() -> None:
    coverage = Coverage(100, piece_bytes=PIECE)
    lease = coverage.take(100)
    assert lease is not None
    coverage.split(lease, at_least=1)
    assert coverage.claim(lease, 80) == 50
    assert coverage.claim(lease, 1) == 0
    coverage.give_back(lease)
    assert coverage.free_bytes == 0


def test_a_lost_piece_is_free_again_and_ends_the_prefix() -> None:
    coverage = Coverage(35, piece_bytes=PIECE, have=range(4))
    assert coverage.complete
    coverage.lose(3)
    coverage.lose(1)
    coverage.lose(1)
    assert coverage.prefix_pieces == 1
    assert coverage.written_bytes == 20
    assert coverage.free_bytes == 15


def test_the_beginning_of_a_piece_counts() -> None:
    coverage = Coverage(35, piece_bytes=PIECE, have=[0])
    coverage.keep_part(1, 7)
    coverage.keep_part(3, 2)
    assert coverage.written_bytes == 19
    lease = coverage.take(1)
    assert lease is not None
    assert (lease.position, lease.end) == (17, 20)
    assert coverage.wrote(1, 3)
    assert not coverage.is_done(1)  # until it is written down
    coverage.finish(1)
    assert coverage.prefix_pieces == 2


def test_everything_at_once_for_servers_without_ranges() -> None:
    coverage = Coverage(50, piece_bytes=PIECE, have=[0, 2])
    leases = coverage.take_all()
    assert [(lease.position, lease.end) for lease in leases] == [(10, 20), (30, 50)]
    assert coverage.free_bytes == 0
    for lease in leases:
        coverage.give_back(lease)
    assert coverage.free_bytes == 30


@given(st.integers(1, 500), st.integers(1, 60), st.data())
def test_the_gaps_are_what_is_not_there(size: int, piece: int, data: st.DataObject) -> None:
    n_pieces = -(-size // piece)
    have = data.draw(st.sets(st.integers(0, n_pieces - 1)))
    coverage = Coverage(size, piece_bytes=piece, have=have)
    assert coverage.written_bytes + coverage.free_bytes == size
    assert coverage.complete is (len(have) == n_pieces)
    seen: set[int] = set()
    while (lease := coverage.take(data.draw(st.integers(1, 100)))) is not None:
        for byte in range(lease.position, lease.end):
            assert byte // piece not in have
            assert byte not in seen
            seen.add(byte)
    assert len(seen) == size - coverage.written_bytes


class Transfers(RuleBasedStateMachine):
    """Connections that take, receive, help, break and lose, against a plain set of bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 137
        self.coverage = Coverage(self.size, piece_bytes=PIECE)
        self.open: list[Lease] = []
        self.there: set[int] = set()

    @rule(want=st.integers(1, 60))
    def take(self, want: int) -> None:
        lease = self.coverage.take(want)
        if lease is not None:
            self.open.append(lease)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), count=st.integers(1, 40))
    def receive(self, data: st.DataObject, count: int) -> None:
        lease = data.draw(st.sampled_from(self.open))
        start = lease.position
        own = self.coverage.claim(lease, count)
        for byte in range(start, start + own):
            assert byte not in self.there, "fetched twice"
            self.there.add(byte)
        while own:
            piece = start // PIECE
            part = min(own, (piece + 1) * PIECE - start)
            if self.coverage.wrote(piece, part):
                self.coverage.finish(piece)
            start, own = start + part, own - part

    @precondition(lambda self: self.open)
    @rule(data=st.data(), floor=st.integers(1, 20))
    def help(self, data: st.DataObject, floor: int) -> None:
        helper = self.coverage.split(data.draw(st.sampled_from(self.open)), at_least=floor)
        if helper is not None:
            assert helper.left >= floor
            self.open.append(helper)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def break_off(self, data: st.DataObject) -> None:
        lease = data.draw(st.sampled_from(self.open))
        self.open.remove(lease)
        self.coverage.give_back(lease)

    @rule(piece=st.integers(0, 13))
    def lose(self, piece: int) -> None:
        if self.coverage.is_done(piece):
            self.coverage.lose(piece)
            self.there -= set(range(piece * PIECE, (piece + 1) * PIECE))

    @invariant()
    def accounts_are_right(self) -> None:
        coverage = self.coverage
        assert coverage.written_bytes == len(self.there)
        leased = sum(lease.left for lease in coverage.leases)
        assert coverage.written_bytes + coverage.free_bytes + leased == self.size
        done = [
            set(range(n * PIECE, n * PIECE + coverage.piece_length(n))) <= self.there
            for n in range(coverage.n_pieces)
        ]
        assert [coverage.is_done(n) for n in range(coverage.n_pieces)] == done
        assert coverage.prefix_pieces == (done.index(False) if False in done else len(done))


TestTransfers = Transfers.TestCase


@pytest.mark.parametrize("size", [1, 9, 10, 11])
def test_small_files(size: int) -> None:
    coverage = Coverage(size, piece_bytes=PIECE)
    lease = coverage.take(1)
    assert lease is not None
    assert lease.left == min(size, PIECE)
