"""The real starter model through the library and the planner, against its real allocations."""

from __future__ import annotations

from pathlib import Path

import pytest

from kimi_desktop.models.library import Library
from kimi_desktop.models.starter import install_starter, starter_available
from kimi_desktop.models.types import LocalModel, ModelState
from kimi_desktop.planner.cache import kv_bytes_per_token
from kimi_desktop.planner.memory import forecast, shape_of
from kimi_desktop.planner.types import Placement
from tests.support.planned_machines import machine

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(not starter_available(), reason="the starter packages are not installed"),
]


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    folder = tmp_path_factory.mktemp("models")
    install_starter(folder)
    (model,) = Library(kv_bytes_per_token).scan([Path(folder)])
    return model


def test_what_the_library_says_of_it(starter: LocalModel) -> None:
    assert starter.is_starter
    assert starter.state is ModelState.READY
    assert starter.title == "Gemma 3 270m"
    facts = starter.facts
    assert facts is not None
    assert (facts.architecture, facts.quantization) == ("gemma3", "Q4_K_M")
    assert facts.parameter_count == 268_098_176
    assert facts.context_train == 32_768
    assert facts.chat_template is None
    assert not facts.has_thinking
    assert facts.kv_bytes_per_token == 3 * 2 * 256 * 2  # three of eighteen layers attend to all


@pytest.mark.parametrize(
    ("placement", "kv", "compute"),
    [
        (Placement(context=8_192), 40_894_464, 28_602_400),
        (Placement(context=4_096, n_ubatch=128, flash_attention=False), 24_379_392, 14_095_392),
    ],
)
def test_forecast_against_what_llama_cpp_allocated(
    starter: LocalModel, placement: Placement, kv: int, compute: int
) -> None:
    assert starter.facts is not None
    (host,) = forecast(shape_of(starter.facts), placement, machine()).devices
    assert host.weights_bytes == 233_316_864 + 13_271_040  # mapped, and rearranged for the CPU
    assert host.kv_bytes == kv
    assert host.compute_bytes == pytest.approx(compute, rel=0.07)
