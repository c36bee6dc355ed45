"""How a load goes on: bytes, rate, time left; a stall has a name."""

from __future__ import annotations

import pytest

from kimi_desktop.backends.load_watch import STALL_S, UNKNOWN, LoadWatch
from kimi_desktop.base.messages import Language
from kimi_desktop.chat.terminal_output import loading_words

TOTAL = 544 * 10**9


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.work = 0.0
        self.watch = LoadWatch(TOTAL, lambda: self.work, lambda: self.now)


def test_rate_and_time_left_of_the_last_seconds() -> None:
    clock = Clock()
    assert clock.watch.note(0.5).bytes_per_s is None  # the page cache: at once
    for second in range(1, 21):
        clock.now += 1
        pace = clock.watch.note(0.5 + second * 0.01)
    assert pace.bytes_per_s == pytest.approx(0.01 * TOTAL)
    assert pace.left_s == pytest.approx(30)
    assert pace.read_bytes == round(0.7 * TOTAL)
    words = loading_words("kimi", 0.7, pace, Language.EN)
    assert words == "Loading kimi: 70 % · 381 GB of 544 GB read · 5.4 GB/s · 30 s left"
    assert "剩余 30 秒" in loading_words("kimi", 0.7, pace, Language.ZH_CN)


def test_a_stall_is_named_and_ends_with_the_first_sign_of_life() -> None:
    clock = Clock()
    clock.watch.note(0.39)
    clock.now += STALL_S - 1
    assert clock.watch.note(0.39).stalled_s is None
    clock.now += 13
    pace = clock.watch.note(0.39)
    assert pace.stalled_s == STALL_S + 12
    assert pace.left_s is None
    words = loading_words("kimi", 0.39, pace, Language.EN)
    assert words.startswith("Loading kimi: 39 % · 212 GB of 544 GB read · standing still for 42 s")
    clock.work += 1  # it computes
    assert clock.watch.note(0.39).stalled_s is None
    clock.now += STALL_S
    assert clock.watch.note(0.39).stalled_s is not None
    assert clock.watch.note(0.39, "another step").stalled_s is None


def test_an_engine_that_tells_nothing() -> None:
    now = [0.0]
    watch = LoadWatch(0, lambda: None, lambda: now[0])
    assert watch.note(None) == UNKNOWN
    now[0] = STALL_S
    assert watch.note(None).stalled_s == STALL_S
    assert loading_words("kimi", None, UNKNOWN, Language.EN) == "Loading kimi"
