"""The user's own list of GPUs, as CUDA reads it, in NVML's numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.environment import engine_environment
from kimi_desktop.machine.visible import visible

UUIDS = ("GPU-aa11", "GPU-aa22", "GPU-bb33")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, (0, 1, 2)),
        ("", ()),
        ("-1", ()),
        ("0", (0,)),
        ("2,0", (0, 2)),
        (" 1 , 2 ", (1, 2)),
        ("0,7,1", (0,)),  # nothing after an entry that names no GPU
        ("GPU-bb", (2,)),
        ("GPU-aa", ()),  # two begin so
        ("NoDevFiles", ()),
        ("MIG-1234", (0, 1, 2)),
    ],
)
def test_what_is_visible(value, expected):
    assert visible(value, UUIDS) == expected


@given(st.text(max_size=20))
def test_whatever_stands_there(value):
    assert set(visible(value, UUIDS)) <= {0, 1, 2}


def test_engines_get_our_numbers_and_not_the_list():
    assert "CUDA_VISIBLE_DEVICES" not in engine_environment({"CUDA_VISIBLE_DEVICES": "2,0"})
    parts = engine_environment({"CUDA_VISIBLE_DEVICES": "MIG-1234"})
    assert parts["CUDA_VISIBLE_DEVICES"] == "MIG-1234"
    ours = engine_environment({"CUDA_VISIBLE_DEVICES": "2"}, {"CUDA_VISIBLE_DEVICES": "0,1"})
    assert ours["CUDA_VISIBLE_DEVICES"] == "0,1"
