"""A priced load in words, for the window. Pure; texts are in ``base.messages``."""

from __future__ import annotations

from kimi_desktop.backends.types import PlanWords, PricedLoad, Remedial
from kimi_desktop.base.errors import Param
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.units import format_tokens_per_s
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
