"""The log: bounded, whole lines, and no keys in it."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends import engine_log
from kimi_desktop.backends.engine_log import GAP, EngineLog

KEY = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA"


def test_lines_end_where_servers_end_them() -> None:
    log = EngineLog(None)
    assert log.feed(b"one\ntwo\r\nthr") == ["one", "two"]
    assert log.feed(b"ee\rfour\n\n") == ["three", "four"]
    assert log.feed(b"last") == []
    log.close()
    assert log.lines() == ("one", "two", "three", "four", "last")


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (f"key {KEY} here", "key *** here"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("0.00 I srv init: api_keys: ****cdef", "0.00 I srv init: api_keys: ***"),
        ("token sk-abcdefgh12345678 and hf_abcdefgh1234", "token *** and ***"),
        ("a task is-key-less", "a task is-key-less"),
    ],
)
def test_keys_are_removed_before_anything_is_kept(tmp_path: Path, line: str, kept: str) -> None:
    log = EngineLog(tmp_path / "engine.log", [KEY])
    assert log.feed(line.encode() + b"\n") == [kept]
    log.close()
    assert (tmp_path / "engine.log").read_text(encoding="utf-8") == kept + "\n"


def test_the_start_and_the_end_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_log, "HEAD_LINES", 2)
    monkeypatch.setattr(engine_log, "TAIL_LINES", 3)
    log = EngineLog(None)
    log.feed(b"".join(b"%d\n" % number for number in range(10)))
    assert log.lines() == ("0", "1", GAP, "7", "8", "9")
    assert log.tail(2) == ("8", "9")
    assert log.tail(100) == ("0", "1", "7", "8", "9")


def test_the_file_is_bounded_and_the_last_run_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_log, "FILE_BYTES", 100)
    file = tmp_path / "logs" / "engine.log"
    for run in range(2):
        log = EngineLog(file)
        for number in range(50):
            log.feed(b"run %d line %d\n" % (run, number))
        log.close()
    sizes = {entry.name: entry.stat().st_size for entry in file.parent.iterdir()}
    assert set(sizes) == {"engine.log", "engine.previous.log"}
    assert max(sizes.values()) < 200
    assert file.read_text(encoding="utf-8").endswith("run 1 line 49\n")


def test_a_folder_that_cannot_be_written_costs_the_file_only(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("not a folder", encoding="utf-8")
    log = EngineLog(tmp_path / "logs" / "engine.log")
    log.feed(b"one\n")
    log.feed(b"two\n")
    log.close()
    assert log.lines() == ("one", "two")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_costs_the_file_only(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "engine.log")
    log.feed(b"fits\n")
    assert log._file is not None
    descriptor = os.open("/dev/full", os.O_WRONLY)
    os.dup2(descriptor, log._file.fileno())
    os.close(descriptor)
    log.feed(b"does not\n")
    log.feed(b"goes on\n")
    log.close()
    assert log.lines() == ("fits", "does not", "goes on")


def test_long_lines_are_cut_and_endless_ones_do_not_grow() -> None:
    log = EngineLog(None)
    [line] = log.feed(b"x" * 5000 + b"\n")
    assert len(line) == engine_log.LONGEST_LINE
    for _ in range(10):
        log.feed(b"y" * 10_000)
    assert len(log._rest) <= engine_log.LONGEST_LINE * 4


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=8))
def test_the_same_lines_wherever_the_bytes_are_cut(raw: bytes, cuts: list[int]) -> None:
    whole, parts = EngineLog(None), EngineLog(None)
    whole.feed(raw)
    places = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
    for begin, end in pairwise(places):
        parts.feed(raw[begin:end])
    for log in (whole, parts):
        log.close()
    assert parts.lines() == whole.lines()
