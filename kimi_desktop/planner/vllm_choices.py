"""Which values of each way to divide a model are possible now, and why the others are not. Pure.

A value is possible when the engine accepts a split with it and the GPUs' memory holds it. The rest
of the split stays as it is where it can; where it cannot, the nearest split that works is meant.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cache

from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.vllm_rules import check_split
from kimi_desktop.planner.vllm_search import LEAST_CONTEXT, forecast_split
from kimi_desktop.planner.vllm_types import (
    Problem,
    ServerForecast,
    ServerProblem,
    ServerWishes,
    Split,
)
from kimi_desktop.planner.vllm_weights import VllmModel

EVERY_SIZE = 8
"""With more GPUs than these only powers of two are shown."""
AXES = ("tensor", "pipeline", "data", "decode_context")


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of one axis."""

    value: int
    split: Split
    """What choosing it means."""
    problem: Problem | None = None
    """Why no split has it; None: it is possible."""


@dataclass(frozen=True, slots=True)
class SplitChoices:
    """All axes, each with the others as they are in ``split``."""

    split: Split
    tensor: tuple[Choice, ...]
    pipeline: tuple[Choice, ...]
    data: tuple[Choice, ...]
    decode_context: tuple[Choice, ...]
    experts: bool
    """The model has experts that can be dealt out."""
    experts_problem: Problem | None
    """Of the other way to divide them."""


def split_choices(
    model: VllmModel, machine: Machine, wishes: ServerWishes, split: Split
) -> SplitChoices:
    """What can be chosen beside ``split``. About 0.1 ms for each of some hundred splits.

    Args:
        model: the weights and the config.
        machine: its GPUs; at least one.
        wishes: what is asked besides; its own split does not count.
        split: as it is planned now.
    """
    has_experts = bool(model.config.n_expert)
    sizes = _sizes(len(machine.gpus))
    ways = _ways(sizes, len(machine.gpus))

    @cache
    def problem(way: Split) -> Problem | None:
        return problem_of(model, machine, wishes, way)

    def choice(axis: str, value: int) -> Choice:
        wanted = with_axis(split, axis, value)
        if axis == "decode_context" or problem(wanted) is None:
            return Choice(value, wanted, problem(wanted))
        others = [like for way in ways if getattr(way, axis) == value for like in likes(way)]
        near = sorted(others, key=lambda way: _distance(way, split)) or [wanted]
        found = next((way for way in near if problem(way) is None), None)
        return Choice(value, found or wanted, None if found else problem(near[0]))

    def likes(way: Split) -> set[Split]:
        kept = _like(way, split)
        dealt = has_experts and way.tensor * way.data > 1
        return {kept, dataclasses.replace(kept, experts=dealt)}

    other = dataclasses.replace(split, experts=not split.experts)
    return SplitChoices(
        split,
        tensor=tuple(choice("tensor", size) for size in sizes),
        pipeline=tuple(choice("pipeline", size) for size in sizes),
        data=tuple(choice("data", size) for size in sizes),
        decode_context=tuple(choice("decode_context", size) for size in _sizes(split.tensor)),
        experts=has_experts and split.tensor * split.data > 1,
        experts_problem=problem(other) if has_experts else None,
    )


def _ways(sizes: tuple[int, ...], n_gpu: int) -> tuple[Split, ...]:
    """All ways to divide a model over up to so many GPUs, without their variants."""
    return tuple(
        Split(tensor, pipeline, data)
        for tensor in sizes
        for pipeline in sizes
        for data in sizes
        if tensor * pipeline * data <= n_gpu
    )


def _like(way: Split, split: Split) -> Split:
    """With what the present split says of experts and of the cache, where that is possible."""
    shared = 1 if way.tensor % split.decode_context else split.decode_context
    experts = split.experts and way.tensor * way.data > 1
    return dataclasses.replace(way, experts=experts, decode_context=shared)


def _distance(way: Split, split: Split) -> tuple[int, ...]:
    """Fewest changes first, then many GPUs, the more in one tensor-parallel group the better."""
    names = (*AXES, "experts")
    changed = sum(getattr(way, name) != getattr(split, name) for name in names)
    return changed, -way.n_gpu, -way.tensor


def with_axis(split: Split, axis: str, value: int) -> Split:
    """The split with another value on one axis; a cache that no longer divides is not divided."""
    changed = dataclasses.replace(split, **{axis: value})  # type: ignore[arg-type]
    if axis == "tensor" and changed.tensor % changed.decode_context:
        changed = dataclasses.replace(changed, decode_context=1)
    if changed.tensor * changed.data == 1:
        changed = dataclasses.replace(changed, experts=False)
    return changed


def problem_of(
    model: VllmModel, machine: Machine, wishes: ServerWishes, split: Split
) -> Problem | None:
    """Why a split is not possible here: the engine's rules first, then memory."""
    refused = check_split(model.config, split, len(machine.gpus))
    if refused is not None:
        return refused
    forecast = forecast_split(model, machine, wishes, split)
    return None if _would_do(forecast, wishes) else forecast.problem


def _would_do(forecast: ServerForecast, wishes: ServerWishes) -> bool:
    """It starts, or would with a shorter context that nobody has ruled out."""
    problem = forecast.problem
    shorter = wishes.context is None and forecast.tokens // wishes.users >= LEAST_CONTEXT
    return problem is None or (problem.kind is ServerProblem.CONTEXT and shorter)


def _sizes(most: int) -> tuple[int, ...]:
    if most <= EVERY_SIZE:
        return tuple(range(1, most + 1))
    return tuple(size for size in (2**power for power in range(13)) if size <= most)
