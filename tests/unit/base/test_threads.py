"""Several at once, and an interrupt that does not wait for them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from kimi_desktop.base.threads import map_at_once


def test_results_come_in_order() -> None:
    assert map_at_once(lambda n: n * n, range(20), 4) == [n * n for n in range(20)]
    assert map_at_once(str, (), 4) == []


def test_no_more_threads_than_wanted() -> None:
    together = threading.Barrier(2)
    seen: set[int] = set()

    def work(_: int) -> None:
        seen.add(threading.get_ident())
        together.wait(10)

    map_at_once(work, range(4), 2)
    assert len(seen) == 2


def test_a_failure_ends_it_without_the_rest() -> None:
    begun: list[int] = []
    held = threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        if number == 0:
            raise ValueError(number)
        held.wait(10)

    with pytest.raises(ValueError, match="0"):
        map_at_once(work, range(50), 2)
    held.set()
    assert len(begun) < 50


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT of one process")
def test_an_interrupt_waits_for_nobody() -> None:
    code = (
        "import time\n"
        "from kimi_desktop.base.threads import map_at_once\n"
        "print('here', flush=True)\n"
        "map_at_once(lambda _: time.sleep(600), range(3), 3)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        assert child.wait(30) != 0
    finally:
        child.kill()
        child.communicate()
