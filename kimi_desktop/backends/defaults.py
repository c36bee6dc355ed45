"""Load settings to begin with: the planner's own choice for this machine. Pure.

A search takes 2 to 35 ms (Kimi K2.6 on 8 unequal GPUs), and the same question is asked on every
event of the window: answers are kept.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path

from kimi_desktop.backends.placed import settings_of
from kimi_desktop.backends.plain_chat import plain_chat_for
from kimi_desktop.backends.types import (
    SERVER_ENGINES,
    SERVER_KINDS,
    EngineKind,
    LoadSettings,
    VllmSettings,
)
from kimi_desktop.base.errors import PlanError
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Plan, Wishes
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import speed_rule
from kimi_desktop.planner.types import ModelShape
from kimi_desktop.planner.vllm_types import ServerWishes

LEAST_CONTEXT = 2_048
"""For a model of which nothing is known yet, and before the first look at the machine."""


def plain_settings(model: LocalModel, kind: EngineKind, binary: Path | None) -> LoadSettings:
    """What belongs to a model and an engine whatever the plan: file, template, a short context."""
    begin = LoadSettings(model_path=model.path, kind=kind, binary=binary)
    if kind in SERVER_KINDS:  # its own template, and a context that its plan finds
        wishes = ServerWishes(engine=SERVER_ENGINES[kind])
        return dataclasses.replace(begin, context=0, server=VllmSettings(wishes=wishes))
    facts = model.facts
    if facts is None:
        return begin
    if facts.chat_template is None:
        plain = plain_chat_for(facts.architecture)
        begin = dataclasses.replace(begin, chat_template=plain.template, stop=plain.stop)
    return dataclasses.replace(begin, context=min(LEAST_CONTEXT, facts.context_train or 2**31))


def default_settings(
    begin: LoadSettings,
    model: LocalModel,
    machine: Machine | None,
    wishes: Wishes,
    factors: Factors | None = None,
) -> LoadSettings:
    """What the planner chooses; ``begin`` where it cannot: no header, no look at the machine.

    Args:
        begin: from ``plain_settings``.
        model: what to load.
        machine: None when nobody has looked yet.
        wishes: of the user; those that no engine can fulfil are passed over.
        factors: of speed, as learned on this machine; None = as shipped.
    """
    if machine is None or not is_plannable(model):
        return begin
    assert model.facts is not None  # a plannable model has them
    shape = shape_of(model.facts)
    try:
        plan = usual_plan(shape, machine, wishes, factors)
    except PlanError:
        kept = Wishes(profile=wishes.profile, uses_gpus=wishes.uses_gpus)
        plan = usual_plan(shape, machine, kept, factors)
    return settings_of(plan, begin, machine)


def is_plannable(model: LocalModel) -> bool:
    """Its header says what the planner has to know."""
    facts = model.facts
    if facts is None or facts.geometry is None or facts.tensors is None:
        return False
    return facts.geometry.n_layer > 0


@lru_cache(maxsize=64)
def usual_plan(
    shape: ModelShape, machine: Machine, wishes: Wishes, factors: Factors | None = None
) -> Plan:
    """The search's plan, without what would help if it does not fit.

    Raises:
        PlanError: a wish that no engine can fulfil.
    """
    rule = speed_rule(shape, machine, factors=factors)
    return find_plan(shape, machine, wishes, rule=rule, with_remedies=False)
