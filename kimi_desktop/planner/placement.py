"""The placement search: where everything of a model goes on a machine, and why. Pure.

The rule is simple where weights fit and fast where they do not: everything on the fewest, fastest
GPUs; else all layers on GPUs and as many experts with them as fit, the rest of the experts in
main memory (a token reads few of them); else as many layers as fit; else main memory alone. What
the user fixed stays fixed. Every plan is priced by the one forecast of ``memory``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from kimi_desktop.base.units import GIB, MIB
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.candidates import Candidate, Site, Way
from kimi_desktop.planner.explain import explain
from kimi_desktop.planner.host_settings import load_mode_for, numa_for, threads_for
from kimi_desktop.planner.memory import forecast
from kimi_desktop.planner.plan_types import LoadMode, Plan, Sibling, SpeedRule, Wishes
from kimi_desktop.planner.profiles import (
    ESTIMATE_SHARE,
    LEAST_CONTEXT,
    RULES,
    UNIFIED_SHARE,
    cache_type_fits,
    check_wishes,
)
from kimi_desktop.planner.remedies import find_remedies
from kimi_desktop.planner.speed_setup import speed_rule
from kimi_desktop.planner.types import ALL_LAYERS, LoadForecast, ModelShape, Placement
from kimi_desktop.planner.verdict import judge

NO_STAGING_PRICE = 0.02
"""How much slower decoding must be before weights in RAM are no longer brought to the GPU."""
PROMPT_PRICE = 0.30
"""The same before another cache type or a shorter context brings that back."""
SMALL_UBATCH = 512
SMALL_UBATCH_PRICE = 0.03
MORE_SETTLING = 8
"""How often a plan is corrected by its exact forecast, at most."""
LEAST_MARGIN_BYTES = 16 * MIB
DEFAULT_CONTEXT = 8_192
"""For a model that does not say what it was trained for."""


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
    wishes = wishes or Wishes()
    check_wishes(shape, wishes)
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
        number: dataclasses.replace(row, device=f"gpu:{number}")
        for number, row in zip(gpus, found.devices, strict=False)
    }
    if len(rows) < len(machine.gpus):
        idle = forecast(shape, placement, machine, uses_gpus=False)
        rows = {number: idle.devices[number] for number in range(len(machine.gpus))} | rows
    ordered = (rows[number] for number in range(len(machine.gpus)))
    return LoadForecast((*ordered, found.devices[-1]), exact=found.exact)


class _Search:
    """One search. Deterministic: the same input gives the same plan."""

    def __init__(
        self, shape: ModelShape, machine: Machine, wishes: Wishes, rule: SpeedRule
    ) -> None:
        self.shape, self.machine, self.wishes = shape, machine, wishes
        self.rules = RULES[wishes.profile]
        probe = Placement(context=LEAST_CONTEXT)
        reserve = self.rules.reserve_share
        if not forecast(shape, probe, machine, uses_gpus=wishes.uses_gpus).exact:
            reserve += ESTIMATE_SHARE
        if machine.gpu_note == "apple":
            reserve = max(reserve, UNIFIED_SHARE)
        self.reserve = reserve
        self._seen: dict[object, Candidate | None] = {}
        self.site = Site(shape, machine, reserve, rule, wishes.uses_gpus)

    def run(self) -> Plan:
        contexts = self._contexts()
        if len(contexts) == 1:
            return self._settled(contexts[0])
        short = self._best(contexts[-1])
        for context in contexts[:-1]:
            found = self._best(context)
            worse = found.host_short_bytes > 0 and not short.host_short_bytes
            most = self._price(short, PROMPT_PRICE) * self.rules.context_price
            if not worse and self._price(found, PROMPT_PRICE) <= most:
                plan = self._settled(context)
                if plan.fits or short.host_short_bytes:
                    return plan
        return self._settled(contexts[-1])

    def _contexts(self) -> tuple[int, ...]:
        """What is tried, the longest first; the user's own alone."""
        if self.wishes.context is not None:
            return (self.wishes.context,)
        train = self.shape.geometry.context_train or DEFAULT_CONTEXT
        context = min(self.rules.context or train, train)
        found = [context]
        while context // 2 >= LEAST_CONTEXT:
            context //= 2
            found.append(context)
        return tuple(size * self.wishes.n_parallel for size in found)

    def _settled(self, context: int) -> Plan:
        """The best plan for a context, corrected until its exact forecast keeps every budget."""
        for _ in range(MORE_SETTLING):
            candidate = self._best(context)
            memory = forecast_on(self.shape, candidate.placement, self.machine, candidate.gpus)
            over = {
                number: int(excess) + 1
                for number in candidate.gpus
                if (excess := self._excess(memory, number)) > 0
            }
            if not over or candidate.way is Way.AS_WISHED:
                break
            for number, excess in over.items():
                # Compute buffers jump with the split, so that a margin may bring the next excess.
                margin = self.site.margins.get(number, 0)
                self.site.margins[number] = 2 * margin + excess + LEAST_MARGIN_BYTES
        self.site.margins.clear()
        return self._plan(candidate, memory)

    def _excess(self, memory: LoadForecast, number: int) -> float:
        """Bytes over the budget of a device (the last one is the host)."""
        row = memory.devices[number]
        return self.reserve * row.total_bytes - row.spare_bytes

    # candidates

    def _best(self, context: int) -> Candidate:
        """The cheapest candidate for a context."""
        wishes = self.wishes
        first, *other_types = self._cache_types()
        if wishes.n_gpu_layers is not None or wishes.n_cpu_moe is not None:
            return self._as_wished(self._base(context, first, None))
        best = self._with_cache(context, first)
        for cache_type in other_types:
            if best.way is Way.ALL_ON_GPUS or self._gain(context, best, cache_type) <= 0:
                continue
            found = self._with_cache(context, cache_type)
            if self._is_better(found, best, 1 + self.rules.cache_price, PROMPT_PRICE):
                best = found
        return best

    def _gain(self, context: int, best: Candidate, cache_type: str) -> float:
        """Whether another cache type can be worth its price: the most it may save, over that."""
        if best.way is not Way.EXPERTS_IN_RAM or best.host_short_bytes:
            return 1.0
        if not best.placement.offload_ops:
            return 1.0
        now = sum(self.site.cache_bytes(best.placement))
        then = sum(self.site.cache_bytes(self._base(context, cache_type, None)))
        in_ram = sum(self.site.experts[block] for block in best.experts_in_ram)
        return (now - then) / max(in_ram, 1) - self.rules.cache_price / 2

    def _with_cache(self, context: int, cache_type: str) -> Candidate:
        site, fixed = self.site, self.wishes.n_ubatch
        usual = self._base(context, cache_type, fixed or SMALL_UBATCH)
        best = self._whole(usual)
        if best is not None:
            return best
        staged = self._base(context, cache_type, fixed or self.rules.n_ubatch_staged)
        for base in (staged, usual):
            if base is usual and (fixed or (best is not None and not self._ubatch_gain(best))):
                continue
            found = self._over_gpus(base, staged=True)
            price = 1.0 if base is staged else 1 + SMALL_UBATCH_PRICE
            if found is not None and (best is None or self._is_better(found, best, price)):
                best = found
        if best is None:
            best = self._over_gpus(dataclasses.replace(usual, offload_ops=False), staged=True)
        others: list[Candidate | None] = [best, site.without_gpu(usual)]
        if best is None:
            for part in (usual, dataclasses.replace(usual, offload_ops=False)):
                others.append(self._over_gpus(part, staged=False))
        return min(
            (other for other in others if other is not None),
            key=lambda one: (_whole_gib(one.host_short_bytes), self._price(one)),
        )

    def _whole(self, base: Placement) -> Candidate | None:
        """Everything on GPUs: of every group the fewest and fastest that hold it."""
        best: Candidate | None = None
        for group in self.site.groups(base):
            for count in range(1, len(group) + 1):
                if found := self.site.whole(group[:count], base):
                    if best is None or self._is_better(found, best, 1.0):
                        best = found
                    break
        return best

    def _ubatch_gain(self, best: Candidate) -> bool:
        """A smaller micro-batch may bring enough experts back to be worth it."""
        in_ram = sum(self.site.experts[block] for block in best.experts_in_ram)
        tokens = best.placement.n_ubatch - SMALL_UBATCH
        saved = 4 * tokens * 20 * self.shape.geometry.n_embd  # about 20 rows of F32 per token
        return best.host_short_bytes > 0 or saved > in_ram * SMALL_UBATCH_PRICE

    def _over_gpus(self, base: Placement, *, staged: bool) -> Candidate | None:
        """Over as many GPUs as make it faster: the slowest, then the smallest are left out."""
        best: Candidate | None = None
        slowest_last = [self.site.order[:count] for count in range(len(self.site.order), 0, -1)]
        for sets in (slowest_last, self.site.groups(base)[1:]):
            for gpus in sets:
                found = self._built(gpus, base, staged=staged)
                if found is None:
                    continue
                if best is not None and self._is_better(best, found, 1.0):
                    break
                best = found  # a tie is for fewer of them
        return best

    def _built(self, gpus: tuple[int, ...], base: Placement, *, staged: bool) -> Candidate | None:
        """A candidate, built once: contexts and corrections ask for many again."""
        key = (gpus, base, staged, tuple(sorted(self.site.margins.items())))
        if key not in self._seen:
            build = self.site.staged if staged else self.site.partial
            self._seen[key] = build(gpus, base)
        return self._seen[key]

    def _as_wished(self, base: Placement) -> Candidate:
        """The user's layers; what is left open of them is chosen."""
        wishes, site = self.wishes, self.site
        layers = wishes.n_gpu_layers
        if layers is None or layers == ALL_LAYERS:
            layers = site.n_layers
        base = dataclasses.replace(base, n_gpu_layers=layers)
        if wishes.n_cpu_moe is not None or not site.expert_blocks:
            return site.as_wished(dataclasses.replace(base, n_cpu_moe=wishes.n_cpu_moe or 0))

        def placed(blocks: int) -> Candidate:
            return site.as_wished(dataclasses.replace(base, n_cpu_moe=blocks))

        low, high = 0, self.shape.geometry.n_layer
        while low < high:  # the fewest experts in RAM with which the GPUs keep their reserve
            middle = (low + high) // 2
            found = placed(middle)
            memory = forecast_on(self.shape, found.placement, self.machine, found.gpus)
            if any(self._excess(memory, number) > 0 for number in found.gpus):
                low = middle + 1
            else:
                high = middle
        return placed(low)

    def _base(self, context: int, cache_type: str, n_ubatch: int | None) -> Placement:
        wishes = self.wishes
        ubatch = n_ubatch or wishes.n_ubatch or SMALL_UBATCH
        batch = wishes.n_batch or max(2048, ubatch)
        return Placement(
            context=context,
            cache_type_k=cache_type.upper(),
            cache_type_v=cache_type.upper(),
            n_batch=batch,
            n_ubatch=min(ubatch, batch),
            n_parallel=wishes.n_parallel,
        )

    def _cache_types(self) -> tuple[str, ...]:
        if self.wishes.cache_type is not None:
            return (self.wishes.cache_type,)
        return ("f16", "q8_0") if cache_type_fits(self.shape, "q8_0") else ("f16",)

    def _price(self, candidate: Candidate, staging_price: float = NO_STAGING_PRICE) -> float:
        return candidate.seconds * (1 if candidate.placement.offload_ops else 1 + staging_price)

    def _is_better(
        self,
        one: Candidate,
        other: Candidate,
        price: float,
        staging_price: float = NO_STAGING_PRICE,
    ) -> bool:
        """Less short of main memory, by whole GiB, else cheaper."""
        short, other_short = (_whole_gib(found.host_short_bytes) for found in (one, other))
        if short != other_short:
            return short < other_short
        return self._price(one, staging_price) * price < self._price(other, staging_price)

    # the plan

    def _plan(self, candidate: Candidate, memory: LoadForecast) -> Plan:
        placement, gpus = candidate.placement, candidate.gpus
        wished = candidate.way is Way.AS_WISHED
        if not gpus and placement.repack and self._excess(memory, -1) > 0:
            # Rearranged weights are no pages of the file any more: the system cannot let go of
            # them, and a tied output would be there twice.
            placement = dataclasses.replace(placement, repack=False)
            memory = forecast_on(self.shape, placement, self.machine, gpus)
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
        )
        threads, why_threads = threads_for(self.machine, self.wishes)
        numa, why_numa = numa_for(self.machine, weights_on_host)
        pages = host.weights_bytes if mode is not LoadMode.NONE else 0
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
            decisions=(),
            experts_in_ram=tuple(sorted(candidate.experts_in_ram)),
        )
        host_decisions = (why_mode, why_threads, *filter(None, (why_numa,)))
        decisions = explain(self.site, self.wishes, candidate, plan, host_decisions)
        return dataclasses.replace(plan, decisions=decisions)


def _whole_gib(size_bytes: int) -> int:
    return -(-size_bytes // GIB)
