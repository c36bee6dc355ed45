"""Cases and logs that others made: of any shape, never an exception."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.diagnosis.case import case_line, evidence_of
from kimi_desktop.diagnosis.engine import diagnose
from kimi_desktop.diagnosis.log_text import decode_log
from kimi_desktop.diagnosis.types import Evidence

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
FACTS = ("ram_free_mib", "disk", "disk_read_mib_s", "vram_free_mib", "os", "fs", "gpus", "context")
some_facts = st.dictionaries(st.sampled_from(FACTS), anything) | anything
cases = st.fixed_dictionaries(
    {},
    optional={
        "log": anything,
        "exit": st.dictionaries(
            st.sampled_from(("code", "signal", "alive", "spawn_errno")), anything
        )
        | anything,
        "engine": anything,
        "engine_version": anything,
        "phase": st.sampled_from(("load", "start", "serve")) | anything,
        "machine": some_facts,
        "settings": some_facts,
    },
)


@given(cases)
def test_a_case_of_any_shape_is_answered(case: dict[str, object]) -> None:
    answer = case_line("x", diagnose(evidence_of(case)))
    assert 0 <= answer["confidence"] <= 1


def test_what_is_no_text_says_nothing() -> None:
    noise = random.Random(7)
    for size in (3_000, 2_000_000):
        left = decode_log(noise.randbytes(size))
        assert len(left) < size / 50
        assert diagnose(Evidence(log=left, phase="load")).cause is None


def test_text_with_some_rubbish_is_text() -> None:
    line = "ggml_cuda: out of memory\n"
    torn = line.encode() * 50 + b"\0" * 4000 + b"\xff\xfe\x01" + line.encode()
    assert "out of memory" in decode_log(torn)
    assert "内存不足" in decode_log(("内存不足\n" * 30).encode("gb18030"))
