"""Waiting for an engine in a terminal: progress and a stall, for people and for programs."""

from __future__ import annotations

import io
import itertools
import json
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends import load_watch
from kimi_desktop.backends.types import (
    EngineState,
    EngineStateChanged,
    EngineStatus,
    LoadSettings,
)
from kimi_desktop.base.events import Event
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.messages import Language
from kimi_desktop.chat import terminal_load
from kimi_desktop.chat.terminal_load import follow_load
from kimi_desktop.chat.terminal_output import JsonOutput, Output, PlainOutput

SIZE = 400_000_000


@pytest.fixture
def pool() -> Iterator[IoLoop]:
    loop = IoLoop()
    yield loop
    loop.close()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "kimi.gguf"
    with file.open("wb") as out:
        out.truncate(SIZE)
    return file


def follow(pool: IoLoop, model: Path, out: Output, told: threading.Event) -> None:
    """An engine that has read a quarter, and no more until ``told``."""

    def start() -> EngineStatus:
        assert told.wait(30)
        return EngineStatus(EngineState.READY, engine_name="llama.cpp b1")

    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    loading = EngineStatus(
        EngineState.LOADING, LoadSettings(model), load_fraction=0.25, pid=os.getpid()
    )
    events.put(EngineStateChanged(loading))
    follow_load(pool.pool(start), "kimi", events, out)


class Heard(io.StringIO):
    """Lets the engine go on once it was told a word."""

    def __init__(self, word: str) -> None:
        super().__init__()
        self.told = threading.Event()
        self._word = word

    def write(self, text: str) -> int:
        if self._word in text:
            self.told.set()
        return super().write(text)


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing moves, and every look is twenty seconds after the one before."""
    clock = itertools.count(0, 20)
    monkeypatch.setattr(terminal_load, "_work_of", lambda pid: 7.0)
    monkeypatch.setattr(
        terminal_load,
        "LoadWatch",
        lambda total, activity: load_watch.LoadWatch(total, activity, lambda: float(next(clock))),
    )


@pytest.mark.usefixtures("still")
def test_people_read_bytes_and_since_when_it_stands_still(pool: IoLoop, model: Path) -> None:
    out, err = io.StringIO(), Heard("standing still for")
    follow(pool, model, PlainOutput(out, err, Language.EN), err.told)
    lines = err.getvalue().splitlines()
    assert lines[0] == "Loading kimi"
    assert lines[1] == "Loading kimi: 25 % · 100 MB of 400 MB read"
    assert lines[2].startswith(f"{lines[1]} · standing still for 40 s")
    assert lines[-1] == "kimi is ready (llama.cpp b1)."
    assert len(lines) == 4  # a journal is not filled while it stands
    assert out.getvalue() == ""


@pytest.mark.usefixtures("still")
def test_programs_get_the_same_as_numbers(pool: IoLoop, model: Path) -> None:
    out = Heard("stalled_s")
    follow(pool, model, JsonOutput(out, Language.EN), out.told)
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert events[1]["read_bytes"] == SIZE // 4
    assert events[1]["total_bytes"] == SIZE
    assert "stalled_s" not in events[1]
    assert events[2]["stalled_s"] == 40
    assert events[-1]["event"] == "ready"
