"""A priced load in words, for the window. Pure; texts are in ``base.messages``."""

from __future__ import annotations

from kimi_desktop.backends.types import PlanChange, PlanWords, PricedLoad, Remedial
from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import MIB, format_gib, format_tokens_per_s
from kimi_desktop.planner.limits import limit_sentence
from kimi_desktop.planner.offer_words import fit_word
from kimi_desktop.planner.plan_types import Alternative, Remedy
from kimi_desktop.planner.report import headline, sentence

OFFER = "offer:"
"""Begins the key of a quantization that is not here: then ``owner/name:QUANTIZATION``."""


def plan_words(priced: PricedLoad, language: Language) -> PlanWords:
    """All that is said about a plan."""
    plan, limits = priced.plan, priced.limits
    tight = message("plan.tight", language)
    return PlanWords(
        fit=tight if priced.is_tight else fit_word(plan.fit, language),
        headline=headline(plan, language),
        reasons=tuple(sentence(decision, language) for decision in plan.decisions),
        missing=tuple(sentence(decision, language) for decision in plan.missing),
        remedies=tuple(_remedial(each, language) for each in plan.alternatives),
        decode_limit=limit_sentence(limits.decode, language),
        prefill_limit=limit_sentence(limits.prefill, language),
        load_limit=limit_sentence(limits.load, language),
    )


def _remedial(alternative: Alternative, language: Language) -> Remedial:
    params: dict[str, Param] = dict(alternative.params)
    if alternative.remedy is Remedy.PROFILE:
        params["profile_name"] = message(f"plan.profile.{params['profile']}", language)
    seconds = alternative.seconds_per_token
    kind = alternative.remedy.value
    is_offer = alternative.sibling.startswith(OFFER)
    detail = f"plan.change.{kind}.{'offer' if is_offer else 'detail'}"
    return Remedial(
        title=message(f"plan.change.{kind}", language, **params),
        detail=message(detail, language, **params),
        speed=format_tokens_per_s(1 / seconds, language) if seconds else "",
        wishes=alternative.wishes,
        model_id="" if is_offer else alternative.sibling,
        offer_id=alternative.sibling.removeprefix(OFFER) if is_offer else "",
    )


SAME = 0.01
"""Speeds that differ by less are the same."""
FELT_BYTES = 16 * MIB
"""Memory of which nobody takes notice."""


def change_words(change: PlanChange, priced: PricedLoad, language: Language) -> Remedial:
    """What a change of a plan would bring.

    Args:
        change: from ``plan_changes``.
        priced: the plan that it changes.
        language: of the words.
    """
    title = message(f"plan.change.{change.remedy.value}", language, **change.params)
    gain = change.speed_ratio - 1
    if abs(gain) < SAME:
        speed = message("plan.change.same_speed", language)
    else:
        rate = format_tokens_per_s(abs(gain) * priced.speed.decode_tps.likely, language)
        speed = f"{'+' if gain > 0 else '−'}{rate}"
    return Remedial(title, _effect(change, language), speed, change.wishes, change.model_id)


def _effect(change: PlanChange, language: Language) -> str:
    """The weightiest of what changes."""
    if change.file_change_bytes:
        kind = "smaller" if change.file_change_bytes < 0 else "larger"
        text = message(f"plan.change.file.{kind}", language, **change.params)
        if quality := change.params.get("quality"):
            said = message(f"forecast.quality.{quality}", language)
            text = message("plan.change.file.quality", language, file=text, quality=said)
        return text
    if change.experts_moved:
        kind = "in" if change.experts_moved > 0 else "out"
        count = abs(change.experts_moved)
        many = "one" if count == 1 else "many"
        return message(f"plan.change.experts.{kind}.{many}", language, count=count)
    if abs(change.spare_change_bytes) < FELT_BYTES:
        return message("plan.change.spare.same", language)
    kind = "more" if change.spare_change_bytes > 0 else "less"
    size = format_gib(abs(change.spare_change_bytes))
    return message(f"plan.change.spare.{kind}", language, size=size)
