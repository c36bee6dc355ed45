"""A plan's verdict as a chip. The rule is the planner's; here are its shapes. Qt thread."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from kimi_desktop.backends.types import PricedLoad
from kimi_desktop.base.units import format_gib
from kimi_desktop.planner.plan_types import Fit
from kimi_desktop.ui.widgets.chip import Verdict


def verdict_of(priced: PricedLoad) -> Verdict:
    """The shape and colour of the verdict."""
    if priced.plan.fit is Fit.DOES_NOT_FIT:
        return Verdict.BAD
    if priced.plan.fit is Fit.DISK_BOUND or priced.is_tight:
        return Verdict.WARN
    return Verdict.OK


def short_bytes(priced: PricedLoad) -> int:
    """What the devices in use lack together, each for itself, with the reserve of the plan."""
    plan = priced.plan
    rows = [*(plan.forecast.devices[number] for number in plan.gpus), plan.forecast.devices[-1]]
    shorts = (int(plan.reserve_share * row.total_bytes) - row.spare_bytes for row in rows)
    return sum(short for short in shorts if short > 0)


def chip_words(priced: PricedLoad) -> str:
    """The verdict in two or three words, for a row of a list."""
    translate = QCoreApplication.translate
    plan = priced.plan
    if plan.fit is Fit.DOES_NOT_FIT:
        word = translate("PlanVerdict", "{size} short")
        return word.format(size=format_gib(short_bytes(priced)))
    if plan.fit is Fit.DISK_BOUND:
        return translate("PlanVerdict", "Disk-bound")
    if priced.is_tight:
        return translate("PlanVerdict", "Tight")
    return translate("PlanVerdict", "Fits")
