"""Why a plan is as it is: one decision, one sentence. Pure; texts are in ``base.messages.plan``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from kimi_desktop.base.errors import Param
from kimi_desktop.base.units import format_context, format_count, format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.candidates import Candidate, Way
from kimi_desktop.planner.choose import SMALL_UBATCH
from kimi_desktop.planner.plan_types import Decision, Fit, Plan, Wishes
from kimi_desktop.planner.profiles import context_aim
from kimi_desktop.planner.rpc import device_id, device_label, own_gpus
from kimi_desktop.planner.site import Site
from kimi_desktop.planner.types import ModelShape
from kimi_desktop.planner.weights import layer_devices

LAYERS = {
    Way.ALL_ON_GPUS: "all",
    Way.EXPERTS_IN_RAM: "experts",
    Way.LAYERS_IN_RAM: "partial",
}


def explain(
    site: Site,
    wishes: Wishes,
    candidate: Candidate,
    plan: Plan,
    host_decisions: Sequence[Decision],
) -> tuple[Decision, ...]:
    """The decisions of a plan, the weightiest first.

    Args:
        site: the model and the machine.
        wishes: what the user fixed.
        candidate: what the search chose.
        plan: the same with its exact forecast.
        host_decisions: how weights are held, threads and memory nodes.
    """
    found: list[Decision] = [_layers(site, wishes, candidate, plan)]
    found += _gpus(site, wishes, plan)
    found.append(_context(site, wishes, plan))
    found += _beyond_training(site.shape, plan)
    found.append(_cache(wishes, plan))
    found.append(_ubatch(wishes, plan))
    if not plan.placement.offload_ops:
        found.append(Decision("why.no_staging"))
    if not plan.placement.repack and not site.is_unified:
        found.append(Decision("why.no_repack"))
    found += host_decisions
    found.append(_reserve(plan, plan.reserve_share))
    if not plan.forecast.is_measured:
        found.append(Decision("why.estimate"))
    found.append(Decision("why.fit_off"))
    return tuple(found)


def remarks(shape: ModelShape, plan: Plan, reserve_share: float) -> Plan:
    """A plan of the user's own with what is worth saying about it.

    Args:
        shape: the model.
        plan: nothing in it was chosen by a search.
        reserve_share: of every device, what the user would like to stay free.
    """
    found = _beyond_training(shape, plan)
    if plan.fit is Fit.DISK_BOUND:
        found.append(Decision("why.load.disk"))
    found.append(_reserve(plan, reserve_share))
    if not plan.forecast.is_measured:
        found.append(Decision("why.estimate"))
    return dataclasses.replace(plan, decisions=tuple(found))


def gpu_names(machine: Machine, gpus: Iterable[int]) -> str:
    """``GPU 0, GPU 1`` in the machine's numbers, runs shortened: ``GPU 0-3``; workers' apart."""
    chosen = sorted(gpus)
    if len(chosen) == 1:
        return f"{_label(machine, chosen[0])} ({machine.gpus[chosen[0]].name})"
    own = own_gpus(machine)
    numbers = [number for number in chosen if number < own]
    far = [_label(machine, number) for number in chosen if number >= own]
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    near = [f"GPU {a}" if a == b else f"GPU {a}–{b}" for a, b in runs]
    return ", ".join((*near, *far))


def _label(machine: Machine, number: int) -> str:
    return device_label(device_id(number, machine.gpus[number], own_gpus(machine)))


def _layers(site: Site, wishes: Wishes, candidate: Candidate, plan: Plan) -> Decision:
    gpus = gpu_names(site.machine, plan.gpus)
    total = len(site.expert_blocks)
    params: dict[str, Param] = {
        "gpus": gpus,
        "layers": site.n_layers,
        "on_gpu": min(plan.placement.n_gpu_layers, site.n_layers),
        "experts": total,
        "experts_on_gpu": total - len(candidate.experts_in_ram),
        "in_ram": len(candidate.experts_in_ram),
        "used": site.shape.geometry.n_expert_used,
        "count": site.shape.geometry.n_expert,
    }
    if candidate.way is Way.AS_WISHED:
        key = _wished_layers(site, wishes, plan)
    elif candidate.way is Way.NO_GPU:
        key = _without_gpu(site)
    elif candidate.way is Way.EXPERTS_IN_RAM and not params["experts_on_gpu"]:
        key = "no_experts"
    else:
        key = LAYERS[candidate.way]
    return Decision(f"why.layers.{key}", params)


def _wished_layers(site: Site, wishes: Wishes, plan: Plan) -> str:
    """What of it the user chose."""
    if not plan.gpus:
        return "wished_none" if wishes.n_gpu_layers == 0 else _without_gpu(site)
    if not site.expert_blocks or wishes.n_cpu_moe is None:
        if wishes.n_gpu_layers is None:
            return "all" if plan.placement.n_gpu_layers >= site.n_layers else "partial"
        return "wished_experts" if plan.experts_in_ram else "wished_all"
    return "wished" if wishes.n_gpu_layers is not None else "wished_moe"


def _without_gpu(site: Site) -> str:
    if site.is_unified:
        return "unified"
    if not site.machine.gpus:
        return "no_gpu"
    return "too_small" if site.uses_gpus else "engine_without"


def _gpus(site: Site, wishes: Wishes, plan: Plan) -> list[Decision]:
    """How layers are split, and which GPUs are left alone."""
    found: list[Decision] = []
    if len(plan.gpus) > 1:
        n_layer = site.shape.geometry.n_layer
        split = plan.placement.tensor_split
        devices = layer_devices(n_layer, plan.placement.n_gpu_layers, split)
        shares = ", ".join(
            f"{_label(site.machine, number)}: {devices.count(at)}"
            for at, number in enumerate(plan.gpus)
        )
        key = "why.split" if wishes.tensor_split is None else "why.split.wished"
        found.append(Decision(key, {"shares": shares}))
    idle = [number for number in site.order if number not in plan.gpus]
    if plan.gpus and idle:
        names = gpu_names(site.machine, idle)
        found.append(Decision("why.idle", {"gpus": names}))
    return found


def _context(site: Site, wishes: Wishes, plan: Plan) -> Decision:
    context = plan.placement.context
    cache = sum(row.kv_bytes for row in plan.forecast.devices)
    params: dict[str, Param] = {
        "context": format_context(context),
        "size": format_gib(cache),
        "slots": wishes.n_parallel,
    }
    if wishes.context is not None:
        return Decision("why.context.wished", params)
    train = site.shape.geometry.context_train
    aim = context_aim(site.shape, wishes) * wishes.n_parallel
    if context < aim:
        return Decision("why.context.shorter", params | {"aim": format_context(aim)})
    whole = train and context >= train * wishes.n_parallel
    return Decision("why.context.whole" if whole else "why.context.chosen", params)


def _beyond_training(shape: ModelShape, plan: Plan) -> list[Decision]:
    train = shape.geometry.context_train
    each = plan.placement.context // plan.placement.n_parallel
    if not train or each <= train:
        return []
    params: dict[str, Param] = {"context": format_context(each), "train": format_context(train)}
    return [Decision("why.context.beyond", params)]


def _cache(wishes: Wishes, plan: Plan) -> Decision:
    kind = plan.placement.cache_type_k.lower()
    if wishes.cache_type is not None:
        return Decision("why.cache.wished", {"type": kind})
    key = "plain" if kind == "f16" else "quantized"
    return Decision(f"why.cache.{key}", {"type": kind})


def _ubatch(wishes: Wishes, plan: Plan) -> Decision:
    placement = plan.placement
    params: dict[str, Param] = {
        "ubatch": format_count(placement.n_ubatch),
        "batch": format_count(placement.n_batch),
    }
    if wishes.n_ubatch is not None or wishes.n_batch is not None:
        return Decision("why.ubatch.wished", params)
    if placement.n_ubatch < SMALL_UBATCH:
        return Decision("why.ubatch.small", params)
    if placement.offload_ops and plan.gpus and placement.n_ubatch > SMALL_UBATCH:
        return Decision("why.ubatch.staged" if plan.experts_in_ram else "why.ubatch.layers", params)
    return Decision("why.ubatch.usual", params)


def _reserve(plan: Plan, share: float) -> Decision:
    """The device that has the least free, as a share of it."""
    used = [plan.forecast.devices[number] for number in plan.gpus] + [plan.forecast.devices[-1]]
    tight = min(used, key=lambda row: row.spare_bytes / max(row.total_bytes, 1))
    params: dict[str, Param] = {
        "percent": round(share * 100),
        "device": device_label(tight.device),
        "spare": format_gib(abs(tight.spare_bytes)),
    }
    if tight.spare_bytes < 0:
        return Decision("why.reserve.short", params)
    kept = tight.spare_bytes >= share * tight.total_bytes
    return Decision("why.reserve.kept" if kept else "why.reserve.broken", params)
