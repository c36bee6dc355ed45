"""Wishes and consent for checkpoints in the settings file: there and back, whatever it says."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kimi_desktop.backends.remembered_server import server_entry_of, server_settings_of
from kimi_desktop.backends.types import VllmSettings
from kimi_desktop.planner.vllm_types import CacheFormat, ServerWishes, Split

counts = st.integers(1, 10**6)
wishes = st.builds(
    ServerWishes,
    context=st.none() | counts,
    users=counts,
    cache=st.none() | st.sampled_from(CacheFormat),
    memory_share=st.none() | st.integers(1, 100).map(lambda percent: percent / 100),
    split=st.none()
    | st.builds(
        Split,
        tensor=counts,
        pipeline=counts,
        data=counts,
        experts=st.booleans(),
        decode_context=counts,
    ),
    text_only=st.booleans(),
    n_sequences=st.none() | counts,
    n_batched_tokens=st.none() | counts,
    eager=st.booleans(),
    offload_bytes=st.just(0) | counts,
)
chosen = st.builds(
    VllmSettings, wishes=wishes, served_name=st.text(), reasoning_parser=st.text(),
    tool_parser=st.text(), trusted_code=st.text(), sandbox=st.booleans(),
    cpu_cache_gib=st.just(0) | counts,
)  # fmt: skip


@given(chosen)
def test_there_and_back(settings: VllmSettings) -> None:
    assert server_settings_of(server_entry_of(settings)) == settings


def test_defaults_leave_no_trace() -> None:
    assert server_entry_of(VllmSettings()) == {"mode": "server"}
    assert server_settings_of({"n_gpu_layers": 3}) == VllmSettings()


values: Any = st.integers() | st.text() | st.booleans() | st.just('{"tensor": 2}')
names = st.sampled_from(
    [
        "context",
        "users",
        "cache",
        "split",
        "memory_percent",
        "eager",
        "served_name",
        "cpu_cache_gib",
        "x",
    ]
)


@given(st.dictionaries(names, values))
def test_whatever_the_file_says_gives_settings(entry: dict[str, Any]) -> None:
    found = server_settings_of(entry | {"mode": "server"}).wishes
    assert found.context is None or found.context > 0
    assert found.users > 0
    assert found.split is None or found.split.n_gpu > 0
