"""What cannot start has no speed, wherever it is told."""

from __future__ import annotations

import pytest

from kimi_desktop.base.messages import Language
from kimi_desktop.models.catalogue import shipped_catalogue
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.offer_words import file_words
from kimi_desktop.planner.offers import offer_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Fit, Wishes
from kimi_desktop.planner.report import plan_lines, plan_object, plan_speed
from tests.support.machines import gpu, machine, memory
from tests.support.measured import model_facts


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(("n_cpu_moe", "starts"), [(61, True), (0, False)])
def test_a_plan_has_a_speed_only_if_it_can_start(
    language: Language, n_cpu_moe: int, starts: bool
) -> None:
    shape, site = shape_of(model_facts("kimi-k2.6.q4_x")), machine()
    plan = find_plan(shape, site, Wishes(n_gpu_layers=62, n_cpu_moe=n_cpu_moe, context=8192))
    assert plan.can_start is starts
    speed = plan_speed(shape, plan, site)
    assert (plan_object(plan, site, language, speed=speed)["speed"] is not None) is starts
    lines = plan_lines(plan, site, language, program=("llama-server",), speed=speed)
    assert any(word in line for line in lines[:4] for word in ("tok/s", "词元/秒")) is starts


def test_rows_of_a_list_have_one_only_then_too() -> None:
    entry = shipped_catalogue().find("kimi-k2.6")
    assert entry is not None
    site = machine(gpus=(gpu(0, 8),), memory=memory(32, 6))
    found = [file for file in offer_of(entry, site).files if file.sized is not None]
    assert found
    for file in found:
        assert file.sized is not None
        words = file_words(file, Language.EN)
        starts = file.sized.verdict.fit is not Fit.DOES_NOT_FIT
        assert bool(words.decode) is bool(words.details) is starts
