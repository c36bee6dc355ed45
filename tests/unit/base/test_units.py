from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.base.messages import Language
from kimi_desktop.base.units import (
    DAY_S,
    GB,
    GIB,
    HOUR_S,
    KB,
    MB,
    MIB,
    MINUTE_S,
    TB,
    format_context,
    format_count,
    format_duration,
    format_file_size,
    format_gib,
    format_rate,
    format_tokens_per_s,
)

ZH = Language.ZH_CN


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0.00 GiB"),
        (100 * MIB, "100 MiB"),
        (GIB / 4, "0.25 GiB"),
        (2.1 * GIB, "2.10 GiB"),
        (9.996 * GIB, "10.0 GiB"),
        (31.84 * GIB, "31.8 GiB"),
        (1123.2 * GIB, "1,123.2 GiB"),
        (-3 * GIB, "-3.00 GiB"),
    ],
)
def test_memory(size: float, text: str) -> None:
    assert format_gib(size) == text


def test_memory_without_its_unit_is_in_gib() -> None:
    assert format_gib(100 * MIB, unit=False) == "0.10"
    assert format_gib(410.5 * GIB, unit=False) == "410.5"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.6, "1.0 KB"),
        (1500, "1.5 KB"),
        (999_600, "1.0 MB"),
        (253_113_024, "253 MB"),
        (999.96 * MB, "1.0 GB"),
        (29.7 * GB, "29.7 GB"),
        (99.97 * GB, "100 GB"),
        (584 * GB, "584 GB"),
        (999.6 * GB, "1.00 TB"),
        (1.561 * TB, "1.56 TB"),
    ],
)
def test_files(size: float, text: str) -> None:
    assert format_file_size(size) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0.0 MB/s"), (52.34 * MB, "52.3 MB/s"), (6.4 * GB, "6.4 GB/s"), (999.97 * MB, "1.0 GB/s")],
)
def test_transfer(rate: float, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("rate", "text"),
    [(0, "0.0"), (18.36, "18.4"), (99.94, "99.9"), (99.96, "100"), (1234.4, "1,234")],
)
def test_speed(rate: float, text: str) -> None:
    assert format_tokens_per_s(rate) == f"{text} tok/s"
    assert format_tokens_per_s(rate, ZH) == f"{text} 词元/秒"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (512, "512"), (1000, "1,000"), (4096, "4K"), (131_072, "128K"), (1 << 20, "1,024K")],
)
def test_context(tokens: int, text: str) -> None:
    assert format_context(tokens) == text


def test_counts() -> None:
    assert format_count(1_234_567) == "1,234,567"


@pytest.mark.parametrize(
    ("seconds", "en", "zh"),
    [
        (-1, "0.0 s", "0.0 秒"),
        (3.14, "3.1 s", "3.1 秒"),
        (9.96, "10 s", "10 秒"),
        (59.4, "59 s", "59 秒"),
        (59.6, "1 min", "1 分"),
        (192, "3 min 12 s", "3 分 12 秒"),
        (3599.7, "1 h", "1 小时"),
        (7500, "2 h 5 min", "2 小时 5 分"),
        (100_000, "1 d 3 h", "1 天 3 小时"),
    ],
)
def test_durations(seconds: float, en: str, zh: str) -> None:
    assert format_duration(seconds) == en
    assert format_duration(seconds, ZH) == zh


SIZES = {"B": 1, "KB": KB, "MB": MB, "GB": GB, "TB": TB, "MiB": MIB, "GiB": GIB}


def read_size(text: str) -> float:
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "")) * SIZES[unit]


@given(st.floats(0, 1e16))
def test_a_size_reads_back(size: float) -> None:
    """And never shows a thousand of a unit that has a larger one."""
    text = format_file_size(size)
    assert read_size(text) == pytest.approx(size, rel=0.06, abs=0.5)
    if not text.endswith("TB"):
        assert "," not in text


@given(st.floats(0, 1e14))
def test_memory_reads_back(size: float) -> None:
    assert read_size(format_gib(size)) == pytest.approx(size, rel=0.01, abs=0.5 * MIB)


@given(st.integers(10, 10**8))
def test_a_duration_is_off_by_less_than_its_smaller_unit(seconds: int) -> None:
    units = {"s": 1, "min": MINUTE_S, "h": HOUR_S, "d": DAY_S}
    parts = re.findall(r"(\d+) (\w+)", format_duration(seconds))
    shown = sum(int(number) * units[unit] for number, unit in parts)
    smaller = {"d": HOUR_S, "h": MINUTE_S, "min": 1, "s": 1}[parts[0][1]]
    assert 0 <= seconds - shown < smaller
