"""A plan of a server engine in words and as JSON. Pure; the caller prints."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import GIB, format_gib
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.plan_types import Decision
from kimi_desktop.planner.report import device_object, devices_table
from kimi_desktop.planner.vllm_flags import (
    KEY_FILE,
    command_line,
    needed_flags,
    server_flags,
    split_flags,
)
from kimi_desktop.planner.vllm_rules import DEFAULT_SHARE, tensor_sizes
from kimi_desktop.planner.vllm_types import (
    ILLEGAL,
    Needed,
    ServerEngine,
    ServerForecast,
    ServerPlan,
    ServerProblem,
)
from kimi_desktop.planner.vllm_weights import VllmModel

ENGINE_NAMES = {ServerEngine.VLLM: "vLLM", ServerEngine.SGLANG: "SGLang"}


def server_headline(plan: ServerPlan, language: Language) -> str:
    """Whether the model can be served here, one sentence."""
    forecast = plan.forecast
    engine = ENGINE_NAMES[forecast.settings.engine]
    if not plan.fits:
        return message("vllm.refused", language, engine=engine, name=plan.name)
    return message(
        "vllm.fits",
        language,
        engine=engine,
        name=plan.name,
        gpus=_counted("vllm.gpus", len(forecast.gpus), language),
        tokens=f"{forecast.tokens:,}",
        users=_counted("vllm.users", int(forecast.concurrency), language),
        context=f"{forecast.settings.context:,}",
    )


def needed_sentence(
    plan: ServerPlan, model: VllmModel, machine: Machine, language: Language
) -> str | None:
    """What it would take, what is here, what to do instead; None when it can be served.

    “Kimi K2.6 needs 8 x 141 GB here; you have 2 x 48 GB: use llama.cpp with experts in RAM.”
    """
    if plan.is_illegal or plan.holds_users:
        return None  # it fits, or no card in the world would make this split possible
    needed = plan.needed
    if plan.fits:
        return None if needed is None else _users_sentence(plan, needed, machine, language)
    if needed is not None and _is_here(needed, machine):
        others = sum(row.others_bytes for row in plan.forecast.devices[:-1])
        return message(
            "vllm.needed.busy",
            language,
            name=plan.name,
            needed=_cards(needed, language),
            others=format_gib(others),
        )
    params = {
        "name": plan.name,
        "have": have_words(machine, language),
        "instead": instead_words(plan, model, machine, language),
    }
    if needed is None:
        return message("vllm.needed.none", language, **params)
    return message("vllm.needed", language, needed=_cards(needed, language), **params)


def instead_words(plan: ServerPlan, model: VllmModel, machine: Machine, language: Language) -> str:
    """What to do instead: llama.cpp keeps in RAM what VRAM does not hold."""
    kind = "experts" if model.config.n_expert else "layers"
    if machine.memory_bytes < model.file_bytes:
        kind = "smaller"
    words = message(f"vllm.instead.{kind}", language)
    shorter = plan.forecast.tokens // 1024 * 1024
    if shorter >= 4096 and plan.wishes.context is not None:
        context = f"{shorter:,}"
        words = message("vllm.instead.context", language, instead=words, context=context)
    return words


def have_words(machine: Machine, language: Language) -> str:
    """The GPUs of a machine as people count them: “you have 2 x 48 GB and 1 x 24 GB”."""
    words = [
        _cards(Needed(count, size * GIB), language)
        for size, count in sorted(_card_sizes(machine).items(), reverse=True)
    ]
    if not words:
        return message("vllm.have.none", language)
    text = words[0]
    for second in words[1:]:
        text = message("vllm.cards.and", language, first=text, second=second)
    return message("vllm.have", language, cards=text)


def server_decisions(plan: ServerPlan, model: VllmModel, machine: Machine) -> list[Decision]:
    """Why the model is served like this, one sentence each: keys ``vllm.<key>``."""
    forecast = plan.forecast
    settings, split, config = forecast.settings, forecast.settings.split, model.config
    found: list[Decision] = []
    if forecast.fits:
        found += _users_decisions(plan)
        found += _split_decisions(plan)
        found += _idle_decisions(plan, machine)
        if config.is_mla and split.tensor > 1 and split.decode_context == 1:
            size = f"{forecast.cache_bytes_per_token / 1024:,.1f} KiB"
            found.append(Decision("why.latent", {"size": size}))
        found += _memory_decisions(forecast)
        found += _share_decisions(plan)
    if forecast.fits and not plan.wishes.context and settings.context < config.context_train:
        params = {"context": f"{settings.context:,}", "train": f"{config.context_train:,}"}
        found.append(Decision("why.context", params))
    if settings.offload_bytes and forecast.fits:
        found.append(Decision("why.offload", {"size": format_gib(settings.offload_bytes)}))
    if len(machine.gpus) > 1:
        sizes = ", ".join(map(str, tensor_sizes(config, len(machine.gpus)))) or "–"
        found.append(Decision("why.sizes", {"sizes": sizes}))
    if config.needs_code:
        found.append(Decision("why.code"))
    if not model.is_complete:
        found.append(Decision("why.missing"))
    elif not forecast.exact:
        found.append(Decision("why.estimate"))
    return found


def _users_sentence(plan: ServerPlan, needed: Needed, machine: Machine, language: Language) -> str:
    """What would hold all users at once."""
    return message(
        "vllm.needed.users",
        language,
        users=_counted("vllm.users", plan.wishes.users, language),
        context=f"{plan.forecast.settings.context:,}",
        needed=_cards(needed, language),
        have=have_words(machine, language),
    )


def shortfall_sentence(plan: ServerPlan, language: Language) -> str | None:
    """Why the plan cannot be carried out as it was asked for; None when it can."""
    if plan.holds_users:
        return None
    if plan.fits:
        at_once = int(plan.forecast.concurrency)
        params: dict[str, Param] = {"at_once": f"{at_once:,}", "users": f"{plan.wishes.users:,}"}
        return message("plan.users_short", language, name=plan.name, **params)
    key = "plan.cannot_divide" if plan.is_illegal else "plan.cannot_start"
    return message(key, language, name=plan.name)


def problem_sentence(forecast: ServerForecast, language: Language) -> str | None:
    """What the engine would refuse, in words."""
    problem = forecast.problem
    if problem is None:
        return None
    return message(f"vllm.problem.{problem.kind.value}", language, **problem.params)


def server_lines(
    plan: ServerPlan,
    model: VllmModel,
    machine: Machine,
    language: Language,
    *,
    place: str,
    extra: Sequence[str] = (),
) -> list[str]:
    """The plan for a terminal.

    Args:
        plan: the plan.
        model: what is served.
        machine: where.
        language: of the sentences.
        place: the folder or repository, for the command line.
        extra: flags that the model needs besides.
    """
    lines = [server_headline(plan, language), ""]
    needed = needed_sentence(plan, model, machine, language)
    if needed is not None:
        lines += [needed, ""]
    problem = plan.forecast.problem
    if problem is None or problem.kind not in (*ILLEGAL, ServerProblem.TOO_FEW_GPUS):
        # Else nothing is known of what the GPUs would hold.
        lines += [*devices_table(plan.forecast.devices, language), ""]
    refused = problem_sentence(plan.forecast, language)
    if refused and machine.gpus:
        lines.append(f"- {refused}")
    lines += [f"- {text}" for text in decision_sentences(plan, model, machine, language)]
    if plan.fits:
        lines += [f"- {text}" for text in alternative_sentences(plan, language)]
        lines += ["", command_line(plan, place, extra=needed_flags(model, extra))]
        if plan.forecast.settings.engine is ServerEngine.VLLM:
            lines.append(message("nodes.key", language, path=KEY_FILE))
    return lines


def decision_sentences(
    plan: ServerPlan, model: VllmModel, machine: Machine, language: Language
) -> list[str]:
    """All decisions in words."""
    return [
        message(f"vllm.{decision.key}", language, **decision.params)
        for decision in server_decisions(plan, model, machine)
    ]


def alternative_sentences(plan: ServerPlan, language: Language) -> list[str]:
    """Other ways that work here."""
    found = []
    for other in plan.alternatives:
        flags = " ".join(split_flags(other.settings)) or "–"
        users = _counted("vllm.users", int(other.concurrency), language)
        params = {"flags": flags, "tokens": f"{other.tokens:,}", "users": users}
        found.append(message("vllm.also", language, **params))
    return found


def server_object(
    plan: ServerPlan,
    model: VllmModel,
    machine: Machine,
    language: Language,
    *,
    extra: Sequence[str] = (),
) -> dict[str, Any]:
    """One JSON object. The keys are a promise to other programs: add, never rename."""
    forecast = plan.forecast
    settings = forecast.settings
    needed = plan.needed
    return {
        "engine": settings.engine.value,
        "headline": server_headline(plan, language),
        "fits": plan.fits,
        "holds_users": plan.holds_users,
        "exact": forecast.exact,
        "problem": None if forecast.problem is None else forecast.problem.kind.value,
        "needed": None if needed is None else {"gpus": needed.count, "vram": needed.vram_bytes},
        "needed_words": needed_sentence(plan, model, machine, language),
        "flags": list(server_flags(settings, extra=needed_flags(model, extra))),
        "context": settings.context,
        "tensor_parallel": settings.split.tensor,
        "pipeline_parallel": settings.split.pipeline,
        "expert_parallel": settings.split.experts,
        "decode_context_parallel": settings.split.decode_context,
        "memory_share": settings.memory_share,
        "cache_bytes_per_token": forecast.cache_bytes_per_token,
        "blocks": forecast.n_blocks,
        "block_tokens": forecast.block_tokens,
        "tokens": forecast.tokens,
        "concurrency": round(forecast.concurrency, 2),
        "tensor_parallel_sizes": list(tensor_sizes(model.config, len(machine.gpus))),
        "gpus": list(forecast.gpus),
        "devices": [device_object(row) for row in forecast.devices],
        "sentences": decision_sentences(plan, model, machine, language),
        "alternatives": [
            {
                "flags": list(split_flags(other.settings)),
                "tokens": other.tokens,
                "concurrency": round(other.concurrency, 2),
            }
            for other in plan.alternatives
        ],
    }


def _split_decisions(plan: ServerPlan) -> list[Decision]:
    forecast = plan.forecast
    split = forecast.settings.split
    found = []
    if split.tensor > 1:
        weights = format_gib(forecast.weights_bytes_per_rank)
        found.append(Decision("why.tensor", {"count": split.tensor, "weights": weights}))
    if split.pipeline > 1:
        found.append(Decision("why.pipeline", {"count": split.pipeline}))
    if split.experts:
        found.append(Decision("why.experts"))
    if split.decode_context > 1:
        found.append(Decision("why.decode_context", {"count": split.decode_context}))
    return found or [Decision("why.single")]


def _users_decisions(plan: ServerPlan) -> list[Decision]:
    """More users are wanted than fit at once."""
    forecast, users = plan.forecast, plan.wishes.users
    at_once = int(forecast.concurrency)
    if at_once >= users:
        return []
    params: dict[str, Param] = {
        "users": f"{users:,}",
        "at_once": f"{at_once:,}",
        "context": f"{forecast.settings.context:,}",
        "tokens": f"{forecast.tokens // users:,}",
    }
    return [Decision("why.users", params)]


def _idle_decisions(plan: ServerPlan, machine: Machine) -> list[Decision]:
    """Why there are as many GPUs as there are."""
    forecast = plan.forecast
    split = forecast.settings.split
    count = len(machine.gpus) - split.n_gpu
    if plan.wishes.split is None and count:
        kinds = {machine.gpus[number].name for number in forecast.gpus}
        if len(kinds) == 1 and kinds != {gpu.name for gpu in machine.gpus}:
            return [Decision("why.idle.others", {"used": split.n_gpu, "name": kinds.pop()})]
        return [Decision("why.idle.sizes", {"used": split.n_gpu, "count": len(machine.gpus)})]
    if plan.fewer is not None:
        return [Decision("why.fewer", {"least": plan.fewer, "used": split.n_gpu})]
    return []


def _memory_decisions(forecast: ServerForecast) -> list[Decision]:
    settings = forecast.settings
    rank = max(forecast.ranks, key=lambda rank: rank.weights_bytes)
    params: dict[str, Param] = {
        "percent": f"{100 * (settings.memory_share or 0.0):.0f}",
        "budget": format_gib(rank.budget_bytes),
        "weights": format_gib(rank.weights_bytes),
        "working": format_gib(rank.activation_bytes),
        "cache": format_gib(max(rank.cache_bytes, 0)),
    }
    static = settings.engine is ServerEngine.SGLANG
    found = [Decision("why.static" if static else "why.budget", params)]
    cache: dict[str, Param] = {
        "size": f"{forecast.cache_bytes_per_token / 1024:,.1f} KiB",
        "blocks": f"{forecast.n_blocks:,}",
        "block": forecast.block_tokens,
        "tokens": f"{forecast.tokens:,}",
    }
    found.append(Decision("why.cache" if forecast.block_tokens > 1 else "why.tokens", cache))
    return found


def _share_decisions(plan: ServerPlan) -> list[Decision]:
    """Less than usual is reserved, because others hold a part of a GPU."""
    share = plan.forecast.settings.memory_share or 0.0
    is_vllm = plan.forecast.settings.engine is ServerEngine.VLLM
    if plan.wishes.memory_share is not None or not is_vllm or share >= DEFAULT_SHARE:
        return []
    others = max(plan.forecast.devices[number].others_bytes for number in plan.forecast.gpus)
    params: dict[str, Param] = {
        "percent": f"{100 * share:.0f}",
        "usual": f"{100 * DEFAULT_SHARE:.0f}",
        "others": format_gib(others),
    }
    return [Decision("why.share", params)]


def _counted(key: str, count: int, language: Language) -> str:
    return message(f"{key}.{'one' if count == 1 else 'many'}", language, count=f"{count:,}")


def _card_sizes(machine: Machine) -> Counter[int]:
    """How many GPUs there are of each size, in GiB rounded up as cards are named."""
    sizes = (gpu.vram_total_bytes for gpu in machine.gpus)
    return Counter(math.ceil(size / GIB) for size in sizes if size)


def _is_here(needed: Needed, machine: Machine) -> bool:
    """The machine has such cards; others hold their memory."""
    size = math.ceil(needed.vram_bytes / GIB)
    return sum(n for each, n in _card_sizes(machine).items() if each >= size) >= needed.count


def _cards(needed: Needed, language: Language) -> str:
    size = math.ceil(needed.vram_bytes / GIB)
    return message("vllm.cards", language, count=needed.count, size=size)
