"""What the page plans, without the page: remedies, engines, and what goes wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from shiboken6 import delete

from kimi_desktop.backends.types import EngineKind, Remedial
from kimi_desktop.base.errors import ErrorCode, PlanError, SettingsError
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.ui.plan.planning import Planning
from tests.support.scripted_data import two_gpu_box
from tests.ui.plan.conftest import deliver


@pytest.fixture
def planning(planned, bridge) -> Iterator[Planning]:
    """Kimi K2.6 planned; its three quantizations are the family."""
    made = Planning(bridge)
    family = planned.models.models[:3]
    made.begin(family[2], family)
    deliver()
    yield made
    delete(made)


@pytest.fixture
def told(bridge) -> list:
    problems: list = []
    bridge.navigation.problem_met.connect(problems.append)
    return problems


def test_a_way_out_with_layers_of_the_users_stays_the_users(planning):
    planning.place(62, 10)
    assert not planning.priced.plan.fits
    wishes = Wishes(context=8192, n_gpu_layers=62, n_cpu_moe=61)
    planning.apply(Remedial("Context 8K", "", "", wishes), ())
    deliver()
    assert not planning.is_auto
    settings = planning.settings
    assert (settings.context, settings.n_gpu_layers, settings.n_cpu_moe) == (8192, 62, 61)
    assert planning.priced.plan.fits


def test_a_way_out_that_nobody_can_take_here_changes_nothing(planning):
    before = planning.choices
    planning.apply(Remedial("64 GiB more RAM", "", "", None), ())
    deliver()
    assert planning.choices == before


def test_an_answer_for_another_model_is_not_taken(planning, planned):
    planning.place(62, 10)
    planned.desk.hold.add("plans.find")
    wishes = Wishes(context=8192, n_gpu_layers=62, n_cpu_moe=61)
    planning.apply(Remedial("Context 8K", "", "", wishes), ())
    planning.switch(planned.models.models[0], planned.models.models[:3])
    before = planning.choices
    planned.desk.release("plans.find")
    deliver()
    assert planning.choices == before


def test_another_engine_takes_over_a_users_own_plan(planning, planned, tmp_path):
    planning.place(62, 50)
    before = planning.settings
    planning.take_engine()
    assert planning.settings == before
    binary = tmp_path / "llama-server"
    begin = planned.plans._begin
    planned.plans._begin = lambda model: dataclasses.replace(
        begin(model), kind=EngineKind.LLAMA_SERVER, binary=binary
    )
    planning.take_engine()
    assert planning.settings == dataclasses.replace(
        before, kind=EngineKind.LLAMA_SERVER, binary=binary
    )


def test_choices_that_cannot_be_saved_hold_and_are_reported(planning, planned, told):
    def refuse(*_):
        raise SettingsError(ErrorCode.SETTINGS_NOT_SAVED, {"path": "x", "detail": "full"})

    planned.plans.remember = refuse
    planning.change(context=8192)
    deliver()
    planning.keep()
    assert [error.code for error in told] == [ErrorCode.SETTINGS_NOT_SAVED]
    assert planning.settings.context == 8192
    planning.keep()
    assert len(told) == 1


def test_what_nobody_expected_is_reported(planning, planned, told):
    planned.desk.hold.add("plans.find")
    planning.change(context=8192)
    before = planning.priced
    planned.desk.fail("plans.find", ValueError("odd"))
    deliver()
    assert [str(error) for error in told] == ["odd"]
    assert planning.priced is before


def test_more_layers_than_there_are_is_refused(planning, told):
    before = planning.choices
    planning.place(900, 0)
    assert planning.choices == before
    assert [error.code for error in told] == [ErrorCode.PLAN_TOO_MANY_LAYERS]


def test_a_users_own_plan_before_a_look_at_the_machine_has_no_forecast(planning, planned):
    planning.place(62, 50)
    planned.machine.machine = None
    planning.change(context=8192)
    assert planning.priced is None
    assert isinstance(planning.error, PlanError)
    assert planning.settings.context == 8192
    planned.machine.machine = two_gpu_box()
    planning.refresh()
    assert planning.priced.plan.placement.context == 8192


def test_the_same_switch_twice_is_nothing(planning, planned):
    before, asked = planning.priced, planned.desk.called("plans.find")
    planning.set_auto()
    planning.reset()
    deliver()
    assert planned.desk.called("plans.find") == asked
    planning.set_manual()
    own = planning.choices
    planning.set_manual()
    assert planning.choices is own
    assert planning.priced.plan.forecast == before.plan.forecast


def test_the_profile_of_a_users_own_plan_says_what_is_tight(planning):
    """It never changes the plan itself."""
    planning.place(62, 50)
    before = planning.settings
    for profile in type(planning.choices.wishes.profile):
        planning.set_profile(profile)
        assert planning.settings == before
