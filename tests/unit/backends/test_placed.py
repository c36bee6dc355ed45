"""A found plan is started exactly as it is: settings, flags and forecast say the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kimi_desktop.backends.command import EngineBuild, build_command
from kimi_desktop.backends.placed import gpus_of, launch_of_settings, placement_of, settings_of
from kimi_desktop.backends.types import EngineKind, LoadSettings
from kimi_desktop.forecasting import forecast_load
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.flags import launch_of, plan_flags
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import LoadMode, Plan, Profile, Wishes
from tests.support import scripted_data
from tests.support.machines import gpu, machine, memory
from tests.support.measured import model_facts

BEGIN = LoadSettings(Path("m.gguf"))
MODELS = (
    "kimi-k2.6.q4_x",
    "qwen3-30b-a3b.q4_k_m",
    "llama-3.3-70b.q4_k_m",
    "kimi-linear-48b.q4_k_m",
)


class Everything(dict[str, str]):
    """The flags of a build that has every flag in today's spelling."""

    def __contains__(self, name: object) -> bool:
        return True

    def __getitem__(self, name: str) -> str:
        return "" if name.startswith("--no-") else "VALUE"


def build(site: Machine) -> EngineBuild:
    devices = tuple(f"CUDA{number}: {gpu.name}" for number, gpu in enumerate(site.gpus))
    return EngineBuild(EngineKind.LLAMA_SERVER, ("llama-server",), Everything(), devices=devices)


def check(name: str, site: Machine, plan: Plan, *, uses_gpus: bool = True) -> None:
    """Settings of the plan, their forecast and their command are the plan's own."""
    facts = model_facts(name)
    found = settings_of(plan, BEGIN, site)
    model = dataclasses.replace(scripted_data.kimi_model(Path("/m")), facts=facts)
    assert forecast_load(found, model, site, uses_gpus=uses_gpus) == plan.forecast
    assert gpus_of(found, site, uses_gpus=uses_gpus) == plan.gpus
    assert launch_of_settings(found, 999) == launch_of(plan, len(site.gpus))
    command = build_command(build(site), found, listening=None, n_threads=999)
    flags = plan_flags(plan, len(site.gpus))
    start = command.index("-ngl")
    assert command[start : start + len(flags)] == flags


SIZES = st.lists(st.sampled_from([8, 16, 24, 32, 48, 80, 96]), max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(MODELS),
    sizes=SIZES,
    ram=st.sampled_from([32, 128, 512, 768]),
    profile=st.sampled_from(Profile),
    context=st.none() | st.sampled_from([4096, 32_768, 131_072]),
    kind=st.none() | st.sampled_from(["f16", "q8_0"]),
    slots=st.sampled_from([1, 3]),
    mode=st.none() | st.sampled_from(LoadMode),
    layers=st.none() | st.integers(0, 28),
    cpu_moe=st.none() | st.integers(0, 27),
)
def test_every_plan_is_started_as_it_is(
    name: str, sizes: list[int], ram: int, profile: Profile, context: int | None, kind: str | None,
    slots: int, mode: LoadMode | None, layers: int | None, cpu_moe: int | None,
) -> None:  # fmt: skip
    site = machine(
        gpus=tuple(gpu(number, size) for number, size in enumerate(sizes)), memory=memory(ram)
    )
    wishes = Wishes(profile, context, kind, slots, layers, cpu_moe, load_mode=mode)
    plan = find_plan(shape_of(model_facts(name)), site, wishes, with_remedies=False)
    check(name, site, plan)


def test_an_engine_without_gpu_support() -> None:
    site = machine(gpus=(gpu(0, 24), gpu(1, 24)))
    name = "qwen3-30b-a3b.q4_k_m"
    plan = find_plan(shape_of(model_facts(name)), site, Wishes(uses_gpus=False))
    assert settings_of(plan, BEGIN, site).gpus == ()
    check(name, site, plan, uses_gpus=False)


def test_memory_that_a_gpu_shares() -> None:
    site = dataclasses.replace(machine(gpus=()), gpu_note="apple")
    name = "qwen3-30b-a3b.q4_k_m"
    plan = find_plan(shape_of(model_facts(name)), site, Wishes())
    found = settings_of(plan, BEGIN, site)
    assert (found.gpus, found.n_gpu_layers) == (None, 49)
    check(name, site, plan)


def test_what_no_plan_changes_stays() -> None:
    begin = dataclasses.replace(
        BEGIN, chat_template="{{ x }}", stop=("a",), kind=EngineKind.LLAMA_SERVER,
        binary=Path("/opt/llama-server"), extra=("--seed", "1"),
    )  # fmt: skip
    site = machine()
    plan = find_plan(shape_of(model_facts("kimi-k2.6.q4_x")), site, Wishes())
    found = settings_of(plan, begin, site)
    for name in ("model_path", "chat_template", "stop", "kind", "binary", "extra"):
        assert getattr(found, name) == getattr(begin, name)
    assert found.n_threads == plan.n_threads


def test_threads_that_nobody_named_come_from_outside() -> None:
    assert launch_of_settings(BEGIN, 12).n_threads == 12
    assert launch_of_settings(dataclasses.replace(BEGIN, n_threads=3), 12).n_threads == 3


def test_a_gpu_that_is_gone_is_left_out() -> None:
    site = machine(gpus=(gpu(0), gpu(1)))
    settings = dataclasses.replace(BEGIN, gpus=(1, 3))
    assert gpus_of(settings, site, uses_gpus=True) == (1,)
    assert gpus_of(BEGIN, site, uses_gpus=True) == (0, 1)
    assert gpus_of(BEGIN, site, uses_gpus=False) == ()


@pytest.mark.parametrize("kind", ["f16", "q8_0"])
def test_the_cache_is_of_one_kind(kind: str) -> None:
    placement = placement_of(dataclasses.replace(BEGIN, cache_type=kind))
    assert placement.cache_type_k == placement.cache_type_v == kind.upper()
