"""What a model would do here, before its header was read: from name, quantization and size. Pure.

For lists (the wizard's "what runs here") and for plans without a network. The header is put
together from a known geometry and the usual formats of the quantization, scaled to the size of the
file; the plan, its memory and its speed come from the one planner, marked as estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import Plan, Wishes
from kimi_desktop.planner.report import plan_speed
from kimi_desktop.planner.sized_shapes import shape_by_size
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import speed_rule
from kimi_desktop.planner.speed_types import SpeedForecast
from kimi_desktop.planner.types import LoadForecast, ModelShape
from kimi_desktop.planner.verdict import FitVerdict, plan_verdict


@dataclass(frozen=True, slots=True)
class SizedForecast:
    """An estimate for a list."""

    plan: Plan
    """With the Safe profile, unless wishes were given."""
    speed: SpeedForecast

    @property
    def memory(self) -> LoadForecast:
        """What every device would hold."""
        return self.plan.forecast

    @property
    def verdict(self) -> FitVerdict:
        """With the reserve of the profile kept free."""
        return plan_verdict(self.plan)


@lru_cache(maxsize=1024)
def forecast_by_size(
    name: str,
    quantization: str,
    file_bytes: int,
    machine: Machine,
    *,
    uses_gpus: bool = True,
    factors: Factors | None = None,
) -> SizedForecast | None:
    """Plan and speed of a file that nobody has opened; None when its geometry is not known.

    Remembered per file and machine: lists ask again and again.

    Args:
        name: of the model or its repository.
        quantization: "UD-Q4_K_XL".
        file_bytes: all parts together.
        machine: where it would run.
        uses_gpus: False for an engine that was built without GPU support.
        factors: as learned on this machine; None = as shipped.
    """
    shape = shape_by_size(name, quantization, file_bytes)
    if shape is None:
        return None
    return forecast_shape(shape, machine, uses_gpus=uses_gpus, factors=factors)


def forecast_shape(
    shape: ModelShape, machine: Machine, *, uses_gpus: bool = True, factors: Factors | None = None
) -> SizedForecast:
    """The same of a shape that was put together."""
    rule = speed_rule(shape, machine, factors=factors)
    wishes = Wishes(uses_gpus=uses_gpus)
    plan = find_plan(shape, machine, wishes, rule=rule, with_remedies=False)
    return SizedForecast(plan, plan_speed(shape, plan, machine, factors=factors))
