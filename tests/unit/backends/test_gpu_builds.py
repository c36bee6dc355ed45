"""Which engines use GPUs, and that forecasts and defaults know it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kimi_desktop.backends import probe
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.planner.types import LoadForecast
from tests.support.engine_bench import engine_bench
from tests.support.real_models import real_model
from tests.support.scripted_data import two_gpu_box


def test_the_embedded_engine_is_looked_at_once() -> None:
    assert probe.embedded_build() is probe.embedded_build()


@pytest.mark.skipif(sys.platform == "darwin", reason="there the wheel has Metal")
def test_an_engine_without_gpu_support_leaves_them_out(tmp_path: Path) -> None:
    asked: list[bool] = []

    def forecast(*_plan: Any, uses_gpus: bool) -> LoadForecast:
        asked.append(uses_gpus)
        return LoadForecast(())

    model = real_model(tmp_path, "kimi-k2.6.q4_x")
    with engine_bench(machine=two_gpu_box(), forecast=forecast) as bench:
        engine = bench.service
        embedded = engine.settings_for(model)
        assert embedded.kind is EngineKind.EMBEDDED
        assert embedded.n_gpu_layers == 0
        assert embedded.gpus == ()
        assert not engine.uses_gpus(embedded)
        engine.forecast(embedded, model)
        assert asked == [False]


def test_a_binary_that_was_not_asked_yet_is_taken_for_a_gpu_build(tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    settings = LoadSettings(tmp_path / "m.gguf", kind=EngineKind.LLAMA_SERVER, binary=binary)
    with engine_bench() as bench:
        assert bench.service.uses_gpus(settings)
