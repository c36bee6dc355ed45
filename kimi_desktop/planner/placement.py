"""The placement search: where everything of a model goes on a machine, and why. Pure.

The rule is simple where weights fit and fast where they do not: everything on the fewest, fastest
GPUs; else all layers on GPUs and as many experts with them as fit, the rest of the experts in
main memory (a token reads few of them); else as many layers as fit; else main memory alone. What
the user fixed stays fixed. Every plan is priced by the one forecast of ``memory``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kimi_desktop.base.units import MIB, format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.candidates import Candidate
from kimi_desktop.planner.choose import Chooser
from kimi_desktop.planner.explain import explain
from kimi_desktop.planner.fixed import FixedChooser
from kimi_desktop.planner.graph_width import widths_of
from kimi_desktop.planner.hardware import shares_memory, with_own_memory
from kimi_desktop.planner.host_settings import load_mode_for, numa_for, threads_for
from kimi_desktop.planner.memory import forecast
from kimi_desktop.planner.plan_types import Decision, Plan, Sibling, SpeedRule, Wishes
from kimi_desktop.planner.profiles import (
    ESTIMATE_SHARE,
    LEAST_CONTEXT,
    RULES,
    UNIFIED_SHARE,
    check_split,
    check_wishes,
    context_aim,
)
from kimi_desktop.planner.remedies import find_remedies
from kimi_desktop.planner.rpc import device_id, own_gpus
from kimi_desktop.planner.site import Site
from kimi_desktop.planner.speed_setup import ForecastRule, speed_rule
from kimi_desktop.planner.squeeze import Squeeze
from kimi_desktop.planner.types import LoadForecast, ModelShape, Placement
from kimi_desktop.planner.verdict import judge
from kimi_desktop.planner.weights import weights_by_device

MORE_SETTLING = 8
"""How often a plan is corrected by its exact forecast, at most."""
LEAST_MARGIN_BYTES = 16 * MIB


def find_plan(
    shape: ModelShape,
    machine: Machine,
    wishes: Wishes | None = None,
    *,
    rule: SpeedRule | None = None,
    siblings: Sequence[Sibling] = (),
    with_remedies: bool = True,
) -> Plan:
    """The best plan for a model on a machine.

    Args:
        shape: the model.
        machine: totals, and what others use now.
        wishes: what the user wants; without, the Safe profile.
        rule: seconds per token of what is read; without, the decode forecast.
        siblings: other quantizations, offered when this one does not fit.
        with_remedies: look for what would help when it does not fit, which takes more searches.

    Returns:
        A plan, always: when nothing fits, the nearest one, with what is missing.

    Raises:
        PlanError: a wish that no engine can fulfil.
    """
    machine = with_own_memory(machine)
    wishes = wishes or Wishes()
    check_wishes(shape, wishes)
    check_split(machine, wishes)
    plan = _Search(shape, machine, wishes, rule or speed_rule(shape, machine)).run()
    if plan.fits or not with_remedies:
        return plan

    def again(
        other: Wishes, other_shape: ModelShape = shape, other_machine: Machine = machine
    ) -> Plan:
        used = rule or speed_rule(other_shape, other_machine)
        return _Search(other_shape, other_machine, other, used).run()

    missing, alternatives = find_remedies(
        shape, machine, wishes, plan, siblings=siblings, again=again
    )
    return dataclasses.replace(plan, missing=missing, alternatives=alternatives)


def forecast_on(
    shape: ModelShape, placement: Placement, machine: Machine, gpus: Sequence[int]
) -> LoadForecast:
    """The forecast of a load that uses some of a machine's GPUs, in the engine's order.

    All devices of the machine are in it, in the machine's order.
    """
    used = dataclasses.replace(machine, gpus=tuple(machine.gpus[number] for number in gpus))
    found = forecast(shape, placement, used, uses_gpus=bool(gpus))
    rows = {
        number: dataclasses.replace(
            row, device=device_id(number, machine.gpus[number], own_gpus(machine))
        )
        for number, row in zip(gpus, found.devices, strict=False)
    }
    if len(rows) < len(machine.gpus):
        idle = forecast(shape, placement, machine, uses_gpus=False)
        rows = {number: idle.devices[number] for number in range(len(machine.gpus))} | rows
    ordered = (rows[number] for number in range(len(machine.gpus)))
    return dataclasses.replace(found, devices=(*ordered, found.devices[-1]))


class _Search:
    """One search. Deterministic: the same input gives the same plan."""

    def __init__(
        self, shape: ModelShape, machine: Machine, wishes: Wishes, rule: SpeedRule
    ) -> None:
        self.shape, self.machine, self.wishes = shape, machine, wishes
        self.rules = RULES[wishes.profile]
        reserve = self.rules.reserve_share
        if not (shape.geometry.exact and widths_of(shape.geometry).measured):
            reserve += ESTIMATE_SHARE
        if wishes.uses_gpus and shares_memory(machine):
            reserve = max(reserve, UNIFIED_SHARE)
        self.reserve = reserve
        prompts = rule if isinstance(rule, ForecastRule) else speed_rule(shape, machine)
        self.site = Site(shape, machine, reserve, rule, prompts, wishes.uses_gpus)
        chooser = FixedChooser if wishes.fixes_layers else Chooser
        self.chooser = chooser(self.site, wishes)

    def run(self) -> Plan:
        contexts = self._contexts()
        plan = self._usual(contexts)
        if plan.fits:
            return plan
        found = Squeeze(self.chooser, self._least_share, self._accepts).find(contexts)
        return plan if found is None else self._plan(found, self._forecast(found))

    @property
    def _least_share(self) -> float:
        """What has to stay free of every device: what the user fixed may cost the reserve."""
        return 0.0 if self.wishes.fixes_layers else self.reserve

    def _accepts(self, candidate: Candidate) -> bool:
        share = self._least_share
        memory = self._forecast(candidate)
        return all(self._excess(memory, number, share) <= 0 for number in (*candidate.gpus, -1))

    def _forecast(self, candidate: Candidate) -> LoadForecast:
        return forecast_on(self.shape, candidate.placement, self.machine, candidate.gpus)

    def _usual(self, contexts: Sequence[int]) -> Plan:
        if len(contexts) == 1:
            return self._settled(contexts[0])
        short = self.chooser.best(contexts[-1])
        if short.over_share > self.reserve:  # of no length it would fit
            return self._settled(contexts[0])
        for context in contexts[:-1]:
            found = self.chooser.best(context)
            worse = found.short_of(self.reserve) > short.short_of(self.reserve)
            slower = (
                found.seconds > short.seconds * self.rules.context_price
                or found.exchange_seconds > short.exchange_seconds * self.rules.prompt_price
            )
            if not worse and not slower:
                plan = self._settled(context)
                if plan.fits or any(short.short_of(self.reserve)[:2]):
                    return plan
        return self._settled(contexts[-1])

    def _contexts(self) -> tuple[int, ...]:
        """What is tried, the longest first; the user's own alone."""
        if self.wishes.context is not None:
            return (self.wishes.context,)
        context = context_aim(self.shape, self.wishes)
        found = [context]
        while context // 2 >= LEAST_CONTEXT:
            context //= 2
            found.append(context)
        return tuple(size * self.wishes.n_parallel for size in found)

    def _settled(self, context: int) -> Plan:
        """The best plan for a context, corrected until its exact forecast keeps every budget."""
        nearest: tuple[float, Candidate, LoadForecast] | None = None
        for _ in range(MORE_SETTLING):
            candidate = self.chooser.best(context)
            memory = self._forecast(candidate)
            # What the user fixed may cost the reserve; it is given up as a whole, not by a bit.
            share = self.reserve if not candidate.over_share else 0.0
            over = {
                number: int(excess) + 1
                for number in candidate.gpus
                if (excess := self._excess(memory, number, share)) > 0
            }
            excesses = [self._excess(memory, number, self.reserve) for number in candidate.gpus]
            worst = max(excesses, default=0.0)
            if nearest is None or not over or worst < nearest[0]:
                nearest = worst, candidate, memory
            if not over or candidate.over_share > self.reserve:
                break
            for number, excess in over.items():
                # Compute buffers jump with the split, so that a margin may bring the next excess.
                place = (number, candidate.placement.offload_ops)
                margin = self.site.margins.get(place, 0)
                self.site.margins[place] = 2 * margin + excess + LEAST_MARGIN_BYTES
        self.site.margins.clear()
        assert nearest is not None  # the loop ran
        return self._plan(*nearest[1:])

    def _excess(self, memory: LoadForecast, number: int, share: float) -> float:
        """Bytes over the budget of a device (the last one is the host)."""
        row = memory.devices[number]
        return share * row.total_bytes - row.spare_bytes

    # the plan

    def _plan(self, candidate: Candidate, memory: LoadForecast) -> Plan:
        placement, gpus = candidate.placement, candidate.gpus
        wished = self.wishes.fixes_layers
        if not gpus and placement.repack and self._excess(memory, -1, self.reserve) > 0:
            # Rearranged weights are no pages of the file any more: the system cannot let go of
            # them, and a tied output would be there twice.
            placement = dataclasses.replace(placement, repack=False)
            memory = forecast_on(self.shape, placement, self.machine, gpus)
        repacked = 0
        if not gpus:
            repacked = weights_by_device(self.shape, placement, ()).repacked_bytes
        host = memory.devices[-1]
        least = 0.0 if wished else self.reserve
        host_fits = host.spare_bytes >= least * host.total_bytes
        read = host.weights_bytes - self.site.embedding_bytes
        weights_on_host = max(read, 0) if gpus else host.weights_bytes
        mode, why_mode = load_mode_for(
            self.wishes,
            host_weights_bytes=weights_on_host,
            on_gpus=bool(gpus),
            fits_in_ram=host_fits,
            repacked_bytes=repacked,
        )
        numa, why_numa = numa_for(self.machine, self.wishes, weights_on_host)
        threads, why_threads = threads_for(self.machine, self.wishes, numa)
        pages = host.weights_bytes if mode.keeps_pages else 0
        verdict = judge(
            memory,
            embedding_bytes=self.site.embedding_bytes,
            file_backed_bytes=pages,
            reserve_share=least,
        )
        plan = Plan(
            placement=placement,
            gpus=gpus,
            n_threads=threads,
            load_mode=mode,
            numa=numa,
            fit=verdict.fit,
            forecast=memory,
            reserve_share=self.reserve,
            seconds_per_token=candidate.seconds,
            exchange_seconds=candidate.exchange_seconds,
            decisions=(),
            experts_in_ram=tuple(sorted(candidate.experts_in_ram)),
        )
        why_repacked = None
        if repacked:
            why_repacked = Decision("why.repacked", {"size": format_gib(repacked)})
        every = (why_repacked, why_mode, why_threads, why_numa)
        host_decisions = tuple(filter(None, every))
        decisions = explain(self.site, self.wishes, candidate, plan, host_decisions)
        return dataclasses.replace(plan, decisions=decisions)
