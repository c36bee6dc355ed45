"""What would be if one thing of a plan that fits were another: cache, context, quantization. Pure.

Each change is a search of its own (2 to 35 ms); whoever asks does so in the pool.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kimi_desktop.backends.types import PlanChange
from kimi_desktop.base.errors import Param
from kimi_desktop.base.units import format_context, format_file_size
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.plan_types import Plan, Remedy, Wishes
from kimi_desktop.planner.profiles import LEAST_CONTEXT, cache_type_fits
from kimi_desktop.planner.types import ModelShape

OTHER_CACHE = {"F16": "q8_0", "Q8_0": "f16"}

Search = Callable[[ModelShape, Wishes], Plan]


@dataclass(frozen=True, slots=True)
class Planned:
    """A model of the library and what the formulas need of it."""

    model: LocalModel
    shape: ModelShape
    quality: str = ""
    """Of its quantization, as the catalogue has it."""


def plan_changes(
    now: Planned, plan: Plan, wishes: Wishes, others: Sequence[Planned], search: Search
) -> tuple[PlanChange, ...]:
    """Changes after which the plan still fits.

    Args:
        now: what is planned.
        plan: as it is, and fits.
        wishes: that led to it.
        others: other quantizations of the model that are here.
        search: the best plan for a shape and wishes.
    """
    found = []
    for remedy, params, other, target in _questions(now, plan, wishes, others):
        then = search(target.shape, other)
        if not then.fits:
            continue
        found.append(
            PlanChange(
                remedy=remedy,
                params=params,
                wishes=other,
                model_id="" if target is now else target.model.id,
                experts_moved=len(plan.experts_in_ram) - len(then.experts_in_ram),
                spare_change_bytes=_gpu_spare(then) - _gpu_spare(plan),
                file_change_bytes=target.model.size_bytes - now.model.size_bytes,
                speed_ratio=plan.seconds_per_token / max(then.seconds_per_token, 1e-9),
            )
        )
    return tuple(found)


Question = tuple[Remedy, dict[str, Param], Wishes, Planned]


def _questions(
    now: Planned, plan: Plan, wishes: Wishes, others: Sequence[Planned]
) -> Iterator[Question]:
    context = plan.placement.context
    cache = OTHER_CACHE.get(plan.placement.cache_type_k)
    if cache is not None and cache_type_fits(now.shape, cache):
        # The context is kept: else the planner would spend what the cache saves.
        other = dataclasses.replace(wishes, cache_type=cache, context=context)
        yield Remedy.CACHE_TYPE, {"type": cache}, other, now
    longest = now.shape.geometry.context_train * wishes.n_parallel
    for size in (context * 2, context // 2):
        if LEAST_CONTEXT <= size <= longest:
            other = dataclasses.replace(wishes, context=size)
            yield Remedy.CONTEXT, {"context": format_context(size)}, other, now
    kept = dataclasses.replace(wishes, context=context)
    size_bytes = now.model.size_bytes
    sizes = sorted(others, key=lambda each: each.model.size_bytes)
    smaller = [each for each in sizes if each.model.size_bytes < size_bytes]
    larger = [each for each in sizes if each.model.size_bytes > size_bytes]
    for sibling in (*smaller[-1:], *larger[:1]):
        facts = sibling.model.facts
        params: dict[str, Param] = {
            "name": facts.quantization if facts else sibling.model.title,
            "size": format_file_size(abs(sibling.model.size_bytes - size_bytes)),
            "quality": sibling.quality,
        }
        yield Remedy.QUANTIZATION, params, kept, sibling


def _gpu_spare(plan: Plan) -> int:
    """What is left on the GPUs in use; in RAM when none is."""
    rows = plan.forecast.devices
    used = [rows[number] for number in plan.gpus] or [rows[-1]]
    return sum(row.spare_bytes for row in used)
