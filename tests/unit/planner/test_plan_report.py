"""A plan as flags, as JSON and in words."""

from __future__ import annotations

import dataclasses
import json
import shlex

import pytest

from kimi_desktop.base.errors import ErrorCode, PlanError
from kimi_desktop.base.messages import Language
from kimi_desktop.planner.flags import plan_flags
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.report import (
    plan_lines,
    plan_model,
    plan_object,
    plan_speed,
    speed_sentences,
)
from kimi_desktop.planner.types import HOST
from tests.support.machines import gpu, machine, memory
from tests.support.measured import model_facts

KIMI = model_facts("kimi-k2.6.q4_x")


def value(flags: tuple[str, ...], name: str) -> str:
    return flags[flags.index(name) + 1]


def test_every_decision_is_a_flag() -> None:
    flags = plan_flags(plan_model(KIMI, machine(), Wishes(context=65_536, n_parallel=2)), 1)
    assert value(flags, "-ngl") == "62"
    assert value(flags, "--n-cpu-moe") == "61"
    assert value(flags, "-c") == "65536"
    assert value(flags, "-np") == "2"
    assert value(flags, "-ub") == "2048"
    assert value(flags, "-t") == "32"
    assert value(flags, "--load-mode") == "none"
    assert flags[-2:] == ("--fit", "off")
    assert "-dev" not in flags
    assert "-ot" not in flags


def test_experts_over_two_gpus_are_rules() -> None:
    site = machine(gpus=(gpu(0, 80), gpu(1, 48)))
    plan = plan_model(KIMI, site, Wishes(context=32_768))
    flags = plan_flags(plan, 2)
    assert sum(map(int, value(flags, "-ts").split(","))) == 62
    pattern, _, buffer = value(flags, "-ot").rpartition("=")
    assert buffer == "CPU"
    assert plan.placement.overrides == ((pattern, HOST),)
    assert "--n-cpu-moe" not in flags


def test_gpus_that_are_not_used_are_left_out_by_name() -> None:
    site = machine(gpus=(gpu(0, 12, memory_bytes_per_s=3e11), gpu(1, 24), gpu(2, 24)))
    small = plan_model(model_facts("llama-3.1-8b.q4_k_m"), site, Wishes())
    assert value(plan_flags(small, 3), "-dev") == "CUDA1"
    alone = plan_model(model_facts("llama-3.1-8b.q4_k_m"), site, Wishes(uses_gpus=False))
    assert value(plan_flags(alone, 3), "-dev") == "none"
    assert "-dev" not in plan_flags(plan_model(KIMI, machine(gpus=()), Wishes()), 0)
    foreign = dataclasses.replace(
        small, placement=dataclasses.replace(small.placement, overrides=((r"blk\.1\.", 0),))
    )
    assert value(plan_flags(foreign, 3), "-ot") == r"blk\.1\.=CUDA1"


def test_what_is_not_usual_is_said() -> None:
    tight = machine(gpus=(gpu(0, 16),), memory=memory(512))
    plan = plan_model(KIMI, tight, Wishes(context=8_192, cache_type="q8_0"))
    flags = plan_flags(plan, 1)
    assert "--no-op-offload" in flags
    assert value(flags, "-fa") == "on"
    bound = plan_model(KIMI, machine(gpus=(), memory=memory(256)), Wishes(context=8_192))
    assert "--no-repack" in plan_flags(bound, 0)


def test_the_object_adds_up() -> None:
    site = machine()
    found = json.loads(json.dumps(plan_object(plan_model(KIMI, site, Wishes()), site, Language.EN)))
    assert found["verdict"] == "in_vram_and_ram"
    assert found["fits"] is True
    assert [row["device"] for row in found["devices"]] == ["gpu:0", "host"]
    for row in found["devices"]:
        parts = ("weights", "kv", "compute", "overhead", "others", "spare")
        assert sum(row[part] for part in parts) == row["total"]
    assert found["sentences"]
    assert found["missing"] == found["alternatives"] == []


@pytest.mark.parametrize("language", Language)
def test_the_lines_end_in_a_command_that_a_shell_reads(language: Language) -> None:
    site = machine(gpus=(gpu(0, 80), gpu(1, 48)))
    plan = plan_model(KIMI, site, Wishes())
    program = ("llama-server", "-m", "/models/Kimi K2.6's.gguf")
    lines = plan_lines(plan, site, language, program=program)
    assert shlex.split(lines[-1]) == [*program, *plan_flags(plan, 2)]
    assert sum(line.startswith("- ") for line in lines) == len(plan.decisions)
    assert any(line.startswith("GPU 1 ") for line in lines)


def test_what_is_missing_is_said_first() -> None:
    small = machine(memory=memory(128))
    plan = plan_model(KIMI, small, Wishes(context=32_768))
    found = plan_object(plan, small, Language.EN)
    assert found["verdict"] == "disk_bound"
    assert found["alternatives"][-1]["remedy"] == "more_ram"
    assert found["alternatives"][-1]["words"].endswith("more RAM")
    lines = plan_lines(plan, small, Language.EN, program=("llama-server",))
    bullets = [line for line in lines if line.startswith("- ")]
    assert "missing" in bullets[0]
    assert "What helps" in bullets[1]


def test_the_rule_of_the_search_is_the_speed_forecast() -> None:
    for name in ("kimi-k2.6.q4_x", "llama-3.1-8b.q4_k_m", "llama-3.3-70b.q4_k_m"):
        facts = model_facts(name)
        for site in (machine(), machine(gpus=(gpu(0, 48), gpu(1, 24)))):
            plan = plan_model(facts, site, Wishes(context=16_384))
            speed = plan_speed(shape_of(facts), plan, site)
            assert 1 / plan.seconds_per_token == pytest.approx(speed.decode_tps.likely, rel=0.05)


@pytest.mark.parametrize("language", Language)
def test_the_speed_is_told_as_bands(language: Language) -> None:
    site = machine()
    plan = plan_model(KIMI, site, Wishes())
    speed = plan_speed(shape_of(KIMI), plan, site, prompt_tokens=4096)
    texts = speed_sentences(speed, language)
    assert len(set(texts)) == 4
    assert "4,096" in texts[1]
    lines = plan_lines(plan, site, language, program=("llama-server",), speed=speed)
    assert lines[2:6] == texts
    found = json.loads(json.dumps(plan_object(plan, site, language, speed=speed)))["speed"]
    assert found["decode_tps"]["low"] < found["decode_tps"]["likely"] < found["decode_tps"]["high"]
    assert found["prompt_tokens"] == 4096


def test_without_a_header_there_is_no_plan() -> None:
    facts = dataclasses.replace(KIMI, geometry=None, tensors=None)
    with pytest.raises(PlanError) as caught:
        plan_model(facts, machine(), Wishes())
    assert caught.value.code is ErrorCode.PLAN_NO_HEADER
