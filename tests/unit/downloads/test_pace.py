"""Limits, pauses and the number of connections, by clocks of their own."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.units import MIB
from kimi_desktop.downloads.pace import (
    FIRST_CONNECTIONS,
    MOST_CONNECTIONS,
    MOST_WAIT_S,
    Governor,
    Speed,
    Throttle,
    backoff_s,
    unit_bytes,
)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Waiting(threading.Event):
    """Advances the clock instead of waiting."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        self.clock.now += timeout or 0.0
        return False


@given(
    st.floats(1000, 10**9),
    st.lists(st.integers(1, 2**18), min_size=2, max_size=60),
)
def test_the_limit_holds_over_any_blocks(rate: float, blocks: list[int]) -> None:
    clock = Clock()
    throttle = Throttle(rate, clock)
    waiting = Waiting(clock)
    began = clock.now
    for block in blocks:
        throttle.take(block, waiting)
    # A quarter of a second may be taken at once after a rest.
    assert sum(blocks) <= rate * (clock.now - began + 0.25) * 1.001 + 1


def test_no_limit_waits_for_nothing() -> None:
    clock = Clock()
    throttle = Throttle(None, clock)
    throttle.take(10**9, Waiting(clock))
    assert clock.now == 100.0
    assert throttle.most_at_once(5000) == 5000


def test_a_limit_makes_small_reads_and_may_change() -> None:
    throttle = Throttle(1_000_000.0)
    assert throttle.most_at_once(2**18) == 50_000
    throttle.set_rate(1000)
    assert throttle.most_at_once(2**18) == 2048
    throttle.set_rate(0)
    assert throttle.bytes_per_s is None


def test_speed_is_right_at_once_and_forgets() -> None:
    clock = Clock()
    speed = Speed(clock)
    speed.add(5)  # no time went by
    for _ in range(40):
        clock.now += 0.25
        speed.add(250)
    assert speed.bytes_per_s == pytest.approx(1000)
    for _ in range(240):
        clock.now += 0.25
        speed.add(0)
    assert speed.bytes_per_s < 5


def test_more_connections_while_they_pay() -> None:
    governor = Governor()
    assert governor.target == FIRST_CONNECTIONS
    for _ in range(Governor.SETTLE_S * 6):
        governor.observe(1e6 * governor.target)
    assert governor.target == MOST_CONNECTIONS


def test_not_more_where_they_bring_nothing() -> None:
    governor = Governor()
    for _ in range(Governor.SETTLE_S * 20):
        governor.observe(5e6)
        assert governor.target <= FIRST_CONNECTIONS + 1
    assert governor.target == FIRST_CONNECTIONS


def test_a_complaint_of_the_server_counts() -> None:
    governor = Governor()
    for _ in range(8):  # all connections meet the same refusal
        governor.allow_fewer()
    for _ in range(Governor.SETTLE_S * 8):
        governor.observe(1e6 * governor.target)
    assert governor.target == MOST_CONNECTIONS - 1
    for _ in range(10):
        for _ in range(Governor.SETTLE_S):
            governor.observe(1e6)
        governor.allow_fewer()
    assert governor.target == 1
    for _ in range(Governor.FORGET_S * 20):
        governor.observe(1e6 * governor.target)
    assert governor.target == MOST_CONNECTIONS  # it is forgiven in time


def test_one_connection_is_one_connection() -> None:
    governor = Governor(1)
    for _ in range(100):
        governor.observe(1e6)
    assert governor.target == 1


@given(st.integers(0, 1000))
def test_pauses_grow_to_a_minute(failures: int) -> None:
    assert 0.4 <= backoff_s(failures) <= MOST_WAIT_S * 1.2
    if failures > 9:
        assert backoff_s(failures) >= MOST_WAIT_S * 0.8


@given(st.floats(0, 10**10), st.integers(1, 10**12), st.integers(1, 16))
def test_units_are_whole_pieces_or_more(rate: float, left: int, connections: int) -> None:
    unit = unit_bytes(rate, left, connections, 16 * MIB)
    assert 16 * MIB <= unit <= 256 * MIB
    if left < 16 * MIB * 2 * connections:
        assert unit == 16 * MIB
