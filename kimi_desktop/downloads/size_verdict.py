"""The planner's word on a download, from its size alone. Pure."""

from __future__ import annotations

from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.messages.text import Text
from kimi_desktop.downloads.choose import Choice
from kimi_desktop.downloads.preflight_types import Level, Row, both
from kimi_desktop.downloads.types import RepoListing
from kimi_desktop.machine.types import Machine
from kimi_desktop.planner.by_size import SizedForecast, forecast_by_size
from kimi_desktop.planner.offer_words import rate_band
from kimi_desktop.planner.speed_factors import Factors
from kimi_desktop.planner.verdict import verdict_sentence


def size_verdict(
    listing: RepoListing,
    choice: Choice,
    machine: Machine,
    factors: Factors | None = None,
    *,
    uses_gpus: bool = True,
) -> Row | None:
    """Whether it fits here and how fast it would answer; None for what is no single GGUF set.

    Too large is a warning only: people also fetch for another computer.
    """
    if not choice.quantization:
        return None
    sized = forecast_by_size(
        listing.repo,
        choice.quantization,
        choice.size_bytes,
        machine,
        uses_gpus=uses_gpus,
        factors=factors,
    )
    if sized is None:
        unknown = "preflight.verdict_unknown"
        return Row("verdict", Level.WARN, both(unknown), both(f"{unknown}.next"))
    text = Text(_sentence(sized, Language.EN), _sentence(sized, Language.ZH_CN))
    if sized.verdict.fits:
        return Row("verdict", Level.OK, text)
    return Row("verdict", Level.WARN, text, both("preflight.verdict_poor.next"))


def _sentence(sized: SizedForecast, language: Language) -> str:
    told = verdict_sentence(sized.verdict, language)
    if not sized.verdict.can_start:
        return message("preflight.verdict_short", language, sentence=told)
    rate = rate_band(sized.speed.decode_tps, language)
    return message("preflight.verdict", language, sentence=told, rate=rate)
