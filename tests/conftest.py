"""Fixtures that several test packages share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A run in the background of a script is started with SIGINT ignored, one under nohup with SIGHUP,
# and programs inherit that: the tests of signals would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Loaded computers are slow, and no test asserts a time.
# In CI the same examples every time: what a new one finds belongs into a change of its own.
settings.register_profile(
    "house",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("house")


@pytest.fixture(scope="session")
def tiny_kimi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 1 MB model with Kimi's architecture and scripted answers. Read only: tests share it."""
    from tests.support.tiny_kimi import make_tiny_kimi  # noqa: PLC0415 - numpy costs 0.1 s

    return make_tiny_kimi(tmp_path_factory.mktemp("tiny-kimi") / "tiny-kimi.q8_0.gguf")


@pytest.fixture(scope="session")
def endless_kimi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a trained context of 262,144 tokens: "forever" outlasts any fast computer."""
    from tests.support.tiny_kimi import Shape, make_tiny_kimi  # noqa: PLC0415

    path = tmp_path_factory.mktemp("endless-kimi") / "tiny-kimi.q8_0.gguf"
    return make_tiny_kimi(path, shape=Shape(context=262_144))
