"""What is missing when a model does not fit, and the nearest changes after which it does. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

from kimi_desktop.base.errors import Param
from kimi_desktop.base.units import GIB, format_context, format_file_size, format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.plan_types import (
    Alternative,
    Decision,
    Plan,
    Profile,
    Remedy,
    Sibling,
    Wishes,
)
from kimi_desktop.planner.profiles import LEAST_CONTEXT, cache_type_fits
from kimi_desktop.planner.rpc import device_label
from kimi_desktop.planner.sized_shapes import resized
from kimi_desktop.planner.types import ModelShape

MOST_QUANTIZATIONS = 3
RAM_STEPS_GIB = (8, 16, 32, 64)
"""Memory is bought in such steps; the step grows with what is missing."""


class PlanAgain(Protocol):
    """The search, with other wishes, another quantization or another machine."""

    def __call__(
        self, other: Wishes, other_shape: ModelShape = ..., other_machine: Machine = ...
    ) -> Plan:
        """The best plan, without remedies."""


def find_remedies(
    shape: ModelShape,
    machine: Machine,
    wishes: Wishes,
    plan: Plan,
    *,
    siblings: Sequence[Sibling],
    again: PlanAgain,
) -> tuple[tuple[Decision, ...], tuple[Alternative, ...]]:
    """What is short, and what helps: the smallest change first.

    Args:
        shape: the model.
        machine: where it does not fit.
        wishes: what the user wants.
        plan: the nearest plan.
        siblings: other quantizations.
        again: plans anew.
    """
    found = [
        *_other_settings(shape, wishes, plan, again),
        *_free_memory(plan),
        *_quantizations(shape, wishes, plan, siblings, again),
        *_more_ram(machine, wishes, shape, plan, again),
    ]
    return tuple(_missing(plan)), tuple(found)


def _missing(plan: Plan) -> Iterator[Decision]:
    for row, short in _short(plan):
        device = device_label(row)
        params: dict[str, Param] = {
            "device": device,
            "size": format_gib(short),
            "percent": round(plan.reserve_share * 100),
        }
        yield Decision("missing.ram" if row == "host" else "missing.vram", params)


def _short(plan: Plan) -> Iterator[tuple[str, int]]:
    """Every used device that does not keep its reserve, and by how many bytes."""
    rows = plan.forecast.devices
    for row in [*(rows[number] for number in plan.gpus), rows[-1]]:
        short = plan.reserve_share * row.total_bytes - row.spare_bytes
        if short > 0:
            yield row.device, int(short) + 1


def _other_settings(
    shape: ModelShape, wishes: Wishes, plan: Plan, again: PlanAgain
) -> Iterator[Alternative]:
    short = sum(size for _, size in _short(plan))
    cache = sum(row.kv_bytes for row in plan.forecast.devices)
    if wishes.fixes_layers:
        other = wishes.without_layers
        if (auto := again(other)).fits:
            yield Alternative(Remedy.AUTO, {}, auto.seconds_per_token, other)
    kind = plan.placement.cache_type_k
    if kind in ("F16", "BF16") and cache_type_fits(shape, "q8_0") and short <= cache:
        other = dataclasses.replace(wishes, cache_type="q8_0")
        if (smaller := again(other)).fits:
            seconds = smaller.seconds_per_token
            yield Alternative(Remedy.CACHE_TYPE, {"type": "q8_0"}, seconds, other)
    context = plan.placement.context // 2
    while short <= cache and context >= LEAST_CONTEXT:
        other = dataclasses.replace(wishes, context=context)
        if (shorter := again(other)).fits:
            params: dict[str, Param] = {"context": format_context(context)}
            yield Alternative(Remedy.CONTEXT, params, shorter.seconds_per_token, other)
            break
        context //= 2
    if wishes.profile is not Profile.FASTEST and plan.forecast.devices[-1].spare_bytes >= 0:
        for profile in (Profile.BALANCED, Profile.FASTEST):
            other = dataclasses.replace(wishes, profile=profile, context=plan.placement.context)
            tighter = again(other)
            if profile is not wishes.profile and tighter.fits:
                params = {
                    "profile": profile.value,
                    "percent": round(tighter.reserve_share * 100),
                }
                yield Alternative(Remedy.PROFILE, params, tighter.seconds_per_token, other)
                break


def _free_memory(plan: Plan) -> Iterator[Alternative]:
    """Where other programs hold what is missing."""
    rows = {row.device: row for row in plan.forecast.devices}
    short = list(_short(plan))
    if short and all(rows[device].others_bytes >= size for device, size in short):
        for device, size in short:
            remedy = Remedy.FREE_RAM if device == "host" else Remedy.FREE_VRAM
            params: dict[str, Param] = {
                "device": device_label(device),
                "size": format_gib(size),
                "others": format_gib(rows[device].others_bytes),
            }
            yield Alternative(remedy, params)


def _quantizations(
    shape: ModelShape, wishes: Wishes, plan: Plan, siblings: Sequence[Sibling], again: PlanAgain
) -> Iterator[Alternative]:
    """Smaller ones that fit: those whose header was read, then the others, the largest first."""
    here = sum(row.weights_bytes for row in plan.forecast.devices)
    auto = wishes.without_layers
    tries = [(Remedy.QUANTIZATION, wishes)]
    tries += [(Remedy.QUANTIZATION_AUTO, auto)] if wishes.fixes_layers else []
    count = 0
    for sibling in sorted(
        siblings, key=lambda each: (each.shape is None, -each.size_bytes, each.name)
    ):
        if count == MOST_QUANTIZATIONS:
            return
        if sibling.size_bytes >= here:
            continue
        params: dict[str, Param] = {
            "name": sibling.name,
            "size": format_file_size(sibling.size_bytes),
            "size_gib": format_gib(sibling.size_bytes),
        }
        known = sibling.shape or resized(shape, sibling.name, sibling.size_bytes)
        for remedy, other in tries:
            if (smaller := again(other, known)).fits:
                count += 1
                seconds = smaller.seconds_per_token
                yield Alternative(remedy, params, seconds, other, sibling.key)
                break


def _more_ram(
    machine: Machine, wishes: Wishes, shape: ModelShape, plan: Plan, again: PlanAgain
) -> Iterator[Alternative]:
    """RAM to add, in steps as it is sold, enough for the reserve of the added memory too."""
    short = dict(_short(plan)).get("host")
    if short is None:
        return
    needed = short / (1 - plan.reserve_share) / GIB
    step = next((step for step in RAM_STEPS_GIB if needed <= 4 * step), RAM_STEPS_GIB[-1])
    more = -int(-needed // step) * step
    memory = machine.memory
    grown = dataclasses.replace(
        memory,
        total_bytes=memory.usable_total_bytes + more * GIB,
        available_bytes=min(memory.available_bytes, memory.usable_total_bytes) + more * GIB,
        limit_bytes=None,
    )
    then = again(wishes, shape, dataclasses.replace(machine, memory=grown))
    if then.fits:
        yield Alternative(Remedy.MORE_RAM, {"size": f"{more:,} GiB"}, then.seconds_per_token)
