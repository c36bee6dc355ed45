"""The planner's word on a download, from the headers that the hub sends. Blocking (pool).

A few requests and megabytes. Where a header cannot be had, the size has to do; where it is damaged,
nobody needs the rest of the file.
"""

from __future__ import annotations

from kimi_desktop.base.errors import DownloadError, ErrorCode, KimiError, ModelError, PlanError
from kimi_desktop.base.messages import Language, describe_error, message
from kimi_desktop.base.messages.text import Text
from kimi_desktop.downloads.choose import Choice
from kimi_desktop.downloads.preflight import Judge
from kimi_desktop.downloads.preflight_types import Level, Row, both
from kimi_desktop.downloads.remote_models import RemoteModels
from kimi_desktop.downloads.remote_sets import gguf_sets
from kimi_desktop.downloads.size_verdict import size_verdict
from kimi_desktop.downloads.types import RepoListing
from kimi_desktop.machine.types import Machine
from kimi_desktop.models.types import ModelFacts
from kimi_desktop.planner import report
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.offer_words import rate_band
from kimi_desktop.planner.plan_types import Wishes
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.speed_setup import speed_rule

# Newer than this program, or made for another engine: to have it may be right all the same.
_NOT_FATAL = frozenset({ErrorCode.MODEL_UNSUPPORTED, ErrorCode.MODEL_COMPANION})


def header_verdict(remote: RemoteModels, machine: Machine, factors: Factors | None = None) -> Judge:
    """A judge that reads headers and plans with them.

    Args:
        remote: reads and remembers headers.
        machine: what is planned for.
        factors: of speed, as learned on this machine; None = as shipped.
    """

    def judge(listing: RepoListing, choice: Choice) -> Row | None:
        one = next(
            (s for s in gguf_sets(choice.files) if s.quantization == choice.quantization), None
        )
        if one is None:
            return size_verdict(listing, choice, machine, factors)
        try:
            return _planned(remote.facts(listing, one), machine, factors)
        except DownloadError:
            return size_verdict(listing, choice, machine, factors)
        except PlanError:  # an architecture without a memory rule
            return size_verdict(listing, choice, machine, factors)
        except ModelError as error:
            return _damaged(error)

    return judge


def _planned(facts: ModelFacts, machine: Machine, factors: Factors | None) -> Row:
    shape = shape_of(facts)
    rule = speed_rule(shape, machine, factors=factors)
    plan = report.plan_model(facts, machine, Wishes(), rule=rule)
    speed = report.plan_speed(shape, plan, machine, factors=factors)

    def words(language: Language) -> str:
        told = report.headline(plan, language)
        if not plan.can_start:
            return message("preflight.planned_short", language, sentence=told)
        rate = rate_band(speed.decode_tps, language)
        return message("preflight.planned", language, sentence=told, rate=rate)

    text = Text(words(Language.EN), words(Language.ZH_CN))
    if plan.fits:
        return Row("verdict", Level.OK, text)
    return Row("verdict", Level.WARN, text, both("preflight.verdict_poor.next"))


def _damaged(error: KimiError) -> Row:
    """The header's own sentence."""
    (en, en_next), (zh, zh_next) = (
        describe_error(error, language) for language in (Language.EN, Language.ZH_CN)
    )
    level = Level.WARN if error.code in _NOT_FATAL else Level.STOP
    return Row("verdict", level, Text(en, zh), Text(en_next, zh_next))
