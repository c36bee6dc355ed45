from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.monitor.types import MemorySplit, ram_split, split_memory, vram_split
from tests.support.samples import GIB, gpu_sample, sample

sizes = st.integers(0, 2**45)


def test_ram_of_a_running_engine() -> None:
    seen = sample(ram_used_bytes=50 * GIB, engine_rss_bytes=41 * GIB)
    assert ram_split(seen) == MemorySplit(64 * GIB, 9 * GIB, 41 * GIB, 14 * GIB)


def test_ram_without_an_engine() -> None:
    assert ram_split(sample()) == MemorySplit(64 * GIB, 20 * GIB, 0, 44 * GIB)


def test_vram() -> None:
    assert vram_split(gpu_sample()) == MemorySplit(140 * GIB, GIB, 79 * GIB, 60 * GIB)
    unknown = gpu_sample(engine_vram_bytes=None)
    assert vram_split(unknown) == MemorySplit(140 * GIB, 80 * GIB, 0, 60 * GIB)


@given(sizes, st.integers(-(2**40), 2**46), st.none() | sizes)
def test_the_parts_always_add_up(total: int, used: int, engine: int | None) -> None:
    split = split_memory(total, used, engine)
    parts = (split.others_bytes, split.engine_bytes, split.spare_bytes)
    assert sum(parts) == split.total_bytes == total
    assert min(parts) >= 0
