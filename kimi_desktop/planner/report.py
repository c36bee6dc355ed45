"""A plan in words and as JSON: the core of the verb ``plan``. Pure; the caller prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kimi_desktop.base.errors import ErrorCode, Param, PlanError
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.terminal import display_width, pad
from kimi_desktop.base.units import format_duration, format_gib, format_tokens_per_s
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.planner.flags import plan_flags
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.placement import find_plan
from kimi_desktop.planner.plan_types import (
    Alternative,
    Decision,
    Plan,
    Remedy,
    Sibling,
    SpeedRule,
    Wishes,
)
from kimi_desktop.planner.rpc import device_label, own_gpus, rpc_devices
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import MeasuredRates, plan_input
from kimi_desktop.planner.speed_types import Band, SpeedForecast
from kimi_desktop.planner.types import DeviceMemory, ModelShape
from kimi_desktop.planner.verdict import plan_verdict, verdict_sentence

GAP = "  "
PARTS = ("weights", "kv", "compute", "overhead", "others", "spare")


def plan_model(
    facts: ModelFacts,
    machine: Machine,
    wishes: Wishes,
    *,
    rule: SpeedRule | None = None,
    siblings: Sequence[Sibling] = (),
) -> Plan:
    """The plan for a model whose header was read.

    Raises:
        PlanError: no header, or a wish that no engine can fulfil.
    """
    return find_plan(shape_to_plan(facts), machine, wishes, rule=rule, siblings=siblings)


def shape_to_plan(facts: ModelFacts) -> ModelShape:
    """The shape of a model whose header was read.

    Raises:
        PlanError: the header does not say enough.
    """
    if facts.geometry is None or facts.tensors is None or not facts.geometry.n_layer:
        raise PlanError(ErrorCode.PLAN_NO_HEADER, {"name": facts.name})
    return shape_of(facts)


def plan_speed(
    shape: ModelShape,
    plan: Plan,
    machine: Machine,
    *,
    rates: MeasuredRates | None = None,
    prompt_tokens: int = 2048,
    factors: Factors | None = None,
) -> SpeedForecast:
    """How fast a plan will be.

    Args:
        shape: the model.
        plan: how it is loaded.
        machine: what the plan is for.
        rates: measured a moment ago; None = those of the machine, if there are any.
        prompt_tokens: of the prompt that the time to the first token is told for.
        factors: as learned on that machine; None = as shipped.
    """
    setup = plan_input(shape, plan, machine, rates=rates or MeasuredRates())
    return forecast_speed(setup, prompt_tokens, factors=factors)


def headline(plan: Plan, language: Language) -> str:
    """The verdict with what is left or lacking."""
    return verdict_sentence(plan_verdict(plan), language)


def speed_sentences(speed: SpeedForecast, language: Language) -> list[str]:
    """Decode, prefill, first token and load, each as a band with what it waits for."""
    prompt = f"{speed.prompt_tokens:,}"

    def rate(key: str, band: Band) -> str:
        low, high = format_tokens_per_s(band.low, language), format_tokens_per_s(
            band.high, language)  # fmt: skip
        return message(key, language, low=low.partition(" ")[0], high=high, waits=waits(band),
                       prompt=prompt)  # fmt: skip

    def time(key: str, band: Band) -> str:
        return message(
            key,
            language,
            low=format_duration(band.low, language),
            high=format_duration(band.high, language),
            waits=waits(band),
            prompt=prompt,
        )

    def waits(band: Band) -> str:
        return message(f"forecast.bottleneck.{band.bottleneck.value}", language)

    return [
        rate("plan.speed.decode", speed.decode_tps),
        rate("plan.speed.prefill", speed.prefill_tps),
        time("plan.speed.first_token", speed.first_token_s),
        time("plan.speed.load", speed.load_s),
    ]


def sentence(decision: Decision, language: Language) -> str:
    """A decision in words."""
    params = dict(decision.params)
    if params.get("device") == "RAM":
        params["device"] = message("plan.device.ram", language)
    return message(f"plan.{decision.key}", language, **params)


def remedy_words(alternative: Alternative, language: Language) -> str:
    """A change that helps, as a part of a sentence."""
    params: dict[str, Param] = dict(alternative.params)
    if alternative.remedy is Remedy.PROFILE:
        params["profile_name"] = message(f"plan.profile.{params['profile']}", language)
    return message(f"plan.remedy.{alternative.remedy.value}", language, **params)


def missing_sentences(plan: Plan, language: Language) -> list[str]:
    """What is short, and one sentence with all that helps; nothing for a plan that fits."""
    if plan.fits:
        return []
    found = [sentence(decision, language) for decision in plan.missing]
    return [*found, helps_sentence(plan.alternatives, language)]


def helps_sentence(alternatives: Sequence[Alternative], language: Language) -> str:
    """All that helps, in one sentence."""
    words = [remedy_words(alternative, language) for alternative in alternatives]
    if not words:
        return message("plan.missing.nothing", language)
    remedies = words[0]
    for second in words[1:]:
        remedies = message("plan.remedies", language, first=remedies, second=second)
    return message("plan.missing.helps", language, remedies=remedies)


def alternative_object(alternative: Alternative, language: Language) -> dict[str, Any]:
    """A change that helps, as JSON has it."""
    words = remedy_words(alternative, language)
    return {"remedy": alternative.remedy.value, **alternative.params, "words": words}


def plan_object(
    plan: Plan, machine: Machine, language: Language, *, speed: SpeedForecast | None = None
) -> dict[str, Any]:
    """One JSON object. The keys are a promise to other programs: add, never rename."""
    placement = plan.placement
    return {
        "verdict": plan.fit.value,
        "headline": headline(plan, language),
        "fits": plan.fits,
        "exact": plan.forecast.exact,
        "flags": list(plan_flags(plan, own_gpus(machine), rpc_devices(machine))),
        "context": placement.context,
        "cache_type": placement.cache_type_k.lower(),
        "n_gpu_layers": placement.n_gpu_layers,
        "experts_in_ram": list(plan.experts_in_ram),
        "gpus": list(plan.gpus),
        "devices": [device_object(row) for row in plan.forecast.devices],
        "speed": speed_object(speed) if speed is not None and plan.can_start else None,
        "sentences": [sentence(decision, language) for decision in plan.decisions],
        "missing": [sentence(decision, language) for decision in plan.missing],
        "alternatives": [
            alternative_object(alternative, language) for alternative in plan.alternatives
        ],
    }


def plan_lines(
    plan: Plan,
    machine: Machine,
    language: Language,
    *,
    program: Sequence[str],
    speed: SpeedForecast | None = None,
) -> list[str]:
    """The plan for a terminal: verdict, a table of devices, reasons, the command line.

    Args:
        plan: the plan.
        machine: what it is for.
        language: of the sentences.
        program: what stands before the flags: program, ``-m`` and the model.
        speed: how fast it will be; a plan that cannot start has none.
    """
    lines = [headline(plan, language), ""]
    if speed is not None and plan.can_start:
        lines += [*speed_sentences(speed, language), ""]
    lines += devices_table(plan.forecast.devices, language)
    lines.append("")
    lines += [f"- {text}" for text in missing_sentences(plan, language)]
    lines += [f"- {sentence(decision, language)}" for decision in plan.decisions]
    words = [*program, *plan_flags(plan, own_gpus(machine), rpc_devices(machine))]
    return [*lines, "", " ".join(shell_word(word) for word in words)]


def speed_object(speed: SpeedForecast) -> dict[str, Any]:
    """The bands as JSON has them."""
    bands = {
        "decode_tps": speed.decode_tps,
        "prefill_tps": speed.prefill_tps,
        "first_token_s": speed.first_token_s,
        "load_s": speed.load_s,
    }
    found: dict[str, Any] = {
        name: {
            "low": round(band.low, 3),
            "likely": round(band.likely, 3),
            "high": round(band.high, 3),
            "bottleneck": band.bottleneck.value,
        }
        for name, band in bands.items()
    }
    return found | {"prompt_tokens": speed.prompt_tokens}


def device_object(row: DeviceMemory) -> dict[str, Any]:
    """A device as JSON has it, in bytes."""
    sizes = dict(zip(PARTS, _sizes(row), strict=True))
    return {"device": row.device, "name": row.name, "total": row.total_bytes} | sizes


def _sizes(row: DeviceMemory) -> tuple[int, ...]:
    return (
        row.weights_bytes,
        row.kv_bytes,
        row.compute_bytes or 0,
        row.overhead_bytes or 0,
        row.others_bytes,
        row.spare_bytes,
    )


def devices_table(rows: Sequence[DeviceMemory], language: Language) -> list[str]:
    """What every device holds, in GiB, as lines of a table."""
    heads = [message(f"plan.column.{name}", language) for name in ("device", *PARTS)]
    cells = [heads]
    for row in rows:
        name = f"{device_label(row.device)} {row.name}"
        if row.device == "host":
            name = message("plan.device.ram", language)
        cells.append([name, *(format_gib(size, unit=False) for size in _sizes(row))])
    widths = [max(display_width(line[at]) for line in cells) for at in range(len(heads))]
    return [
        GAP.join(
            pad(text, width) if at == 0 else " " * (width - display_width(text)) + text
            for at, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    ]


def shell_word(word: str) -> str:
    """A word of a command line, quoted where a POSIX shell would read it otherwise."""
    plain = word and all(letter.isalnum() or letter in "-_./,:=@%+" for letter in word)
    return word if plain else "'" + word.replace("'", "'\\''") + "'"
