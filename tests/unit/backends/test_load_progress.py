"""How far a load is: two sources, one fraction that never goes back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.load_progress import (
    LEAST_BYTES,
    STATE_PREFIX,
    LoadProgress,
    arrived_bytes,
    model_bytes,
)

SIZE = 10 * LEAST_BYTES


def told(value: float, current: str = "text_model") -> str:
    payload = {"stages": [current], "current": current, "value": value}
    return STATE_PREFIX + json.dumps({"state": "loading", "payload": payload})


class Arriving:
    """Bytes that the process has, as the test says."""

    def __init__(self, size: int | None = 0) -> None:
        self.size = size

    def __call__(self) -> int | None:
        return self.size


def test_nobody_says_anything() -> None:
    assert LoadProgress(SIZE, copies=False, arrived_bytes=Arriving(None)).fraction() is None


def test_in_ram_the_mapping_counts_and_the_programs_own_pages_do_not() -> None:
    arriving = Arriving(1000)
    progress = LoadProgress(SIZE, copies=False, arrived_bytes=arriving)
    assert progress.fraction() == 0.0
    arriving.size = 1000 + SIZE // 4
    assert progress.fraction() == 0.25
    progress.take_output(told(0.0))
    arriving.size = 1000 + SIZE
    assert progress.fraction() == 1.0


def test_to_a_gpu_the_mapping_is_the_first_half_and_the_copying_the_second() -> None:
    arriving = Arriving(0)
    progress = LoadProgress(SIZE, copies=True, arrived_bytes=arriving)
    progress.fraction()
    arriving.size = SIZE
    assert progress.fraction() == 0.5
    progress.take_output(told(0.5))
    assert progress.fraction() == 0.75
    progress.take_output(told(1.0))
    assert progress.fraction() == 1.0


def test_where_the_system_tells_nothing_llama_cpp_does() -> None:
    progress = LoadProgress(SIZE, copies=True, arrived_bytes=Arriving(None))
    progress.take_output(told(0.3))
    assert progress.fraction() == 0.3


def test_a_small_file_is_not_measured_against_the_libraries() -> None:
    arriving = Arriving(0)
    progress = LoadProgress(LEAST_BYTES - 1, copies=False, arrived_bytes=arriving)
    arriving.size = 2**30
    assert progress.fraction() is None


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        STATE_PREFIX,
        STATE_PREFIX + "{",
        STATE_PREFIX + "[]",
        STATE_PREFIX + '{"state": "loading"}',
        STATE_PREFIX + '{"state": "loading", "payload": 5}',
        STATE_PREFIX + '{"state": "loading", "payload": {"value": "x"}}',
        told(0.7, current="spec_model"),
    ],
)
def test_other_lines_are_passed_over(line: str) -> None:
    progress = LoadProgress(SIZE, copies=False, arrived_bytes=Arriving(None))
    progress.take_output(line)
    assert progress.fraction() is None
    assert not progress.is_ready


def test_it_says_when_it_is_ready() -> None:
    progress = LoadProgress(SIZE, copies=False, arrived_bytes=Arriving(None))
    progress.take_output(STATE_PREFIX + json.dumps({"state": "ready", "payload": {"id": "x"}}))
    assert progress.is_ready


@given(
    st.booleans(),
    st.lists(st.tuples(st.floats(-1, 2), st.integers(0, 2 * SIZE)), min_size=1, max_size=20),
)
def test_it_never_goes_back_or_out_of_bounds(copies: bool, steps: list[tuple[float, int]]) -> None:
    arriving = Arriving(0)
    progress = LoadProgress(SIZE, copies=copies, arrived_bytes=arriving)
    before = 0.0
    for value, size in steps:
        progress.take_output(told(value))
        arriving.size = size
        now = progress.fraction()
        assert now is not None
        assert before <= now <= 1.0
        before = now


def test_bytes_of_a_living_and_a_dead_process() -> None:
    assert (arrived_bytes(os.getpid()) or 0) > 0
    assert arrived_bytes(2**22 - 1) is None


def test_the_size_of_a_model_is_that_of_all_its_parts(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        (tmp_path / f"kimi-0000{number}-of-00003.gguf").write_bytes(b"x" * number)
    assert model_bytes(tmp_path / "kimi-00001-of-00003.gguf") == 6
    (tmp_path / "kimi-00002-of-00003.gguf").unlink()
    assert model_bytes(tmp_path / "kimi-00001-of-00003.gguf") == 4
    assert model_bytes(tmp_path / "none.gguf") == 0
